"""Partitions: dump files by content, and evaluations by question set and method.

What belongs here: the partition definitions. What does not: who adds partitions (the CLI and the sensor).
A dump file's partition is its key in the table `dump_files`: the same bytes are the same partition, and a
file that changed is a new one. Methods are static, since they are code; question sets are data.
"""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg
from dagster._core.definitions.partitions.utils.multi import get_tags_from_multi_partition_key

from pipelines.methods.registry import partition_names

DUMP_FILES = dg.DynamicPartitionsDefinition(name="dump_files")
DATASETS = dg.DynamicPartitionsDefinition(name="datasets")
METHODS = dg.StaticPartitionsDefinition(partition_names())
EVALUATIONS = dg.MultiPartitionsDefinition({"dataset": DATASETS, "method": METHODS})


def dimension_tags(key: dg.MultiPartitionKey) -> dict[str, str]:
    """Tags of an event about this partition: Dagster stores the key as text, its dimensions in tags alone."""
    return dict(get_tags_from_multi_partition_key(key))


def evaluation_of(partition: str | None) -> Mapping[str, str] | None:
    """`dataset` and `method` of a stored partition of `EVALUATIONS`, also of one that came back as plain text.

    None for an event without a partition, and for one whose text is no such pair.
    """
    if isinstance(partition, dg.MultiPartitionKey):
        return partition.keys_by_dimension
    dataset, mark, method = (partition or "").partition("|")
    return {"dataset": dataset, "method": method} if dataset and mark and method else None
