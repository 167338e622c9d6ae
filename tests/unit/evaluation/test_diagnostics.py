"""SE and EACE against the formulas of docs/evaluation.md, worked out with the natural logarithm."""

from __future__ import annotations

import math

import pytest

from pipelines.evaluation.diagnostics import (
    EPSILON,
    evidence_alignment_cross_entropy,
    retrieved_weights,
    section_entropy,
    smoothed_shares,
)


def test_weights_are_tokens_times_relevance() -> None:
    assert retrieved_weights([("a", 10, 0.5), ("b", 20, 0.25), ("a", 2, 1.0)]) == {"a": 7.0, "b": 5.0}


def test_negative_scores_count_as_zero_and_all_zero_as_equal() -> None:
    assert retrieved_weights([("a", 10, 0.5), ("b", 20, -1.0)]) == {"a": 5.0}
    assert retrieved_weights([("a", 10, 0.0), ("b", 20, -1.0)]) == {"a": 10.0, "b": 20.0}
    assert retrieved_weights([]) == {}


def test_shares_are_smoothed_and_sum_to_one() -> None:
    shares = smoothed_shares({"a": 3, "b": 1}, ["c"])
    assert shares["a"] == pytest.approx((0.75 + EPSILON) / (1 + 3 * EPSILON))
    assert shares["c"] == pytest.approx(1e-6, rel=1e-4)
    assert sum(shares.values()) == pytest.approx(1)


def test_entropy_of_an_even_spread_is_the_log_of_its_size() -> None:
    even = dict.fromkeys("abcd", 5.0)
    assert section_entropy(even, {}) == pytest.approx(math.log(4))
    assert section_entropy({"a": 1.0}, {"a": 1.0}) == 0
    assert section_entropy({}, {"a": 1.0}) is None


def test_cross_entropy_by_hand() -> None:
    # g = (1/4, 3/4), r = (1/2, 1/2): -(1/4 + 3/4) · ln(1/2) = ln 2
    assert evidence_alignment_cross_entropy({"a": 2, "b": 2}, {"a": 1, "b": 3}) == pytest.approx(math.log(2))
    assert evidence_alignment_cross_entropy({"a": 1.0}, {"a": 9.0}) == 0
    assert evidence_alignment_cross_entropy({"a": 1.0}, {}) is None


def test_missing_all_gold_sections_costs_minus_log_epsilon() -> None:
    expected = -math.log(EPSILON / (1 + 2 * EPSILON))
    assert evidence_alignment_cross_entropy({"x": 1.0}, {"a": 1.0}) == pytest.approx(expected)
    assert evidence_alignment_cross_entropy({}, {"a": 1.0}) == pytest.approx(expected)
