"""The table `questions`: sets written and read back, also in a table that an older version has made."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.errors import UserError
from pipelines.evaluation.datasets import GoldEvidence, Question, QuestionSet
from pipelines.evaluation.question_table import read_question_set, write_question_set
from pipelines.schemas import QUESTIONS
from pipelines.settings import DataFolder
from pipelines.storage import open_table

GOLD = (GoldEvidence("T", ("S",), "Ann did it."),)
HUMAN = Question("q1", "Who?", (("Ann", "Anne"),), GOLD, "fact", "dev")
GENERATED = Question("g1", "Who did it?", (("Ann",),), GOLD, "fact", "train", True, "inverse_cloze")


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    return DataFolder.at(tmp_path / "data")


def make_old_table(data: DataFolder) -> None:
    """The table as it was before the column `generator`, with one row."""
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    schema = pa.schema([field for field in QUESTIONS.arrow_schema() if field.name != "generator"])
    table = DeltaTable.create(data.table("questions"), schema, configuration={"delta.enableChangeDataFeed": "true"})
    row = {"dataset": "old", "question_id": "q1", "split": "dev", "type": "fact", "question": "Who?",
           "answers": [["Ann", "Anne"]], "derived": False,
           "evidence": [{"title": "T", "section": ["S"], "quote": "Ann did it."}]}
    write_deltalake(table, pa.Table.from_pylist([row], schema=schema), mode="append")


def test_sets_come_back_as_they_were(data: DataFolder) -> None:
    write_question_set(data, QuestionSet("human", (HUMAN,)))
    write_question_set(data, QuestionSet("generated", (GENERATED,)))
    assert read_question_set(data, "human").questions == (HUMAN,)
    assert read_question_set(data, "generated").questions == (GENERATED,)
    with pytest.raises(UserError, match="question set 'none'"):
        read_question_set(data, "none")


def test_an_older_table_is_read_without_being_changed(data: DataFolder) -> None:
    make_old_table(data)
    version = open_table(data, "questions").version()
    assert read_question_set(data, "old").questions == (HUMAN,)
    assert open_table(data, "questions").version() == version


def test_an_older_table_is_merged_into(data: DataFolder) -> None:
    make_old_table(data)
    write_question_set(data, QuestionSet("generated", (GENERATED,)))
    assert read_question_set(data, "generated").questions == (GENERATED,)
    assert read_question_set(data, "old").questions == (HUMAN,)
    field = {each.name: each for each in open_table(data, "questions").schema().fields}["generator"]
    assert field.nullable
    assert str(field.metadata["comment"]).startswith("What generated it from trees")
    written = write_question_set(data, QuestionSet("old", (HUMAN,)))
    assert (written.n_inserted, written.n_updated) == (0, 0)
    changed = write_question_set(data, QuestionSet("old", (Question("q1", "Who was it?", (("Ann",),), GOLD),)))
    assert (changed.n_inserted, changed.n_updated) == (0, 1)


def test_a_mixed_set_can_not_be_made() -> None:
    with pytest.raises(UserError, match="one kind in a set"):
        QuestionSet("mixed", (HUMAN, GENERATED))
