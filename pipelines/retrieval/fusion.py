"""Reciprocal rank fusion of rankings (Cormack, Clarke and Büttcher 2009; κ = 60 as there).

What belongs here: merging rankings by rank alone. What does not: the searches that made them.
"""

from __future__ import annotations

from collections.abc import Sequence

KAPPA = 60


def reciprocal_rank_fusion(rankings: Sequence[Sequence[str]], kappa: int = KAPPA) -> list[tuple[str, float]]:
    """Ids of all rankings, best first, each with Σ 1 / (κ + rank), ranks from 1.

    A ranking that repeats an id counts its best rank. Equal sums are ordered by the best single rank, then
    by the ranking that gave it, then by id: the result never depends on hash order. Raises ValueError for
    κ below 0.
    """
    if kappa < 0:
        raise ValueError(f"kappa is {kappa}, it must be 0 or more")
    scores: dict[str, float] = {}
    best: dict[str, tuple[int, int]] = {}
    for number, ranking in enumerate(rankings):
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            scores[item] = scores.get(item, 0.0) + 1.0 / (kappa + rank)
            best[item] = min(best.get(item, (rank, number)), (rank, number))
    return sorted(scores.items(), key=lambda entry: (-entry[1], *best[entry[0]], entry[0]))
