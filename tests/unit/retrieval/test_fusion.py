"""Reciprocal rank fusion: sums worked out by hand, ties in a stated order."""

from __future__ import annotations

import pytest

from pipelines.retrieval.fusion import reciprocal_rank_fusion


def test_sums_of_reciprocal_ranks() -> None:
    fused = reciprocal_rank_fusion([["a", "b", "c"], ["b", "d"]])
    assert [item for item, _ in fused] == ["b", "a", "d", "c"]
    assert dict(fused) == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "d": 1 / 62, "c": 1 / 63})


def test_ties_go_to_the_better_single_rank_then_the_earlier_ranking() -> None:
    assert [item for item, _ in reciprocal_rank_fusion([["z", "a"], ["a", "z"]])] == ["z", "a"]
    assert [item for item, _ in reciprocal_rank_fusion([["z"], ["a"]])] == ["z", "a"]


def test_a_repeated_id_counts_once_at_its_best_rank() -> None:
    assert reciprocal_rank_fusion([["a", "b", "a"]], kappa=0) == [("a", 1.0), ("b", 0.5)]


def test_kappa_below_zero_is_an_error() -> None:
    with pytest.raises(ValueError, match="kappa"):
        reciprocal_rank_fusion([["a"]], kappa=-1)
