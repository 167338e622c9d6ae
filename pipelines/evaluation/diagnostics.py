"""Section diagnostics of SF-RAG (docs/evaluation.md): where a context spends its tokens, and where it should.

What belongs here: Section Entropy SE = -Σ r log r and Evidence Alignment Cross Entropy EACE = -Σ g log r over
sections. r(s) is the share of retrieved tokens in section s, each weighted by its relevance score; g(s) the
share of gold evidence tokens. The logarithm is natural; r is smoothed by ε = 1e-6 on every section that is
retrieved or gold, then renormalised. State both wherever the figures are shown (`STATEMENT`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

EPSILON = 1e-6
STATEMENT = ("SE and EACE: natural logarithm; retrieved shares smoothed by ε = 1e-6 over the sections that "
             "are retrieved or gold, then renormalised; tokens weighted by relevance score.")


def retrieved_weights(pieces: Iterable[tuple[str, int, float]]) -> dict[str, float]:
    """Weight of each section from (section, tokens, relevance score): Σ tokens · score.

    Scores below zero count as zero. Where no score is above zero, tokens alone count, since a
    context without any weight would have no distribution.
    """
    rows = list(pieces)
    if not any(score > 0 for _, _, score in rows):
        rows = [(section, tokens, 1.0) for section, tokens, _ in rows]
    weights: dict[str, float] = {}
    for section, tokens, score in rows:
        weights[section] = weights.get(section, 0.0) + tokens * max(score, 0.0)
    return {section: weight for section, weight in weights.items() if weight > 0}


def smoothed_shares(retrieved: Mapping[str, float], support: Iterable[str]) -> dict[str, float]:
    """r(s) over the support and the retrieved sections. Raises ValueError when nothing was retrieved."""
    total = sum(retrieved.values())
    if total <= 0:
        raise ValueError("no retrieved tokens, so no distribution over sections")
    sections = sorted({*retrieved, *support})
    norm = 1 + EPSILON * len(sections)
    return {section: (retrieved.get(section, 0.0) / total + EPSILON) / norm for section in sections}


def section_entropy(retrieved: Mapping[str, float], gold: Mapping[str, float]) -> float | None:
    """SE in nats; None for an empty context. A context of one section has 0, but for what ε adds."""
    if not any(weight > 0 for weight in retrieved.values()):
        return None
    return -math.fsum(share * math.log(share) for share in smoothed_shares(retrieved, gold).values()) + 0.0


def evidence_alignment_cross_entropy(retrieved: Mapping[str, float],
                                     gold: Mapping[str, float]) -> float | None:
    """EACE in nats; None without gold evidence.

    An empty context has spent nothing on gold: every gold section gets the share ε, as in a context that
    lies wholly elsewhere.
    """
    total = sum(gold.values())
    if total <= 0:
        return None
    if not any(weight > 0 for weight in retrieved.values()):
        retrieved = {"": 1.0}
    shares = smoothed_shares(retrieved, gold)
    return -math.fsum(weight / total * math.log(shares[section]) for section, weight in gold.items()) + 0.0
