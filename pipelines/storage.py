"""Delta tables without Spark: reads at pinned versions, and writes of the tables that Python owns.

What belongs here: opening, querying and writing Delta tables through delta-rs. What does not: which versions
form a release (`releases.py`), small files (`files.py`), and the tables that Spark writes. Reads go through
`QueryBuilder` alone and come back as plain Python by arro3: `pyarrow.dataset`, `to_pyarrow_*` and pandas
cost seconds and abort short processes at their exit. A writer compares first and commits only rows that
differ: a MERGE that changes nothing would still rewrite files and make a version.
"""

from __future__ import annotations

import os
import re
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from pipelines.errors import RunFailure
from pipelines.schemas import RELEASED_TABLES, TABLES, Table
from pipelines.settings import DataFolder

BUCKETS_PROPERTY = "espalier.n_buckets"
"""Table property: how many buckets `bucket` may have."""

LOG_PROPERTIES = {
    "delta.logRetentionDuration": "interval 3650 days",
    "delta.deletedFileRetentionDuration": "interval 3650 days",
    # Releases name versions: the log must not go by age, least of all when the clock has jumped.
    "delta.enableExpiredLogCleanup": "false",
}
"""Of every table: what releases read back in time stays until clean-up, which goes by kept releases."""
CONFLICT_RETRIES = 3
PRUNED_VALUES = 20
"""Of a longer list DataFusion compares no value with the statistics of files and pages: it reads every page."""
MOST_SCANS = 8
"""Scans of one look-up: with more they would read the same pages so often that one scan of all is cheaper."""
VALUES_A_BUCKET = 5
"""From so many values a bucket on, planning a scan for each bucket costs less than the pages that it spares."""
SAMPLE_CHARACTERS = 500

Row = dict[str, Any]


def bucket_of(doc_id: str, n_buckets: int) -> int:
    """Partition of a document: crc32 of its UTF-8 bytes modulo the bucket count, as Spark's `crc32`."""
    return zlib.crc32(doc_id.encode()) % n_buckets


def doc_id_of(unit_id: str) -> str:
    """The document of a unit: what stands before the `#` of `{doc_id}#{kind}/{hash}/{occurrence}`."""
    return unit_id.partition("#")[0]


def sql_text(value: str) -> str:
    """A value as an SQL string literal."""
    return "'" + value.replace("'", "''") + "'"


def sql_in(column: str, values: Iterable[str | int]) -> str:
    """SQL: the column's value is among `values`; false when there are none."""
    listed = ", ".join(sql_text(v) if isinstance(v, str) else str(v) for v in values)
    return f'"{column}" IN ({listed})' if listed else "false"


def open_table(data: DataFolder, name: str, version: int | None = None) -> Any:
    """The `deltalake.DeltaTable`, at a version or at its newest.

    Raises RunFailure when there is no such table or version, or its log is damaged.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    path = data.table(name)
    try:
        return DeltaTable(path, version=version)
    except TableNotFoundError:
        raise RunFailure(f"table {name}", f"no Delta table at {path}", "a table that a build has written",
                         f"Run `espalier build --data {data.root}`.") from None
    except (DeltaError, OSError) as error:
        at = "" if version is None else f" at version {version}"
        raise damaged_table(data, name, f"{path}{at} cannot be opened ({_first_line(error)})") from error


def table_exists(data: DataFolder, name: str) -> bool:
    """Whether the data folder has the table."""
    from deltalake import DeltaTable

    return bool(DeltaTable.is_deltatable(data.table(name)))


def _first_line(error: BaseException) -> str:
    """Of an engine's error its last clause, without its advice to report it: what it met is the file's fault."""
    line = re.sub(r"\.?\s*This is a kernel bug, please report\.?", "", str(error).strip().split("\n")[0])
    return re.sub(r"^(?:(?:External|Kernel|Parquet|Arrow|Internal) error:? )+", "", line)[:300]


def damaged_table(data: DataFolder, name: str, found: str, file: str | None = None) -> RunFailure:
    """The error of a table that cannot be read, with what helps. file: the data file that is damaged, if known."""
    folder, build = data.table(name), f"espalier build --data {data.root}"
    if name in ("pages", "dump_files"):
        step = f"Remove the folder {folder} and read the dumps again: `{build} --wikipedia FILE…`."
    elif name not in RELEASED_TABLES:
        step = f"Move the folder {folder} away: what fills it ({TABLES[name].writer}) begins a new one."
    elif file and os.path.exists(file):
        step = f"Remove that file and run `{build}`: it makes the table again."
    else:
        step = f"Run `{build}`: it makes the table again."
    return RunFailure(f"table {name}", found, "a log and data files as they were written", step)


def _broken_file(data: DataFolder, name: str, version: int, error: BaseException) -> str | None:
    """The data file that a read failed at: delta-rs names it, or else every file is read to its end."""
    if named := re.search(rf"/tables/{name}/([^:]*?\.(?:parquet|bin))", str(error)):
        return f"{data.table(name)}/{named[1]}"
    if "://" in data.root:
        return None
    from pipelines.damage import broken_files

    return next(broken_files(data, name, version), None)


class TableReader:
    """Reads tables, each at the version that `versions` pins, others at the newest when first read.

    Opened tables stay open. Instances may be shared between threads.
    """

    def __init__(self, data: DataFolder, versions: Mapping[str, int] | None = None) -> None:
        self.data = data
        self._versions = dict(versions or {})
        self._tables: dict[str, Any] = {}
        self._queries: dict[str, Any] = {}
        self._lock = threading.Lock()

    def table(self, name: str) -> Any:
        """The opened `deltalake.DeltaTable`. Raises RunFailure (see `open_table`)."""
        with self._lock:
            if name not in self._tables:
                from deltalake import QueryBuilder

                table = open_table(self.data, name, self._versions.get(name))
                self._queries[name] = QueryBuilder().register(name, table)
                self._tables[name] = table
            return self._tables[name]

    def version(self, name: str) -> int:
        """The version that is read."""
        return int(self.table(name).version())

    def n_buckets(self, name: str) -> int | None:
        """Bucket count of a partitioned table; None when it has no such property."""
        value = self.table(name).metadata().configuration.get(BUCKETS_PROPERTY)
        return int(value) if value else None

    def row_count(self, name: str, where_sql: str | None = None) -> int:
        """Rows of the table, or those for which the SQL condition holds."""
        where = f" WHERE {where_sql}" if where_sql else ""
        batches = list(self._execute(name, f'SELECT count(*) AS n FROM "{name}"{where}'))
        return int(batches[0].column("n").to_pylist()[0])

    def counts(self, name: str, column: str, where_sql: str | None = None) -> dict[Any, int]:
        """How many rows each value of a column has."""
        where = f" WHERE {where_sql}" if where_sql else ""
        sql = f'SELECT "{column}" AS value, count(*) AS n FROM "{name}"{where} GROUP BY "{column}"'
        found: dict[Any, int] = {}
        for batch in self._execute(name, sql):
            found.update(zip(batch.column("value").to_pylist(), batch.column("n").to_pylist(), strict=True))
        return found

    def batches(self, name: str, columns: Sequence[str], where_sql: str | None = None,
                order_by: Sequence[str] = ()) -> Iterator[Any]:
        """Stream the columns as `arro3.core.RecordBatch`, a bounded number of rows at a time.

        Raises RunFailure when a file of the table is missing or damaged.
        """
        return self._execute(name, _select(name, columns, where_sql, order_by))

    def rows(self, name: str, columns: Sequence[str] | None = None, where_sql: str | None = None,
             order_by: Sequence[str] = ()) -> list[Row]:
        """Rows as plain Python: lists, dicts for structs and maps, aware datetimes in UTC.

        columns: without, all of them. Raises RunFailure when a file is missing or damaged.
        """
        return self._rows(name, _select(name, tuple(columns or TABLES[name].column_names), where_sql, order_by))

    def rows_of_documents(self, name: str, columns: Sequence[str], doc_ids: Iterable[str],
                          order_by: Sequence[str] = ()) -> list[Row]:
        """Rows of these documents; only their buckets' files are read."""
        wanted = sorted(set(doc_ids))
        return self._rows(name, self.lookup_sql(name, columns, "doc_id", wanted, order_by)) if wanted else []

    def rows_of_units(self, name: str, columns: Sequence[str], unit_ids: Iterable[str]) -> list[Row]:
        """Rows with these unit_ids; only their documents' buckets are read."""
        wanted = sorted(set(unit_ids))
        return self._rows(name, self.lookup_sql(name, columns, "unit_id", wanted)) if wanted else []

    def lookup_sql(self, name: str, columns: Sequence[str], key: str, values: Sequence[str],
                   order_by: Sequence[str] = ()) -> str:
        """The query for the rows whose key, doc_id or unit_id, is among `values`, which are distinct.

        order_by: of the columns. Scans of few values each: rows are in order of the key within a file, so that
        statistics leave few of its pages to read. Units are looked for by document first, whose ids take little
        room.
        """
        n_buckets = self.n_buckets(name)
        if n_buckets is None:
            return _select(name, columns, sql_in(key, values), order_by)
        buckets = {value: bucket_of(doc_id_of(value), n_buckets) for value in values}
        scans = []
        for group in _scans(buckets):
            conditions = [sql_in("bucket", sorted({buckets[value] for value in group})), sql_in(key, group)]
            if key == "unit_id":
                conditions.insert(1, sql_in("doc_id", sorted({doc_id_of(value) for value in group})))
            scans.append(_select(name, columns, " AND ".join(conditions)))
        return " UNION ALL ".join(scans) + _order(order_by)

    def _rows(self, name: str, sql: str) -> list[Row]:
        found: list[Row] = []
        for batch in self._execute(name, sql):
            found += batch_rows(batch, name)
        return found

    def _execute(self, name: str, sql: str) -> Iterator[Any]:
        self.table(name)
        try:
            # delta-rs raises a bare Exception for a missing or damaged Parquet file.
            yield from self._queries[name].execute(sql)
        except Exception as error:
            version = self.version(name)
            file = _broken_file(self.data, name, version, error)
            raise damaged_table(
                self.data, name, f"{file or self.data.table(name)} of version {version} cannot be read "
                f"({_first_line(error)})", file) from error


def _quoted(column: str) -> str:
    return f'"{column}"'


def _select(name: str, columns: Sequence[str], where_sql: str | None, order_by: Sequence[str] = ()) -> str:
    where = f" WHERE {where_sql}" if where_sql else ""
    return f'SELECT {", ".join(map(_quoted, columns))} FROM "{name}"{where}{_order(order_by)}'


def _order(order_by: Sequence[str]) -> str:
    return f" ORDER BY {', '.join(map(_quoted, order_by))}" if order_by else ""


def _scans(buckets: Mapping[str, int]) -> list[list[str]]:
    """The values of a look-up, given with their buckets, by the scan that looks for them."""
    ordered = sorted(buckets, key=lambda value: (buckets[value], value))
    runs = [ordered]
    if len(ordered) >= VALUES_A_BUCKET * len(set(buckets.values())):
        runs = [list(run) for _, run in groupby(ordered, key=buckets.__getitem__)]
    scans = [run[begin: begin + PRUNED_VALUES] for run in runs for begin in range(0, len(run), PRUNED_VALUES)]
    return scans if len(scans) <= MOST_SCANS else [ordered]


def batch_rows(batch: Any, table_name: str) -> list[Row]:
    """The rows of an arro3 batch as dicts; map columns of the table become dicts too."""
    table = TABLES.get(table_name)
    maps = {c.name for c in table.columns if c.type.startswith("map<")} if table else set()
    names = list(batch.schema.names)
    columns = [batch.column(name).to_pylist() for name in names]
    for place, name in enumerate(names):
        if name in maps:
            columns[place] = [None if value is None else dict(value) for value in columns[place]]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Written:
    """What a write did: rows of each kind and the table's version afterwards."""

    n_inserted: int
    n_updated: int
    version: int


def create_table(data: DataFolder, name: str, n_buckets: int | None = None) -> None:
    """Create a table as `schemas.py` describes it, with comments, constraints and Change Data Feed.

    n_buckets: of a table with a bucket. A table that exists stays as it is. Raises RunFailure for one that lacks
    a column, which an older version of this project has written.
    """
    from deltalake import DeltaTable

    table = TABLES[name]
    if (table.partition_by is None) != (n_buckets is None):
        raise ValueError(f"table {name} is partitioned by {table.partition_by}, n_buckets is {n_buckets}")
    if table_exists(data, name):
        check_columns(data, name)
        return
    configuration = {"delta.enableChangeDataFeed": "true", **LOG_PROPERTIES}
    if n_buckets is not None:
        configuration[BUCKETS_PROPERTY] = str(n_buckets)
    DeltaTable.create(
        data.table(name), table.arrow_schema(), mode="ignore", name=name, description=table.meaning,
        partition_by=[table.partition_by] if table.partition_by else None,
        configuration=configuration, raise_if_key_not_exists=False,
    )
    for constraint, sql in table.constraints().items():
        # delta-rs cannot write `length` back as SQL; Spark and delta-rs both know its other name.
        portable = re.sub(r"\blength\(", "character_length(", sql)
        DeltaTable(data.table(name)).alter.add_constraint({constraint: portable})


def missing_columns(delta: Any, table: Table) -> list[str]:
    """The columns that a stored table lacks and that have no null to stand in: an older version wrote it."""
    there = {field.name for field in delta.schema().fields}
    return [column.name for column in table.columns if not column.nullable and column.name not in there]


def check_columns(data: DataFolder, name: str) -> None:
    """Raise RunFailure for a table that an older version of this project has written without a column of today."""
    table = TABLES[name]
    if missing := missing_columns(open_table(data, name), table):
        raise RunFailure(f"table {table.name}", f"{data.table(table.name)} has no column {', '.join(missing)}",
                         f"the columns of docs/tables.md, key {', '.join(table.key)}",
                         f"An older version wrote it: move that folder away, and what fills it ({table.writer}) "
                         "does so again.")


def append_rows(data: DataFolder, name: str, rows: Sequence[Mapping[str, Any]]) -> Written:
    """Add the rows whose key the table does not have yet; with none of them nothing is committed.

    The table is created when it does not exist. Raises ValueError for rows that lack a column or a value,
    have columns of their own or repeat a key, RunFailure when Delta refuses them.
    """
    return _write(data, name, rows, update=False)


def merge_rows(data: DataFolder, name: str, rows: Sequence[Mapping[str, Any]]) -> Written:
    """Insert the rows with new keys and replace those that differ; with none nothing is committed.

    Raises as `append_rows`.
    """
    return _write(data, name, rows, update=True)


def append_rejects(data: DataFolder, rejects: Sequence[Mapping[str, Any]]) -> Written:
    """Add rows with table, source_ref, reason, and where known detail and sample, to the table `rejects`.

    A reject that is there already (same table, source_ref, reason) is not repeated.
    """
    now = datetime.now(UTC)
    unique: dict[tuple[Any, ...], Row] = {}
    for reject in rejects:
        row = {"detail": None, "sample": None, **reject, "rejected_at": now}
        row["sample"] = row["sample"][:SAMPLE_CHARACTERS] if row["sample"] else row["sample"]
        unique.setdefault((row["table"], row["source_ref"], row["reason"]), row)
    return append_rows(data, "rejects", list(unique.values()))


def _write(data: DataFolder, name: str, rows: Sequence[Mapping[str, Any]], update: bool) -> Written:
    from deltalake.exceptions import CommitFailedError, DeltaError

    table = TABLES[name]
    _check_rows(table, rows)
    try:
        if not table_exists(data, name):
            create_table(data, name)
        for attempt in range(CONFLICT_RETRIES + 1):
            try:
                return _write_once(data, table, rows, update)
            except CommitFailedError:
                # Another writer committed in between: compare with what it wrote and try again.
                if attempt == CONFLICT_RETRIES:
                    raise
    except (DeltaError, OSError) as error:
        raise RunFailure(f"table {name}", f"a write of {len(rows)} rows failed ({_first_line(error)})",
                         "rows that satisfy the table's constraints, and a writable disk",
                         f"See {data.table(name)} and run the command again.") from error
    raise AssertionError("unreachable")


def _check_rows(table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    seen: set[tuple[Any, ...]] = set()
    for row in rows:
        if set(row) != set(table.column_names):
            wrong = sorted(set(row) ^ set(table.column_names))
            raise ValueError(f"table {table.name}: a row lacks or adds the columns {wrong}")
        empty = [c.name for c in table.columns if not c.nullable and row[c.name] is None]
        if empty:
            raise ValueError(f"table {table.name}: a row has no value in the columns {empty}")
        key = tuple(row[column] for column in table.key)
        if key in seen:
            raise ValueError(f"table {table.name}: two rows have the key {key}")
        seen.add(key)


def _write_once(data: DataFolder, table: Table, rows: Sequence[Mapping[str, Any]], update: bool) -> Written:
    import pyarrow as pa
    from arro3.core import Table as ArrowTable
    from deltalake import write_deltalake

    reader = TableReader(data)
    target = reader.table(table.name)
    if not rows:
        return Written(0, 0, reader.version(table.name))
    # Through Arrow and back, so that both sides have the same Python types.
    arrow = pa.Table.from_pylist([dict(row) for row in rows], schema=table.arrow_schema())
    new = {_key(table, row): row for batch in ArrowTable.from_arrow(arrow).to_batches()
           for row in batch_rows(batch, table.name)}
    leading = table.key[0]
    old = {_key(table, row): row
           for row in reader.rows(table.name, where_sql=sql_in(leading, sorted({k[0] for k in new})))}
    inserted = [place for place, key in enumerate(new) if key not in old]
    changed = [place for place, key in enumerate(new)
               if update and key in old and _canonical(old[key]) != _canonical(new[key])]
    if not inserted and not changed:
        return Written(0, 0, reader.version(table.name))
    if not update:
        write_deltalake(target, arrow.take(inserted), mode="append")
    else:
        # A merge, even of new rows alone: unlike appends, two that insert the same key conflict.
        condition = " AND ".join(f't."{column}" = s."{column}"' for column in table.key)
        (target.merge(arrow.take(inserted + changed), condition, source_alias="s", target_alias="t")
         .when_matched_update_all().when_not_matched_insert_all().execute())
    return Written(len(inserted), len(changed), open_table(data, table.name).version())


def _key(table: Table, row: Row) -> tuple[Any, ...]:
    return tuple(row[column] for column in table.key)


def _canonical(row: Row) -> str:
    """A row as text to compare by: maps in key order, and NaN equal to itself."""
    return repr([(name, sorted(value.items()) if isinstance(value, dict) else value)
                 for name, value in row.items()])
