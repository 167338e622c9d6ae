"""Whole documents in a stream of Arrow batches, and rows back into batches.

What belongs here: what every stage that works on one document at a time needs in Spark's Python workers.
What does not: what a stage makes of a document. A worker holds one document and one output batch at a time;
Spark sorts the rows, on disk if need be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from pipelines.schemas import Column, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]

OUTPUT_ROWS = 2048
"""Rows of an output batch: nodes, sentences and passages are small."""
TASKS_PER_CORE = 2
"""A long document that starts last then keeps one core busy for a shorter while."""


def ddl(columns: Iterable[Column], **extra: str) -> str:
    """The columns in Spark's DDL, all nullable: what must not be null is Delta's to check."""
    return ", ".join(f"`{name}` {kind}" for name, kind in
                     (*((c.name, c.type) for c in columns), *extra.items()))


def arrow_fields(columns: Iterable[Column], **extra: str) -> Any:
    """The same columns as `pyarrow.Schema`."""
    import pyarrow as pa

    return pa.schema([(name, arrow_type(kind)) for name, kind in
                      (*((c.name, c.type) for c in columns), *extra.items())])


def in_batches(rows: Iterable[Row], schema: Any) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow batches; a column that a row lacks is null."""
    import pyarrow as pa

    waiting: list[Row] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) >= OUTPUT_ROWS:
            yield pa.RecordBatch.from_pylist(waiting, schema=schema)
            waiting = []
    if waiting:
        yield pa.RecordBatch.from_pylist(waiting, schema=schema)


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """The rows of Arrow batches as dicts."""
    for batch in batches:
        yield from batch.to_pylist()


def by_document(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, list[Row]]]:
    """Each document's rows, from batches that `document_order` made; a document may span batches."""
    for doc_id, rows in groupby(rows_of(batches), key=itemgetter("doc_id")):
        yield doc_id, list(rows)


def document_order(rows: DataFrame, order: Sequence[str], n_documents: int) -> DataFrame:
    """Bring the rows of each document together, in `order`, spread over the cores."""
    return rows.repartition(n_tasks(rows, n_documents), "doc_id").sortWithinPartitions("doc_id", *order)


def n_tasks(rows: DataFrame, n_items: int, items_per_task: int = 2000) -> int:
    """How many tasks to spread work over: enough for every core, and none with too much."""
    cores = rows.sparkSession.sparkContext.defaultParallelism
    return max(1, min(n_items, max(cores * TASKS_PER_CORE, math.ceil(n_items / items_per_task))))
