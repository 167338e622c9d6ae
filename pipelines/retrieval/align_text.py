"""A document's text as passages of other files are searched in it: letters and digits, in several readings.

What belongs here: the normal form with its way back to the visible text, what a foreign file may have left
out of the document, and the windows in which a passage may stand, by a vote of shared k-grams. What does
not: edit distance and nodes (`align.py`). The normal form is that of quotes (NFKC, casefold, letters and
digits only): spaces and punctuation are where plain-text extractors differ most.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from pipelines.documents.tree import Document, Node
from pipelines.evaluation.normalise import QuotedText

WHOLE_BELOW = 16_384
"""Texts with fewer letters and digits are searched whole: that is exact, and no slower than a vote."""
GRAM_CHARACTERS = 8
COMMON_GRAM = 64
"""A k-gram with more places in a document says nothing about where a passage stands."""
MOST_WINDOWS = 8
_FEWEST_VOTES = 0.5
"""Windows with a smaller share of the best window's votes are not looked at."""

Codes = np.ndarray[Any, np.dtype[np.uint32]]
Places = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Shared = tuple[Places, Places]
"""Of each shared k-gram, its place in a document's normal form and its place in a passage: (n,) and (n,)."""


def code_points(normalised: str) -> Codes:
    """The characters as numbers, (n,)."""
    return np.frombuffer(normalised.encode("utf-32-le"), np.uint32)


class DocumentText:
    """The normal form of a document's visible text, with the node of every character.

    `codes`: (n,) its characters. `begins`, `ends`: (n,) ranges of the visible text that they came from.
    `nodes`: the nodes with a text of their own; `node_places`: (n,) indices into them.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.visible = document.visible_text()
        quoted = QuotedText(self.visible)
        self.codes = code_points(quoted.normalised)
        self.begins: Places = np.array(quoted.begins, np.int64)
        self.ends: Places = np.array(quoted.ends, np.int64)
        self.nodes: list[Node] = [node for node in document if node.text]
        node_begins = np.array([node.begin for node in self.nodes], np.int64)
        self.node_places: Places = np.searchsorted(node_begins, self.begins, side="right") - 1

    @cached_property
    def readings(self) -> list[Reading]:
        """The whole text first, then what remains without headings, boxes (tables, figures, quotations), lists.

        The title is in all of them: files often put it before an article's text.
        """
        headings = np.array([node.is_structure and node.node_id > 0 for node in self.nodes], bool)
        boxes, lists = self._inside("table", "figure", "blockquote"), self._inside("ul", "ol", "dl")
        found: list[Reading] = []
        for left_out in (headings & False, headings, boxes, headings | boxes, boxes | lists,
                         headings | boxes | lists):
            if not any(np.array_equal(left_out, other.left_out) for other in found):
                found.append(Reading(self, left_out))
        return found

    def _inside(self, *tags: str) -> Flags:
        """(n_nodes,) whether a node of the text stands below one with such a tag."""
        inside: list[bool] = []
        for node in self.document:
            parent_id = node.parent_id
            inside.append(parent_id is not None
                          and (inside[parent_id] or self.document[parent_id].tag in tags))
        return np.array([inside[node.node_id] for node in self.nodes], bool)

    @cached_property
    def _grams(self) -> tuple[Places, Any]:
        """Places of the k-grams in the order of their hashes, and these."""
        hashes = _gram_hashes(self.codes)
        order: Places = np.argsort(hashes, kind="stable")
        return order, hashes[order]

    def shared_grams(self, passage: Codes) -> Shared:
        """The k-grams that the text and a passage share, common ones left out.

        Nothing is looked up for a text that is searched whole.
        """
        if len(self.codes) < WHOLE_BELOW:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        order, sorted_hashes = self._grams
        hashes = _gram_hashes(passage)
        first = np.searchsorted(sorted_hashes, hashes, side="left")
        n_places = np.searchsorted(sorted_hashes, hashes, side="right") - first
        n_places[n_places > COMMON_GRAM] = 0
        in_passage = np.repeat(np.arange(len(hashes)), n_places)
        before = np.cumsum(n_places) - n_places
        return order[np.repeat(first - before, n_places) + np.arange(len(in_passage))], in_passage

    def has_border_at(self, visible_place: int) -> bool:
        """Whether no word runs across a place of the visible text.

        Only scripts with case, and digits, are looked at: those write their words apart.
        """
        if not 0 < visible_place < len(self.visible):
            return True
        return not (_is_in_cased_word(self.visible[visible_place - 1])
                    and _is_in_cased_word(self.visible[visible_place]))


class Reading:
    """What remains of a document's text when some nodes are left out.

    `left_out`: (n_nodes,) flags of the text's nodes. `codes`: (n_read,) the characters. `origins`: (n_read,)
    their places in the document's normal form.
    """

    def __init__(self, text: DocumentText, left_out: Flags) -> None:
        self.text, self.left_out = text, left_out

    @cached_property
    def origins(self) -> Places:
        return np.flatnonzero(~self.left_out[self.text.node_places])

    @cached_property
    def codes(self) -> Codes:
        return self.text.codes[self.origins]

    def __len__(self) -> int:
        return len(self.origins)

    @cached_property
    def _places(self) -> Places:
        """(n,) for each character of the document its place here; -1 when it is left out."""
        places = np.full(len(self.text.codes), -1, np.int64)
        places[self.origins] = np.arange(len(self.origins))
        return places

    def reads_all(self, first: int, last: int) -> bool:
        """Whether nothing is left out between two places of the document's normal form."""
        return bool((self._places[max(0, first): last + 1] >= 0).all())

    def windows(self, length: int, shared: Shared, slack: int) -> Iterator[Places]:
        """Places, in reading order, among which a passage may stand with at most `slack` edits.

        length: of the passage. shared: `DocumentText.shared_grams` of it.

        A bucket of diagonals (place here minus place in the passage) with many shared k-grams is a window;
        that with the most votes comes first, equal ones in reading order. A text goes on with its beginning
        behind its end: files whose passages all have one length may fill up the last one so.
        """
        n_read = len(self)
        if n_read < WHOLE_BELOW or length + slack >= n_read or length < GRAM_CHARACTERS:
            yield self.whole(length)
            return
        in_document, in_passage = shared
        here = self._places[in_document]
        diagonals = (here - in_passage)[here >= 0] % n_read
        width = max(GRAM_CHARACTERS, length // 4)
        n_buckets = -(-n_read // width)
        votes = np.bincount(diagonals // width, minlength=n_buckets)
        # Two neighbours count together: the diagonals of one place may lie on either side of a border.
        votes = votes + np.roll(votes, -1)
        taken: list[int] = []
        for bucket in np.argsort(-votes, kind="stable"):
            if len(taken) == MOST_WINDOWS or votes[bucket] <= _FEWEST_VOTES * votes.max():
                return
            if any((bucket - other) % n_buckets in (0, 1, n_buckets - 1) for other in taken):
                continue
            taken.append(int(bucket))
            n_places = length + 2 * width + 2 * slack
            if n_places >= n_read:
                yield self.whole(length)
                return
            yield (bucket * width - slack + np.arange(n_places)) % n_read

    def whole(self, length: int) -> Places:
        """All places in order, and again the first `length` when the text is longer than that."""
        n_read = len(self)
        return np.arange(n_read + length if length < n_read else n_read) % max(n_read, 1)


def _gram_hashes(codes: Codes) -> Any:
    """Hashes of all runs of GRAM_CHARACTERS characters, (n - GRAM_CHARACTERS + 1,)."""
    n_grams = max(0, len(codes) - GRAM_CHARACTERS + 1)
    hashes = np.zeros(n_grams, np.uint64)
    for place in range(GRAM_CHARACTERS):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + codes[place: place + n_grams]
    return hashes


@lru_cache(maxsize=4096)
def _is_in_cased_word(character: str) -> bool:
    return unicodedata.category(character) in ("Lu", "Ll", "Lt", "Mn", "Nd")
