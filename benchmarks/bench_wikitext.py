"""How fast wikitext becomes a tree, against the plain use of the same library, in one process.

Peer: mwparserfromhell's `parse()` followed by `strip_code()`, which gives text without a tree. Measured: the
reader on the demo sample's 106 articles, one core, CPU time, best of three rounds that take turns with the
peer. Goal: at least 5. Also printed: the C tokenizer alone as a bound, the sentence splitter as a share of the
reader (goal: at most 15 %), and the shares of all steps from the compressed dump to Arrow batches.
"""

from __future__ import annotations

import gc
import itertools
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import mwparserfromhell

from pipelines.documents.readers.dump import iter_pages, read_site_info, sample_dump_path
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.source_lines import LineMap
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.readers.wikitext_cut import Cutter
from pipelines.documents.readers.wikitext_prepare import prepare
from pipelines.documents.readers.wikitext_tokens import c_tokens
from pipelines.documents.readers.wikitext_walk import Walk
from pipelines.documents.residue import find_node_residue
from pipelines.documents.sentences import split_nodes
from pipelines.models.tokens import load_token_counter
from pipelines.schemas import TREE_NODES
from pipelines.settings import profile_by_name
from spark_jobs.documents import arrow_fields
from spark_jobs.node_batches import NodeBatches

ROUNDS = 3
STEPS = ("refs and tags", "other preparation", "tokens", "walk", "templates", "rows", "sentences",
         "counting tokens")


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
    print(f"residue                  {1000 * residue / blocks:.2f} per 1,000 of {blocks:,} blocks (goal: 0.5)")
    shares(pages, site, dump_s)


class _TimedWalk(Walk):
    """A walk that adds up what its outermost templates take."""

    seconds = 0.0
    is_inside = False

    def _timed(self, read: Callable[[int], Any], at: int) -> Any:
        if self.is_inside:
            return read(at)
        self.is_inside, begin = True, time.process_time()
        try:
            return read(at)
        finally:
            self.is_inside = False
            self.seconds += time.process_time() - begin

    def template(self, at: int) -> int:
        return int(self._timed(super().template, at))

    def template_text(self, at: int) -> tuple[str, int]:
        text, behind = self._timed(super().template_text, at)
        return text, behind


def shares(pages: list[tuple[str, str]], site: SiteInfo, dump_s: float) -> None:
    """Print what part each step takes of the way from the compressed dump to rows in Arrow batches."""
    seconds = {"XML and bz2": dump_s}
    clock = time.process_time
    batches = NodeBatches(arrow_fields(TREE_NODES.columns))  # This imports pyarrow, outside of what is timed.
    counter = load_token_counter(profile_by_name("fast").token_counter)
    # A worker has met the words of its language before; this also imports what is loaded late.
    counter.count_many([text for _, text in pages])
    list(batches.add("xx:1", 0, read_wikitext("", "A word.", site).nodes))
    list(batches.rest())
    gc.disable()
    for title, text in pages:
        at = [clock()]
        Cutter(text, [], Counter(), LineMap(text)).run()
        at.append(clock())
        prepared = prepare(text)
        at.append(clock())
        stream = c_tokens(prepared.text)
        at.append(clock())
        walk = _TimedWalk(title, prepared, site, lambda _, stream=stream: stream)  # type: ignore[misc]
        walk.run(prepared.text)
        at.append(clock())
        nodes = walk.blocks.tree.finish()
        for _ in batches.add("xx:1", 0, nodes):
            pass
        at.append(clock())
        split_nodes(nodes, "en")
        at.append(clock())
        counter.count("\n".join(node.text for node in nodes if node.text))
        at.append(clock())
        refs, whole, tokens, walked, *others = (end - begin for begin, end in itertools.pairwise(at))
        parts = (refs, whole - refs, tokens, walked - walk.seconds, walk.seconds, *others)
        for name, taken in zip(STEPS, parts, strict=True):
            seconds[name] = seconds.get(name, 0.0) + taken
    gc.enable()
    total = sum(seconds.values())
    print("shares                   " + ", ".join(f"{name} {100 * s / total:.0f} %" for name, s in seconds.items()))


if __name__ == "__main__":
    main()
