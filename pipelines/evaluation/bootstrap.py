"""The paired bootstrap: how sure a difference between two methods is.

What belongs here: the 95 % interval of a mean difference over the questions that both methods answered.
Every difference between methods that the project shows comes from `paired_difference`. Method: percentile
bootstrap (Efron and Tibshirani 1993, ch. 13) over per-question differences, seeded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

N_RESAMPLES = 10_000
LEVEL = 0.95
SEED = 20260101
_CHUNK_VALUES = 4_000_000


@dataclass(frozen=True)
class Difference:
    """Mean of `method - baseline` over `n` questions with its percentile interval.

    Without a shared question all three are None; with one there is a mean but no interval.
    """

    metric: str
    method: str
    baseline: str
    mean: float | None
    low: float | None
    high: float | None
    n: int

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "level": LEVEL}


def paired_difference(metric: str, method: str, baseline: str, of_method: Mapping[str, float | None],
                      of_baseline: Mapping[str, float | None], *, n_resamples: int = N_RESAMPLES,
                      seed: int = SEED) -> Difference:
    """Compare two methods on the questions for which both have a value of the metric.

    The mappings give a question's value by its id; None and absent mean "not measured". The result does
    not depend on the order of the questions.
    """
    shared = sorted(
        question_id for question_id, value in of_method.items()
        if value is not None and of_baseline.get(question_id) is not None)
    differences = np.array(
        [float(of_method[q] or 0.0) - float(of_baseline[q] or 0.0) for q in shared], dtype=np.float64)
    if not len(differences):
        return Difference(metric, method, baseline, None, None, None, 0)
    mean = float(differences.mean())
    if len(differences) == 1:
        return Difference(metric, method, baseline, mean, None, None, 1)
    means = _resampled_means(differences, n_resamples, seed)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Difference(metric, method, baseline, mean, float(low), float(high), len(differences))


def _resampled_means(values: np.ndarray[Any, np.dtype[np.float64]], n_resamples: int,
                     seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Means of resamples with replacement, `(n_resamples,)`, drawn in chunks of bounded memory."""
    generator = np.random.default_rng(seed)
    rows = max(1, _CHUNK_VALUES // len(values))
    means = np.empty(n_resamples)
    for begin in range(0, n_resamples, rows):
        end = min(begin + rows, n_resamples)
        means[begin:end] = values[generator.integers(0, len(values), (end - begin, len(values)))].mean(axis=1)
    return means
