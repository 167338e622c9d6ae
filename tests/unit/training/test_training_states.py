"""Which states a training may take: held-out documents by both rules, and questions of a split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import UserError
from pipelines.evaluation.datasets import GoldEvidence, Question, QuestionSet
from pipelines.evaluation.question_table import write_question_set
from pipelines.methods.routing import PROMPT_FORMAT
from pipelines.settings import DataFolder
from pipelines.storage import create_table, merge_rows
from training.training_states import held_out_documents, questions_of

LABELS = {32 * "1": ("[ANSWER] 3: a",), 32 * "2": (), 32 * "3": ("[EXPAND] 4: b",), 32 * "4": ("[ANSWER] 3: a",)}


def asked(name: str, split: str | None) -> Question:
    return Question(name, f"What of {name}?", (), (GoldEvidence("T", (), "q"),), split=split)  # type: ignore[arg-type]


def state(state_id: str, question_id: str, doc_id: str, release: int = 1) -> dict[str, Any]:
    return {"state_id": state_id, "dataset": "d", "question_id": question_id, "doc_id": doc_id, "bucket": 0,
            "release": release, "prompt_format": PROMPT_FORMAT, "turn": 0, "question": "q", "router_text": "t",
            "lit_node_ids": [3], "hidden_node_ids": [], "lines": ["[ANSWER] 3: a"], "scores": [0.5]}


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    folder = DataFolder.at(str(tmp_path))
    write_question_set(folder, QuestionSet("d", (
        asked("dev", "dev"), asked("test", "test"), asked("train", "train"), asked("none", None))))
    create_table(folder, "routing_states", 1)
    merge_rows(folder, "routing_states", [
        state(32 * "1", "dev", "xx:1"), state(32 * "2", "dev", "xx:2"), state(32 * "3", "test", "xx:3"),
        state(32 * "4", "train", "xx:4"), state(32 * "5", "test", "xx:5", release=2)])
    return folder


def test_documents_of_held_out_questions(data: DataFolder) -> None:
    assert held_out_documents(data, "d", 1, LABELS, "gold") == {"xx:1", "xx:3"}
    assert held_out_documents(data, "d", 1, LABELS, "met") == {"xx:1", "xx:2", "xx:3"}


def test_a_question_without_a_split_is_one_of_training(data: DataFolder) -> None:
    assert {one.question_id for one in questions_of(data, "d", "train")} == {"train", "none"}
    write_question_set(data, QuestionSet("e", (asked("none", None),)))
    with pytest.raises(UserError, match="no question of the split dev"):
        questions_of(data, "e", "dev")
