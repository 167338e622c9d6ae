"""How fast wikitext becomes a tree, against the plain use of the same library, in one process.

Peer: mwparserfromhell's `parse()` followed by `strip_code()`, which gives text without a tree. Measured: the
reader on the demo sample's 106 articles, one core, CPU time, best of three rounds that take turns with the
peer. Goal: at least 5. Also printed: the C tokenizer alone as a bound, the shares of the reader's steps, the
sentence splitter as a share of the reader (goal: at most 15 %), and the dump reader alone.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import mwparserfromhell

from pipelines.documents.readers.dump import iter_pages, read_site_info, sample_dump_path
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.readers.wikitext_prepare import prepare
from pipelines.documents.readers.wikitext_tokens import c_tokens
from pipelines.documents.readers.wikitext_walk import Walk
from pipelines.documents.residue import find_node_residue
from pipelines.documents.sentences import split_nodes

ROUNDS = 3


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin


def main() -> None:
    path = sample_dump_path()
    site = read_site_info(path)
    dump_s = cpu_s(lambda: list(iter_pages(path)))
    pages = [(page.title, page.text) for page in iter_pages(path)
             if page.namespace == 0 and page.redirect_to is None and page.text]
    # What lives from here on is no business of the garbage collector, as in a worker after start-up.
    gc.freeze()
    trees = [read_wikitext(title, text, site).nodes for title, text in pages]
    split_nodes(trees[0], "en")

    def peer() -> None:
        for _, text in pages:
            mwparserfromhell.parse(text).strip_code()

    def reader() -> None:
        for title, text in pages:
            read_wikitext(title, text, site)

    def tokens() -> None:
        for _, text in pages:
            c_tokens(text)

    def sentences() -> None:
        for nodes in trees:
            split_nodes(nodes, "en")

    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, work in (("peer", peer), ("reader", reader), ("tokens", tokens), ("sentences", sentences)):
            best[name] = min(best.get(name, float("inf")), cpu_s(work))
    blocks = sum(bool(node.text) for nodes in trees for node in nodes)
    residue = sum(len(find_node_residue(node)) for nodes in trees for node in nodes)
    n = len(pages)
    print(f"{n} articles, {sum(len(text) for _, text in pages):,} characters, {sum(map(len, trees)):,} nodes, "
          f"{sum(node.tag == 'section' for nodes in trees for node in nodes):,} headings")
    print(f"parse() + strip_code()   {best['peer']:.3f} s  {n / best['peer']:.0f} articles/s")
    print(f"reader                   {best['reader']:.3f} s  {n / best['reader']:.0f} articles/s")
    print(f"C tokenizer, raw pages   {best['tokens']:.3f} s  {n / best['tokens']:.0f} articles/s")
    print(f"peer / reader            {best['peer'] / best['reader']:.2f}  (goal: at least 5)")
    print(f"reader / C tokenizer     {best['reader'] / best['tokens']:.2f}")
    print(f"sentences / reader       {best['sentences'] / best['reader']:.2f}  (goal: at most 0.15)")
    print(f"dump reader (bz2, XML)   {dump_s:.3f} s")
    print(f"residue                  {1000 * residue / blocks:.2f} per 1,000 of {blocks:,} blocks (goal: 0.5)")
    shares(pages, site)


def shares(pages: list[tuple[str, str]], site: object) -> None:
    """Print what part of the reader's time each of its steps takes."""
    seconds = dict.fromkeys(("prepare", "tokens", "walk", "rows"), 0.0)
    clock = time.process_time
    gc.disable()
    for title, text in pages:
        marks = [clock()]
        prepared = prepare(text)
        marks.append(clock())
        stream = c_tokens(prepared.text)
        marks.append(clock())
        walk = Walk(title, prepared, site, lambda _, stream=stream: stream)  # type: ignore[arg-type, misc]
        walk.run(prepared.text)
        marks.append(clock())
        walk.blocks.tree.finish()
        marks.append(clock())
        for name, begin, end in zip(seconds, marks, marks[1:], strict=False):
            seconds[name] += end - begin
    gc.enable()
    total = sum(seconds.values())
    print("shares of the reader     " + ", ".join(f"{name} {100 * s / total:.0f} %" for name, s in seconds.items()))


if __name__ == "__main__":
    main()
