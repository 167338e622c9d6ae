"""Thresholds of a scorer, tuned on dev states for the sum of macro-F1 and ANS-F1 (docs/training.md).

What belongs here: actions by the places of lines, and the search over a grid. What does not: the decision itself
(`methods/scorer_router.py`) and training (`scorer_fit.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pipelines.curation.class_tags import TAGS
from pipelines.curation.router_metrics import Decision, answer_f1, macro_f1
from pipelines.methods.routing import ANSWER, REFUSAL, Actions
from pipelines.methods.scorer_router import MOST_ANSWERS, decide
from training.labelled_states import Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

BELOW_BEST = (math.inf, 4.0, 3.0, 2.0, 1.0, 0.5)
"""Distances to the best line that are tried, in log-odds."""
_GRID = 16
_LEAST_SHARE, _MOST_SHARE = 0.003, 0.5
"""The grid of a threshold: 0, and quantiles that let so much of the lines through, geometrically spaced."""


def actions_of(sample_lines: Sequence[str], text: str) -> Actions:
    """The actions of an output that holds legal lines only, by the places of the lines instead of node ids."""
    if text == REFUSAL:
        return Actions(is_refusal=True)
    places = {line: place for place, line in enumerate(sample_lines)}
    taken = text.splitlines()
    return Actions(tuple(places[line] for line in taken if line.startswith(ANSWER)),
                   tuple(places[line] for line in taken if not line.startswith(ANSWER)))


def gold_actions(sample: Sample) -> Actions:
    """What the teacher did, by the places of the lines."""
    gold = [line for line, is_chosen in zip(sample.lines, sample.chosen, strict=True) if is_chosen]
    return actions_of(sample.lines, "\n".join(gold) or REFUSAL)


def decisions(samples: Sequence[Sample], odds: Sequence[Sequence[float]],
              thresholds: Mapping[str, float]) -> list[Decision]:
    """What a scorer with these thresholds does in each state, beside the teacher."""
    return [Decision(gold_actions(sample), actions_of(sample.lines, decide(sample.lines, values, thresholds)))
            for sample, values in zip(samples, odds, strict=True)]


def quality(found: Sequence[Decision]) -> tuple[float, float]:
    """(macro-F1, ANS-F1): their sum is what is maximised."""
    return macro_f1(found), answer_f1(found) or 0.0


def tuned_thresholds(samples: Sequence[Sample], odds: Sequence[Sequence[float]]) -> dict[str, float]:
    """The best of a grid of `answer`, `expand` and `below_best`; of equal ones, that which takes the least.

    A state's lines beyond the tenth, which a router does not take, count by kind here.
    """
    import numpy as np

    states = [_State(sample, values) for sample, values in zip(samples, odds, strict=True)]
    answers = _grid([value for state in states for value in state.answers])
    expands = _grid([value for state in states for value in state.expands])
    below = np.array(BELOW_BEST)
    # Of each class (both, predicted, gold), then the sum and the number of ANS-F1's values; one cell a threshold.
    shape = (len(answers), len(expands), len(below))
    both, predicted = np.zeros((3, *shape)), np.zeros((3, *shape))
    gold, f1, n_f1 = np.zeros(3), np.zeros(shape), 0
    for state in states:
        n_taken, n_right = state.answered(answers, below)
        has_expand = state.best_expand >= expands
        classes = np.where(n_taken[:, None, :] > 0, 0, np.where(has_expand[None, :, None], 1, 2))
        for tag in range(3):
            predicted[tag] += classes == tag
        both[state.tag] += classes == state.tag
        gold[state.tag] += 1
        if state.n_gold:
            f1 += (2 * n_right / (n_taken + state.n_gold))[:, None, :]
            n_f1 += 1
    macro = np.mean([2 * both[tag] / np.maximum(1, predicted[tag] + gold[tag]) for tag in range(3)], axis=0)
    total = macro + f1 / max(1, n_f1)
    answer, expand, distance = np.unravel_index(int(total.argmax()), shape)
    return {"answer": float(answers[answer]), "expand": float(expands[expand]),
            **({} if math.isinf(below[distance]) else {"below_best": float(below[distance])})}


class _State:
    """Log-odds of one state's lines by kind, and what is right."""

    def __init__(self, sample: Sample, odds: Sequence[float]) -> None:
        import numpy as np

        is_answer = np.array([line.startswith(ANSWER) for line in sample.lines], bool)
        values = np.asarray(odds, np.float64)
        self.answers, self.expands = values[is_answer], values[~is_answer]
        order = np.argsort(-self.answers, kind="stable")[:MOST_ANSWERS]
        self._first, self._right = self.answers[order], sample.chosen[is_answer][order]
        self._best = float(values.max(initial=-math.inf))
        self.best_expand = float(self.expands.max(initial=-math.inf))
        self.tag = TAGS.index(sample.tag)
        self.n_gold = int(sample.chosen[is_answer].sum())

    def answered(self, answers: Array, below: Array) -> tuple[Array, Array]:
        """(answers, below) each: how many lines are answered with, and how many of them are right."""
        import numpy as np

        least = np.maximum(answers[:, None], self._best - below[None, :])
        taken = self._first >= least[..., None]
        return taken.sum(axis=-1).astype(np.float64), (taken & self._right).sum(axis=-1).astype(np.float64)


def _grid(values: Sequence[float]) -> Array:
    """Thresholds to try, the highest first."""
    import numpy as np

    if not len(values):
        return np.zeros(1)
    shares = np.geomspace(_LEAST_SHARE, _MOST_SHARE, _GRID)
    return np.unique([0.0, *np.quantile(np.asarray(values, np.float64), 1 - shares)])[::-1]
