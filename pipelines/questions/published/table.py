"""Published questions into the table `questions`, however many there are.

What belongs here: keeping what is read in a file until all of it is read, comparing it with what is stored, and
replacing the splits that were read in one commit. What does not: reading (`reading.py`), and sets that fit into
memory as a whole (`pipelines/evaluation/question_table.py`).

The questions of a set's other splits stay: train, dev and test come as files of their own.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

from pipelines.errors import RunFailure, UserError, argument
from pipelines.evaluation.datasets import BadLine, Question, QuestionSet
from pipelines.questions.published.reading import BadItem
from pipelines.schemas import QUESTIONS
from pipelines.settings import DataFolder
from pipelines.storage import (
    TableReader,
    append_rejects,
    batch_rows,
    create_table,
    open_table,
    sql_in,
    sql_text,
    table_exists,
)

BATCH_ROWS = 2000
_TABLE = QUESTIONS.name


@dataclass(frozen=True)
class Stored:
    """What a write did: rows that the read splits have now, rows of them before, and the table's version."""

    n_rows: int
    n_rows_before: int
    changed: bool
    version: int


def write_published(data: DataFolder, dataset: str, items: Iterable[Question | BadItem]) -> Stored:
    """Make the table hold these questions as the read splits of a set; equal ones are not written again.

    Items that are no questions go to `rejects`. Nothing is written before the last item has been read. Raises
    UserError when no item is a question, or when one has the id of a question in another split of the set, and
    whatever reading the items raises; RunFailure when Delta refuses the rows.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", dir=data.prepare_state()) as questions, \
            tempfile.TemporaryFile("w+", encoding="utf-8", dir=data.state) as bad:
        read = _keep(dataset, items, questions, bad)
        if not read.n_rows:
            raise nothing_read(dataset, read.first_bad)
        for batch in _batches(bad):
            append_rejects(data, batch)
        return _replace(data, dataset, read, questions)


def nothing_read(dataset: str, first_bad: BadItem | None) -> UserError:
    """The error of a set without a single question, with what is wrong with the first item."""
    if first_bad is None:
        return UserError(f"question set {dataset!r}", "no item in its files", "at least one question",
                         "Check that they are the files of this format.")
    line = first_bad.line
    where = f", field {line.place}" if line.place else ""
    return UserError(f"question set {dataset!r}, {first_bad.file}, item {line.number}{where}",
                     f"{line.found}, and no item is a question", line.expected,
                     "Check that it is the file of this format.")


class _Sum:
    """Rows as one number, whatever their order: the sum of their SHA-256."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._value = 0

    def add(self, row: Mapping[str, Any]) -> None:
        text = json.dumps(row, sort_keys=True, ensure_ascii=True)
        self._value = (self._value + int.from_bytes(hashlib.sha256(text.encode()).digest())) % (1 << 256)
        self.n_rows += 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Sum) and (self.n_rows, self._value) == (other.n_rows, other._value)

    __hash__ = None  # type: ignore[assignment]


class _Read(_Sum):
    """What was read: the rows' sum, their ids and splits."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.splits: set[str | None] = set()
        self.first_bad: BadItem | None = None


def _keep(dataset: str, items: Iterable[Question | BadItem], questions: IO[str], bad: IO[str]) -> _Read:
    read = _Read()
    for item in items:
        if isinstance(item, BadItem):
            read.first_bad = read.first_bad or item
            for reject in rejects_of(dataset, item.file, item.line):
                bad.write(json.dumps(reject) + "\n")
            continue
        for row in QuestionSet(dataset, (item,)).table_rows():
            read.add(row)
            read.ids.add(row["question_id"])
            read.splits.add(row["split"])
            questions.write(json.dumps(row) + "\n")
    return read


def rejects_of(dataset: str, file: str, line: BadLine) -> list[dict[str, Any]]:
    """The row of the table `rejects` for an item that is no question."""
    return QuestionSet(dataset, (), path=file, bad_lines=(line,)).rejects()


def _batches(lines: IO[str]) -> Iterator[list[dict[str, Any]]]:
    lines.seek(0)
    while batch := [json.loads(line) for line in islice(lines, BATCH_ROWS)]:
        yield batch


def _replace(data: DataFolder, dataset: str, read: _Read, questions: IO[str]) -> Stored:
    import pyarrow as pa
    from deltalake import write_deltalake
    from deltalake.exceptions import DeltaError

    if not table_exists(data, _TABLE):
        create_table(data, _TABLE)
    of_set, of_splits = f"dataset = {sql_text(dataset)}", _split_condition(read.splits)
    stored = _stored(data, dataset, of_set, of_splits, read.ids)
    if stored == read:
        return Stored(read.n_rows, stored.n_rows, False, int(open_table(data, _TABLE).version()))
    schema = QUESTIONS.arrow_schema()
    batches = (pa.RecordBatch.from_pylist(batch, schema=schema) for batch in _batches(questions))
    try:
        # One commit: a reader sees the old questions of these splits or the new. The schema is merged, for the
        # table may be from before a column.
        write_deltalake(open_table(data, _TABLE), pa.RecordBatchReader.from_batches(schema, batches),
                        mode="overwrite", predicate=f"{of_set} AND {of_splits}", schema_mode="merge")
    except (DeltaError, OSError) as error:
        raise RunFailure(f"table {_TABLE}", f"a write of {read.n_rows} rows failed ({error})",
                         "rows that satisfy the table's constraints, and a writable disk",
                         f"See {data.table(_TABLE)} and run the command again.") from error
    return Stored(read.n_rows, stored.n_rows, True, int(open_table(data, _TABLE).version()))


def _stored(data: DataFolder, dataset: str, of_set: str, of_splits: str, ids: set[str]) -> _Sum:
    """The stored rows of the read splits. Raises UserError when another split has an id of theirs."""
    reader = TableReader(data)
    for batch in reader.batches(_TABLE, ("question_id", "split"), f"{of_set} AND NOT {of_splits}"):
        for row in batch_rows(batch, _TABLE):
            if row["question_id"] in ids:
                raise UserError(f"question set {dataset!r}", f"question {row['question_id']!r} is in its split "
                                f"{row['split'] or 'none'} already", "a question in one split",
                                f"Read all splits in one command, or give these another {argument('dataset')}.")
    found = _Sum()
    names = [field.name for field in reader.table(_TABLE).schema().fields]
    empty = dict.fromkeys(QUESTIONS.column_names)
    for batch in reader.batches(_TABLE, names, f"{of_set} AND {of_splits}"):
        for row in batch_rows(batch, _TABLE):
            found.add({**empty, **row})
    return found


def _split_condition(splits: set[str | None]) -> str:
    # Never unknown: what is neither true nor false is deleted by no condition and kept by no `NOT`.
    named = sql_in("split", sorted(split for split in splits if split is not None))
    is_named = f'("split" IS NOT NULL AND {named})'
    return f'({is_named} OR "split" IS NULL)' if None in splits else is_named
