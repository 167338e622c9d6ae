"""The router `similarity`: deterministic, without a language model, and the fallback of those that have one.

The score of a node is the mean of (best cosine of a retrieved passage that holds it,
else 0) and (idf-weighted share of the question's words in its heading path and text). It answers with the
visible nodes from the threshold `answer` on, expands the hidden headings from the threshold `expand` on, at
most two a turn, else refuses; where refusing is not legal, it takes the best node. Both thresholds are tuned
on dev questions and stored with the release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pipelines.methods.base import Hit
from pipelines.methods.routing import ANSWER, EXPAND, REFUSAL, RouterOutput, RouterState, format_action
from pipelines.methods.subtree import SubtreeView
from pipelines.retrieval.spelling import plain
from pipelines.retrieval.terms import terms

EXPANDS_A_TURN = 2


class NodeScorer:
    """Scores the nodes of one document for one question. Scores are in [0, 1]; cosines below 0 count 0."""

    def __init__(self, question_weights: Mapping[str, float], view: SubtreeView, hits: Iterable[Hit]) -> None:
        self._weights = question_weights
        self._total = sum(question_weights.values())
        self._view = view
        self._cosines: dict[int, float] = {}
        for hit in hits:
            for node_id in view.matched(hit.node_ids):
                self._cosines[node_id] = max(self._cosines.get(node_id, 0.0), float(hit.score))
        self._scores: dict[int, float] = {}

    def __call__(self, node_id: int) -> float:
        """The score of a node of the view."""
        if node_id not in self._scores:
            cosine = self._cosines.get(node_id, 0.0)
            self._scores[node_id] = (min(cosine, 1.0) + self._word_share(node_id)) / 2
        return self._scores[node_id]

    def _word_share(self, node_id: int) -> float:
        if not self._total:
            return 0.0
        headings = self._view.document[node_id].heading_path
        found = set(terms(" ".join((*headings, self._view.text[node_id]))))
        found |= {plain(term) for term in found}
        return sum(weight for term, weight in self._weights.items()
                   if term in found or plain(term) in found) / self._total


def question_weights(question: str, inverse_document_frequency: Callable[[str], float]) -> dict[str, float]:
    """The question's words with their inverse document frequency."""
    return {term: inverse_document_frequency(term) for term in dict.fromkeys(terms(question))}


class SimilarityRouter:
    """Compares node scores with two thresholds."""

    name = "similarity"
    parallel = 1

    def __init__(self, answer_threshold: float, expand_threshold: float) -> None:
        self.answer_threshold, self.expand_threshold = answer_threshold, expand_threshold

    def route(self, state: RouterState) -> RouterOutput:
        """Answer and expand by threshold; the best headings first, the earlier one of two equal ones."""
        answers = [node_id for node_id in state.visible if state.score(node_id) >= self.answer_threshold]
        expands = [node_id for node_id in state.expandable if state.score(node_id) >= self.expand_threshold]
        expands = sorted(expands, key=lambda node_id: (-state.score(node_id), node_id))[:EXPANDS_A_TURN]
        lines = [format_action(ANSWER, state.view, node_id) for node_id in answers]
        lines += [format_action(EXPAND, state.view, node_id) for node_id in expands]
        if not lines and not state.can_refuse:
            # The best one, the earlier of equals.
            best = sorted(state.legal_lines().items(), key=lambda pair: (-state.score(pair[1]), pair[1]))[:1]
            return RouterOutput("".join(line for line, _ in best) or REFUSAL)
        return RouterOutput("\n".join(lines) if lines else REFUSAL)
