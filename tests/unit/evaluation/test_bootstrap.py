"""The paired bootstrap: against an independent computation, and the cases where there is no interval."""

from __future__ import annotations

import random
import statistics

import pytest

from pipelines.evaluation.bootstrap import paired_difference


def test_only_shared_questions_count() -> None:
    difference = paired_difference(
        "m", "a", "b", {"1": 1.0, "2": None, "3": 0.5}, {"1": 0.5, "2": 1.0, "4": 1.0})
    assert (difference.mean, difference.n) == (0.5, 1)
    assert (difference.low, difference.high) == (None, None)


def test_nothing_shared() -> None:
    difference = paired_difference("m", "a", "b", {"1": 1.0}, {"2": 1.0})
    assert (difference.mean, difference.low, difference.high, difference.n) == (None, None, None, 0)


def test_equal_methods_have_a_zero_interval() -> None:
    values: dict[str, float | None] = {str(i): i / 10 for i in range(10)}
    difference = paired_difference("m", "a", "b", values, values)
    assert (difference.mean, difference.low, difference.high, difference.n) == (0, 0, 0, 10)


def test_the_interval_agrees_with_a_plain_bootstrap() -> None:
    """Reference: the standard library's random numbers, 4,000 resamples, the 2.5th and 97.5th percentile."""
    generator = random.Random(1)
    baseline = {str(i): generator.random() for i in range(60)}
    method = {key: value + generator.gauss(0.1, 0.2) for key, value in baseline.items()}
    gaps = [method[key] - baseline[key] for key in baseline]
    means = sorted(statistics.fmean(generator.choices(gaps, k=len(gaps))) for _ in range(4000))
    difference = paired_difference("m", "a", "b", dict(method), dict(baseline))
    assert difference.mean == pytest.approx(statistics.fmean(gaps))
    assert difference.low == pytest.approx(means[100], abs=0.006)
    assert difference.high == pytest.approx(means[3899], abs=0.006)
    # Pairing matters: the interval is that of the gaps, far narrower than that of two independent means.
    assert (difference.high or 0) - (difference.low or 0) < 4.5 * statistics.stdev(gaps) / 60 ** 0.5


def test_order_of_questions_and_seed() -> None:
    values: dict[str, float | None] = {str(i): (i * 37 % 11) / 11 for i in range(30)}
    zeros: dict[str, float | None] = dict.fromkeys(values, 0.0)
    turned = dict(reversed(values.items()))
    assert paired_difference("m", "a", "b", values, zeros) == paired_difference("m", "a", "b", turned, zeros)
    other = paired_difference("m", "a", "b", values, zeros, seed=7)
    assert other.mean == paired_difference("m", "a", "b", values, zeros).mean


def test_many_questions_are_drawn_in_chunks() -> None:
    values: dict[str, float | None] = {str(i): float(i % 2) for i in range(50_000)}
    zeros: dict[str, float | None] = dict.fromkeys(values, 0.0)
    difference = paired_difference("m", "a", "b", values, zeros, n_resamples=200)
    # Standard error 0.5 / sqrt(50,000) = 0.00224
    assert difference.low == pytest.approx(0.5 - 1.96 * 0.00224, abs=0.002)
