"""Dump files into `pages`: which revision wins, what a damaged file leaves, what a snapshot deletes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dump_builder import END, PageSource, head, write_dump, write_multistream
from pyspark.sql import DataFrame, SparkSession

from pipelines.dump_files import register_dump_files
from pipelines.errors import RunFailure, UserError
from pipelines.settings import DataFolder, Profile
from pipelines.storage import TableReader, bucket_of
from spark_jobs import dumps, pages
from spark_jobs.pages import IngestResult, ingest_dump_files
from spark_jobs.tables import table_version


class NoSession:
    """For calls that must not start Spark."""

    @property
    def session(self) -> SparkSession:
        raise AssertionError("a session was started")


def revisions(data: DataFolder) -> dict[str, int]:
    return {row["doc_id"]: row["revision_id"]
            for row in TableReader(data).rows("pages", ("doc_id", "revision_id"))}


def statuses(result: IngestResult) -> list[str]:
    return [file.status for file in result.files]


def test_rows_are_as_the_dump_says_and_a_second_run_does_nothing(
        spark: SparkSession, data: DataFolder, profile: Profile, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "a.xml.bz2", [
        PageSource(1, "One", "Text <of> one.", 11), PageSource(2, "Two", None, 12),
        PageSource(3, "Three", "#REDIRECT [[One]]", 13, redirect_to="One"),
        PageSource(4, "Talk:One", "Talk.", 14, namespace=1)])
    result = ingest_dump_files(spark, data, profile, [dump])
    rows = TableReader(data).rows("pages", order_by=("page_id",))
    assert [(r["doc_id"], r["title"], r["namespace"], r["redirect_to"], r["revision_id"], r["text"])
            for r in rows] == [
        ("testwiki:1", "One", 0, None, 11, "Text <of> one."), ("testwiki:2", "Two", 0, None, 12, None),
        ("testwiki:3", "Three", 0, "One", 13, "#REDIRECT [[One]]"),
        ("testwiki:4", "Talk:One", 1, None, 14, "Talk.")]
    assert all(r["bucket"] == bucket_of(r["doc_id"], profile.n_buckets) for r in rows)
    assert rows[0]["revision_time"].isoformat() == "2024-01-02T03:04:05+00:00"
    assert (result.stage.n_processed, result.stage.n_inserted, result.stage.changed) == (4, 4, True)
    (file,) = TableReader(data).rows("dump_files")
    assert (file["wiki"], file["language"], file["status"], file["complete"], file["n_pages"],
            file["page_ids"]) == ("testwiki", "en", "read", True, 4, [1, 2, 3, 4])

    copied = tmp_path / "same bytes under another name.bz2"
    copied.write_bytes(dump.read_bytes())
    versions = [table_version(data, name) for name in ("pages", "dump_files")]
    again = ingest_dump_files(NoSession(), data, profile, [dump, copied])
    assert statuses(again) == ["known", "known"]
    assert (again.stage.n_processed, again.stage.changed) == (0, False)
    assert [table_version(data, name) for name in ("pages", "dump_files")] == versions


def test_the_newest_revision_wins_whatever_the_order(spark: SparkSession, tmp_path: Path,
                                                     profile: Profile) -> None:
    old = write_dump(tmp_path / "old.xml", [PageSource(1, "One", "old", 1), PageSource(2, "Two", "two", 5)])
    new = write_dump(tmp_path / "new.xml", [PageSource(1, "One", "new", 2), PageSource(2, "Two", "two", 5)])
    for name, batches in {"new first": [[new], [old]], "old first": [[old], [new]],
                          "at once": [[old, new]]}.items():
        data = DataFolder.at(tmp_path / name)
        results = [ingest_dump_files(spark, data, profile, batch) for batch in batches]
        texts = {r["page_id"]: r["text"] for r in TableReader(data).rows("pages", ("page_id", "text"))}
        assert texts == {1: "new", 2: "two"}, name
        changed = [(r.stage.n_inserted, r.stage.n_updated) for r in results]
        assert changed == {"new first": [(2, 0), (0, 0)], "old first": [(2, 0), (0, 1)],
                           "at once": [(2, 0)]}[name]
        assert results[-1].stage.changed == (name != "new first")


def test_texts_of_pages_that_the_table_has_do_not_travel(spark: SparkSession, tmp_path: Path, data: DataFolder,
                                                         profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    first = [PageSource(n, f"Page {n}", f"Text {n}.", 10 + n, redirect_to="Page 1" if n == 3 else None)
             for n in range(1, 7)]
    ingest_dump_files(spark, data, profile, [write_dump(tmp_path / "first.xml.bz2", first)])
    # One page edited, one with another title alone, one of an older revision, one new, and one that repeats.
    second = [replace(first[0], text="Edited.", revision_id=20), replace(first[1], title="Renamed"),
              replace(first[2], revision_id=3), *first[3:], PageSource(7, "Page 7", "Text 7.", 17), first[4]]
    staged: list[DataFrame] = []
    original = pages._stage

    def stage(*arguments: Any) -> DataFrame:
        staged.append(original(*arguments))
        sent.extend(staged[-1].where("report IS NULL").select("page_id", "text", "is_known").collect())
        return staged[-1]

    sent: list[Any] = []
    monkeypatch.setattr(pages, "_stage", stage)
    result = ingest_dump_files(spark, data, profile, [write_dump(tmp_path / "second.xml.bz2", second)])
    assert sorted((row["page_id"], row["is_known"], row["text"] is None) for row in sent) == [
        (1, False, False), (2, False, False), (3, False, False), (4, True, True), (5, True, True), (5, True, True),
        (6, True, True), (7, False, False)]
    assert (result.stage.n_inserted, result.stage.n_updated, result.stage.n_deleted) == (1, 2, 0)
    rows = TableReader(data).rows("pages", ("page_id", "title", "text"), order_by=("page_id",))
    assert [tuple(row.values()) for row in rows] == [
        (1, "Page 1", "Edited."), (2, "Renamed", "Text 2."), *((n, f"Page {n}", f"Text {n}.") for n in range(3, 8))]
    reads = TableReader(data).rows("dump_files", ("n_pages",))
    assert sorted(row["n_pages"] for row in reads) == [6, 8]


def test_a_known_page_that_is_removed_meanwhile_is_not_written_without_its_text(
        spark: SparkSession, tmp_path: Path, data: DataFolder, profile: Profile,
        monkeypatch: pytest.MonkeyPatch) -> None:
    first = [PageSource(n, f"Page {n}") for n in range(1, 4)]
    ingest_dump_files(spark, data, profile, [write_dump(tmp_path / "first.xml.bz2", first)])
    original = pages._judge

    def judge(*arguments: Any) -> None:
        original(*arguments)
        spark.sql(f"DELETE FROM delta.`{data.table('pages')}` WHERE page_id = 2")

    monkeypatch.setattr(pages, "_judge", judge)
    with pytest.raises(RunFailure, match="removed from the table while a dump"):
        ingest_dump_files(spark, data, profile, [write_dump(tmp_path / "again.xml", first)])
    monkeypatch.undo()
    ingest_dump_files(spark, data, profile, [tmp_path / "again.xml"])
    assert revisions(data) == {f"testwiki:{n}": 1 for n in range(1, 4)}


def test_of_one_revision_the_copy_that_has_its_text_stays_whatever_the_order(
        spark: SparkSession, tmp_path: Path, profile: Profile) -> None:
    without = write_dump(tmp_path / "without.xml", [PageSource(1, "One", None), PageSource(2, "Two", "")])
    # Its hash begins with 0: what has a text is not the higher one by its hash too.
    with_text = write_dump(tmp_path / "with.xml", [PageSource(1, "One", "Words 9."), PageSource(2, "Two", None)])
    for name, order, updated in (("a", (without, with_text), 1), ("b", (with_text, without), 0)):
        data = DataFolder.at(tmp_path / name)
        ingest_dump_files(spark, data, profile, order[:1])
        assert ingest_dump_files(spark, data, profile, order[1:]).stage.n_updated == updated
        rows = TableReader(data).rows("pages", ("text",), order_by=("page_id",))
        assert [row["text"] for row in rows] == ["Words 9.", None]


def test_a_damaged_file_commits_nothing_and_salvage_takes_its_whole_pages(
        spark: SparkSession, data: DataFolder, profile: Profile, tmp_path: Path) -> None:
    good = write_dump(tmp_path / "good.xml", [PageSource(1, "One"), PageSource(9, "Nine")])
    whole = (head("testwiki") + "".join(PageSource(n, f"P{n}").xml() for n in range(2, 6)) + END)
    cut = tmp_path / "cut.xml"
    cut.write_text(whole[:whole.index("<title>P4")])
    junk = tmp_path / "junk.bz2"
    junk.write_bytes(b"BZh9 this is no dump" * 50)
    result = ingest_dump_files(spark, data, profile, [cut, good, junk])
    assert statuses(result) == ["failed", "read", "failed"]
    assert set(result.failures) == {str(cut), str(junk)}
    assert "cut.xml" in result.failures[str(cut)]
    assert "salvage=True" in result.failures[str(cut)]
    assert set(revisions(data)) == {"testwiki:1", "testwiki:9"}
    assert [row["dump_file"] for row in TableReader(data).rows("dump_files")] == [result.files[1].key]

    salvaged = ingest_dump_files(spark, data, profile, [cut, junk], salvage=True, full_snapshot=True)
    assert statuses(salvaged) == ["salvaged", "failed"]
    assert set(revisions(data)) == {f"testwiki:{n}" for n in (1, 2, 3, 9)}, "and nothing was deleted"
    rejects = {row["source_ref"]: (row["table"], row["reason"]) for row in TableReader(data).rows("rejects")}
    assert rejects.pop(salvaged.files[1].key) == ("pages", "dump_unreadable")
    assert rejects.pop(salvaged.files[0].key) == ("pages", "dump_unreadable"), "what the first call said"
    [(source_ref, reject)] = rejects.items()
    assert reject == ("pages", "dump_cut")
    assert source_ref.startswith(f"{salvaged.files[0].key}@")
    assert {row["status"]: row["complete"] for row in TableReader(data).rows("dump_files")} == {
        "read": True, "salvaged": False}


def test_a_full_snapshot_deletes_what_is_in_none_of_its_files(
        spark: SparkSession, data: DataFolder, profile: Profile, tmp_path: Path) -> None:
    first = write_dump(tmp_path / "first.xml", [
        PageSource(1, "One"), PageSource(2, "Two"), PageSource(3, "Talk:Two", namespace=1)])
    other = write_dump(tmp_path / "other.xml", [PageSource(7, "Seven")], wiki="otherwiki")
    ingest_dump_files(spark, data, profile, [first, other])
    second = write_dump(tmp_path / "second.xml", [PageSource(1, "One"), PageSource(5, "Five")])
    partial = ingest_dump_files(spark, data, profile, [second])
    assert (partial.stage.n_inserted, partial.stage.n_deleted) == (1, 0)
    # The same file again, now as a snapshot: it is known, and the pages that it lacks go. Pages of another
    # namespace than the asked ones, and of another wiki, stay.
    snapshot = ingest_dump_files(spark, data, profile, [second], full_snapshot=True)
    assert statuses(snapshot) == ["known"]
    assert (snapshot.stage.n_updated, snapshot.stage.n_deleted) == (0, 1)
    assert set(revisions(data)) == {"testwiki:1", "testwiki:3", "testwiki:5", "otherwiki:7"}
    again = ingest_dump_files(spark, data, profile, [second], full_snapshot=True)
    assert not again.stage.changed


def test_a_dump_that_does_not_name_its_wiki_needs_a_name(
        spark: SparkSession, data: DataFolder, profile: Profile, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "unnamed.xml", [PageSource(1, "One")], wiki=None)
    result = ingest_dump_files(NoSession(), data, profile, [dump])
    assert isinstance(result.files[0].error, UserError)
    assert "wiki=" in result.failures[str(dump)]
    named = ingest_dump_files(spark, data, profile, [dump], wiki="enwiki")
    assert set(revisions(data)) == {"enwiki:1"}
    assert named.files[0].wiki == "enwiki"


def test_pages_that_cannot_be_rows_are_rejected_with_a_reason(
        spark: SparkSession, data: DataFolder, profile: Profile, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "odd.xml", [PageSource(0, "Zero", "Its text."), PageSource(1, "One"),
                                             PageSource(2, "Two", revision_id=-1)])
    result = ingest_dump_files(spark, data, profile, [dump])
    assert set(revisions(data)) == {"testwiki:1"}
    assert result.stage.details["rejects"] == 2
    rows = TableReader(data).rows("rejects", order_by=("reason",))
    assert [(row["reason"], row["sample"]) for row in rows] == [
        ("page_id_not_positive", "Its text."), ("revision_id_negative", "Words.")]


def test_a_multistream_dump_is_read_in_splits(spark: SparkSession, data: DataFolder, profile: Profile,
                                              tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "MINIMUM_SPLIT_BYTES", 1)
    pages = [PageSource(n, f"Page {n}", f"Text {n}. " * (n * 7)) for n in range(1, 31)]
    dump = write_multistream(tmp_path / "multistream.xml.bz2", pages, pages_per_stream=2)
    (tmp_path / "multistream-index.txt").write_text(f"{dump.stat().st_size // 2}:1:Of another dump\n")
    (file,) = register_dump_files(data, [dump])
    assert len(dumps.plan_splits(file, "testwiki", cores=2)) > 2
    result = ingest_dump_files(spark, data, profile, [dump])
    assert not result.failures
    # A wrong index costs a search of the file, and is counted.
    assert (result.stage.details["stream_indexes_used"], result.stage.details["stream_indexes_refused"]) == (0, 1)
    assert set(revisions(data)) == {f"testwiki:{n}" for n in range(1, 31)}
    (row,) = TableReader(data).rows("dump_files")
    assert row["page_ids"] == list(range(1, 31))


def test_a_file_that_cannot_be_opened_is_named_before_anything_is_read(data: DataFolder, profile: Profile,
                                                                       tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.xml"):
        ingest_dump_files(NoSession(), data, profile, [tmp_path / "nowhere.xml"])
