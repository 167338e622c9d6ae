"""Shards built by Ray tasks are, byte for byte, those built in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipelines import storage
from pipelines.retrieval.dense import DenseIndex
from pipelines.retrieval.dense_build import plan_shards
from pipelines.retrieval.index_files import opened
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder, profile_by_name
from training.build_index import build_indexes

DIM, N_BUCKETS, N_DOCUMENTS = 16, 4, 300


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """Units and random unit vectors of 300 documents in four buckets."""
    import pyarrow as pa
    from deltalake import write_deltalake

    data = DataFolder.at(tmp_path / "data")
    vectors = np.random.default_rng(5).normal(size=(N_DOCUMENTS, DIM))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    common: dict[str, Any] = {"source": "wikipedia", "n_tokens": 2, "rendered_sha256": "0" * 64}
    for name, extra in {
        "units": {"kind": "passage", "node_ids": [1], "first_sentence_id": 0, "last_sentence_id": 0,
                  "text": "a b"},
        "embeddings": {"model": "m", "dim": DIM, "truncated": False},
    }.items():
        rows = [{"unit_id": f"xx:{n}#passage/{n:016x}/0", "doc_id": f"xx:{n}",
                 "bucket": storage.bucket_of(f"xx:{n}", N_BUCKETS), **common, **extra,
                 **({"vector": vectors[n].tolist()} if name == "embeddings" else {})}
                for n in range(N_DOCUMENTS)]
        storage.create_table(data, name, N_BUCKETS)
        table = pa.Table.from_pylist(rows, TABLES[name].arrow_schema())
        write_deltalake(data.table(name), table, mode="append")
    return data


def test_ray_and_one_process_build_the_same(data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.setattr(plan_shards, "__defaults__", (1,))
    versions = {name: storage.open_table(data, name).version() for name in ("units", "embeddings")}
    profile = profile_by_name("fast").model_copy(update={"encoder": "m"})
    here = build_indexes(data, profile, versions, 1)
    on_ray = build_indexes(data, profile.model_copy(update={"dense_ray_above": 10}), versions, 2)
    assert not ray.is_initialized()
    folder, manifest = opened(data, here["dense"])
    other_folder, other_manifest = opened(data, on_ray["dense"])
    assert len(manifest["shards"]) == N_BUCKETS
    assert manifest == other_manifest
    query = np.eye(DIM, dtype=np.float32)[0]
    assert (DenseIndex(folder, manifest).search(query, 20)
            == DenseIndex(other_folder, other_manifest).search(query, 20))
