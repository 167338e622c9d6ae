"""Indexes from release to release: unchanged shards are kept, changed ones built, damage is not inherited."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines import files, storage
from pipelines.errors import RunFailure
from pipelines.releases import Release, current_release, publish
from pipelines.retrieval.corpus import ReleasedCorpus
from pipelines.retrieval.dense_build import plan_shards
from pipelines.retrieval.index_files import opened, read_manifest
from pipelines.schemas import TABLES
from pipelines.settings import ENCODER_NAME, DataFolder, Profile, profile_by_name
from training import build_index

QUESTION = "How cold are the nights in the Sahara?"


@pytest.fixture
def built(build_data: Callable[[Path], tuple[DataFolder, Release]], tmp_path: Path,
          monkeypatch: pytest.MonkeyPatch) -> DataFolder:
    """A data folder whose release 1 has one shard a bucket."""
    monkeypatch.setattr(plan_shards, "__defaults__", (1,))
    return build_data(tmp_path / "data")[0]


def next_release(data: DataFolder, profile: Profile) -> Release:
    served = current_release(data)
    versions = {name: storage.open_table(data, name).version() for name in served.tables}
    indexes = build_index.build_indexes(data, profile, versions, served.number + 1)
    return publish(data, served.model_copy(update={
        "number": served.number + 1, "tables": versions, "indexes": indexes}))


def remove_document(data: DataFolder, doc_id: str) -> None:
    for name in ("units", "embeddings"):
        bucket = storage.bucket_of(doc_id, 4)
        storage.open_table(data, name).delete(f"bucket = {bucket} AND doc_id = '{doc_id}'")


def shard_files(data: DataFolder, number: int) -> dict[str, int]:
    """inode of each shard's FAISS file."""
    folder = Path(data.root, f"indexes/{number}/dense")
    return {path.name: path.stat().st_ino for path in folder.glob("*.faiss")}


def test_only_the_changed_shard_is_built(built: DataFolder) -> None:
    before = ReleasedCorpus.open(built).search_dense(QUESTION, 500)
    gone = before[0].doc_id
    remove_document(built, gone)
    next_release(built, profile_by_name("fast"))
    first, second = shard_files(built, 1), shard_files(built, 2)
    manifest = read_manifest(f"{built.root}/indexes/2/dense")
    assert manifest is not None
    changed = {f"{shard['name']}.faiss" for shard in manifest["shards"]
               if shard["buckets"][0] == storage.bucket_of(gone, 4)}
    assert {name for name in first if first[name] != second[name]} == changed
    after = ReleasedCorpus.open(built).search_dense(QUESTION, 500)
    assert after == [hit for hit in before if hit.doc_id != gone]
    # The older release still answers as before.
    assert ReleasedCorpus.open(built, 1).search_dense(QUESTION, 500) == before
    assert gone not in {hit.doc_id for hit in ReleasedCorpus.open(built).search_sparse(QUESTION, 500)}


def test_a_damaged_shard_is_not_taken_over(built: DataFolder) -> None:
    expected = ReleasedCorpus.open(built).search_dense(QUESTION, 9)
    victim = Path(built.root, "indexes/1/dense/shard-0001.faiss")
    victim.write_bytes(b"\0" * victim.stat().st_size)
    with pytest.raises(RunFailure, match=r"shard-0001\.faiss are not those that were built"):
        ReleasedCorpus.open(built).search_dense(QUESTION, 9)
    next_release(built, profile_by_name("fast"))
    assert ReleasedCorpus.open(built).search_dense(QUESTION, 9) == expected


def test_the_command_prints_the_folders(built: DataFolder, tmp_path: Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"data: {built.root}\nrelease: 5\nsettings: {{dense_flat_below: 10}}\n")
    assert build_index.main(["--config", str(config)]) == 0
    assert json.loads(capsys.readouterr().out) == {"dense": "indexes/5/dense", "sparse": "indexes/5/sparse"}
    assert opened(built, "indexes/5/dense")[1]["model"] == ENCODER_NAME


@pytest.mark.parametrize("content", ["data: [", "release: 1", "{data: x, release: 1, nonsense: 2}",
                                     "{data: x, release: 1, settings: {n_bukets: 3}}"])
def test_a_wrong_configuration_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                           content: str) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(content)
    assert build_index.main(["--config", str(config)]) == 2
    assert "config.yaml" in capsys.readouterr().err


def test_a_change_of_redirects_alone_makes_the_sparse_index_again(built: DataFolder) -> None:
    found = ReleasedCorpus.open(built).search_sparse("Algérie", 5)
    assert found == []
    row = storage.TableReader(built, {}).rows("documents", [*TABLES["documents"].arrow_schema().names],
                                              "title = 'Algeria'")[0]
    redirect = {**row, "doc_id": "enwiki:999999", "title": "Algérie", "n_nodes": 0, "status": "redirect",
                "reason": "Algeria#History", "bucket": storage.bucket_of("enwiki:999999", 4), "counts": {}}
    write_deltalake(built.table("documents"),
                    pa.Table.from_pylist([redirect], schema=TABLES["documents"].arrow_schema()), mode="append")
    next_release(built, profile_by_name("fast"))
    corpus = ReleasedCorpus.open(built)
    assert {hit.text.partition("\n")[0] for hit in corpus.search_sparse("Algerie", 5)} == {"Algeria"}
    assert corpus.doc_ids(["Algérie"]) == [row["doc_id"]]


def test_an_index_of_an_older_format_is_made_again(built: DataFolder) -> None:
    manifest = f"{built.root}/indexes/1/sparse/manifest.json"
    files.write_json(manifest, {**files.read_json(manifest), "format": 1})
    with pytest.raises(RunFailure, match=r"format 1.*espalier build"):
        ReleasedCorpus.open(built).search_sparse(QUESTION, 5)
    build_index.build_indexes(built, profile_by_name("fast"), current_release(built).tables, 1)
    assert ReleasedCorpus.open(built).search_sparse(QUESTION, 5)
