"""Where blocks stand in the source: lines of the prepared text → byte spans of the wikitext.

What belongs here: the bookkeeping that lets every step cut text without losing track of its lines.
"""

from __future__ import annotations

from itertools import accumulate


class LineMap:
    """Line numbers of the prepared text → byte spans of the wikitext."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._cuts: list[tuple[int, int]] = []
        self._begins: list[int] = []
        self._ends: list[int] = []

    def cut(self, line: int, n_newlines: int) -> None:
        """Note that in or behind the prepared line `line` the source has `n_newlines` more than it."""
        self._cuts.append((line, n_newlines))

    def span(self, first: int, last: int) -> str:
        """`begin-end` in UTF-8 bytes of the source: from line `first` to the end of line `last`."""
        if not self._ends:
            self._measure()
        top = len(self._ends) - 1
        return f"{self._begins[first if first < top else top]}-{self._ends[last if last < top else top]}"

    def _measure(self) -> None:
        source = self.source
        lines = source.split("\n")
        sizes = [len(line) if source.isascii() else len(line.encode("utf-8", "replace")) for line in lines]
        starts = [0, *accumulate(size + 1 for size in sizes)]
        begins, ends = starts[:-1], [start - 1 for start in starts[1:]]
        # A line that swallowed others begins where its first did and ends where its last did.
        for line, n_newlines in reversed(self._cuts):
            del begins[line + 1:line + 1 + n_newlines]
            del ends[line:line + n_newlines]
        self._begins, self._ends = begins, ends or [0]
