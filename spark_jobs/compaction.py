"""Compaction: rewrites the buckets of a table that updates have left in many small files or full of deleted rows.

What belongs here: which buckets are due, and rewriting them. What does not: updates themselves (`tables.py`), and
removing files that nothing needs any more (`pipelines/cleanup.py`). An update leaves a bucket's files as they are,
marks the rows that no longer count, and puts the new ones into a file of their own. The rows of a commit that
compacts are those before it: it says so to Delta, and readers of the change feed see nothing of it.
"""

from __future__ import annotations

from collections import Counter

from pyspark.sql import SparkSession

from pipelines.deletion_vectors import deletion_vectors
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder
from pipelines.storage import open_table

SMALL_BYTES = 8 << 20
MOST_SMALL_FILES = 16
"""Small files of a bucket: with more of them, every look-up opens too many."""
MOST_DELETED = 0.2
"""Share of a bucket's rows that may be marked as deleted."""
FEW_DELETED = 10_000
"""So many marked rows are left alone, whatever their share: small tables need not be written twice."""


def due_buckets(data: DataFolder, name: str) -> list[int]:
    """The buckets of a partitioned table that are to be rewritten."""
    delta = open_table(data, name)
    actions = delta.get_add_actions(flatten=True)
    buckets = actions.column(f"partition.{TABLES[name].partition_by}").to_pylist()
    rows: Counter[int] = Counter()
    small: Counter[int] = Counter()
    for bucket, size, n in zip(buckets, actions.column("size_bytes").to_pylist(),
                               actions.column("num_records").to_pylist(), strict=True):
        rows[bucket] += n
        small[bucket] += size < SMALL_BYTES
    bucket_of_file = dict(zip(actions.column("path").to_pylist(), buckets, strict=True))
    deleted: Counter[int] = Counter()
    for vector in deletion_vectors(delta, data.table(name)):
        deleted[bucket_of_file[vector.data_file]] += vector.n_rows
    return sorted(bucket for bucket in rows if small[bucket] > MOST_SMALL_FILES
                  or deleted[bucket] > max(FEW_DELETED, MOST_DELETED * rows[bucket]))


def compact(spark: SparkSession, data: DataFolder, name: str) -> list[int]:
    """Rewrite the buckets that are due, sorted by key, in one commit; returns them."""
    table = TABLES[name]
    if table.partition_by is None or not (due := due_buckets(data, name)):
        return []
    path = data.table(name)
    condition = f"{table.partition_by} IN ({', '.join(map(str, due))})"
    rows = (spark.read.format("delta").load(path).where(condition).hint("rebalance", table.partition_by)
            .sortWithinPartitions(table.partition_by, *table.key))
    (rows.write.format("delta").mode("overwrite").option("dataChange", "false")
     .option("replaceWhere", condition).save(path))
    return due
