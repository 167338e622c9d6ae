"""Spark's workers encode in the precision that was asked for, and say by which back end they did."""

from __future__ import annotations

import functools
import hashlib

import numpy as np
import pytest
from pyspark.sql import SparkSession

from pipelines.models.encoder_backend import BF16_FLAGS, MIN_COSINE, cpu_flags
from pipelines.models.export import export_encoder
from pipelines.settings import Precision, Profile
from spark_jobs.documents import ddl
from spark_jobs.embeddings import _VECTOR_COLUMNS, _Union, encode_texts

TEXTS = [f"Bird {number}\n{'The owl hunts at night. ' * (number % 7)}" for number in range(24)]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_vectors_and_back_ends_come_from_the_workers(spark: SparkSession, profile: Profile,
                                                     precision: Precision) -> None:
    from pipelines.models.encoder import load_encoder

    export_encoder(profile.encoder)
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in TEXTS]
    texts = spark.createDataFrame(list(zip(digests, TEXTS, strict=True)), "rendered_sha256 string, text string")
    encoded_by = spark.sparkContext.accumulator(frozenset[str](), _Union())
    task = functools.partial(encode_texts, name=profile.encoder, max_tokens=profile.encoder_max_tokens,
                             batch_tokens=profile.encoder_batch_tokens, precision=precision,
                             encoded_by=encoded_by)
    rows = texts.repartition(2).mapInArrow(task, ddl(_VECTOR_COLUMNS)).collect()
    assert sorted(row["rendered_sha256"] for row in rows) == sorted(digests)
    found = {row["rendered_sha256"]: row["vector"] for row in rows}
    expected = load_encoder(profile.encoder, profile.encoder_max_tokens).encode(TEXTS).vectors
    cosines = np.sum(np.array([found[digest] for digest in digests]) * expected, axis=1)
    assert cosines.min() >= MIN_COSINE
    can = precision == "bf16" and bool(cpu_flags() & set(BF16_FLAGS))
    (choice,) = encoded_by.value
    assert choice.startswith("bf16 by torch" if can else "fp32 by onnxruntime")
