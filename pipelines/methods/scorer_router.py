"""The router `scorer`: a small network over line features, trained on curated actions, without a language model.

It gives every legal line a probability; answers with the visible nodes from the threshold `answer` on, expands
the headings from `expand` on, at most two a turn, else refuses. A state takes milliseconds on one core.

What belongs here: the file, the network, the decision. What does not: features (`line_features.py`) and
training (`training/train_scorer.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.errors import UserError
from pipelines.methods.base import Filters, RetrievalCorpus
from pipelines.methods.line_features import FEATURE_FORMAT, NAMES, DocumentHits, QuestionWords, line_features
from pipelines.methods.llm_router import choose_by_score
from pipelines.methods.routing import EXPAND, REFUSAL, RouterOutput, RouterState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

MOST_PASSAGES = 1000
"""Of a document, by cosine: longer ones are judged by their nearest."""
MOST_ANSWERS = 10


@dataclass(frozen=True)
class Scorer:
    """A trained network: standardised features, hidden layers of rectified units, one log-odds a line.

    layers: (weight (in, out), bias (out)) each. thresholds: log-odds, `answer` and `expand`.
    """

    mean: Array
    scale: Array
    layers: tuple[tuple[Array, Array], ...]
    thresholds: Mapping[str, float]

    def log_odds(self, features: Array) -> Array:
        """(n, len(NAMES)) → (n)."""
        import numpy as np

        hidden: Array = (features - self.mean) / self.scale
        for weight, bias in self.layers[:-1]:
            hidden = np.maximum(hidden @ weight + bias, np.float32(0))
        weight, bias = self.layers[-1]
        odds: Array = (hidden @ weight + bias)[:, 0]
        return odds

    def save(self, path: Path, description: Mapping[str, Any]) -> None:
        """Write it as safetensors. description: JSON values that stand in its head."""
        from safetensors.numpy import save_file

        tensors = {"mean": self.mean, "scale": self.scale}
        for number, (weight, bias) in enumerate(self.layers):
            tensors |= {f"layers.{number}.weight": weight, f"layers.{number}.bias": bias}
        head = {"feature_format": FEATURE_FORMAT, "features": list(NAMES), "thresholds": dict(self.thresholds),
                **description}
        save_file(tensors, path, {"espalier": json.dumps(head, sort_keys=True)})

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
        except (OSError, SafetensorError, ValueError) as error:
            raise UserError(f"scorer {path}", f"cannot be read ({error})", expected, step) from error
        n_layers = sum(name.endswith(".weight") for name in tensors)
        layers = tuple((tensors[f"layers.{n}.weight"], tensors[f"layers.{n}.bias"]) for n in range(n_layers))
        return Scorer(tensors["mean"], tensors["scale"], layers, head["thresholds"])


class FeatureMaker:
    """Line features of states over one corpus; what concerns a whole question is computed once for it."""

    def __init__(self, corpus: RetrievalCorpus) -> None:
        self._corpus = corpus
        self._question = lru_cache(maxsize=32)(self._of_question)

    def __call__(self, state: RouterState) -> Array:
        """(legal lines, len(NAMES)) of a state."""
        words, best = self._question(state.question)
        of_document = Filters(doc_ids=(state.view.document.doc_id,))
        hits = self._corpus.search_dense(state.question, MOST_PASSAGES, of_document)
        return line_features(state, words, DocumentHits(hits, best))

    def _of_question(self, question: str) -> tuple[QuestionWords, float]:
        best = self._corpus.search_dense(question, 1)
        return (QuestionWords(question, self._corpus.inverse_document_frequency),
                float(best[0].score) if best else 0.0)


class ScorerRouter:
    """Takes the lines whose log-odds reach their threshold."""

    name = "scorer"
    parallel = 1

    def __init__(self, scorer: Scorer, features: FeatureMaker) -> None:
        self._scorer, self._features = scorer, features

    def route(self, state: RouterState) -> RouterOutput:
        """Decide on one subtree; where refusing is not legal, the best line is taken."""
        lines = list(state.legal_lines())
        if not lines:
            return RouterOutput(REFUSAL)
        odds = self._scorer.log_odds(self._features(state)).tolist()
        text = decide(lines, odds, self._scorer.thresholds, state.can_refuse)
        return RouterOutput(text, details={
            "scores": {line: round(value, 4) for line, value in zip(lines, odds, strict=True)}})


def decide(lines: Sequence[str], odds: Sequence[float], thresholds: Mapping[str, float],
           can_refuse: bool = True) -> str:
    """The output: lines from their kind's threshold on, in order, at most two headings; else a refusal."""
    margins = [value - thresholds["expand" if line.startswith(EXPAND) else "answer"]
               for line, value in zip(lines, odds, strict=True)]
    return "\n".join(choose_by_score(lines, margins, 0.0, MOST_ANSWERS, can_refuse)) or REFUSAL
