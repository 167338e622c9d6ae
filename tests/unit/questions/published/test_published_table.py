"""Published questions in the table: splits replaced in one commit, equal ones left, rejects kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from pipelines.errors import UserError
from pipelines.evaluation.datasets import BadLine, GoldEvidence, Question, QuestionSet, Split
from pipelines.evaluation.question_table import read_question_set, write_question_set
from pipelines.questions.published.reading import BadItem
from pipelines.questions.published.table import BATCH_ROWS, write_published
from pipelines.schemas import QUESTIONS
from pipelines.settings import DataFolder
from pipelines.storage import TableReader, open_table, table_exists

EVIDENCE = (GoldEvidence("T", ("A", "B"), "Words."),)
BAD = BadItem("/somewhere/train.json", BadLine(7, "bad_field", "answer", "missing", "a string", '{"x": 1}'))


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    return DataFolder.at(tmp_path / "data")


def question(question_id: str, split: Split | None, text: str = "Q?") -> Question:
    return Question(question_id, text, (("a", "b"), ("c",)), EVIDENCE, type="bridge", split=split)


def test_questions_are_stored_as_they_were_read(data: DataFolder) -> None:
    written = [question("1", "train"), question("2", "dev"), Question("3", "Q?", (("a",),), (), derived=True)]
    stored = write_published(data, "set", iter(written))
    assert (stored.n_rows, stored.n_rows_before, stored.changed) == (3, 0, True)
    assert read_question_set(data, "set").questions == tuple(written)
    assert not table_exists(data, "rejects")


def test_equal_questions_are_not_written_again_whatever_their_order(data: DataFolder) -> None:
    first = write_published(data, "set", [question("1", "train"), question("2", "train")])
    again = write_published(data, "set", [question("2", "train"), question("1", "train")])
    assert (again.changed, again.version, again.n_rows_before) == (False, first.version, 2)


def test_the_read_splits_are_replaced_and_others_stay(data: DataFolder) -> None:
    write_published(data, "set", [question("1", "train"), question("2", "train"), question("3", "dev"),
                                  question("4", None)])
    write_published(data, "other", [question("1", "train")])
    stored = write_published(data, "set", [question("2", "train", "New?"), question("5", "train")])
    assert (stored.n_rows, stored.n_rows_before) == (2, 2)
    found = {q.question_id: (q.split, q.question) for q in read_question_set(data, "set").questions}
    assert found == {"2": ("train", "New?"), "3": ("dev", "Q?"), "4": (None, "Q?"), "5": ("train", "Q?")}
    assert len(read_question_set(data, "other").questions) == 1
    write_published(data, "set", [question("6", None)])
    assert {q.question_id for q in read_question_set(data, "set").questions} == {"2", "3", "5", "6"}


def test_a_question_of_another_split_is_not_taken_over(data: DataFolder) -> None:
    write_published(data, "set", [question("1", "train"), question("2", None)])
    for question_id in "12":
        with pytest.raises(UserError, match=f"question '{question_id}' is in its split (train|none) already"):
            write_published(data, "set", [question(question_id, "dev")])
    assert {q.question_id for q in read_question_set(data, "set").questions} == {"1", "2"}


def test_items_that_are_no_questions_are_rejects(data: DataFolder) -> None:
    write_published(data, "set", [BAD, question("1", "train")])
    [row] = TableReader(data).rows("rejects", ("table", "source_ref", "reason", "detail", "sample"))
    assert row == {"table": "questions", "source_ref": "set:train.json:7", "reason": "bad_field",
                   "detail": "field answer: missing; expected a string", "sample": '{"x": 1}'}


@pytest.mark.parametrize(("items", "words"), [
    ([], "no item in its files"),
    ([BAD, BAD], "train.json, item 7, field answer: missing, and no item is a question; expected a string"),
])
def test_a_set_without_a_question_is_refused_and_nothing_is_written(data: DataFolder, items: list[Any],
                                                                    words: str) -> None:
    with pytest.raises(UserError, match=words):
        write_published(data, "set", items)
    assert not table_exists(data, "questions")
    assert not table_exists(data, "rejects")


def test_a_file_that_breaks_off_leaves_the_table_as_it_was(data: DataFolder) -> None:
    def broken() -> Iterator[Question | BadItem]:
        yield question("2", "train")
        yield BAD
        raise UserError("file", "cut off", "a whole one", "Fetch it.")

    write_published(data, "set", [question("1", "train")])
    with pytest.raises(UserError, match="cut off"):
        write_published(data, "set", broken())
    assert [q.question_id for q in read_question_set(data, "set").questions] == ["1"]
    assert not table_exists(data, "rejects")
    assert not [path for path in data.state.iterdir() if path.is_file()]


def test_more_than_a_batch(data: DataFolder) -> None:
    n_questions = 2 * BATCH_ROWS + 1
    stored = write_published(data, "set", (question(str(i), "train") for i in range(n_questions)))
    assert stored.n_rows == n_questions
    assert open_table(data, "questions").version() == stored.version
    assert TableReader(data).row_count("questions") == n_questions
    assert not write_published(data, "set", (question(str(i), "train") for i in range(n_questions))).changed


def test_a_set_written_as_a_whole_and_one_read_from_files_are_the_same_rows(data: DataFolder) -> None:
    write_question_set(data, QuestionSet("set", (question("1", "train"), question("2", "dev"))))
    assert not write_published(data, "set", [question("2", "dev"), question("1", "train")]).changed


def test_a_table_from_before_a_column_gets_it(data: DataFolder) -> None:
    import pyarrow as pa

    old = pa.schema([field for field in QUESTIONS.arrow_schema() if field.name != "generator"])
    row = QuestionSet("old", (question("1", "dev"),)).table_rows()[0]
    table = DeltaTable.create(data.table("questions"), old)
    from deltalake import write_deltalake

    write_deltalake(table, pa.Table.from_pylist([row], schema=old), mode="append")
    assert not write_published(data, "old", [question("1", "dev")]).changed
    assert write_published(data, "set", [question("1", "dev")]).changed
    assert {row["generator"] for row in TableReader(data).rows("questions")} == {None}
