"""Updates that mark rows instead of writing files again, what reads and cleans such tables, and compaction."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines import storage
from pipelines.cleanup import clean_up
from pipelines.deletion_vectors import DeletionVector, deletion_vectors, live_rows, row_places
from pipelines.errors import RunFailure
from pipelines.releases import Release, check_usable
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder, Profile
from pipelines.storage import TableReader, open_table
from spark_jobs import compaction
from spark_jobs.compaction import compact, due_buckets
from spark_jobs.documents import ddl
from spark_jobs.tables import RowChanges, ensure_table, table_version, write_changes

N_DOCUMENTS, N_SENTENCES = 40, 5
N_BUCKETS = 4


def sentences(edited: dict[int, str], gone: frozenset[int] = frozenset()) -> list[dict[str, Any]]:
    """Rows of `sentences`: five a document, those of edited documents with other words."""
    return [{"doc_id": f"w:{n}", "bucket": storage.bucket_of(f"w:{n}", N_BUCKETS), "sentence_id": place,
             "node_id": 1, "path": [0], "text": edited.get(n, "Words") + f" {place}.", "begin": 0, "end": 9}
            for n in range(N_DOCUMENTS) if n not in gone for place in range(N_SENTENCES)]


def frame(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    columns = TABLES["sentences"].columns
    return spark.createDataFrame([tuple(row[c.name] for c in columns) for row in rows], ddl(columns))


def write(spark: SparkSession, data: DataFolder, edited: dict[int, str],
          gone: frozenset[int] = frozenset()) -> RowChanges:
    """Make these documents what `sentences` says, and leave the others alone."""
    scope = spark.createDataFrame([(f"w:{n}", storage.bucket_of(f"w:{n}", N_BUCKETS)) for n in {*edited, *gone}],
                                  "doc_id string, bucket int")
    rows = [row for row in sentences(edited, gone) if int(row["doc_id"][2:]) in edited]
    return write_changes(spark, data, "sentences", frame(spark, rows), scope)


def vectors(data: DataFolder, delta: Any = None) -> list[DeletionVector]:
    return deletion_vectors(delta or open_table(data, "sentences"), data.table("sentences"))


def texts(data: DataFolder, version: int | None = None) -> list[tuple[str, str]]:
    reader = TableReader(data, {} if version is None else {"sentences": version})
    return sorted((row["doc_id"], row["text"]) for row in reader.rows("sentences", ("doc_id", "text")))


def expected(edited: dict[int, str], gone: frozenset[int] = frozenset()) -> list[tuple[str, str]]:
    return sorted((row["doc_id"], row["text"]) for row in sentences(edited, gone))


@pytest.fixture
def table(spark: SparkSession, data: DataFolder, profile: Profile) -> DataFolder:
    """A data folder with 40 documents in `sentences`."""
    ensure_table(spark, data, "sentences", profile)
    write_changes(spark, data, "sentences", frame(spark, sentences({})))
    return data


def test_an_update_writes_the_changed_rows_alone(spark: SparkSession, table: DataFolder) -> None:
    before = set(open_table(table, "sentences").file_uris())
    first = open_table(table, "sentences").version()
    assert write(spark, table, {3: "Owls", 8: "Herons"}, frozenset({5})) == RowChanges(0, 10, 5)
    delta = open_table(table, "sentences")
    assert before <= set(delta.file_uris()), "the files of the rows that stay are not written again"
    added = [path for path in delta.file_uris() if path not in before]
    assert 1 <= len(added) <= 2, "a file for each bucket with new rows"
    assert sum(vector.n_rows for vector in vectors(table, delta)) == 15
    assert live_rows(delta, table.table("sentences")) == N_DOCUMENTS * 5 - 5
    assert TableReader(table).row_count("sentences") == N_DOCUMENTS * 5 - 5
    # Every way to read sees the same: all rows, one document by its pages, an older version.
    assert texts(table) == expected({3: "Owls", 8: "Herons"}, frozenset({5}))
    reader = TableReader(table)
    found = reader.rows_of_documents("sentences", ("doc_id", "text"), ["w:3", "w:4", "w:5"], ("doc_id", "text"))
    assert [row["text"] for row in found] == [f"{word} {n}." for word in ("Owls", "Words") for n in range(5)]
    assert reader.row_count("sentences", "doc_id = 'w:5'") == 0
    assert texts(table, first) == expected({})


def test_marked_rows_count_as_another_content(spark: SparkSession, table: DataFolder) -> None:
    before = row_places(open_table(table, "sentences"), table.table("sentences"))
    write(spark, table, {}, frozenset({5}))
    after = row_places(open_table(table, "sentences"), table.table("sentences"))
    assert [path for path, _ in before] == [path for path, _ in after], "a removal writes no data file"
    assert before != after


def test_vectors_are_found_in_checkpoints_and_commits(spark: SparkSession, table: DataFolder) -> None:
    spark.sql(f"ALTER TABLE delta.`{table.table('sentences')}` "
              "SET TBLPROPERTIES ('delta.checkpointInterval' = '2')")
    gone: set[int] = set()
    wanted: dict[int, int] = {}
    for n in range(4):
        gone.add(n)
        write(spark, table, {}, frozenset({n}))
        wanted[int(open_table(table, "sentences").version())] = (N_DOCUMENTS - len(gone)) * N_SENTENCES
    log = Path(table.table("sentences")) / "_delta_log"
    assert len(list(log.glob("*.checkpoint.parquet"))) >= 2
    for version, n_rows in wanted.items():
        delta = open_table(table, "sentences", version)
        assert live_rows(delta, table.table("sentences")) == n_rows
        assert TableReader(table, {"sentences": version}).row_count("sentences") == n_rows
        for vector in vectors(table, delta):
            assert vector.file
            assert (Path(table.table("sentences")) / vector.file).is_file()


def test_clean_up_keeps_the_vectors_of_kept_versions(spark: SparkSession, table: DataFolder,
                                                     profile: Profile) -> None:
    write(spark, table, {3: "Owls"})
    write(spark, table, {3: "Herons", 4: "Storks"})
    removed = clean_up(table, profile).files.get("sentences", [])
    current = {vector.file for vector in vectors(table)}
    assert current
    assert not current & set(removed)
    assert texts(table) == expected({3: "Herons", 4: "Storks"})
    left = {path.name for path in Path(table.table("sentences")).rglob("deletion_vector_*.bin")}
    assert left == {Path(str(file)).name for file in current}, "vectors of versions that nobody needs go"


def test_a_lost_vector_makes_a_release_unusable(spark: SparkSession, table: DataFolder, release: Release) -> None:
    write(spark, table, {}, frozenset({3}))
    pinned = release.model_copy(update={"tables": {"sentences": table_version(table, "sentences")}, "indexes": {}})
    check_usable(table, pinned)
    for vector in vectors(table):
        (Path(table.table("sentences")) / str(vector.file)).unlink()
        with pytest.raises(RunFailure, match="1 data files of table sentences"):
            check_usable(table, pinned)
        with pytest.raises(RunFailure, match="cannot be read"):
            texts(table)


@pytest.fixture
def release() -> Release:
    """Any release: what it says of tables and indexes is replaced."""
    return Release(number=1, created_at=datetime.now(UTC), tables={}, n_buckets=N_BUCKETS, encoder="e",
                   encoder_dim=2, parser_version=1, token_counter="t", indexes={}, router={}, counts={},
                   settings_sha256="0" * 64)


def test_small_files_are_put_together_and_the_change_feed_is_silent(
        spark: SparkSession, table: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "MOST_SMALL_FILES", 3)
    bucket = storage.bucket_of("w:3", N_BUCKETS)
    first, second, third = [n for n in range(N_DOCUMENTS) if storage.bucket_of(f"w:{n}", N_BUCKETS) == bucket][:3]
    for n in (first, second):
        write(spark, table, {n: "Owls"})
        assert due_buckets(table, "sentences") == []
    before = table_version(table, "sentences")
    assert before is not None
    write(spark, table, {third: "Owls"})
    assert table_version(table, "sentences") == before + 2, "the update, and the bucket put together"
    files = [path for path in open_table(table, "sentences").file_uris() if f"bucket={bucket}/" in path]
    assert len(files) == 1
    assert texts(table) == expected({first: "Owls", second: "Owls", third: "Owls"})
    feed = (spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", before + 2)
            .load(table.table("sentences")))
    assert feed.count() == 0


def test_a_bucket_full_of_marked_rows_is_written_again(spark: SparkSession, table: DataFolder,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    write(spark, table, {}, frozenset(range(20)))
    assert due_buckets(table, "sentences") == []
    monkeypatch.setattr(compaction, "FEW_DELETED", 10)
    due = compact(spark, table, "sentences")
    assert due
    assert due == sorted({storage.bucket_of(f"w:{n}", N_BUCKETS) for n in range(20)})
    assert vectors(table) == []
    assert texts(table) == expected({}, frozenset(range(20)))
