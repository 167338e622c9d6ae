"""Aligning a passage of another file with the nodes of a document (RDR², section on retrieval).

Passages that are cut from our own trees know their nodes. Those of a foreign file (DPR's 100-word passages,
gold contexts of a data set) are found here: a vote of shared k-grams says in which windows of the text a
passage may stand (`align_text.py`), an exact edit distance where in the window and how well
(`align_search.py`). If no window is good enough the whole text is searched, so that a passage is missed only
if it is nowhere. A foreign file may lack headings, tables or lists: the text is read with and without them,
and the reading with the fewest edits is taken.

What belongs here: one passage and one document. What does not: files of passages and what is reported
(`foreign_passages.py`, `align_corpus.py`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, takewhile

import numpy as np

from pipelines.documents.render import Range
from pipelines.documents.tree import Document
from pipelines.evaluation.normalise import normalise_quote
from pipelines.retrieval.align_search import Place, best_places, matched, with_best_borders
from pipelines.retrieval.align_text import GRAM_CHARACTERS, Codes, DocumentText, Flags, Reading, code_points

MIN_SCORE = 0.75
"""Default threshold: a passage of the page scores 0.9 and more, one of another page about 0.5."""
LEAST_MATCHED = 0.6
"""A node is lit when at least this share of its characters in the aligned range are the passage's."""


@dataclass(frozen=True)
class Alignment:
    """Where a passage stands in a document.

    score: 1 - edits / length of the passage, both in letters and digits. ranges: of the document's visible
    text, in code points, where the passage stands; two when it goes on at the document's beginning. pieces:
    the characters of content nodes that it lights, in document order; headings, and what the foreign file
    left out, are never among them. n_places: equally good places in the document, of which this is one.
    """

    score: float
    ranges: tuple[tuple[int, int], ...] = ()
    pieces: tuple[Range, ...] = ()
    n_places: int = 0

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The content nodes that it lights, ascending."""
        return tuple(dict.fromkeys(node_id for node_id, _, _ in self.pieces))


class Aligner:
    """Finds passages in one document; what is made of its text is made once."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def _text(self) -> DocumentText:
        return DocumentText(self.document)

    def align(self, passage: str, min_score: float = MIN_SCORE, after: int = 0) -> Alignment:
        """The best place of a passage: the fewest edits, then uncut words, then the first.

        after: a place of the visible text; of equally good places the first from there on is taken if there
        is one, as the passages of a file follow each other. A place with a score below `min_score` is given
        by its score alone, which is 0 where nothing at all was met: no letter or digit, no k-gram in common.
        """
        wanted = code_points(normalise_quote(passage))
        if not len(wanted) or not len(self._text.codes):
            return Alignment(0.0)
        allowed = int((1 - min_score) * len(wanted) + 1e-9)
        places = self._search(wanted, allowed)
        if not places:
            return Alignment(0.0)
        least_cut = min(place.n_cut_words for place in places)
        places = [place for place in places if place.n_cut_words == least_cut]
        behind = [place for place in places if self._text.begins[place.origins[0]] >= after]
        place = with_best_borders((behind or places)[0], wanted)
        n_more_edits, flags = matched(place, wanted)
        score = 1 - (place.n_edits + n_more_edits) / len(wanted)
        if place.n_edits + n_more_edits > allowed:
            return Alignment(max(0.0, score))
        stretches = self._stretches(place, passage)
        return Alignment(score, tuple((begin, end) for begin, end, _ in stretches),
                         tuple(self._pieces(place, flags, stretches)), len(places))

    def _search(self, wanted: Codes, allowed: int) -> list[Place]:
        """The places with the fewest edits, in windows, else anywhere; none when nothing is shared."""
        best: list[Place] = []
        shared = self._text.shared_grams(wanted)
        for reading in self._text.readings:
            if not best or not (best[0].n_edits == 0 or _reads_same(reading, best[0])):
                best = _better(best, best_places(reading, wanted, reading.windows(len(wanted), shared, allowed)))
        for reading in self._text.readings:
            if not best or best[0].n_edits > allowed:
                best = _better(best, best_places(reading, wanted, [reading.whole(len(wanted))], allowed))
        return best

    def _stretches(self, place: Place, passage: str) -> list[tuple[int, int, slice]]:
        """Begin and end in the visible text of each run of ascending characters, and the run."""
        origins, text = place.origins, self._text
        starts = [0, *(np.flatnonzero(np.diff(origins) < 0) + 1).tolist(), len(origins)]
        found = []
        for start, stop in pairwise(starts):
            begin, end = int(text.begins[origins[start]]), int(text.ends[origins[stop - 1]])
            # Where the passage goes on at the document's beginning, nothing of the two nodes is cut off.
            begin = (_taking_marks(text.visible, begin, _marks_before(passage), -1) if start == 0
                     else text.nodes[text.node_places[origins[start]]].begin)
            end = (_taking_marks(text.visible, end, _marks_before(passage[::-1]), 1) if stop == len(origins)
                   else text.nodes[text.node_places[origins[stop - 1]]].end)
            found.append((begin, end, slice(start, stop)))
        return found

    def _pieces(self, place: Place, flags: Flags, stretches: list[tuple[int, int, slice]]) -> list[Range]:
        """The content nodes' characters in the stretches, of nodes that are matched well enough."""
        pieces: list[Range] = []
        node_places = self._text.node_places[place.origins]
        for begin, end, run in stretches:
            borders = np.flatnonzero(np.diff(node_places[run])) + 1
            for part in np.split(np.arange(run.start, run.stop), borders):
                node = self._text.nodes[node_places[part[0]]]
                if not node.is_structure and flags[part].mean() >= LEAST_MATCHED:
                    pieces.append((node.node_id, max(begin, node.begin) - node.begin,
                                   min(end, node.end) - node.begin))
        return sorted(pieces)


def _better(best: list[Place], places: list[Place]) -> list[Place]:
    return places if places and (not best or places[0].n_edits < best[0].n_edits) else best


def _reads_same(reading: Reading, place: Place) -> bool:
    """Whether the reading leaves out nothing at a place: a passage goes on behind what a file left out."""
    origins = place.origins
    return reading.reads_all(int(origins.min()) - GRAM_CHARACTERS, int(origins.max()) + GRAM_CHARACTERS)


def _marks_before(passage: str) -> list[str]:
    """Punctuation and signs before the first letter or digit, the nearest to it first.

    Accents and vowel signs belong to their letter, which has them already.
    """
    return [mark for mark in takewhile(lambda character: not character.isalnum(), passage)
            if not mark.isspace() and not unicodedata.category(mark).startswith("M")][::-1]


def _taking_marks(text: str, place: int, marks: Iterable[str], step: int) -> int:
    """A border moved outwards over the marks that the passage has there too. step: -1 before, 1 behind."""
    for mark in marks:
        at = place if step > 0 else place - 1
        while 0 <= at < len(text) and text[at] == " ":
            at += step
        if not (0 <= at < len(text) and _folded(text[at]) == _folded(mark)):
            break
        place = at + 1 if step > 0 else at
    return place


def _folded(mark: str) -> str:
    return unicodedata.normalize("NFKC", mark)
