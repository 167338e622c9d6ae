"""How sure a difference between two routers on the same states is: a paired bootstrap over questions.

States of one question stand or fall together, so questions are resampled, not states; and macro-F1 is no mean
of states, so it is computed anew in each resample, from sums of counts (Efron and Tibshirani 1993, ch. 13).

What belongs here: that interval. What does not: the figures themselves (`router_metrics.py`), and differences
of means over questions (`evaluation/bootstrap.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pipelines.curation.class_tags import TAGS
from pipelines.curation.router_metrics import COMPARED, Decision
from pipelines.evaluation.bootstrap import LEVEL, N_RESAMPLES, SEED, Difference

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ByQuestion = Mapping[str, Sequence[Decision]]


def compare_routers(router: str, baseline: str, of_router: ByQuestion, of_baseline: ByQuestion,
                    n_resamples: int = N_RESAMPLES, seed: int = SEED) -> list[Difference]:
    """`router - baseline` in macro-F1 and ANS-F1, with percentile intervals over questions.

    Raises ValueError when the two did not decide on the same states.
    """
    import numpy as np

    questions = sorted(of_router)
    if sorted(of_baseline) != questions or any(len(of_router[q]) != len(of_baseline[q]) for q in questions):
        raise ValueError(f"{router} and {baseline} did not decide on the same states")
    sums = [np.array([np.sum([_counts(decision) for decision in side[q]], axis=0) for q in questions])
            for side in (of_router, of_baseline)]
    drawn = np.random.default_rng(seed).multinomial(
        len(questions), [1 / max(1, len(questions))] * len(questions), n_resamples)
    whole = np.ones((1, len(questions)))
    found = []
    for place, metric in enumerate(COMPARED):
        mean = [_figures(whole @ side)[place] for side in sums]
        resampled = [_figures(drawn @ side)[place] for side in sums]
        tail = (1 - LEVEL) / 2
        low, high = np.nanquantile(resampled[0] - resampled[1], [tail, 1 - tail])
        found.append(Difference(metric, router, baseline, float((mean[0] - mean[1])[0]), float(low), float(high),
                                len(questions)))
    return found


def _counts(decision: Decision) -> list[float]:
    """Of each class (both, predicted, gold); then the sum and the number of ANS-F1's values."""
    counts: list[float] = []
    for tag in TAGS:
        counts += [decision.tag == tag == decision.gold_tag, decision.tag == tag, decision.gold_tag == tag]
    value = decision.answer_f1
    return [*counts, value or 0.0, value is not None]


def _figures(sums: Array) -> tuple[Array, Array]:
    """(macro-F1, ANS-F1) of rows of summed counts; ANS-F1 is NaN in a resample without gold answers."""
    import numpy as np

    f1 = [2 * sums[:, 3 * n] / np.maximum(1, sums[:, 3 * n + 1] + sums[:, 3 * n + 2]) for n in range(len(TAGS))]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.mean(f1, axis=0), sums[:, -2] / sums[:, -1]
