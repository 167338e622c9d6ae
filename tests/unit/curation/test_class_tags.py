"""Tags of samples and their balance."""

from __future__ import annotations

import pytest

from pipelines.curation.class_tags import class_tag, most_of_each, shares
from pipelines.methods.routing import Actions


@pytest.mark.parametrize(("actions", "tag"), [
    (Actions(answers=(1,), expands=(2,)), "ANSWER"), (Actions(expands=(2,)), "EXPAND"),
    (Actions(is_refusal=True), "REFUSE")])
def test_one_tag_a_sample(actions: Actions, tag: str) -> None:
    assert class_tag(actions) == tag


def test_shares() -> None:
    assert shares(["ANSWER", "ANSWER", "REFUSE", "EXPAND"]) == {"ANSWER": 0.5, "EXPAND": 0.25, "REFUSE": 0.25}
    assert shares([]) == {"ANSWER": 0.0, "EXPAND": 0.0, "REFUSE": 0.0}


@pytest.mark.parametrize(("counts", "at_most", "kept"), [
    ({"ANSWER": 10, "EXPAND": 5, "REFUSE": 5}, {}, (10, 5, 5)),
    ({"ANSWER": 10, "EXPAND": 5, "REFUSE": 100}, {"REFUSE": 0.25}, (10, 5, 5)),
    ({"ANSWER": 90, "EXPAND": 10, "REFUSE": 100}, {"REFUSE": 0.5, "ANSWER": 0.5}, (90, 10, 100)),
    ({"ANSWER": 90, "REFUSE": 10}, {"ANSWER": 0.5}, (10, 0, 10)),
    ({}, {"ANSWER": 0.5}, (0, 0, 0)),
])
def test_no_tag_has_more_than_its_share(counts: dict[str, int], at_most: dict[str, float],
                                        kept: tuple[int, int, int]) -> None:
    assert tuple(most_of_each(counts, at_most).values()) == kept


@pytest.mark.parametrize("at_most", [{"REFUSE": -1}, {"REFUSE": 2}, {"REFUSE": float("nan")}, {"refuse": 0.5}])
def test_shares_that_are_none_are_named(at_most: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"shares lie in \(0, 1\] and belong to ANSWER, EXPAND, REFUSE"):
        most_of_each({"ANSWER": 5, "REFUSE": 5}, at_most)


def test_shares_that_cannot_be_met() -> None:
    with pytest.raises(ValueError, match="add up to less than 1"):
        most_of_each({"ANSWER": 5, "REFUSE": 5}, {"ANSWER": 0.4, "REFUSE": 0.4})
