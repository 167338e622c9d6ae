"""The dense index over synthetic vectors: exact and trained shards against numpy, filters, ties, faults."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipelines import files, storage
from pipelines.errors import RunFailure
from pipelines.retrieval import dense
from pipelines.retrieval.dense import DenseIndex
from pipelines.retrieval.dense_build import plan_shards
from pipelines.retrieval.index_files import opened
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder, Profile, profile_by_name
from training.build_index import build_indexes

DIM, N_BUCKETS = 32, 4
N_DOCUMENTS, UNITS_EACH = 1_500, 8


CONSTANTS: dict[str, dict[str, Any]] = {
    "embeddings": {"model": "m", "source": "wikipedia", "dim": DIM, "n_tokens": 5, "truncated": False,
                   "rendered_sha256": "0" * 64},
    "units": {"source": "wikipedia", "kind": "passage", "node_ids": [1], "first_sentence_id": 0,
              "last_sentence_id": 0, "text": "a b", "n_tokens": 2, "rendered_sha256": "0" * 64},
}


def clustered(n: int, seed: int) -> Any:
    """Unit vectors around 60 centres, as texts lie around topics."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(60, DIM))
    vectors = centres[generator.integers(0, 60, n)] + 0.7 * generator.normal(size=(n, DIM))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


class Corpus:
    """Synthetic units: rows, vectors, and the ranking that numpy gives."""

    def __init__(self, root: Path, n_documents: int = N_DOCUMENTS) -> None:
        self.data = DataFolder.at(root)
        self.n_documents = n_documents
        self.doc_ids = [f"xx:{page}" for page in range(n_documents) for _ in range(UNITS_EACH)]
        self.unit_ids = [f"{doc_id}#passage/{n % UNITS_EACH:016x}/0" for n, doc_id in enumerate(self.doc_ids)]
        self.vectors = clustered(len(self.unit_ids), seed=1)
        # Equal vectors under several ids: a fixed order must decide.
        self.vectors[100:140] = self.vectors[100]

    def write(self, places: list[int], mode: str = "append") -> None:
        import pyarrow as pa
        from deltalake import write_deltalake

        columns: dict[str, list[Any]] = {
            "unit_id": [self.unit_ids[p] for p in places], "doc_id": [self.doc_ids[p] for p in places],
            "bucket": [storage.bucket_of(self.doc_ids[p], N_BUCKETS) for p in places],
            "vector": [self.vectors[p] for p in places]}
        n = len(places)
        storage.create_table(self.data, "documents", N_BUCKETS)
        for name, constants in CONSTANTS.items():
            storage.create_table(self.data, name, N_BUCKETS)
            schema = TABLES[name].arrow_schema()
            full = columns | {column: [value] * n for column, value in constants.items()}
            table = pa.table({field.name: full[field.name] for field in schema}, schema=schema)
            write_deltalake(self.data.table(name), table, mode=mode)

    def versions(self) -> dict[str, int]:
        return {name: storage.open_table(self.data, name).version() for name in ("units", "embeddings")}

    def build(self, profile: Profile, number: int = 1) -> DenseIndex:
        indexes = build_indexes(self.data, profile, self.versions(), number)
        return DenseIndex(*opened(self.data, indexes["dense"]))

    def exact(self, query: Any, k: int, kept: Callable[[str], bool] = lambda doc_id: True) -> list[str]:
        scores = self.vectors @ query
        order = sorted((n for n, doc_id in enumerate(self.doc_ids) if kept(doc_id)),
                       key=lambda n: (-scores[n], self.unit_ids[n]))
        return [self.unit_ids[n] for n in order[:k]]


def profile(**settings: Any) -> Profile:
    return profile_by_name("fast").model_copy(update={"encoder": "m", **settings})


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = Corpus(tmp_path_factory.mktemp("dense") / "data")
    places = list(range(len(corpus.unit_ids)))
    np.random.default_rng(3).shuffle(places)
    corpus.write(places)
    return corpus


@pytest.fixture(scope="module")
def exact(corpus: Corpus) -> DenseIndex:
    return corpus.build(profile(), number=1)


@pytest.fixture(scope="module")
def trained(corpus: Corpus) -> DenseIndex:
    return corpus.build(profile(dense_flat_below=1), number=2)


QUERIES = clustered(40, seed=2)


def ids(matches: Any) -> list[str]:
    return [match.unit_id for match in matches]


def test_exact_shards_rank_as_numpy(corpus: Corpus, exact: DenseIndex) -> None:
    for query in QUERIES[:10]:
        matches = exact.search(query, 25)
        assert ids(matches) == corpus.exact(query, 25)
        assert all(match.unit_id.startswith(f"{match.doc_id}#") for match in matches)


def test_trained_shards_find_nearly_all(corpus: Corpus, trained: DenseIndex) -> None:
    found = [len(set(ids(trained.search(query, 10))) & set(corpus.exact(query, 10))) for query in QUERIES]
    assert sum(found) / (10 * len(QUERIES)) >= 0.95


def test_trained_scores_are_cosines_in_order(corpus: Corpus, trained: DenseIndex) -> None:
    matches = trained.search(QUERIES[0], 30)
    scores = dict(zip(corpus.unit_ids, corpus.vectors @ QUERIES[0], strict=True))
    np.testing.assert_allclose([m.score for m in matches], [scores[m.unit_id] for m in matches], atol=1e-3)
    assert [m.score for m in matches] == sorted((m.score for m in matches), reverse=True)


@pytest.mark.parametrize("kind", ["exact", "trained"])
def test_equal_scores_are_ordered_by_unit_id(corpus: Corpus, kind: str,
                                             request: pytest.FixtureRequest) -> None:
    index: DenseIndex = request.getfixturevalue(kind)
    matches = index.search(corpus.vectors[100], 7)
    assert ids(matches) == sorted(corpus.unit_ids[100:140])[:7]


@pytest.mark.parametrize("kind", ["exact", "trained"])
def test_more_than_there_are(corpus: Corpus, kind: str, request: pytest.FixtureRequest) -> None:
    index: DenseIndex = request.getfixturevalue(kind)
    matches = index.search(QUERIES[0], len(corpus.unit_ids) + 5)
    assert len(set(ids(matches))) == len(matches) == len(corpus.unit_ids)
    assert index.search(QUERIES[0], 0) == []


@pytest.mark.parametrize("kind", ["exact", "trained"])
def test_filters_by_document(corpus: Corpus, kind: str, request: pytest.FixtureRequest) -> None:
    index: DenseIndex = request.getfixturevalue(kind)
    wanted = {"xx:3", "xx:77", "xx:1499", "xx:unknown", "yy:3"}
    for query in QUERIES[:5]:
        assert set(ids(index.search(query, 12, doc_ids=wanted))) == set(
            corpus.exact(query, 12, wanted.__contains__))
    assert len(index.search(QUERIES[0], 99, doc_ids=wanted)) == 3 * UNITS_EACH
    assert index.search(QUERIES[0], 9, doc_ids=["xx:unknown"]) == []
    assert index.search(QUERIES[0], 9, doc_ids=[]) == []


def test_a_wide_filter_on_trained_shards(corpus: Corpus, trained: DenseIndex,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    # Beyond the limit for exact answers, the selector goes into the inverted lists.
    monkeypatch.setattr("pipelines.retrieval.dense.EXACT_ROWS", 10)
    wanted = {f"xx:{page}" for page in range(0, N_DOCUMENTS, 2)}
    found = 0
    for query in QUERIES:
        matches = trained.search(query, 10, doc_ids=wanted)
        assert {match.doc_id for match in matches} <= wanted
        found += len(set(ids(matches)) & set(corpus.exact(query, 10, wanted.__contains__)))
    assert found / (10 * len(QUERIES)) >= 0.95
    # So few rows that the probed lists hold none of them: all lists are searched then.
    assert len(trained.search(QUERIES[0], 10, doc_ids={"xx:5", "xx:900"})) == 10


def test_sources(exact: DenseIndex) -> None:
    assert exact.search(QUERIES[0], 5, source="wikipedia") == exact.search(QUERIES[0], 5)
    assert exact.search(QUERIES[0], 5, source="pdf") == []


def test_a_vector_of_another_dimension_is_refused(exact: DenseIndex) -> None:
    with pytest.raises(ValueError, match="31 dimensions, the index has 32"):
        exact.search(QUERIES[0][:31], 5)


def test_shards_group_whole_buckets(corpus: Corpus) -> None:
    reader = storage.TableReader(corpus.data)
    n = reader.counts("embeddings", "bucket")
    plans = plan_shards(reader, "m", flat_below=1, shard_vectors=n[0] + n[1])
    assert plans[0].buckets == (0, 1)
    assert sorted(b for plan in plans for b in plan.buckets) == [0, 1, 2, 3]
    assert all(plan.n_vectors <= n[0] + n[1] and not plan.exact for plan in plans)
    assert [plan.exact for plan in plan_shards(reader, "m", flat_below=10**6)] == [True]
    assert plan_shards(reader, "another model", flat_below=1) == []


def test_several_shards_rank_as_one(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_shards, "__defaults__", (1,))
    index = corpus.build(profile(), number=3)
    for query in QUERIES[:5]:
        assert ids(index.search(query, 25)) == corpus.exact(query, 25)
    assert len(index.search(QUERIES[0], 99, doc_ids={"xx:3", "xx:77"})) == 2 * UNITS_EACH


def test_several_trained_shards_nominate_no_more_than_one(corpus: Corpus, trained: DenseIndex,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    counts = storage.TableReader(corpus.data).counts("embeddings", "bucket")
    monkeypatch.setattr(plan_shards, "__defaults__", (counts[0] + counts[1],))
    index = corpus.build(profile(dense_flat_below=1), number=4)
    read: list[int] = []
    real = dense._Shard.search

    def count(shard: Any, query: Any, k: int, rows: Any) -> Any:
        read.append(len(rows))
        return real(shard, query, k, rows)

    monkeypatch.setattr(dense._Shard, "search", count)
    found = 0
    for query in QUERIES:
        for one in (trained, index):
            read.clear()
            matches = one.search(query, 10)
            # Equal vectors have equal codes: those that tie with the last candidate are all read.
            assert dense.MIN_CANDIDATES <= sum(read) <= dense.MIN_CANDIDATES + 40
        found += len(set(ids(matches)) & set(corpus.exact(query, 10)))
    assert len(index._shards) == 2
    assert found / (10 * len(QUERIES)) >= 0.95


# --- building again

@pytest.fixture
def small(tmp_path: Path) -> Corpus:
    corpus = Corpus(tmp_path / "data", n_documents=40)
    corpus.write(list(range(len(corpus.unit_ids))))
    return corpus


def test_a_unit_that_is_there_twice_is_found_once(small: Corpus) -> None:
    small.write(list(range(16)))
    index = small.build(profile())
    matches = index.search(QUERIES[0], 1000)
    assert sorted(ids(matches)) == sorted(small.unit_ids)
    _, manifest = opened(small.data, "indexes/1/dense")
    assert (manifest["n_vectors"], manifest["shards"][0]["n_repeated"]) == (len(small.unit_ids), 16)


def test_a_finished_index_is_kept_and_an_unfinished_one_made_again(small: Corpus) -> None:
    small.build(profile())
    dense, sparse = (Path(small.data.root, "indexes/1", name) for name in ("dense", "sparse"))
    before = {path: path.stat().st_mtime_ns for path in [*dense.iterdir(), *sparse.iterdir()]}
    small.build(profile())
    assert {path: path.stat().st_mtime_ns for path in [*dense.iterdir(), *sparse.iterdir()]} == before
    (dense / "manifest.json").unlink()
    (dense / "left-over").write_text("")
    small.build(profile())
    assert not (dense / "left-over").exists()
    assert (dense / "manifest.json").stat().st_mtime_ns > before[dense / "manifest.json"]
    assert (sparse / "manifest.json").stat().st_mtime_ns == before[sparse / "manifest.json"]


def test_an_index_over_other_versions_is_made_again(small: Corpus) -> None:
    small.build(profile())
    small.vectors = small.vectors[::-1].copy()
    small.write(list(range(len(small.unit_ids))), mode="overwrite")
    index = small.build(profile())
    assert ids(index.search(QUERIES[0], 5)) == small.exact(QUERIES[0], 5)


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path / "data", n_documents=40)
    corpus.write([])
    with pytest.raises(RunFailure, match=r"table embeddings.*none"):
        corpus.build(profile())


def test_vectors_of_two_dimensions_are_refused(small: Corpus) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake

    row = {"unit_id": "xx:9#passage/f/9", "doc_id": "xx:9", "bucket": 0, "model": "m", "source": "wikipedia",
           "vector": [1.0], "dim": 1, "n_tokens": 1, "truncated": False, "rendered_sha256": "0" * 64}
    table = pa.Table.from_pylist([row], TABLES["embeddings"].arrow_schema())
    write_deltalake(small.data.table("embeddings"), table, mode="append")
    with pytest.raises(RunFailure, match=r"dimensions of m: \[1, 32\]"):
        small.build(profile())


@pytest.mark.parametrize("damage", ["delete", "cut", "flip", "manifest", "folder"])
def test_damage_is_one_clear_error(small: Corpus, damage: str) -> None:
    small.build(profile())
    folder = Path(small.data.root, "indexes/1/dense")
    victim = folder / "shard-0000.faiss"
    if damage == "delete":
        victim.unlink()
    elif damage == "cut":
        victim.write_bytes(victim.read_bytes()[:-1])
    elif damage == "flip":
        content = bytearray(victim.read_bytes())
        content[len(content) // 2] ^= 1
        victim.write_bytes(content)
    elif damage == "manifest":
        (folder / "manifest.json").write_text("{")
    else:
        shutil.rmtree(folder)
    with pytest.raises(RunFailure, match=r"index .*indexes/1/dense: .*espalier build.*espalier release use"):
        opened(small.data, "indexes/1/dense")


FULL = """
import resource, sys
from pipelines.errors import RunFailure
from pipelines.settings import DataFolder, profile_by_name
from training.build_index import build_indexes
data = DataFolder.at(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    build_indexes(data, profile_by_name("fast").model_copy(update={"encoder": "m"}), {}, 1)
except RunFailure as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [500, 20_000])
def test_a_full_disk_is_one_clear_error(small: Corpus, limit: int) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, small.data.root, str(limit)], capture_output=True,
                          text=True, check=False)
    assert re.match(r"index .*/indexes/1/(dense|sparse): it could not be built \(.*run the command again",
                    done.stdout), done.stdout + done.stderr
    # With room again, the same command completes it.
    assert ids(small.build(profile()).search(QUERIES[0], 5)) == small.exact(QUERIES[0], 5)


def test_digests_are_compared_once_for_each_state_of_the_files(
        small: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    small.build(profile())
    opened(small.data, "indexes/1/dense")
    compared: list[Path] = []
    real = files.file_sha256

    def count(path: Path) -> str:
        compared.append(path)
        return real(path)

    monkeypatch.setattr(files, "file_sha256", count)
    opened(small.data, "indexes/1/dense")
    assert compared == []
    (Path(small.data.root) / "indexes/1/dense/shard-0000.units.bin").touch()
    opened(small.data, "indexes/1/dense")
    assert "shard-0000.units.bin" in {path.name for path in compared}


def test_an_index_behind_an_address_is_copied_once(small: Corpus, tmp_path: Path,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ids(small.build(profile()).search(QUERIES[0], 9))
    shutil.rmtree(Path(small.data.root, "indexes"))
    monkeypatch.setenv("ESPALIER_STATE", str(tmp_path / "state"))
    data = DataFolder.at(f"file://{small.data.root}")
    indexes = build_indexes(data, profile(), small.versions(), 1)
    assert Path(small.data.root, "indexes/1/sparse/manifest.json").exists()
    shutil.rmtree(tmp_path / "state")
    folder, manifest = opened(data, indexes["dense"])
    assert folder.is_relative_to(tmp_path / "state")
    assert ids(DenseIndex(folder, manifest).search(QUERIES[0], 9)) == expected
    copied = (folder / "shard-0000.faiss").stat().st_mtime_ns
    opened(data, indexes["dense"])
    assert (folder / "shard-0000.faiss").stat().st_mtime_ns == copied
