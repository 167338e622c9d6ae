"""The rule of promotion, and the grid of the curves."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.evaluation.datasets import GoldEvidence, Question
from pipelines.evaluation.predictions import Prediction
from training.promote_router import judge
from training.router_curves import CurvesConfig, Point, grid, point_metrics


def difference(metric: str, mean: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    return {"metric": metric, "method": "new", "baseline": "old", "mean": mean, "low": low, "high": high, "n": 40}


@pytest.mark.parametrize(("own", "other", "wins", "reason"), [
    ((0.05, 0.01, 0.09), (0.02, -0.01, 0.05), True, "ahead by 0.02"),
    ((0.02, 0.01, 0.09), (0.02, -0.01, 0.05), True, "ahead by 0.02"),
    ((0.019, 0.01, 0.03), (0.02, -0.01, 0.05), False, "not ahead by 0.02"),
    ((0.05, 0.0, 0.09), (0.02, -0.01, 0.05), False, "the interval holds zero"),
    ((0.05, -0.01, 0.09), (0.02, 0.01, 0.05), False, "the interval holds zero"),
    ((0.05, 0.01, 0.09), (-0.05, -0.09, -0.01), False, "ans_f1 -0.050 [-0.090, -0.010] is surely worse"),
    ((0.05, 0.01, 0.09), (-0.05, -0.09, 0.0), True, "ahead by 0.02"),
    ((0.05, 0.01, 0.09), (None, None, None), True, "ahead by 0.02"),
    ((0.05, None, None), (0.02, 0.01, 0.05), False, "too few questions"),
])
def test_a_version_wins_by_margin_interval_and_without_being_worse_elsewhere(
        own: tuple[Any, Any, Any], other: tuple[Any, Any, Any], wins: bool, reason: str) -> None:
    verdict = judge([difference("macro_f1", *own), difference("ans_f1", *other)], "macro_f1", 0.02)
    assert verdict.wins == wins
    assert reason in verdict.reason


def test_the_metric_that_must_be_won_can_be_the_other() -> None:
    differences = [difference("macro_f1", -0.01, -0.03, 0.02), difference("ans_f1", 0.04, 0.02, 0.06)]
    assert judge(differences, "ans_f1", 0.01).wins
    assert not judge(differences, "macro_f1", 0.01).wins


def test_the_grid_has_every_point_once_and_both_defaults_first() -> None:
    config = CurvesConfig(dataset="d", k=2, turns=1, ks=(1, 2), turn_counts=(0, 1), ablations=("no_expand",))
    assert grid(config, ["a", "b"]) == [
        point for router in "ab" for point in (
            Point(router, 2, 1), Point(router, 1, 1), Point(router, 2, 0), Point(router, 2, 1, "no_expand"))]
    assert Point("a", 2, 1, "no_expand").method == "rdr2+no_expand"
    alone = config.model_copy(update={"ks": (), "turn_counts": (), "ablations": ()})
    assert grid(alone, ["a"]) == [Point("a", 2, 1)]


def test_a_point_has_the_paper_s_figures_and_the_tokens_of_all_routing_steps() -> None:
    """Two answers of which one stands in the context; two turns of 3 + 2 words shown, 2 + 1 written."""
    question = Question("q", "Who?", (("ash", "oak"), ("elm",)), (GoldEvidence("T", (), "the oak"),))
    trace = [{"step": "search"}, {"step": "route", "router_text": "a b c", "output": "x y"},
             {"step": "route", "router_text": "a b", "output": "z"}]
    prediction = Prediction.from_answer("q", {
        "method": "rdr2", "release": 1, "budget_tokens": 10, "context_tokens": 3, "context": "it is the oak",
        "evidence": [], "answer": None, "trace": trace, "llm_calls": 0, "tokens_in": 0, "tokens_out": 0,
        "latency_s": 0.1, "question": "Who?"})
    found = point_metrics(question, prediction, lambda text: len(text.split()))
    assert (found["passage_str_em"], found["passage_hit"]) == (0.5, 0.0)
    assert (found["routed_tokens_in"], found["routed_tokens_out"]) == (5.0, 3.0)
