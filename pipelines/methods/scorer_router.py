"""The router `scorer`: small networks over line features, trained on curated actions, without a language model.

They give every legal line log-odds, of which the mean counts. The visible nodes from the threshold `answer` on
that are not more than `below_best` below the best line of all are answered with, the headings from `expand` on
expanded, at most two a turn; without any the subtree is refused. A state takes milliseconds on one core.

What belongs here: the file, the network, the decision. What does not: features (`line_features.py`) and
training (`training/train_scorer.py`).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import files
from pipelines.errors import UserError
from pipelines.methods.base import Filters, RetrievalCorpus
from pipelines.methods.line_features import FEATURE_FORMAT, NAMES, DocumentHits, line_features
from pipelines.methods.llm_router import choose_by_score
from pipelines.methods.question_words import QuestionWords, SentenceTerms
from pipelines.methods.routing import EXPAND, REFUSAL, RouterOutput, RouterState
from pipelines.methods.subtree import SubtreeView

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]
    Network = tuple[tuple[Array, Array], ...]

MOST_PASSAGES = 1000
"""Of a document, by cosine: longer ones are judged by their nearest."""
MOST_ANSWERS = 10
KEPT_DOCUMENTS = 64


@dataclass(frozen=True)
class Scorer:
    """Trained networks: standardised features, hidden layers of rectified units, one log-odds a line each.

    networks: of each its layers, (weight (in, out), bias (out)). thresholds: log-odds, `answer` and `expand`, and
    the distance `below_best`; without that no line is too far below the best.
    """

    mean: Array
    scale: Array
    networks: tuple[Network, ...]
    thresholds: Mapping[str, float]

    def log_odds(self, features: Array) -> Array:
        """(n, len(NAMES)) → (n): the mean of the networks."""
        import numpy as np

        inputs: Array = (features - self.mean) / self.scale
        total = np.zeros(len(inputs), np.float32)
        for layers in self.networks:
            hidden = inputs
            for weight, bias in layers[:-1]:
                hidden = np.maximum(hidden @ weight + bias, np.float32(0))
            weight, bias = layers[-1]
            total += (hidden @ weight + bias)[:, 0]
        return total / np.float32(len(self.networks))

    def save(self, path: Path, description: Mapping[str, Any]) -> None:
        """Write it as safetensors, as a whole. description: JSON values that stand in its head."""
        from safetensors.numpy import save

        tensors = {"mean": self.mean, "scale": self.scale}
        for number, layers in enumerate(self.networks):
            for depth, (weight, bias) in enumerate(layers):
                tensors |= {f"networks.{number}.{depth}.weight": weight, f"networks.{number}.{depth}.bias": bias}
        head = {"feature_format": FEATURE_FORMAT, "features": list(NAMES), "thresholds": dict(self.thresholds),
                **description}
        # The library's own `save_file` makes a file that its owner alone may read.
        files.write_bytes(str(path.absolute()), save(tensors, {"espalier": json.dumps(head, sort_keys=True)}))

    @staticmethod
    def load(path: Path) -> Scorer:
        """Read one. Raises UserError for a missing or other file, or one of other features."""
        from safetensors import SafetensorError, safe_open

        expected = f"a scorer of the feature format {FEATURE_FORMAT}, as training writes it"
        step = "Train it again: python -m training.train_scorer --config FILE."
        try:
            with safe_open(path, "numpy") as file:
                head = json.loads((file.metadata() or {}).get("espalier", "{}"))
                found = head.get("feature_format")
                if found != FEATURE_FORMAT or head.get("features") != list(NAMES):
                    raise UserError(f"scorer {path}", f"feature format {found}", expected, step)
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return _scorer_of(head, tensors)
        except (OSError, SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"scorer {path}", f"cannot be read ({type(error).__name__}: {error})", expected, step
                            ) from error


def _scorer_of(head: Mapping[str, Any], tensors: Mapping[str, Array]) -> Scorer:
    """The scorer of a file. Raises KeyError, TypeError or ValueError where parts are missing or do not fit."""
    import numpy as np

    weights = [name.removesuffix(".weight").split(".")[1:] for name in tensors if name.endswith(".weight")]
    depths = Counter(int(number) for number, _ in weights)
    networks = tuple(
        tuple((tensors[f"networks.{number}.{depth}.weight"], tensors[f"networks.{number}.{depth}.bias"])
              for depth in range(depths[number])) for number in range(len(depths)))
    thresholds = {name: float(head["thresholds"][name]) for name in ("answer", "expand", *head["thresholds"])}
    values = [*tensors.values(), np.array(list(thresholds.values()))]
    if not networks or not all(np.isfinite(value).all() for value in values):
        raise ValueError("no networks, or values that are no numbers")
    scorer = Scorer(tensors["mean"], tensors["scale"], networks, thresholds)
    if scorer.log_odds(np.zeros((1, len(NAMES)), np.float32)).shape != (1,):
        raise ValueError("networks of another shape")
    return scorer


class FeatureMaker:
    """Line features of states over one corpus; what a question and a document give is computed once for them."""

    def __init__(self, corpus: RetrievalCorpus) -> None:
        self._corpus = corpus
        self._question = lru_cache(maxsize=32)(self._of_question)
        self._sentences = lru_cache(maxsize=KEPT_DOCUMENTS)(self._of_view)

    def __call__(self, state: RouterState) -> Array:
        """(legal lines, len(NAMES)) of a state."""
        words, best = self._question(state.question)
        of_document = Filters(doc_ids=(state.view.document.doc_id,))
        hits = self._corpus.search_dense(state.question, MOST_PASSAGES, of_document)
        return line_features(state, words, DocumentHits(hits, best, self._sentences(state.view)))

    def _of_question(self, question: str) -> tuple[QuestionWords, float]:
        best = self._corpus.search_dense(question, 1)
        return (QuestionWords(question, self._corpus.inverse_document_frequency),
                float(best[0].score) if best else 0.0)

    def _of_view(self, view: SubtreeView) -> SentenceTerms:
        return SentenceTerms(view, self._corpus.sentences(view.document.doc_id))


class ScorerRouter:
    """Takes the lines whose log-odds reach their threshold."""

    name = "scorer"
    parallel = 1

    def __init__(self, scorer: Scorer, features: FeatureMaker, margin: float = 0.0) -> None:
        self._scorer, self._features, self._margin = scorer, features, margin

    def route(self, state: RouterState) -> RouterOutput:
        """Decide on one subtree; where refusing is not legal, the best line is taken."""
        lines = list(state.legal_lines())
        if not lines:
            return RouterOutput(REFUSAL)
        odds = self._scorer.log_odds(self._features(state)).tolist()
        text = decide(lines, odds, self._scorer.thresholds, state.can_refuse, self._margin)
        return RouterOutput(text, details={
            "scores": {line: round(value, 4) for line, value in zip(lines, odds, strict=True)}})


def decide(lines: Sequence[str], odds: Sequence[float], thresholds: Mapping[str, float],
           can_refuse: bool = True, margin: float = 0.0) -> str:
    """The output: lines from their kind's threshold on, in order, at most two headings; else a refusal.

    margin: by so much log-odds a line may miss its threshold, and be further below the best line.
    """
    # A heading may be the best line: what is shown is then left, however near its own threshold.
    nearly_best = max(odds, default=0.0) - thresholds.get("below_best", math.inf)
    least = {"answer": max(thresholds["answer"], nearly_best), "expand": thresholds["expand"]}
    leads = [value - least["expand" if line.startswith(EXPAND) else "answer"]
               for line, value in zip(lines, odds, strict=True)]
    return "\n".join(choose_by_score(lines, leads, -margin, MOST_ANSWERS, can_refuse)) or REFUSAL
