"""Texts that are not those of their checksums, imported revisions, other models, tables from before a column."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from dump_builder import END, head
from pyspark.sql import SparkSession

from pipelines.documents.readers.page_xml import NOT_WIKITEXT
from pipelines.schemas import PAGES
from pipelines.settings import DataFolder, Profile
from pipelines.storage import TableReader
from spark_jobs.nodes import refresh_trees
from spark_jobs.pages import IngestResult, ingest_dump_files
from spark_jobs.tables import ensure_table


def page(number: int, text: str, of_text: str | None = None, *, revision: int = 1, time: str = "2024-01-01",
         fields: str = "") -> str:
    """A page with the SHA-1, in hex, of `of_text`; without any where that is None."""
    digest = "" if of_text is None else hashlib.sha1(of_text.encode(), usedforsecurity=False).hexdigest()
    return (f"<page><title>Page {number}</title><ns>0</ns><id>{number}</id><revision><id>{revision}</id>"
            f"<timestamp>{time}T00:00:00Z</timestamp>{fields}<text>{text}</text><sha1>{digest}</sha1></revision>"
            "</page>")


def write(path: Path, *pages: str) -> Path:
    path.write_text(head("testwiki") + "".join(pages) + END)
    return path


def texts(data: DataFolder) -> dict[int, str]:
    return {row["page_id"]: row["text"] for row in TableReader(data).rows("pages", ("page_id", "text"))}


def reasons(data: DataFolder) -> list[str]:
    return sorted(row["reason"] for row in TableReader(data).rows("rejects", ("reason",)))


def test_a_damaged_copy_never_displaces_a_good_one_and_a_good_one_heals_an_unchecked_one(
        spark: SparkSession, data: DataFolder, profile: Profile, tmp_path: Path) -> None:
    def ingest(*dumps: Path, full_snapshot: bool = False) -> IngestResult:
        return ingest_dump_files(spark, data, profile, dumps, full_snapshot=full_snapshot)

    ingest(write(tmp_path / "a.xml", page(1, "Good.", "Good."), page(2, "zzz unchecked"),
                 page(3, "Kept.", "Kept.")))
    damaged = write(tmp_path / "b.xml", page(1, "zzz damaged.", "Good."), page(2, "True.", "True."),
                    page(3, "zzz later and damaged.", "Later.", revision=2, time="2025-01-01"),
                    page(4, "zzz", "Never seen whole."))
    result = ingest(damaged, full_snapshot=True)
    assert texts(data) == {1: "Good.", 2: "True.", 3: "Kept."}
    assert (result.stage.n_updated, result.stage.n_deleted) == (1, 0)
    assert result.stage.details["rejected_text_checksum"] == 3
    assert reasons(data) == ["text_checksum"] * 3
    assert not ingest(damaged).stage.changed


def test_a_good_and_a_damaged_copy_in_one_command(spark: SparkSession, profile: Profile, tmp_path: Path) -> None:
    good = write(tmp_path / "good.xml", page(1, "Good.", "Good."))
    bad = write(tmp_path / "bad.xml", page(1, "zzz damaged.", "Good.", revision=9, time="2026-01-01"))
    for name, dumps in {"one": [good, bad], "other": [bad, good]}.items():
        data = DataFolder.at(tmp_path / name)
        ingest_dump_files(spark, data, profile, dumps)
        assert texts(data) == {1: "Good."}


def test_texts_that_a_tool_has_rewritten_are_taken_with_a_word(
        spark: SparkSession, data: DataFolder, profile: Profile, tmp_path: Path) -> None:
    dump = write(tmp_path / "a.xml", *(page(n, f"Text {n}.", f"Other {n}." if n <= 25 else f"Text {n}.")
                                       for n in range(1, 61)))
    result = ingest_dump_files(spark, data, profile, [dump])
    assert len(texts(data)) == 60
    assert result.stage.details["files_unverified"] == 1
    assert reasons(data) == ["checksums_not_believed"]


def test_an_imported_old_revision_has_a_higher_id_and_changes_nothing(
        spark: SparkSession, profile: Profile, tmp_path: Path) -> None:
    now = write(tmp_path / "now.xml", page(1, "9000 people", revision=501, time="2026-03-01"))
    imported = write(tmp_path / "imported.xml", page(1, "12 people", revision=905, time="2004-05-01"))
    orders = {"apart": [[now], [imported]], "turned": [[imported], [now]], "at once": [[imported, now]]}
    for name, batches in orders.items():
        data = DataFolder.at(tmp_path / name)
        results = [ingest_dump_files(spark, data, profile, batch) for batch in batches]
        assert texts(data) == {1: "9000 people"}, name
        assert [r.stage.details["older_revisions"] for r in results][-1] == (name == "apart")


@pytest.mark.parametrize("old_table", [False, True])
def test_what_is_no_wikitext_gets_no_tree_also_in_a_table_from_before_the_column(
        spark: SparkSession, data: DataFolder, profile: Profile, tmp_path: Path, old_table: bool) -> None:
    if old_table:
        ingest_dump_files(spark, data, profile, [write(tmp_path / "first.xml", page(3, "Old words."))])
        columns = [name for name in PAGES.column_names if name != "content_model"]
        rows = spark.read.format("delta").load(data.table("pages")).select(*columns)
        rows.write.format("delta").mode("overwrite").partitionBy("bucket").option(
            "overwriteSchema", "true").save(data.table("pages"))
        refresh_trees(spark, data, profile)
        assert ensure_table(spark, data, "pages", profile) > 0
    json = '{"data": [["zebra", 1], ["okapi", 2]]}'
    ingest_dump_files(spark, data, profile, [write(
        tmp_path / "a.xml", page(1, "Words of it.", fields="<model>wikitext</model>"),
        page(2, json, fields="<model>json</model><format>application/json</format>"))])
    refresh_trees(spark, data, profile)
    rows = {row["doc_id"]: (row["status"], row["reason"])
            for row in TableReader(data).rows("documents", ("doc_id", "status", "reason"))}
    assert rows["testwiki:2"] == ("empty", f"{NOT_WIKITEXT}json")
    assert rows["testwiki:1"][0] == "parsed"
    assert rows.get("testwiki:3", ("parsed",))[0] == "parsed"
    assert texts(data)[2] == json
