"""How many texts are cut into the right sentences, by language, against an installed peer, in one process.

Texts: `tests/fixtures/sentences/<language>.txt`, each line one hard case, right when every sentence of it is;
`<language>.held.txt` was written after the rules and is not used to improve them. Peer: nupunkt's model, trained
on English alone. Speed: the sample's articles, CPU time, best of three rounds that take turns with the peer.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import nupunkt

from benchmarks.bench_wikitext import ROUNDS, cpu_s
from pipelines.documents.readers.dump import iter_pages, read_site_info, sample_dump_path
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.sentence_cases import read_cases, wrong_cases
from pipelines.documents.sentences import split_nodes, split_text

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "sentences"


def main() -> None:
    model = nupunkt.load_default_model()

    def peer(text: str) -> list[tuple[int, int]]:
        # Its spans hold the space behind a sentence.
        return [(begin, begin + len(text[begin:end].rstrip()))
                for _, (begin, end) in model.tokenize_with_spans(text) if text[begin:end].strip()]

    print("language   texts   right  nupunkt")
    for path in sorted(FOLDER.glob("*.txt")):
        cases = read_cases(path)
        language = path.name.partition(".")[0]
        own = len(cases) - len(wrong_cases(cases, partial(split_text, language=language)))
        other = len(cases) - len(wrong_cases(cases, peer))
        print(f"{path.stem:10}{len(cases):6}{own:8}{other:9}")
    dump = sample_dump_path()
    site = read_site_info(dump)
    trees = [read_wikitext(page.title, page.text, site).nodes for page in iter_pages(dump)
             if page.namespace == 0 and page.redirect_to is None and page.text]
    texts = [node.text for nodes in trees for node in nodes if node.kind == "content" and node.text]
    seconds = {"own": float("inf"), "peer": float("inf")}
    for _ in range(ROUNDS):
        seconds["own"] = min(seconds["own"], cpu_s(lambda: [split_nodes(nodes, "en") for nodes in trees]))
        seconds["peer"] = min(seconds["peer"], cpu_s(lambda: [peer(text) for text in texts]))
    n = sum(len(split_nodes(nodes, "en")) for nodes in trees)
    print(f"{n:,} sentences of {len(texts):,} blocks: {n / seconds['own']:,.0f} a second, "
          f"{seconds['peer'] / seconds['own']:.1f} times as many as the peer")


if __name__ == "__main__":
    main()
