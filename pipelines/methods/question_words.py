"""The words of a question and how much of them a text has: what a scorer's features of words are made of.

What belongs here: shares of a question's terms, weighted by their inverse document frequency; BM25 of a line; the
sentence of a node that says most. What does not: the features of a line (`line_features.py`), which also come
from cosines and from structure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from pipelines.documents.tree import Sentence
from pipelines.methods.subtree import SubtreeView
from pipelines.retrieval.terms import terms

_STEM = 5
_MEAN_WORDS = 40.0
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|long|high|large|far|old|fast|big|tall|deep)\b|\bpercent|"
                          r"\bnumber of\b")
_ASKS_YEAR = re.compile(r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|century|decade)\b|\bhow long ago\b")
_ASKS_NAME = re.compile(r"\bwho(?:m|se)?\b|\bwhich (?:person|man|woman|king|queen|author|president)\b|"
                        r"\bwhat (?:is|was) the name\b")


class QuestionWords:
    """The terms of a question with their weights, and what is asked for."""

    def __init__(self, question: str, inverse_document_frequency: Callable[[str], float]) -> None:
        ordered = terms(question)
        self.weights = {term: inverse_document_frequency(term) for term in dict.fromkeys(ordered)}
        self._total = sum(self.weights.values()) or 1.0
        self._pairs = set(pairwise(ordered))
        self._stems = {term[:_STEM]: weight for term, weight in self.weights.items() if len(term) >= _STEM}
        self._stem_total = sum(self._stems.values()) or 1.0
        lowered = question.lower()
        self.asks_number = bool(_ASKS_NUMBER.search(lowered))
        self.asks_year = bool(_ASKS_YEAR.search(lowered))
        self.asks_name = bool(_ASKS_NAME.search(lowered))

    def share(self, found: Iterable[str], without: Iterable[str] = ()) -> float:
        """The weight of the question's terms that are among `found` and not in `without`, of all."""
        excluded = set(without)
        return sum(weight for term, weight in self.weights.items()
                   if term in found and term not in excluded) / self._total

    def stem_share(self, found: Iterable[str]) -> float:
        """As `share`, of the first five letters of longer terms: `painted` has those of `painter`."""
        stems = {term[:_STEM] for term in found if len(term) >= _STEM}
        return sum(weight for stem, weight in self._stems.items() if stem in stems) / self._stem_total

    def pair_share(self, ordered: Sequence[str]) -> float:
        """The share of the question's pairs of neighbouring terms that are neighbours here too."""
        return len(self._pairs & set(pairwise(ordered))) / len(self._pairs) if self._pairs else 0.0

    def bm25(self, ordered: Sequence[str]) -> float:
        """BM25 of a line, k1 = 1.2 and b = 0.75, a line of 40 words being of mean length."""
        norm = 1.2 * (0.25 + 0.75 * len(ordered) / _MEAN_WORDS)
        return sum(weight * ordered.count(term) * 2.2 / (ordered.count(term) + norm)
                   for term, weight in self.weights.items() if term in ordered)


class SentenceTerms:
    """The terms of the sentences of a document's nodes; made when a node is first asked for."""

    def __init__(self, view: SubtreeView, sentences: Iterable[Sentence]) -> None:
        self._view = view
        self._texts: dict[int, list[str]] = {}
        for sentence in sentences:
            self._texts.setdefault(view.blocks[sentence.node_id], []).append(sentence.text)
        self._terms: dict[int, tuple[frozenset[str], ...]] = {}

    def __getitem__(self, node_id: int) -> Sequence[frozenset[str]]:
        """One set a sentence; of a node without sentences, as a heading, its whole text as one."""
        if node_id not in self._terms:
            texts = self._texts.get(node_id) or [self._view.text[node_id]]
            self._terms[node_id] = tuple(frozenset(terms(text)) for text in texts)
        return self._terms[node_id]


def sentence_shares(words: QuestionWords, sentences: Sequence[frozenset[str]],
                    title: frozenset[str]) -> tuple[float, float, float]:
    """The most that one sentence has of a question: of all terms, and, less the title's, of terms and of stems."""
    return (max(words.share(found) for found in sentences), max(words.share(found, title) for found in sentences),
            max(words.stem_share(found - title) for found in sentences))
