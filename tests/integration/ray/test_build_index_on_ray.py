"""Shards built by Ray tasks are, byte for byte, those built in this process; so is what is asked on Ray.

On a local Ray that the code starts, and on a cluster that was there before.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import Built
from ray_head import ray_head

from pipelines import storage
from pipelines.evaluation.datasets import Question
from pipelines.retrieval.dense import DenseIndex
from pipelines.retrieval.dense_build import plan_shards
from pipelines.retrieval.index_files import opened
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder, profile_by_name
from training.answering import Ask, ray_answerer
from training.build_index import build_indexes
from training.ray_cluster import ADDRESS_VARIABLE, ray_session

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
    storage.create_table(data, "documents", N_BUCKETS)
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


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster of `ray start --head`, for this module."""
    with ray_head() as running:
        yield running


@pytest.mark.parametrize("on_cluster", [False, True])
def test_ray_and_one_process_build_the_same(data: DataFolder, monkeypatch: pytest.MonkeyPatch, address: str,
                                            on_cluster: bool) -> None:
    import ray

    monkeypatch.setattr(plan_shards, "__defaults__", (1,))
    versions = {name: storage.open_table(data, name).version() for name in ("units", "embeddings")}
    profile = profile_by_name("fast").model_copy(update={"encoder": "m"})
    here = build_indexes(data, profile, versions, 1)
    if on_cluster:
        monkeypatch.setenv(ADDRESS_VARIABLE, address)
    else:
        monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    with ray_session():
        # Without the variable the cluster that runs beside is not joined.
        assert (ray.get_runtime_context().gcs_address == address) == on_cluster
        on_ray = build_indexes(data, profile.model_copy(update={"dense_ray_above": 10}), versions, 2)
    assert not ray.is_initialized()
    folder, manifest = opened(data, here["dense"])
    other_folder, other_manifest = opened(data, on_ray["dense"])
    assert len(manifest["shards"]) == N_BUCKETS
    assert manifest == other_manifest
    query = np.eye(DIM, dtype=np.float32)[0]
    assert (DenseIndex(folder, manifest).search(query, 20)
            == DenseIndex(other_folder, other_manifest).search(query, 20))


def test_a_cluster_that_wants_a_token_says_so(tmp_path: Path) -> None:
    """In a process of its own: Ray reads its mode once."""
    token = {"RAY_AUTH_TOKEN": "a" * 40}
    script = ("from training.ray_cluster import ray_session\n"
              "with ray_session():\n    print('joined')")

    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("RAY_AUTH")}
        return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120,
                              env=environment | {"HOME": str(tmp_path)} | variables)

    with ray_head(**token, RAY_AUTH_MODE="token") as running:
        refused = run(**{ADDRESS_VARIABLE: running})
        assert "Set RAY_AUTH_MODE=token" in refused.stderr
        joined = run(**{ADDRESS_VARIABLE: running}, **token, RAY_AUTH_MODE="token")
    assert joined.stdout == "joined\n", joined.stderr


def test_questions_are_answered_on_a_cluster(small_built: Built, monkeypatch: pytest.MonkeyPatch,
                                             address: str) -> None:
    from pipelines.api import Corpus

    questions = [Question(f"q{number}", text, (), ()) for number, text in enumerate(
        ("What is made of the wood of the aspen?", "What avoids cedar?", "What is sap used for?"))]
    ask = Ask("rdr2", 200, together=2)
    corpus = Corpus.open(small_built.data)
    expected = [corpus.ask(question.question, method=ask.method, budget=ask.budget_tokens).context
                for question in questions]
    monkeypatch.setenv(ADDRESS_VARIABLE, address)
    with ray_answerer(small_built.data, corpus.release, None) as answerer:
        assert answerer.description == "on Ray, 2 workers at a time"
        predictions = answerer.answer(ask, questions, lambda *_: None)
    assert [prediction.context for prediction in predictions] == expected
