"""Partitions: dump files by content, and evaluations by question set and method.

What belongs here: the partition definitions. What does not: who adds partitions (the CLI and the sensor).
A dump file's partition is its key in the table `dump_files`: the same bytes are the same partition, and a
file that changed is a new one. Methods are static, since they are code; question sets are data.
"""

from __future__ import annotations

import dagster as dg

from pipelines.methods.registry import partition_names

DUMP_FILES = dg.DynamicPartitionsDefinition(name="dump_files")
DATASETS = dg.DynamicPartitionsDefinition(name="datasets")
METHODS = dg.StaticPartitionsDefinition(partition_names())
EVALUATIONS = dg.MultiPartitionsDefinition({"dataset": DATASETS, "method": METHODS})
