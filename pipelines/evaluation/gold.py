"""Where gold quotes stand in the corpus: the sections that are relevant to a question.

What belongs here: the *relevance unit* of the ranking metrics and of the section diagnostics, which is a
**section**, i.e. the nearest structure node (heading or title) above a text, written `doc_id#/path`. It is
the finest unit that every method can be ranked on, whatever it indexes. A section is relevant when a gold
quote, found in the document with its title by the quote rule, touches it. What does not: scores.

A quote that the corpus does not hold (no document with its title, or other words) stays relevant under
an id of its own that nothing retrieves, so that it counts as missed, and is reported.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.documents.tree import Document
from pipelines.evaluation.datasets import GoldEvidence, Question
from pipelines.evaluation.normalise import QuotedText, normalise_quote, normalise_title
from pipelines.evaluation.predictions import Prediction

MISSING_PREFIX = "not-in-corpus"
_KEPT_TEXTS = 64


@dataclass(frozen=True)
class LocatedQuote:
    """A gold quote with the sections that it touches, each with the tokens of it that stand there.

    `problem` says why it is nowhere: `no_document` or `not_in_text`; None where it was found.
    """

    gold: GoldEvidence
    tokens_by_section: Mapping[str, int]
    problem: str | None


def section_id(document: Document, node_id: int) -> str:
    """`doc_id#/path` of the nearest structure node at or above a node."""
    section = document.section_of(node_id)
    return f"{document.doc_id}#/{'/'.join(map(str, section.path))}"


class GoldLocator:
    """Finds gold quotes in trees; keeps the normalised text of the last documents it has seen.

    ids_by_title: doc_ids of the documents with a title, by `normalise_title` of it.
    """

    def __init__(self, ids_by_title: Mapping[str, Sequence[str]], documents: Mapping[str, Document],
                 count_tokens: Callable[[str], int]) -> None:
        self._ids_by_title, self._documents, self._count_tokens = ids_by_title, documents, count_tokens
        self._texts: dict[str, _DocumentText] = {}

    def locate(self, question: Question) -> tuple[LocatedQuote, ...]:
        """Every gold quote of a question, in its order."""
        return tuple(self._locate(gold) for gold in question.evidence)

    def nodes(self, question: Question) -> dict[str, set[int]]:
        """The content nodes that hold gold quotes of a question, by doc_id; documents without one are left out.

        Of a quote within one node, all nodes that hold it; of a longer one, the nodes of its first occurrence.
        """
        found: dict[str, set[int]] = {}
        for gold in question.evidence:
            for doc_id in self._ids_by_title.get(normalise_title(gold.title), ()):
                if nodes := self._text_of(doc_id).nodes_of(normalise_quote(gold.quote)):
                    found.setdefault(doc_id, set()).update(nodes)
        return found

    def _locate(self, gold: GoldEvidence) -> LocatedQuote:
        wanted = normalise_quote(gold.quote)
        problem = "no_document"
        for doc_id in self._ids_by_title.get(normalise_title(gold.title), ()):
            sections = self._text_of(doc_id).sections_of(wanted)
            if sections:
                return LocatedQuote(
                    gold, {name: max(1, self._count_tokens(text)) for name, text in sections.items()}, None)
            problem = "not_in_text"
        return LocatedQuote(gold, {}, problem)

    def _text_of(self, doc_id: str) -> _DocumentText:
        text = self._texts.pop(doc_id, None) or _DocumentText(self._documents[doc_id])
        self._texts[doc_id] = text  # The last used stands last.
        if len(self._texts) > _KEPT_TEXTS:
            del self._texts[next(iter(self._texts))]
        return text


class _DocumentText:
    """Content text of a document, normalised, with the section of every place."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._nodes = [node for node in document if node.text and not node.is_structure]
        self._begins: list[int] = []
        cursor = 0
        for node in self._nodes:
            self._begins.append(cursor)
            cursor += len(node.text) + 1
        self._text = QuotedText("\n".join(node.text for node in self._nodes))

    def sections_of(self, normalised_quote: str) -> dict[str, str]:
        """Sections that the first occurrence touches, each with its words there; empty when there is none."""
        sections: dict[str, str] = {}
        for node_id, words in self._touched(normalised_quote):
            name = section_id(self._document, node_id)
            sections[name] = f"{sections[name]}\n{words}" if name in sections else words
        return sections

    def nodes_of(self, normalised_quote: str) -> set[int]:
        """Nodes of the first occurrence; where that is within one node, all that hold the quote."""
        first = {node_id for node_id, words in self._touched(normalised_quote) if normalise_quote(words)}
        if len(first) == 1:
            first |= {node.node_id for node in self._nodes if normalised_quote in normalise_quote(node.text)}
        return first

    def _touched(self, normalised_quote: str) -> Iterator[tuple[int, str]]:
        """The nodes that the first occurrence touches, each with its words there."""
        place = self._text.find(normalised_quote)
        if place is None:
            return
        for index in range(bisect_right(self._begins, place[0]) - 1, len(self._nodes)):
            node, begin = self._nodes[index], self._begins[index]
            if begin >= place[1]:
                break
            yield node.node_id, node.text[max(0, place[0] - begin): place[1] - begin]


def relevant_sections(quotes: Sequence[LocatedQuote]) -> set[str]:
    """Ids of the relevant sections; a quote that is nowhere gives an id of its own."""
    relevant: set[str] = set()
    for number, quote in enumerate(quotes):
        relevant |= set(quote.tokens_by_section) or {f"{MISSING_PREFIX}#{number}"}
    return relevant


def shown_sections(prediction: Prediction, documents: Mapping[str, Document]
                   ) -> Iterator[tuple[str, str, float]]:
    """(section, words, relevance score) of all that the context shows, in the method's order.

    Without pieces the citations stand in, in the order of the evidence. Raises KeyError for a document or
    a node that `documents` does not hold.
    """
    for piece in prediction.pieces:
        document = documents[piece.doc_id]
        for node_id, begin, end in piece.ranges:
            node = document[node_id]
            yield section_id(document, node_id), node.text[begin:end], piece.score
    if not prediction.pieces:
        for entry in prediction.evidence:
            for citation in entry.citations:
                document = documents[entry.doc_id]
                section = section_id(document, document.at(citation.path).node_id)
                yield section, citation.quote, entry.score


def ranked_sections(prediction: Prediction, documents: Mapping[str, Document]) -> list[str]:
    """Sections in the order in which the pieces first show them; each once."""
    return list(dict.fromkeys(section for section, _, _ in shown_sections(prediction, documents)))
