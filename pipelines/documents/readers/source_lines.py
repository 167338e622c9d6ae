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
        try:
            return f"{self._begins[first]}-{self._ends[last]}"
        except IndexError:
            if not self._ends:
                self._measure()
            top = min(len(self._begins), len(self._ends)) - 1
            return f"{self._begins[min(first, top)]}-{self._ends[min(last, top)]}"

    def _measure(self) -> None:
        sizes = map(len, self.source.encode("utf-8", "replace").split(b"\n"))
        # Each line begins behind the newline of the one before, and ends before its own.
        begins = [0, *accumulate(map((1).__add__, sizes))]
        ends = list(map((-1).__add__, begins[1:]))
        del begins[-1]
        swallowed: dict[int, int] = {}
        for line, n_newlines in self._cuts:
            swallowed[line] = swallowed.get(line, 0) + n_newlines
        at = n_done = 0
        for line, n_newlines in sorted(swallowed.items()):
            # A line that swallowed others begins where its first did and ends where its last did.
            same = line - n_done
            self._begins += begins[at:at + same + 1]
            self._ends += ends[at:at + same]
            at += same + n_newlines
            self._ends += ends[at:at + 1]
            at, n_done = at + 1, line + 1
        self._begins += begins[at:]
        self._ends += ends[at:]
        if not self._ends:
            self._begins, self._ends = [0], [0]
