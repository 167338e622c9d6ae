"""Delta tables through Spark: create from `schemas.py`, read, and write only the rows that differ.

What belongs here: everything that touches a table as a whole. What does not: which rows a stage makes (its
own module) and when it has something to do (`stages.py`). A writer compares first and commits nothing when
no row differs: a Delta MERGE that changes nothing still rewrites files and makes a version.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.damage import forget_table
from pipelines.deletion_vectors import PROPERTY as DELETION_VECTORS
from pipelines.errors import RunFailure
from pipelines.schemas import TABLES, Table, describe
from pipelines.settings import DataFolder, Profile
from pipelines.storage import BUCKETS_PROPERTY, LOG_PROPERTIES, SAMPLE_CHARACTERS, TableReader, table_exists
from spark_jobs.compaction import compact

CONFLICT_RETRIES = 3
CAUSE_CHARACTERS = 500
LISTED_DOCUMENTS = 1000
"""Documents that are named in a condition. Of more, a join finds the rows, and all pages are read."""
CHANGE = "_change"
"""Column of prepared differences: insert, update or delete."""


@dataclass(frozen=True)
class StageResult:
    """What a stage did to its table.

    n_read: rows of the upstream that were looked at. n_processed: rows or documents that were worked on
    again. version: Delta version of the table afterwards. changed: whether a commit was made.
    """

    table: str
    n_read: int = 0
    n_processed: int = 0
    n_inserted: int = 0
    n_updated: int = 0
    n_deleted: int = 0
    version: int = 0
    changed: bool = False
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


class RowChanges(NamedTuple):
    """How many rows a write inserted, updated and deleted."""

    n_inserted: int = 0
    n_updated: int = 0
    n_deleted: int = 0

    def __bool__(self) -> bool:
        return any(self)


class Reject(NamedTuple):
    """Something that was not taken: the table it would have gone to, where it came from, a fixed reason."""

    table: str
    source_ref: str
    reason: str
    detail: str | None = None
    sample: str | None = None


def table_version(data: DataFolder, name: str) -> int | None:
    """Newest version of a table, None when it does not exist. Reads the log alone and needs no session."""
    from deltalake import DeltaTable

    if not table_exists(data, name):
        return None
    return int(DeltaTable(data.table(name)).version())


def is_empty(data: DataFolder, name: str) -> bool:
    """Whether a table has no data file."""
    from deltalake import DeltaTable

    return not DeltaTable(data.table(name)).file_uris()


def n_buckets(data: DataFolder, profile: Profile) -> int:
    """Bucket count of this data folder: fixed when its first table was made, else the profile's."""
    stored = TableReader(data).n_buckets("pages") if table_exists(data, "pages") else None
    return stored or profile.n_buckets


def ensure_table(spark: SparkSession, data: DataFolder, name: str, profile: Profile) -> int:
    """Create a table unless it exists, give it the nullable columns that have come since; return its version.

    Raises RunFailure when it exists with other columns: a data folder of another release of the project.
    """
    table = TABLES[name]
    version = table_version(data, name)
    if version is None:
        forget_table(data, name)
        spark.sql(_create_statement(table, data.table(name), n_buckets(data, profile)))
        return 0
    found = {f.name: f.dataType.simpleString() for f in read_table(spark, data, name).schema}
    expected = {column.name: column.type for column in table.columns}
    added = [c for c in table.columns if c.nullable and c.name not in found]
    if added and found == {name: kind for name, kind in expected.items() if name in found}:
        columns = ", ".join(f"`{c.name}` {c.type} COMMENT {_quoted(describe(c))}" for c in added)
        spark.sql(f"ALTER TABLE delta.`{data.table(name)}` ADD COLUMNS ({columns})")
        return version + 1
    if found != expected:
        differing = sorted(set(found.items()) ^ set(expected.items()))
        raise RunFailure(f"table {data.table(name)}", f"differing columns {differing}",
                         "the columns of pipelines/schemas.py",
                         "Build into a new data folder, or with the release that made this one.")
    return version


def _create_statement(table: Table, path: str, buckets: int) -> str:
    columns = ", ".join(
        f"`{c.name}` {c.type}{'' if c.nullable else ' NOT NULL'} COMMENT {_quoted(describe(c))}"
        for c in table.columns)
    properties = {
        "delta.enableChangeDataFeed": "true",
        **LOG_PROPERTIES,
        **{f"delta.constraints.{name}": rule for name, rule in table.constraints().items()},
    }
    if table.partition_by:
        properties[BUCKETS_PROPERTY] = str(buckets)
    if table.partition_by and table.released:
        # An update marks the rows that it replaces; else it would write all others of their files again.
        properties[DELETION_VECTORS] = "true"
    listed = ", ".join(f"{_quoted(key)} = {_quoted(value)}" for key, value in properties.items())
    partitioning = f"PARTITIONED BY ({table.partition_by})" if table.partition_by else ""
    return (f"CREATE TABLE IF NOT EXISTS delta.`{path}` ({columns}) USING delta {partitioning} "
            f"COMMENT {_quoted(table.meaning)} TBLPROPERTIES ({listed})")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def read_table(spark: SparkSession, data: DataFolder, name: str, version: int | None = None) -> DataFrame:
    """A table at one version, else at its newest."""
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    return reader.load(data.table(name))


def few_documents(documents: DataFrame) -> list[Any] | None:
    """The distinct doc_ids of a frame that is kept, None when they are more than can be listed."""
    rows = documents.select("doc_id").distinct().limit(LISTED_DOCUMENTS + 1).collect()
    return None if len(rows) > LISTED_DOCUMENTS else sorted(row["doc_id"] for row in rows)


def within(rows: DataFrame, scope: DataFrame | None) -> DataFrame:
    """The rows whose document is in `scope` (doc_id, bucket), a frame that is kept; all without one.

    Few documents are named: rows are in order of doc_id within a file, and names are compared with the
    statistics of its pages, so that only theirs are read.
    """
    if scope is None:
        return rows
    listed = few_documents(scope)
    chosen = rows if listed is None else rows.where(F.col("doc_id").isin(listed))
    return chosen.join(scope, ["doc_id", "bucket"], "left_semi")


def write_changes(spark: SparkSession, data: DataFolder, name: str, rows: DataFrame,
                  scope: DataFrame | None = None) -> RowChanges:
    """Make the table hold exactly `rows` for the documents in `scope`, and commit only if that differs.

    rows: the table's columns, at most one row a key. scope: the documents (doc_id, bucket) that `rows` is
    complete for; rows of the table that belong to them and are not in `rows` are deleted. Without a scope
    `rows` is complete for the whole table. Raises RunFailure when other writers keep committing first.
    """
    table = TABLES[name]
    ordered = rows.select(*table.column_names)
    if is_empty(data, name):
        append_rows(data, name, ordered)
        return RowChanges(n_inserted=rows_of_last_commit(data, name))
    return _with_retries(name, lambda: _merge(
        spark, data, table, differences(table, ordered, within(read_table(spark, data, name), scope))))


def differences(table: Table, new: DataFrame, old: DataFrame) -> DataFrame:
    """The rows to upsert or delete, with `CHANGE` = insert, update or delete.

    Values are compared, not hashes: Spark's hash skips nulls, so that a value that moves from one column
    to the next would go unseen.
    """
    keys = [*table.key, *([table.partition_by] if table.partition_by else [])]
    others = [c for c in table.columns if c.name not in keys]
    joined = new.withColumn("_new", F.lit(True)).alias("n").join(
        old.withColumn("_old", F.lit(True)).alias("o"), keys, "full_outer")
    differs = F.lit(False)
    for column in others:
        differs = differs | ~_comparable(f"n.{column.name}", column.type).eqNullSafe(
            _comparable(f"o.{column.name}", column.type))
    change = (F.when(F.col("_new").isNull(), "delete").when(F.col("_old").isNull(), "insert")
              .when(differs, "update"))
    # A row to delete says of what it holds its document alone, so that `_merge` can name that.
    values = {name: F.col(name) if name in keys else F.col(f"n.{name}").alias(name) for name in table.column_names}
    if "doc_id" in values and "doc_id" not in keys:
        values["doc_id"] = F.coalesce("n.doc_id", "o.doc_id").alias("doc_id")
    return (joined.withColumn(CHANGE, change).where(F.col(CHANGE).isNotNull())
            .select(*values.values(), CHANGE))


def _comparable(name: str, kind: str) -> Any:
    """A column that can be compared: maps have no order in Spark, so their entries are sorted."""
    return F.sort_array(F.map_entries(F.col(name))) if kind.startswith("map") else F.col(name)


def _merge(spark: SparkSession, data: DataFolder, table: Table, differences: DataFrame) -> RowChanges:
    """Write prepared differences (rows with `CHANGE`) in one commit, with none when there are none.

    Buckets that are full of small files or deleted rows are rewritten in a further commit.
    """
    changes = _merge_rows(spark, data, table, differences)
    if changes:
        with _explained(table.name):
            compact(spark, data, table.name)
    return changes


def _merge_rows(spark: SparkSession, data: DataFolder, table: Table, differences: DataFrame) -> RowChanges:
    differences = differences.persist()
    try:
        groups = [CHANGE, *([table.partition_by] if table.partition_by else [])]
        with _explained(table.name):
            counted = differences.groupBy(*groups).count().collect()
        totals = {kind: sum(row["count"] for row in counted if row[CHANGE] == kind)
                  for kind in ("insert", "update", "delete")}
        changes = RowChanges(totals["insert"], totals["update"], totals["delete"])
        if not changes:
            return changes
        if not changes.n_updated and not changes.n_deleted:
            append_rows(data, table.name, differences.drop(CHANGE))
            return changes
        condition = " AND ".join(f"t.`{key}` = s.`{key}`" for key in table.key)
        if table.partition_by:
            # Named as literals, so that Delta reads and locks only these partitions.
            touched = ", ".join(str(row[table.partition_by]) for row in counted)
            condition += f" AND t.`{table.partition_by}` = s.`{table.partition_by}`" \
                         f" AND t.`{table.partition_by}` IN ({touched})"
        if "doc_id" in table.column_names and (listed := few_documents(differences)):
            condition += f" AND t.`doc_id` IN ({', '.join(map(_quoted, listed))})"
        assignments: dict[str, Any] = {f"`{name}`": F.col(f"s.`{name}`") for name in table.column_names}
        from delta.tables import DeltaTable

        with _explained(table.name):
            (DeltaTable.forPath(spark, data.table(table.name)).alias("t")
             .merge(differences.alias("s"), condition)
             .whenMatchedDelete(f"s.{CHANGE} = 'delete'")
             .whenMatchedUpdate(set=assignments)
             .whenNotMatchedInsert(f"s.{CHANGE} <> 'delete'", values=assignments)
             .execute())
        return changes
    finally:
        differences.unpersist()


def append_rows(data: DataFolder, name: str, rows: DataFrame) -> None:
    """Append rows in one commit, each bucket in as few files as Spark thinks right, sorted by key."""
    table = TABLES[name]
    if table.partition_by:
        rows = rows.hint("rebalance", table.partition_by).sortWithinPartitions(table.partition_by, *table.key)
    with _explained(name):
        rows.write.format("delta").mode("append").save(data.table(name))


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn what Spark raises while it makes and writes rows into a RunFailure with the one line that says
    why; a conflict with another writer stays what it is."""
    try:
        yield
    except _conflicts():
        raise
    except (PySparkException, Py4JJavaError) as error:
        raise RunFailure(f"table {name}", cause_line(str(error)), "rows that Spark can make and Delta accepts",
                         "Nothing was committed. Remove the cause and run again (espalier --debug: the whole "
                         "trace).") from error


def cause_line(trace: str) -> str:
    """The line of a Java or Python trace that says why: Delta's own message, else the last exception."""
    if match := re.search(r"\[DELTA_[\w.]+\][^\n]*(?:\n - [^\n]*)*", trace):
        return " ".join(match[0].split())[:CAUSE_CHARACTERS]
    # Py4J puts a colon before the exception; lines with `at` only say where.
    lines = [line.strip().removeprefix(": ") for line in trace.splitlines()
             if line.strip() and not line.startswith("\tat ")]
    causes = [line for line in lines
              if re.match(r"(?:Caused by: )?[\w.]+(?:Error|Exception|Failure)\b", line)]
    return (causes or lines or ["no message"])[-1][:CAUSE_CHARACTERS]


def write_differences(spark: SparkSession, data: DataFolder, name: str,
                      make: Callable[[], DataFrame]) -> RowChanges:
    """Write differences that a stage works out itself: the table's columns and `CHANGE`.

    `make` is called again when another writer committed first.
    """
    return _with_retries(name, lambda: _merge(spark, data, TABLES[name], make()))


def append_rejects(spark: SparkSession, data: DataFolder, profile: Profile, rejects: Iterable[Reject]) -> int:
    """Record what was not taken, each once; return how many were new."""
    unique = {(r.table, r.source_ref, r.reason): r for r in rejects}
    if not unique:
        return 0
    ensure_table(spark, data, "rejects", profile)
    now = datetime.now(UTC)
    rows = [(*r[:4], r.sample[:SAMPLE_CHARACTERS] if r.sample else None, now) for r in unique.values()]
    columns = TABLES["rejects"].columns
    new = spark.createDataFrame(rows, ", ".join(f"`{c.name}` {c.type}" for c in columns)).join(
        read_table(spark, data, "rejects"), list(TABLES["rejects"].key), "left_anti").persist()
    try:
        n_new = new.count()
        if n_new:
            append_rows(data, "rejects", new.coalesce(1))
        return n_new
    finally:
        new.unpersist()


def rows_of_last_commit(data: DataFolder, name: str) -> int:
    """How many rows the newest commit of a table wrote, from its log."""
    from deltalake import DeltaTable

    metrics = DeltaTable(data.table(name)).history(1)[0].get("operationMetrics", {})
    return int(metrics.get("numOutputRows", 0))


def _conflicts() -> tuple[type[Exception], ...]:
    """Delta's exceptions for a commit that another writer's came before: they have no class in common."""
    from delta import exceptions

    return tuple(getattr(exceptions, name) for name in exceptions.__all__)


T = TypeVar("T")


def _with_retries(name: str, write: Callable[[], T]) -> T:
    """Call `write` again, three times at most, while another writer's commit comes first."""
    conflicts = _conflicts()
    for attempt in range(CONFLICT_RETRIES + 1):
        try:
            return write()
        except conflicts as error:
            if attempt == CONFLICT_RETRIES:
                raise RunFailure(f"table {name}", f"another writer committed first, {attempt + 1} times",
                                 "one writer at a time", "Wait for the other run to end, then run again."
                                 ) from error
            time.sleep(2.0 ** attempt)
    raise AssertionError("unreachable")
