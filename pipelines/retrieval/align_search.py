"""The exact part of aligning a passage: edit distance in windows of a text, and the borders of the match.

What belongs here: calls of edlib, equally good places, and which characters matched. What does not: which
windows and readings are searched (`align_text.py`, `align.py`). Edit distance leaves the borders of a noisy
match open, for a changed first letter costs as much as a missing one: of equally good borders one that cuts
no word is taken, and a word that is cut in a noisy match is completed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import edlib
import numpy as np

from pipelines.retrieval.align_text import Codes, Flags, Places, Reading

OWN_SYMBOLS = 254
"""edlib tells 256 symbols apart: these of the passage, its rarer ones as one, all others as one."""
_RARE, _OTHER = 254, 255
_CIGAR = re.compile(r"(\d+)([=XID])")


class Place(NamedTuple):
    """Where a passage was found: `window[first:last + 1]` are places of the reading, in the passage's order."""

    reading: Reading
    window: Places
    first: int
    last: int
    n_edits: int

    @property
    def origins(self) -> Places:
        """The characters as places of the document's normal form."""
        return self.reading.origins[self.window[self.first: self.last + 1]]

    @property
    def n_cut_words(self) -> int:
        """How many of its two borders, 0 to 2, lie within a word."""
        return self._cuts(self.first, before=True) + self._cuts(self.last, before=False)

    def _cuts(self, place: int, *, before: bool) -> bool:
        text, origin = self.reading.text, self.reading.origins[self.window[place]]
        return not text.has_border_at(int(text.begins[origin] if before else text.ends[origin]))


def best_places(reading: Reading, passage: Codes, windows: Iterable[Places], most_edits: int = -1
                ) -> list[Place]:
    """The places with the fewest edits in any window, in the order of the document; each once.

    most_edits: places with more are not looked for; -1 for any number. A place that shares no character
    with the passage is none.
    """
    found: dict[int, Place] = {}
    for window in windows:
        for place in _places_in(reading, passage, window, most_edits):
            least = min((other.n_edits for other in found.values()), default=place.n_edits)
            if place.n_edits < least:
                found.clear()
            if place.n_edits <= least:
                found.setdefault(int(window[place.last]), place)
    return sorted(found.values(), key=lambda place: int(place.origins[0]))


def _places_in(reading: Reading, passage: Codes, window: Places, most_edits: int) -> list[Place]:
    if not len(window):
        return []
    query, target = _as_symbols(passage, reading.codes[window])
    result = edlib.align(query, target, mode="HW", task="locations", k=most_edits)
    n_edits = result["editDistance"]
    if not 0 <= n_edits < len(passage):
        return []
    groups: list[list[Place]] = []
    for first, last in result["locations"]:
        place = Place(reading, window, first, last, n_edits)
        if groups and last - groups[-1][-1].last <= len(passage) // 2:
            groups[-1].append(place)
        else:
            groups.append([place])
    return [min(group, key=lambda place: _looseness(place, passage)) for group in groups]


def _looseness(place: Place, passage: Codes) -> tuple[int, int, int]:
    return place.n_cut_words, abs(place.last + 1 - place.first - len(passage)), place.last


def with_best_borders(place: Place, passage: Codes) -> Place:
    """The same place with its borders at words, as far as its edits leave them open.

    An exact match stays as it is, even within a word.
    """
    if place.n_edits == 0:
        return place
    farthest = max(0, place.last + 1 - len(passage) - place.n_edits)
    query, target = _as_symbols(passage[::-1], place.reading.codes[place.window[farthest: place.last + 1]][::-1])
    ends = edlib.align(query, target, mode="SHW", task="distance")["locations"]
    starts = [place._replace(first=place.last - end) for _, end in ends if end is not None and end >= 0]
    place = min(starts or [place], key=lambda start: _looseness(start, passage))
    first, last = place.first, place.last
    while first > 0 and place.first - first < place.n_edits and place._cuts(first, before=True):
        first -= 1
    while last + 1 < len(place.window) and last - place.last < place.n_edits and place._cuts(last, before=False):
        last += 1
    return place._replace(first=first, last=last)


def matched(place: Place, passage: Codes) -> tuple[int, Flags]:
    """Edits that the search did not see, and for each character of the place whether the passage has it.

    Edits stay unseen only in a passage of more than OWN_SYMBOLS different characters, whose rarer ones were
    searched as one.
    """
    here = place.reading.codes[place.window[place.first: place.last + 1]]
    result = edlib.align(*_as_symbols(passage, here), mode="NW", task="path")
    runs = _CIGAR.findall(result["cigar"])
    operations = np.repeat([operation for _, operation in runs], [int(count) for count, _ in runs])
    is_equal, is_in_passage, is_in_place = operations == "=", operations != "D", operations != "I"
    flags: Flags = is_equal[is_in_place]
    same = passage[is_equal[is_in_passage]] == here[flags]
    flags[flags] = same
    return int((~same).sum()), flags


def _as_symbols(passage: Codes, target: Codes) -> tuple[bytes, bytes]:
    """Both as bytes in which equal characters of the passage are equal; the target's others are one more."""
    if max(passage.max(), target.max()) < 256:
        return passage.astype(np.uint8).tobytes(), target.astype(np.uint8).tobytes()
    alphabet, counts = np.unique(passage, return_counts=True)
    symbols = np.full(len(alphabet), _RARE, np.uint8)
    frequent = np.argsort(-counts, kind="stable")[:OWN_SYMBOLS]
    symbols[frequent] = np.arange(len(frequent))
    at = np.minimum(np.searchsorted(alphabet, target), len(alphabet) - 1)
    return (symbols[np.searchsorted(alphabet, passage)].tobytes(),
            np.where(alphabet[at] == target, symbols[at], np.uint8(_OTHER)).astype(np.uint8).tobytes())
