"""Under which name a teacher's actions are found."""

from __future__ import annotations

import pytest

from pipelines.errors import UserError
from pipelines.models.load_llm import load_model
from training.states_config import StatesConfig


@pytest.mark.parametrize(("teacher", "recorded"), [
    ("gold", "gold"), ("local", "SmolLM2-135M-Instruct"),
    ("http://127.0.0.1:9/v1#owl", load_model("http://127.0.0.1:9/v1#owl").name)])
def test_actions_of_a_model_are_recorded_under_its_own_name(teacher: str, recorded: str) -> None:
    assert StatesConfig(dataset="d", teacher=teacher).recorded_teacher.startswith(recorded)


def test_a_teacher_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UserError, match="no such teacher"):
        _ = StatesConfig(dataset="d", teacher="owl").recorded_teacher
