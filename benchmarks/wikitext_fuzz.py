"""How a family of hostile wikitext is measured: what `python -m benchmarks fuzz` and the fuzz tests share.

What belongs here: CPU time by step, peak memory, and the words that are missing or shown twice. A step is
linear if twice the text takes about twice the time; the limits that a caller may hold are here too. The
families are in `wikitext_families.py`.
"""

from __future__ import annotations

import gc
import re
import time
import tracemalloc
import unicodedata
from collections import Counter
from typing import NamedTuple

from benchmarks.wikitext_families import Family
from pipelines.documents.passages import make_passages
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import ReadResult, read_wikitext
from pipelines.documents.sentences import split_nodes
from pipelines.documents.tree import check_tree

SITE = SiteInfo.unknown("en")
STEPS = ("reader", "sentences", "passages")
PER_DOUBLING = 2.5
"""What a step's time and the reader's memory may grow by at most when the text doubles."""
FLOOR_S = 0.05
"""Times below this say nothing: they count as this."""
_WORD = re.compile(r"[wh]\d{6}(?!\d)")


class Cost(NamedTuple):
    """What one text cost. seconds: CPU time by step; lost, extra: words that are missing, that are too many."""

    seconds: dict[str, float]
    result: ReadResult
    lost: int
    extra: int


def measure(family: Family, text: str, rounds: int = 1) -> Cost:
    """Read, split and divide a text `rounds` times; each step's time is its smallest. Proves the tree.

    Without garbage collection: what that costs depends on everything else that lives in the process.
    """
    seconds = dict.fromkeys(STEPS, float("inf"))
    clock = time.process_time
    was_enabled = gc.isenabled()
    for _ in range(rounds):
        gc.disable()
        try:
            marks = [clock()]
            result = read_wikitext("T", text, SITE)
            marks.append(clock())
            sentences = split_nodes(result.nodes, "en")
            marks.append(clock())
            make_passages(result.nodes, sentences, 100)
            marks.append(clock())
        finally:
            if was_enabled:
                gc.enable()
        for step, begin, end in zip(STEPS, marks, marks[1:], strict=False):
            seconds[step] = min(seconds[step], end - begin)
    check_tree("T", result.nodes)
    return Cost(seconds, result, *compare_words(family, text, result))


def compare_words(family: Family, text: str, result: ReadResult) -> tuple[int, int]:
    """(words that the tree lacks, words that it has twice or should not have)."""
    if not family.keeps:
        return 0, 0
    expected = Counter(word for word in _WORD.findall(text) if word[0] == "w")
    # A word in a superscript is written with raised characters.
    found = Counter(word for node in result.nodes
                    for word in _WORD.findall(unicodedata.normalize("NFKC", node.text)))
    return (expected - found).total(), (found - expected).total()


def growth(small: Cost, large: Cost, n_doublings: int, floor_s: float = FLOOR_S) -> dict[str, float]:
    """By which factor each step's time grew per doubling."""
    return {step: (max(large.seconds[step], floor_s) / max(small.seconds[step], floor_s)) ** (1 / n_doublings)
            for step in STEPS}


def peak_bytes(text: str) -> int:
    """Memory that Python allocated at most while the reader read a text."""
    tracemalloc.start()
    try:
        read_wikitext("T", text, SITE)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
