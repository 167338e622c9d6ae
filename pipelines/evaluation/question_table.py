"""Question sets as the table `questions` keeps them.

What belongs here: writing a set as a whole and reading it back. What does not: the questions file
(`datasets.py`).
"""

from __future__ import annotations

from typing import Any

from pipelines.errors import UserError
from pipelines.evaluation.datasets import GoldEvidence, Question, QuestionSet
from pipelines.schemas import QUESTIONS, describe
from pipelines.settings import DataFolder
from pipelines.storage import (
    TableReader,
    Written,
    append_rejects,
    merge_rows,
    open_table,
    sql_in,
    sql_text,
    table_exists,
)


def write_question_set(data: DataFolder, questions: QuestionSet) -> Written:
    """Make the table hold exactly this set under its name; rows that are equal are not written again.

    Lines of its file that are no questions go to `rejects`. A table from before a nullable column gets it.
    """
    _add_new_columns(data)
    if questions.bad_lines:
        append_rejects(data, questions.rejects())
    written = merge_rows(data, "questions", questions.table_rows())
    of_set = f"dataset = {sql_text(questions.name)}"
    kept = {question.question_id for question in questions.questions}
    stored = TableReader(data).rows("questions", ("question_id",), of_set)
    gone = sorted({row["question_id"] for row in stored} - kept)
    if not gone:
        return written
    table = open_table(data, "questions")
    table.delete(f"{of_set} AND {sql_in('question_id', gone)}")
    return Written(written.n_inserted, written.n_updated, int(table.version()))


def read_question_set(data: DataFolder, dataset: str) -> QuestionSet:
    """The questions of a set, by question_id. Raises UserError when the table has none of it."""
    rows: list[dict[str, Any]] = []
    if table_exists(data, "questions"):
        reader = TableReader(data)
        stored = {field.name for field in reader.table("questions").schema().fields}
        rows = reader.rows("questions", [name for name in QUESTIONS.column_names if name in stored],
                           f"dataset = {sql_text(dataset)}", order_by=("question_id",))
    if not rows:
        raise UserError(f"question set {dataset!r}", "no questions of it in the table questions",
                        "a set that was loaded", "Load it: materialize the asset questions, or run "
                        "espalier evaluate once.")
    return QuestionSet(dataset, tuple(_question(row) for row in rows))


def _question(row: dict[str, Any]) -> Question:
    return Question(
        question_id=row["question_id"], question=row["question"],
        answers=tuple(tuple(aliases) for aliases in row["answers"]),
        evidence=tuple(GoldEvidence(e["title"], tuple(e["section"]), e["quote"]) for e in row["evidence"]),
        type=row["type"], split=row["split"], derived=row["derived"], generator=row.get("generator"))


def _add_new_columns(data: DataFolder) -> None:
    """Give a table that an older version of the project made the nullable columns that have come since."""
    from deltalake.schema import Field, PrimitiveType

    if not table_exists(data, "questions"):
        return
    table = open_table(data, "questions")
    stored = {field.name for field in table.schema().fields}
    new = [Field(column.name, PrimitiveType(column.type), nullable=True, metadata={"comment": describe(column)})
           for column in QUESTIONS.columns if column.nullable and column.name not in stored]
    if new:
        table.alter.add_columns(new)
