"""What a scorer knows of the lines of a routing state: one row of numbers a legal line.

A line is scored by what retrieval says of all passages of its document, those that are not shown included; by
the words that it, its best sentence and the headings above share with the question; and by its place and kind.
Numbers that only mean something beside those of other lines are given as differences, shares and ranks too.
What belongs here: the numbers. What does not: words (`question_words.py`), learning (`training/train_scorer.py`)
and deciding (`scorer_router.py`). A change of a feature is a new `FEATURE_FORMAT`: scorers are trained on one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.methods.base import Hit
from pipelines.methods.question_words import QuestionWords, SentenceTerms, sentence_shares
from pipelines.methods.routing import RouterState
from pipelines.methods.subtree import SubtreeView
from pipelines.retrieval.terms import terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEATURE_FORMAT = "lines/2"
NAMES = (
    "is_expand", "cosine", "cosine_below_best", "cosine_deviations", "best_cosine", "best_below_corpus",
    "cosine_below_section", "was_retrieved", "own_share", "own_new_share", "heading_share", "heading_new_share",
    "title_share", "chain_share", "shown_share", "bm25", "bm25_of_best", "pairs_share", "stem_share",
    "number_asked", "year_asked", "name_asked", "similarity", "similarity_of_best", "log_words", "is_paragraph",
    "is_item", "is_row", "is_caption", "is_lead", "depth", "place", "log_lines", "log_hidden", "is_later_turn",
    "terms_asked", "sentence_share", "sentence_new_share", "sentence_stem_share",
    "sentence_of_best", "cosine_rank", "similarity_rank", "bm25_rank", "similarity_lead", "cosine_lead",
)
_BESIDE = NAMES[NAMES.index("sentence_of_best"):]
_ITEMS, _CAPTIONS = frozenset({"li", "dt", "dd"}), frozenset({"caption"})
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d{2}\b")
_NAME = re.compile(r"(?<!\A)(?<![.!?]\s)\b[A-Z][a-z]+")


@dataclass(frozen=True)
class DocumentHits:
    """The passages of one document by cosine with the question, and the best cosine of the whole corpus.

    sentences: the terms of the document's sentences.
    """

    hits: Sequence[Hit]
    best_in_corpus: float
    sentences: SentenceTerms


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
    title_terms = frozenset(terms(view.document.title))
    node_terms = {node_id: terms(view.text[node_id]) for _, node_id in lines}
    shown_share = words.share({term for node_id in state.visible for term in node_terms[node_id]}, title_terms)
    bm25 = [words.bm25(node_terms[node_id]) for _, node_id in lines]
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
            shown_share, bm25[place], bm25[place] / best_bm25, words.pair_share(node_terms[node_id]),
            words.stem_share(own), words.asks_number and any(c.isdigit() for c in text),
            words.asks_year and bool(_YEAR.search(text)), words.asks_name and bool(_NAME.search(text)),
            similarity[place], similarity[place] / best_similarity, math.log1p(len(own)),
            node.tag == "p", node.tag in _ITEMS, node.tag == "tr", node.tag in _CAPTIONS,
            len(node.heading_path) <= 1, view.depth[node_id], node_id / n_nodes, math.log1p(len(state.visible)),
            math.log1p(len(hidden)), state.turn > 0, len(words.weights) / 10,
            *sentence_shares(words, document.sentences[node_id], title_terms),
        ))
    own_rows = np.asarray(rows, np.float32).reshape(len(lines), len(NAMES) - len(_BESIDE))
    return np.hstack([own_rows, _beside_others(own_rows)])


def _beside_others(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """(lines, len(_BESIDE)): a line beside the other lines of its kind, ANSWER or EXPAND.

    A rank is 1 of the best line, 1/2 of the second; a lead is the distance to the best other line, where there
    is none the value itself.
    """
    import numpy as np

    column = NAMES.index
    is_expand = rows[:, column("is_expand")] > 0
    beside = np.zeros((len(rows), len(_BESIDE)), np.float32)
    share = rows[:, column("sentence_new_share")]
    beside[:, 0] = share / (share[~is_expand].max(initial=0.0) or 1.0)
    for kind in (is_expand, ~is_expand):
        for place, name in enumerate(("cosine", "similarity", "bm25"), 1):
            beside[kind, place] = _ranks(rows[kind, column(name)])
        for place, name in enumerate(("similarity", "cosine"), 4):
            beside[kind, place] = _leads(rows[kind, column(name)])
    return beside


def _ranks(values: NDArray[np.float32]) -> NDArray[np.float64]:
    import numpy as np

    places = np.empty(len(values), np.int64)
    places[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return 1 / (1 + places)


def _leads(values: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    if len(values) < 2:
        return values
    second, best = np.sort(values)[-2:]
    return np.asarray(values - np.where(values >= best, second, best), np.float32)
