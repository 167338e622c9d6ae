"""What a scorer knows of the lines of a routing state: one row of numbers a legal line.

A line is scored by what retrieval says of all passages of its document, those that are not shown included; by
the words that it and the headings above share with the question; and by its place and kind. Numbers that only
mean something beside those of other lines (the best cosine of the document, the share of the best line) are
given as differences and shares. What belongs here: the numbers. What does not: learning from them
(`training/train_scorer.py`) and deciding (`scorer_router.py`). A change of a feature is a new
`FEATURE_FORMAT`: scorers are trained on one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from pipelines.methods.base import Hit
from pipelines.methods.routing import RouterState
from pipelines.methods.subtree import SubtreeView
from pipelines.retrieval.terms import terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEATURE_FORMAT = "lines/1"
NAMES = (
    "is_expand", "cosine", "cosine_below_best", "cosine_deviations", "best_cosine", "best_below_corpus",
    "cosine_below_section", "was_retrieved", "own_share", "own_new_share", "heading_share", "heading_new_share",
    "title_share", "chain_share", "shown_share", "bm25", "bm25_of_best", "pairs_share", "stem_share",
    "number_asked", "year_asked", "name_asked", "similarity", "similarity_of_best", "log_words", "is_paragraph",
    "is_item", "is_row", "is_caption", "is_lead", "depth", "place", "log_lines", "log_hidden", "is_later_turn",
)
_ITEMS, _CAPTIONS = frozenset({"li", "dt", "dd"}), frozenset({"caption"})
_STEM = 5
_MEAN_WORDS = 40.0
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d{2}\b")
_NAME = re.compile(r"(?<!\A)(?<![.!?]\s)\b[A-Z][a-z]+")
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|long|high|large|far|old|fast|big|tall|deep)\b|\bpercent|"
                          r"\bnumber of\b")
_ASKS_YEAR = re.compile(r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|century|decade)\b|\bhow long ago\b")
_ASKS_NAME = re.compile(r"\bwho(?:m|se)?\b|\bwhich (?:person|man|woman|king|queen|author|president)\b|"
                        r"\bwhat (?:is|was) the name\b")


@dataclass(frozen=True)
class DocumentHits:
    """The passages of one document by cosine with the question, and the best cosine of the whole corpus."""

    hits: Sequence[Hit]
    best_in_corpus: float


class QuestionWords:
    """The terms of a question with their weights, and what is asked for."""

    def __init__(self, question: str, inverse_document_frequency: Callable[[str], float]) -> None:
        ordered = terms(question)
        self.weights = {term: inverse_document_frequency(term) for term in dict.fromkeys(ordered)}
        self.total = sum(self.weights.values()) or 1.0
        self.pairs = set(pairwise(ordered))
        self.stems = {term[:_STEM]: weight for term, weight in self.weights.items() if len(term) >= _STEM}
        self.stem_total = sum(self.stems.values()) or 1.0
        lowered = question.lower()
        self.asks_number = bool(_ASKS_NUMBER.search(lowered))
        self.asks_year = bool(_ASKS_YEAR.search(lowered))
        self.asks_name = bool(_ASKS_NAME.search(lowered))

    def share(self, found: Iterable[str], without: Iterable[str] = ()) -> float:
        """The weight of the question's terms that are among `found` and not in `without`, of all."""
        excluded = set(without)
        return sum(weight for term, weight in self.weights.items()
                   if term in found and term not in excluded) / self.total


class _Cosines:
    """The best cosine of each node of the view among the document's passages; of a heading, of its content."""

    def __init__(self, view: SubtreeView, hits: Sequence[Hit]) -> None:
        self.of_node: dict[int, float] = {}
        for hit in hits:
            for node_id in view.matched(hit.node_ids):
                self.of_node[node_id] = max(self.of_node.get(node_id, -1.0), float(hit.score))
        values = [float(hit.score) for hit in hits]
        self.best = max(values, default=0.0)
        self.mean = sum(values) / len(values) if values else 0.0
        spread = sum((value - self.mean) ** 2 for value in values) / len(values) if values else 0.0
        self.deviation = max(math.sqrt(spread), 1e-3)

    def __call__(self, node_ids: Iterable[int]) -> float:
        return max((self.of_node.get(node_id, 0.0) for node_id in node_ids), default=0.0)


def line_features(state: RouterState, words: QuestionWords, document: DocumentHits) -> NDArray[np.float32]:
    """(legal lines, len(NAMES)): a row a line, in the order of `RouterState.legal_lines`."""
    import numpy as np

    view = state.view
    cosines = _Cosines(view, document.hits)
    shown = set(state.visible)
    lines = [(False, node_id) for node_id in state.visible] + [(True, node_id) for node_id in state.expandable]
    title_terms = set(terms(view.document.title))
    node_terms = {node_id: terms(view.text[node_id]) for _, node_id in lines}
    shown_share = words.share({term for node_id in state.visible for term in node_terms[node_id]}, title_terms)
    bm25 = [_bm25(words.weights, node_terms[node_id]) for _, node_id in lines]
    similarity = [state.score(node_id) for _, node_id in lines]
    best_bm25, best_similarity = max(bm25, default=0.0) or 1.0, max(similarity, default=0.0) or 1.0
    n_nodes = max(1, len(view.document))
    rows = []
    for place, (is_expand, node_id) in enumerate(lines):
        node = view.document[node_id]
        own = set(node_terms[node_id])
        chain = set(terms(" ".join(node.heading_path))) - title_terms
        heading = own if is_expand else chain
        text = view.text[node_id]
        hidden = [child for child in view.direct_content(node_id) if child not in shown] if is_expand else [node_id]
        cosine = cosines(hidden)
        parent = view.parent[node_id]
        section = view.direct_content(parent) if parent is not None and not is_expand else hidden
        rows.append((
            is_expand, cosine, cosines.best - cosine, (cosine - cosines.mean) / cosines.deviation, cosines.best,
            document.best_in_corpus - cosines.best, cosines(section) - cosine,
            node_id in cosines.of_node and state.score(node_id) > 0,
            words.share(own), words.share(own, title_terms), words.share(heading),
            words.share(heading, title_terms), words.share(title_terms), words.share(own | chain | title_terms),
            shown_share, bm25[place], bm25[place] / best_bm25, _pairs(words, node_terms[node_id]),
            _stems(words, own), words.asks_number and any(c.isdigit() for c in text),
            words.asks_year and bool(_YEAR.search(text)), words.asks_name and bool(_NAME.search(text)),
            similarity[place], similarity[place] / best_similarity, math.log1p(len(own)),
            node.tag == "p", node.tag in _ITEMS, node.tag == "tr", node.tag in _CAPTIONS,
            len(node.heading_path) <= 1, view.depth[node_id], node_id / n_nodes, math.log1p(len(state.visible)),
            math.log1p(len(hidden)), state.turn > 0,
        ))
    return np.asarray(rows, np.float32).reshape(len(lines), len(NAMES))


def _bm25(weights: Mapping[str, float], own: Sequence[str]) -> float:
    norm = 1.2 * (0.25 + 0.75 * len(own) / _MEAN_WORDS)
    return sum(weight * own.count(term) * 2.2 / (own.count(term) + norm)
               for term, weight in weights.items() if term in own)


def _pairs(words: QuestionWords, own: Sequence[str]) -> float:
    if not words.pairs:
        return 0.0
    return len(words.pairs & set(pairwise(own))) / len(words.pairs)


def _stems(words: QuestionWords, own: Iterable[str]) -> float:
    stems = {term[:_STEM] for term in own if len(term) >= _STEM}
    return sum(weight for stem, weight in words.stems.items() if stem in stems) / words.stem_total
