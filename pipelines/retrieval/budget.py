"""The token budget: which pieces of a method become the context, and the context itself.

One rule for all methods (docs/evaluation.md): pieces in the method's own order; one that does not fit is
skipped; after three skips in total packing stops; a first piece that is too large is cut at its last
fitting sentence. The cost is the length of the final rendered context, titles and headings included,
counted on the whole text, so that the sum never differs from what a reader gets.

What belongs here: choosing, cutting and rendering. What does not: ranking (`methods/`) and how a block
looks (`documents/render.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pipelines.documents.citation import Citation, cite
from pipelines.documents.render import Range, Rendering, render_context, render_plain
from pipelines.documents.tree import Document, Sentence
from pipelines.errors import shortened
from pipelines.methods.base import Piece

MAX_SKIPS = 3
READ_AHEAD_DOCUMENTS = 8
DOCUMENT_SEPARATOR = "\n\n"
_BORDER_TOKENS = 4
"""By how much the tokens of two texts joined can differ from the sum of their own, at most: a byte-level
tokenizer splits at white space first, so that only the words at the border change."""


class PackingCorpus(Protocol):
    """What packing reads of a corpus."""

    def documents(self, doc_ids: Sequence[str]) -> dict[str, Document]:
        """Several trees in one read."""

    def sentences(self, doc_id: str) -> Sequence[Sentence]:
        """Its sentences, by sentence_id."""

    def count_tokens(self, text: str) -> int:
        """Length of a text by the token counter."""


@dataclass(frozen=True, repr=False)
class Evidence:
    """What the context shows of one document, in document order, overlaps merged.

    text: own words in plain form. score: that of its best piece.
    """

    doc_id: str
    title: str
    citations: tuple[Citation, ...]
    text: str
    score: float

    def __repr__(self) -> str:
        return f"<Evidence {self.doc_id} {shortened(self.title)!r}, {len(self.citations)} citations: " \
               f"{shortened(self.text)!r}>"

    @property
    def paths(self) -> list[list[int]]:
        """Paths of the cited nodes, each once, in document order."""
        return [list(path) for path in dict.fromkeys(citation.path for citation in self.citations)]

    def to_json(self) -> dict[str, Any]:
        """The item of `ask --json`."""
        return {"doc_id": self.doc_id, "title": self.title, "paths": self.paths,
                "citations": [{"uri": citation.uri, "quote": citation.quote} for citation in self.citations],
                "text": self.text, "score": round(self.score, 6)}


@dataclass(frozen=True, repr=False)
class Context:
    """The packed context: its text, its length, and what it shows of which documents."""

    text: str
    n_tokens: int
    evidence: tuple[Evidence, ...]
    n_taken: int
    n_skipped: int
    is_cut: bool
    """The first piece was too large and was cut."""
    pieces: tuple[Piece, ...] = ()
    """The pieces that are shown, in the method's order: what ranking metrics rank."""

    def __repr__(self) -> str:
        return f"<Context of {self.n_tokens} tokens, {len(self.evidence)} documents: {shortened(self.text)!r}>"


def pack(pieces: Sequence[Piece], corpus: PackingCorpus, budget_tokens: int) -> Context:
    """Fill a context of at most `budget_tokens` with pieces, in their order.

    Raises ValueError for a budget below 1.
    """
    if budget_tokens < 1:
        raise ValueError(f"budget of {budget_tokens} tokens")
    packer = _Packer(corpus, budget_tokens, [piece.doc_id for piece in pieces])
    taken: list[Piece] = []
    n_skipped, is_cut = 0, False
    for place, piece in enumerate(pieces):
        if not _adds_words(piece, taken):
            continue
        if packer.fits([*taken, piece]):
            taken.append(piece)
            continue
        if place == 0 and (shorter := packer.cut(piece)) is not None:
            taken.append(shorter)
            is_cut = True
            continue
        n_skipped += 1
        if n_skipped == MAX_SKIPS:
            break
    return packer.finish(taken, n_skipped, is_cut)


def _adds_words(piece: Piece, taken: Sequence[Piece]) -> bool:
    """Whether a piece has words that are not evidence yet: one that only repeats others is skipped, free."""
    shown = {piece_range for other in taken if other.doc_id == piece.doc_id for piece_range in other.ranges}
    return any(begin < end and (node_id, begin, end) not in shown for node_id, begin, end in piece.ranges)


class _Packer:
    """Renders and counts candidate contexts; remembers the blocks that it rendered before.

    doc_ids: the documents in the order in which they will be needed.
    """

    def __init__(self, corpus: PackingCorpus, budget_tokens: int, doc_ids: Sequence[str]) -> None:
        self._corpus, self._budget_tokens = corpus, budget_tokens
        self._waiting = list(dict.fromkeys(doc_ids))
        self._documents: dict[str, Document] = {}
        self._renderings: dict[tuple[str, str, tuple[Range, ...]], Rendering] = {}
        self._counts: dict[str, int] = {}

    def fits(self, pieces: Sequence[Piece]) -> bool:
        texts = [rendering.text for _, rendering in self._blocks(pieces)]
        estimate = sum(map(self._count, texts))
        slack = _BORDER_TOKENS * (len(texts) - 1)
        if estimate + slack <= self._budget_tokens:
            return True
        if estimate - slack > self._budget_tokens:
            return False
        return self._corpus.count_tokens(DOCUMENT_SEPARATOR.join(texts)) <= self._budget_tokens

    def cut(self, piece: Piece) -> Piece | None:
        """The piece up to its last sentence that fits; None when not even the first does."""
        prefixes = _sentence_prefixes(piece, self._corpus.sentences(piece.doc_id))
        for candidate in (piece, replace(piece, context=())):
            low, high = 0, len(prefixes)
            while low < high:
                middle = (low + high + 1) // 2
                if self.fits([replace(candidate, ranges=prefixes[middle - 1])]):
                    low = middle
                else:
                    high = middle - 1
            if low:
                return replace(candidate, ranges=prefixes[low - 1])
        return None

    def finish(self, taken: Sequence[Piece], n_skipped: int, is_cut: bool) -> Context:
        text = DOCUMENT_SEPARATOR.join(rendering.text for _, rendering in self._blocks(taken))
        by_document: dict[str, list[Piece]] = {}
        for piece in taken:
            by_document.setdefault(piece.doc_id, []).append(piece)
        return Context(text, self._corpus.count_tokens(text) if text else 0,
                       tuple(self._evidence(doc_id, pieces) for doc_id, pieces in by_document.items()),
                       len(taken), n_skipped, is_cut, tuple(taken))

    def _blocks(self, pieces: Sequence[Piece]) -> list[tuple[str, Rendering]]:
        """The blocks of the context: a passage each, a document's subdocument as one; by first piece."""
        groups: dict[Any, list[Piece]] = {}
        for place, piece in enumerate(pieces):
            key = place if piece.layout == "passage" else piece.doc_id
            groups.setdefault(key, []).append(piece)
        return [(group[0].doc_id, self._render(group)) for group in groups.values()]

    def _document(self, doc_id: str) -> Document:
        if doc_id not in self._documents:
            # A read of several costs hardly more than a read of one; most pieces are never reached.
            place = self._waiting.index(doc_id)
            self._documents |= self._corpus.documents(self._waiting[place: place + READ_AHEAD_DOCUMENTS])
        return self._documents[doc_id]

    def _render(self, group: Sequence[Piece]) -> Rendering:
        first = group[0]
        ranges = tuple(dict.fromkeys(r for piece in group for r in (*piece.context, *piece.ranges)))
        key = (first.doc_id, first.layout, ranges)
        if key not in self._renderings:
            self._renderings[key] = render_context(self._document(first.doc_id), ranges,
                                                   headings=first.layout == "subdocument")
        return self._renderings[key]

    def _count(self, text: str) -> int:
        if text not in self._counts:
            self._counts[text] = self._corpus.count_tokens(text)
        return self._counts[text]

    def _evidence(self, doc_id: str, pieces: Sequence[Piece]) -> Evidence:
        document = self._document(doc_id)
        ranges = [r for piece in pieces for r in piece.ranges]
        plain = render_plain(document, [*ranges, *(r for piece in pieces for r in piece.context)])
        return Evidence(doc_id, document.title, tuple(cite(document, ranges)), plain.text,
                        max(piece.score for piece in pieces))


def _sentence_prefixes(piece: Piece, sentences: Sequence[Sentence]) -> list[tuple[Range, ...]]:
    """The ranges of a piece up to the end of each of its sentences, shortest first."""
    prefixes: list[tuple[Range, ...]] = []
    before: list[Range] = []
    for node_id, begin, end in sorted(piece.ranges):
        ends = [min(sentence.end, end) for sentence in sentences
                if sentence.node_id == node_id and begin < sentence.end and sentence.begin < end]
        prefixes += [(*before, (node_id, begin, sentence_end)) for sentence_end in ends]
        before.append((node_id, begin, end))
    return prefixes
