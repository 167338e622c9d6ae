"""What a model in training does on dev states, and the threshold that fits them best: worked out by hand."""

from __future__ import annotations

from typing import get_args

import pytest

from pipelines.curation.class_tags import Tag
from pipelines.models.llm import Message
from training.finetune_dev import decisions, look
from training.finetune_samples import TextState

A, B, H = "[ANSWER] 1: a", "[ANSWER] 2: b", "[EXPAND] 3: h"


def state(tag: Tag, *gold: str, can_refuse: bool = True) -> TextState:
    assert tag in get_args(Tag)
    return TextState(f"{tag}{gold}", "d", tag, (Message("user", "x"),), (A, B, H), gold, can_refuse)


STATES = (state("ANSWER", A), state("EXPAND", H), state("REFUSE"))


def test_the_threshold_parts_the_right_lines_from_the_others() -> None:
    found = look(7, STATES, [[2.0, -3.0, -4.0], [-3.0, -5.0, 1.0], [-2.0, -2.5, -3.5]])
    assert (found.step, found.macro_f1, found.ans_f1) == (7, 1.0, 1.0)
    assert found.threshold == 1.0, "the highest of those that are as good"


def test_what_no_threshold_can_part() -> None:
    """From -1 on both lines of the first state are taken: F1 2/3; from 0 on none of its right one."""
    found = look(0, STATES, [[-1.0, 0.0, -9.0], [-8.0, -8.0, -8.5], [-2.0, -3.0, -4.0]])
    assert found.threshold == -1.0
    assert found.ans_f1 == pytest.approx(2 / 3)
    assert found.macro_f1 == pytest.approx((1 + 0 + 2 / 3) / 3), "the state to expand counts as refused"


def test_refusing_everything_can_be_the_best() -> None:
    found = look(0, [STATES[2]], [[3.0, 1.0, 2.0]])
    assert found.threshold > 3.0
    assert found.macro_f1 == pytest.approx(1 / 3)
    assert found.ans_f1 == 0.0, "no state has a gold answer"


def test_where_refusing_is_not_legal_the_best_line_is_taken() -> None:
    forced = state("ANSWER", B, can_refuse=False)
    (found,) = decisions([forced], [[-5.0, -4.0, -6.0]], threshold=0.0)
    assert (found.answer_f1, found.tag) == (1.0, "ANSWER")
