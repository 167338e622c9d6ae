"""Routing metrics of a model in training on dev states, by `score` as the router decodes.

What belongs here: scores of the legal lines of dev states, and the threshold that is best for them. What does
not: comparing finished routers (`evaluate_router.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.curation.router_metrics import Decision
from pipelines.methods.llm_router import LlmRouterSettings, choose_by_score
from pipelines.methods.routing import REFUSAL
from pipelines.models.llm import LanguageModel
from training.finetune_checkpoint import Look
from training.finetune_samples import TextState
from training.scorer_thresholds import actions_of, quality

_GRID = 100
"""Thresholds that are tried at most."""


def line_odds(model: LanguageModel, state: TextState) -> list[float]:
    """Natural log-odds of writing each legal line against refusing."""
    *values, refusal = model.score(state.messages, [*state.lines, REFUSAL]).log_probabilities
    return [value - refusal for value in values]


def look(step: int, states: Sequence[TextState], odds: Sequence[Sequence[float]]) -> Look:
    """Figures with the threshold of the highest sum of macro-F1 and ANS-F1; of equal ones the highest."""
    highest = sorted({value for row in odds for value in sorted(row)[-LlmRouterSettings.most_actions:]})
    tried = [*highest[::-(-len(highest) // _GRID) or 1], *([highest[-1] + 1.0] if highest else [0.0])]
    figures = {threshold: quality(decisions(states, odds, threshold)) for threshold in tried}
    best = max(tried, key=lambda threshold: (sum(figures[threshold]), threshold))
    return Look(step, *figures[best], best)


def decisions(states: Sequence[TextState], odds: Sequence[Sequence[float]], threshold: float) -> list[Decision]:
    """What `score` does in each state with a threshold, beside the teacher."""
    found = []
    for state, row in zip(states, odds, strict=True):
        chosen = choose_by_score(state.lines, row, threshold, LlmRouterSettings.most_actions, state.can_refuse)
        found.append(Decision(actions_of(state.lines, "\n".join(state.gold) or REFUSAL),
                              actions_of(state.lines, "\n".join(chosen) or REFUSAL)))
    return found
