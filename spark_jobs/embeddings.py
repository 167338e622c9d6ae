"""`units` → `embeddings`: one vector for each unit and encoder.

What belongs here: which texts have no vector yet, whether they are enough for bf16, and rows. What does not:
encoding (`pipelines/models/encoder.py`). Equal texts are encoded once, and a text that moved to another unit
keeps its vector: vectors go by (rendered_sha256, model), whatever precision made them. The encoder is loaded
once a worker process and gets thousands of texts at a time, which it sorts by length.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.models.encoder import Encoder, load_encoder
from pipelines.models.encoder_backend import precision_for
from pipelines.schemas import EMBEDDINGS
from pipelines.settings import DataFolder, Precision, Profile
from spark_jobs.documents import arrow_fields, ddl, n_tasks
from spark_jobs.stages import Session, Stage, session_of
from spark_jobs.submit import run_stage
from spark_jobs.tables import (
    CHANGE,
    RowChanges,
    StageResult,
    append_rows,
    ensure_table,
    is_empty,
    read_table,
    rows_of_last_commit,
    within,
    write_differences,
)

if TYPE_CHECKING:
    import pyarrow as pa

TEXTS_AT_ONCE = 2048
"""Texts that the encoder sorts together; with 100 words each some 2 MB."""
TEXTS_PER_TASK = 20_000
_KEYS = ("unit_id", "bucket")
_VECTOR_COLUMNS = tuple(EMBEDDINGS.column(name) for name in ("rendered_sha256", "vector", "dim", "n_tokens",
                                                             "truncated"))


def refresh_embeddings(spark: Session, data: DataFolder, profile: Profile) -> StageResult:
    """Encode the units whose text has no vector of the profile's encoder; drop vectors of removed units.

    n_processed: texts that were encoded. Raises RunFailure when `units` or the encoder is missing.
    """
    stage = Stage.start(data, "embeddings", ("units",), profile)
    if done := stage.unchanged():
        return done
    load_encoder(profile.encoder, profile.encoder_max_tokens, threads=1)
    session = session_of(spark)
    ensure_table(session, data, "embeddings", profile)
    with stage.due_documents(session) as due:
        units = within(read_table(session, data, "units", stage.upstream["units"]), due.documents).select(
            *_KEYS, "doc_id", "source", "text", "rendered_sha256")
        if is_empty(data, "embeddings"):
            needed = units.withColumn(CHANGE, F.lit("insert"))
            changes, n_encoded, by = _write(session, data, profile, needed, None, None)
        else:
            stored = read_table(session, data, "embeddings")
            usable = _usable(stored, profile, trusted=stage.watermark() is not None)
            needed, removed = _needed(units, within(stored, due.documents), usable, profile)
            changes, n_encoded, by = _write(session, data, profile, needed, removed, usable)
        # Vectors of both precisions may stand side by side, as near to each other as the encoder's check asks.
        details = {"vectors_reused": changes.n_inserted + changes.n_updated - n_encoded,
                   "encoded_by": "; ".join(sorted(by)) or "nothing to encode"}
        return stage.finish(changes, n_read=due.n_documents, n_processed=n_encoded, details=details)


def _usable(stored: DataFrame, profile: Profile, *, trusted: bool) -> DataFrame:
    """Vectors as this encoder would make them now.

    Without a watermark the limit on tokens may have been another one: then only a vector whose text was
    seen whole, and would be now, is sure to be right.
    """
    same = stored.where(F.col("model") == profile.encoder)
    whole = ~F.col("truncated") & (F.col("n_tokens") <= profile.encoder_max_tokens)
    return same if trusted else same.where(whole)


def _needed(units: DataFrame, stored: DataFrame, usable: DataFrame,
            profile: Profile) -> tuple[DataFrame, DataFrame]:
    """The units that need a row, with CHANGE, and the keys of rows whose unit is gone."""
    present = stored.where(F.col("model") == profile.encoder).select(*_KEYS, F.lit(True).alias("present"))
    needed = (units.join(usable.select(*_KEYS, "rendered_sha256"), [*_KEYS, "rendered_sha256"], "left_anti")
              .join(present, [*_KEYS], "left")
              .withColumn(CHANGE, F.when(F.col("present"), "update").otherwise("insert")).drop("present"))
    removed = stored.join(units.select(*_KEYS), [*_KEYS], "left_anti")
    return needed, removed


def _write(spark: SparkSession, data: DataFolder, profile: Profile, needed: DataFrame,
           removed: DataFrame | None, usable: DataFrame | None) -> tuple[RowChanges, int, frozenset[str]]:
    """Find or make the vectors, write the rows.

    Returns the changes, how many texts were encoded, and by which back ends of the encoder.
    """
    needed = needed.persist(StorageLevel.MEMORY_AND_DISK)
    texts = needed.select("rendered_sha256", "text").dropDuplicates(["rendered_sha256"])
    found = None
    if usable is not None:
        names = [column.name for column in _VECTOR_COLUMNS]
        found = (usable.select(*names).join(texts.select("rendered_sha256"), "rendered_sha256", "left_semi")
                 .dropDuplicates(["rendered_sha256"]))
        texts = texts.join(found.select("rendered_sha256"), "rendered_sha256", "left_anti")
    texts = texts.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        n_texts = texts.count()
        tasks = n_tasks(texts, n_texts, TEXTS_PER_TASK)
        # A worker process goes from task to task, and loads the encoder once.
        workers = min(tasks, spark.sparkContext.defaultParallelism)
        precision = precision_for(profile.encoder_precision, math.ceil(n_texts / workers))
        encoded_by = spark.sparkContext.accumulator(frozenset[str](), _Union())
        task = functools.partial(encode_texts, name=profile.encoder, max_tokens=profile.encoder_max_tokens,
                                 batch_tokens=profile.encoder_batch_tokens, precision=precision,
                                 encoded_by=encoded_by)
        vectors = texts.repartition(tasks).mapInArrow(task, ddl(_VECTOR_COLUMNS))
        if found is not None:
            vectors = found.union(vectors)
        rows = needed.join(vectors, "rendered_sha256").withColumn("model", F.lit(profile.encoder)).select(
            *EMBEDDINGS.column_names, CHANGE)
        if removed is None:
            append_rows(data, "embeddings", rows.drop(CHANGE))
            changes = RowChanges(n_inserted=rows_of_last_commit(data, "embeddings"))
            return changes, n_texts, encoded_by.value
        gone = removed.select(*EMBEDDINGS.column_names, F.lit("delete").alias(CHANGE))
        changes = write_differences(spark, data, "embeddings", lambda: rows.union(gone))
        return changes, n_texts, encoded_by.value
    finally:
        needed.unpersist()
        texts.unpersist()


class _Union(AccumulatorParam[frozenset[str]]):
    """Sets that the tasks of a job add up to: a task that runs twice changes nothing."""

    def zero(self, value: frozenset[str]) -> frozenset[str]:
        return frozenset()

    def addInPlace(self, value1: frozenset[str], value2: frozenset[str]) -> frozenset[str]:
        return value1 | value2


def encode_texts(batches: Iterable[pa.RecordBatch], name: str, max_tokens: int, batch_tokens: int,
                 precision: Precision, encoded_by: Accumulator[frozenset[str]]) -> Iterator[pa.RecordBatch]:
    """(rendered_sha256, text) to vectors, thousands at a time; runs in a Python worker."""
    def encoded() -> pa.RecordBatch:
        # Spark runs one worker a core: more threads would only take the others' turn.
        encoder = load_encoder(name, max_tokens, threads=1, precision=precision)
        encoded_by.add(frozenset((str(encoder.choice),)))
        return _encoded(encoder, digests, texts, batch_tokens)

    digests: list[str] = []
    texts: list[str] = []
    for incoming in batches:
        digests += incoming.column("rendered_sha256").to_pylist()
        texts += incoming.column("text").to_pylist()
        if len(texts) >= TEXTS_AT_ONCE:
            yield encoded()
            digests, texts = [], []
    if texts:
        yield encoded()


def _encoded(encoder: Encoder, digests: list[str], texts: list[str], batch_tokens: int) -> pa.RecordBatch:
    import numpy as np
    import pyarrow as pa

    encoded = encoder.encode(texts, batch_tokens)
    n, dim = encoded.vectors.shape
    vectors = pa.ListArray.from_arrays(
        pa.array(np.arange(0, (n + 1) * dim, dim, dtype=np.int32)), pa.array(encoded.vectors.reshape(-1)))
    return pa.RecordBatch.from_arrays(
        [pa.array(digests), vectors, pa.array(np.full(n, dim, np.int32)), pa.array(encoded.n_tokens),
         pa.array(encoded.truncated)], schema=arrow_fields(_VECTOR_COLUMNS))


def main() -> None:
    """Entry point of `spark-submit spark_jobs/embeddings.py --data DIR`."""
    run_stage("Encode units that have no vector yet.", refresh_embeddings)


if __name__ == "__main__":
    main()
