"""The interval of a difference between two routers: equal ones, a better one, and the figures themselves."""

from __future__ import annotations

import pytest

from pipelines.curation.router_comparison import compare_routers
from pipelines.curation.router_metrics import COMPARED, Decision
from pipelines.methods.routing import Actions

REFUSED = Actions(is_refusal=True)
GOLD = [Actions(answers=(1, 2)), REFUSED, Actions(expands=(5,)), Actions(answers=(3,))]


def decided(*predicted: Actions) -> dict[str, list[Decision]]:
    """Two states a question, forty questions."""
    decisions = [Decision(gold, said) for gold, said in zip(GOLD, predicted, strict=True)]
    return {f"q{n}": decisions[2 * (n % 2): 2 * (n % 2) + 2] for n in range(40)}


PERFECT = decided(*GOLD)
WORSE = decided(Actions(answers=(1,)), Actions(answers=(9,)), Actions(expands=(5,)), REFUSED)


def test_a_better_router_is_better_for_sure() -> None:
    differences = compare_routers("a", "b", PERFECT, WORSE, n_resamples=500)
    assert [d.metric for d in differences] == list(COMPARED)
    for difference, (metric, figure) in zip(differences, COMPARED.items(), strict=True):
        whole = [[d for q in sorted(side) for d in side[q]] for side in (PERFECT, WORSE)]
        assert difference.mean == pytest.approx((figure(whole[0]) or 0) - (figure(whole[1]) or 0)), metric
        assert 0 < difference.low <= difference.mean <= difference.high
        assert difference.n == 40


def test_equal_routers_do_not_differ() -> None:
    for difference in compare_routers("a", "b", WORSE, WORSE, n_resamples=100):
        assert (difference.mean, difference.low, difference.high) == (0, 0, 0)


def test_other_states_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="same states"):
        compare_routers("a", "b", PERFECT, {**WORSE, "q0": []})
