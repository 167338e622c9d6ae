"""From pages to vectors, incrementally: what changes, what stays, and what a killed run leaves to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dump_builder import PageSource, write_dump
from pyspark.sql import SparkSession

from pipelines import files
from pipelines.documents.tree import Document, Node, Span
from pipelines.settings import DataFolder, Profile
from pipelines.storage import TableReader
from spark_jobs import nodes
from spark_jobs.embeddings import refresh_embeddings
from spark_jobs.nodes import refresh_trees
from spark_jobs.pages import ingest_dump_files
from spark_jobs.sentences import refresh_sentences
from spark_jobs.tables import StageResult, table_version
from spark_jobs.units import refresh_units

TABLES = ("pages", "documents", "tree_nodes", "sentences", "units", "embeddings")
CORPUS_TABLES = TABLES[1:]

OWL = """'''Owls''' are [[bird|birds]] of prey. They hunt at night.
== Diet ==
* mice
* fish
{| class="wikitext"
|-
! Species !! Wingspan
|-
| Barn owl || 95 cm
|}
"""
HERON = "Herons wade in rivers. They nest in colonies."
PAGES = (
    PageSource(1, "Owl", OWL, 11), PageSource(2, "Heron", HERON, 12),
    PageSource(3, "Owls", "#REDIRECT [[Owl]]", 13, redirect_to="Owl"), PageSource(4, "Lost page", None, 14),
    PageSource(5, "Talk:Owl", "Talk.", 15, namespace=1), PageSource(6, "Stork", "Storks clatter.", 16),
)


class NoSession:
    """For runs that must not start Spark."""

    @property
    def session(self) -> SparkSession:
        raise AssertionError("a session was started")


def refresh(spark: Any, data: DataFolder, profile: Profile) -> list[StageResult]:
    """Every stage behind `pages`, in order."""
    results = list(refresh_trees(spark, data, profile))
    return results + [stage(spark, data, profile)
                      for stage in (refresh_sentences, refresh_units, refresh_embeddings)]


def versions(data: DataFolder) -> dict[str, int | None]:
    return {name: table_version(data, name) for name in TABLES}


def rows_by_document(data: DataFolder, name: str) -> dict[str, list[str]]:
    """The rows of each document as sorted JSON, to compare by."""
    found: dict[str, list[str]] = {}
    for row in TableReader(data).rows(name):
        found.setdefault(row["doc_id"], []).append(json.dumps(row, default=str, sort_keys=True))
    return {doc_id: sorted(rows) for doc_id, rows in found.items()}


def everything(data: DataFolder) -> dict[str, dict[str, list[str]]]:
    return {name: rows_by_document(data, name) for name in CORPUS_TABLES}


@pytest.fixture(scope="module")
def built(spark: SparkSession, profile: Profile, tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """The small corpus, built once; tests of this module change it one after the other."""
    folder = tmp_path_factory.mktemp("build")
    data = DataFolder.at(folder / "data")
    ingest_dump_files(spark, data, profile, [write_dump(folder / "first.xml", PAGES)])
    refresh(spark, data, profile)
    return data


def test_each_page_became_a_document_with_its_status(built: DataFolder) -> None:
    documents = {row["title"]: row for row in TableReader(built).rows("documents")}
    assert {title: (row["status"], row["reason"]) for title, row in documents.items()} == {
        "Owl": ("parsed", None), "Heron": ("parsed", None), "Stork": ("parsed", None),
        "Owls": ("redirect", "Owl"), "Lost page": ("empty", "the dump has no text of it")}
    owl = documents["Owl"]
    assert (owl["uri"], owl["language"], owl["revision"]) == ("https://en.example.org/wiki/Owl", "en", "11")
    assert documents["Lost page"]["uri"] == "https://en.example.org/wiki/Lost_page"
    assert owl["n_tokens"] > 20
    counted = {name: {doc_id: len(rows) for doc_id, rows in rows_by_document(built, name).items()}
               for name in ("tree_nodes", "sentences")}
    for row in documents.values():
        assert row["n_nodes"] == counted["tree_nodes"].get(row["doc_id"], 0)
        assert row["n_sentences"] == counted["sentences"].get(row["doc_id"], 0)
    assert "testwiki:3" not in counted["tree_nodes"], "a redirect has no tree"


def test_the_stored_rows_are_a_tree_with_sentences_and_passages(built: DataFolder) -> None:
    reader = TableReader(built)
    rows = reader.rows_of_documents("tree_nodes", list(Node._fields), ["testwiki:1"], ("node_id",))
    tree = Document("testwiki:1", [Node(**{
        **row, "path": tuple(row["path"]), "heading_path": tuple(row["heading_path"]),
        "spans": tuple(Span(**span) for span in row["spans"])}) for row in rows])
    assert tree.title == "Owl"
    assert [node.text for node in tree if node.tag == "section"] == ["Diet"]
    lead = next(node for node in tree if node.tag == "p")
    assert {(span.kind, lead.text[span.begin:span.end]) for span in lead.spans} == {
        ("strong", "Owls"), ("link", "birds")}
    for sentence in reader.rows_of_documents("sentences", ("node_id", "begin", "end", "text"),
                                             ["testwiki:1"]):
        assert tree[sentence["node_id"]].text[sentence["begin"]:sentence["end"]] == sentence["text"]
    (unit,) = reader.rows_of_documents("units", ("unit_id", "text", "node_ids", "n_tokens"), ["testwiki:1"])
    assert unit["text"] == ("Owl\nOwls are birds of prey. They hunt at night.\nmice\nfish\n"
                            "Species | Wingspan\nBarn owl | 95 cm")
    assert unit["unit_id"].startswith("testwiki:1#passage/")
    assert all(tree[node_id].text for node_id in unit["node_ids"])
    (vector,) = reader.rows_of_documents("embeddings", ("unit_id", "vector", "dim", "truncated"),
                                         ["testwiki:1"])
    assert vector["unit_id"] == unit["unit_id"]
    assert len(vector["vector"]) == vector["dim"]
    assert sum(x * x for x in vector["vector"]) == pytest.approx(1, abs=1e-3)
    assert not vector["truncated"]


def test_a_second_run_does_nothing_and_starts_no_session(built: DataFolder, profile: Profile) -> None:
    before = versions(built)
    for result in refresh(NoSession(), built, profile):
        assert (result.n_processed, result.changed) == (0, False)
        assert result.version == before[result.table]
    assert versions(built) == before


def test_without_watermarks_everything_is_compared_and_nothing_written(
        spark: SparkSession, built: DataFolder, profile: Profile) -> None:
    before = versions(built)
    files.remove_folder(built.stages)
    results = {result.table: result for result in refresh(spark, built, profile)}
    assert results["documents"].n_processed == 5
    assert results["embeddings"].n_processed == 0, "no text is encoded again"
    assert not any(result.changed for result in results.values())
    assert versions(built) == before


def test_a_table_that_was_removed_is_made_again(spark: SparkSession, built: DataFolder,
                                                profile: Profile) -> None:
    before = everything(built)
    for name in ("tree_nodes", "units"):
        files.remove_folder(built.table(name))
    refresh(spark, built, profile)
    assert everything(built) == before


def test_a_changed_page_changes_exactly_its_rows(spark: SparkSession, built: DataFolder, profile: Profile,
                                                 tmp_path: Path) -> None:
    before = everything(built)
    dump = write_dump(tmp_path / "update.xml", [
        PageSource(2, "Heron", HERON + " Their chicks hatch in May.", 22), PAGES[0], PAGES[5]])
    ingest_dump_files(spark, built, profile, [dump])
    results = {result.table: result for result in refresh(spark, built, profile)}
    assert {name: results[name].n_processed for name in ("documents", "sentences", "units")} == {
        "documents": 1, "sentences": 1, "units": 1}
    after = everything(built)
    for name in CORPUS_TABLES:
        changed = {doc_id for doc_id in after[name] if after[name][doc_id] != before[name].get(doc_id)}
        assert changed == {"testwiki:2"}, name
    assert (results["sentences"].n_inserted, results["sentences"].n_updated) == (1, 0)
    assert not any(result.changed for result in refresh(NoSession(), built, profile))


def test_a_new_revision_with_equal_words_changes_only_the_citation(
        spark: SparkSession, built: DataFolder, profile: Profile, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "same.xml", [PageSource(6, "Stork", "Storks clatter.", 66)])
    ingest_dump_files(spark, built, profile, [dump])
    results = {result.table: result for result in refresh(spark, built, profile)}
    assert [name for name, result in results.items() if result.changed] == ["documents"]
    (row,) = TableReader(built).rows("documents", ("revision",), "doc_id = 'testwiki:6'")
    assert row["revision"] == "66"


def test_a_kill_between_two_tables_is_completed_by_the_next_run(
        spark: SparkSession, built: DataFolder, profile: Profile, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch) -> None:
    dump = write_dump(tmp_path / "more.xml", [PageSource(7, "Crane", "Cranes dance. They bow.", 70)])
    ingest_dump_files(spark, built, profile, [dump])

    class Killed(BaseException):
        pass

    write: Callable[..., Any] = nodes.write_changes

    def killed_before_documents(*arguments: Any) -> Any:
        if arguments[2] == "documents":
            raise Killed
        return write(*arguments)

    monkeypatch.setattr(nodes, "write_changes", killed_before_documents)
    with pytest.raises(Killed):
        refresh_trees(spark, built, profile)
    monkeypatch.setattr(nodes, "write_changes", write)
    assert "testwiki:7" in rows_by_document(built, "tree_nodes")
    assert "testwiki:7" not in rows_by_document(built, "documents")

    half_done = table_version(built, "tree_nodes")
    results = {result.table: result for result in refresh(spark, built, profile)}
    assert table_version(built, "tree_nodes") == half_done, "the tree that was written is found equal"
    assert (results["tree_nodes"].changed, results["documents"].n_inserted) == (False, 1)
    for name in CORPUS_TABLES:
        assert "testwiki:7" in rows_by_document(built, name), name


def test_removed_pages_go_downstream(spark: SparkSession, built: DataFolder, profile: Profile,
                                     tmp_path: Path) -> None:
    before = everything(built)
    dump = write_dump(tmp_path / "snapshot.xml", [PAGES[0], PAGES[1]])
    result = ingest_dump_files(spark, built, profile, [dump], full_snapshot=True)
    assert result.stage.n_deleted == 4
    refresh(spark, built, profile)
    after = everything(built)
    for name in CORPUS_TABLES:
        assert after[name] == {doc_id: before[name][doc_id] for doc_id in ("testwiki:1", "testwiki:2")}, name


def test_a_page_that_cannot_be_read_is_a_row_with_its_reason() -> None:
    from pipelines.documents.readers.siteinfo import SiteInfo

    page = {"doc_id": "w:1", "bucket": 0, "source": "wikipedia", "title": "T", "redirect_to": None,
            "revision_id": 5, "dump_file": "f", "text": 12, "content_sha256": "0" * 64}
    row, tree = nodes.parse_page(page, SiteInfo.unknown("en"))
    assert (row["status"], row["n_nodes"], tree) == ("failed", 0, ())
    assert "TypeError" in row["reason"] or "AttributeError" in row["reason"]
    assert row["uri"] == "w:1", "without siteinfo no address is made up"
