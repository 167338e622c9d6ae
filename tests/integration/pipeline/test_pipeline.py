"""The build as its users meet it: what it makes, what a second one does, what bad rows and a cut dump leave."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from built import Built
from pyspark.sql import SparkSession
from small_wiki import PAGES, write_wiki

from assets.partitions import DUMP_FILES
from jobs.build import BuildRequest, build
from jobs.cli import main
from jobs.instance import open_instance
from pipelines.api import Corpus
from pipelines.errors import RunFailure, UserError
from pipelines.locking import build_lock
from pipelines.releases import current_release, list_releases
from pipelines.schemas import RELEASED_TABLES, TABLES
from pipelines.settings import DataFolder
from pipelines.status import read_status
from pipelines.storage import TableReader


def versions(data: DataFolder) -> dict[str, int]:
    reader = TableReader(data)
    return {name: reader.version(name) for name in (*RELEASED_TABLES, "dump_files")}


def test_the_sample_becomes_a_release_with_all_its_articles(built: Built) -> None:
    release = current_release(built.data)
    assert (release.number, built.summary.published) == (1, True)
    assert release.tables == {name: versions(built.data)[name] for name in RELEASED_TABLES}
    assert release.counts["pages"] == 206
    statuses = [row["status"] for row in TableReader(built.data).rows("documents", ("status",))]
    assert sum(status in ("parsed", "degraded", "disambiguation") for status in statuses) >= 106
    assert release.counts["embeddings"] == release.counts["units"] > 4000
    status = read_status(built.data)
    assert [table.name for table in status.tables if table.stale] == []
    assert (status.pending_files, status.lock) == ([], None)


def test_a_second_build_of_the_same_dump_does_nothing(built: Built) -> None:
    before = versions(built.data)
    again = built.rebuild()
    assert {name: facts["processed"] for name, facts in again.tables.items()} == \
        dict.fromkeys(RELEASED_TABLES, 0)
    assert again.n_changed == 0
    assert versions(built.data) == before
    assert (again.release, again.published) == (1, False)
    assert [release.number for release in list_releases(built.data)] == [1]


@pytest.fixture(scope="module")
def updated(small_built: Built, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A copy of the small wiki after a newer revision of one page. The tests leave release 2 served."""
    folder = tmp_path_factory.mktemp("updated")
    shutil.copytree(small_built.data.root, folder / "data", symlinks=True)
    text = PAGES[3][1] + "Cedars live for a thousand years.\n"
    update = write_wiki(folder / "update.xml", {3: text}, revision=2)
    first = Built(DataFolder.at(folder / "data"), update, small_built.summary)
    return Built(first.data, update, first.rebuild())


def test_a_newer_revision_changes_its_document_alone(updated: Built) -> None:
    summary = updated.summary
    assert (summary.release, summary.published) == (2, True)
    assert summary.tables["pages"]["changed"] == summary.tables["documents"]["changed"] == 1
    old, new = (TableReader(updated.data, release.tables) for release in list_releases(updated.data))
    for table in ("tree_nodes", "sentences", "units", "embeddings"):
        cedar, others = "doc_id = 'treewiki:3'", "doc_id <> 'treewiki:3'"
        assert new.rows(table, where_sql=cedar) != old.rows(table, where_sql=cedar)
        assert new.rows(table, where_sql=others, order_by=TABLES[table].key) == \
            old.rows(table, where_sql=others, order_by=TABLES[table].key)
    answer = Corpus.open(updated.data).ask("How long do cedars live?", method="flat")
    assert "a thousand years" in answer.to_json()["context"]


def test_a_release_can_be_chosen_and_the_status_shows_it(
        updated: Built, capsys: pytest.CaptureFixture[str]) -> None:
    root = updated.data.root
    assert main(["release", "use", "1", "--data", root]) == 0
    assert main(["release", "list", "--data", root]) == 0
    listing = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in listing if line.startswith("*")] == [["*", "1"]]
    assert main(["release", "use", "9", "--data", root]) == 2
    assert "release 9" in capsys.readouterr().err
    assert main(["status", "--data", root, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["release"]["number"] == 1
    assert main(["release", "use", "2", "--data", root]) == 0


def test_damaged_rows_block_the_release_and_are_named(small: Built, spark: SparkSession) -> None:
    table = f"delta.`{small.data.table('pages')}`"
    spark.sql(f"UPDATE {table} SET dump_file = 'lost.xml-00000000' WHERE doc_id = 'treewiki:2'")
    with pytest.raises(RunFailure, match="dump_file_exists") as caught:
        small.rebuild()
    assert "table pages" in str(caught.value)
    assert "treewiki:2" in str(caught.value)
    assert current_release(small.data).number == 1
    docs = Path(small.data.data_docs)
    assert any("treewiki:2" in page.read_text(encoding="utf-8") for page in docs.rglob("*.html"))
    with open_instance(small.data) as instance:
        key = dg.AssetCheckKey(dg.AssetKey("pages"), "dump_file_exists")
        record = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]
        evaluation = record.event.dagster_event.event_specific_data
    assert not evaluation.passed
    assert "treewiki:2" in evaluation.metadata["named_rows"].value

    [file] = [row["dump_file"] for row in TableReader(small.data).rows("dump_files", ("dump_file",))]
    spark.sql(f"UPDATE {table} SET dump_file = '{file}' WHERE doc_id = 'treewiki:2'")
    assert small.rebuild().published


def test_a_cut_dump_beside_a_good_one_is_named_and_only_the_good_one_counts(
        data: DataFolder, tmp_path: Path, spark: SparkSession) -> None:
    good, cut = write_wiki(tmp_path / "good.xml"), write_wiki(tmp_path / "cut.xml", {1: "Cut.\n"}, revision=2)
    cut.write_bytes(cut.read_bytes()[:-60])
    with pytest.raises(UserError, match=r"cut\.xml"):
        build(data, BuildRequest(wikipedia=(str(good), str(cut))))
    rows = TableReader(data).rows("pages", ("revision_id",))
    assert sorted(row["revision_id"] for row in rows) == [101, 102, 103, 104]
    with open_instance(data) as instance:
        keys = instance.get_dynamic_partitions(str(DUMP_FILES.name))
        done = instance.get_materialized_partitions(dg.AssetKey("pages"))
    assert [key.split("-")[0] for key in keys] == ["good.xml", "cut.xml"]
    assert [key.split("-")[0] for key in done] == ["good.xml"]
    status = read_status(data)
    assert (status.pending_files, list(status.refused_files)) == ([], [str(cut)])
    assert "before </mediawiki>" in status.refused_files[str(cut)]


def test_a_second_build_is_refused_by_name_and_touches_nothing(
        small: Built, capsys: pytest.CaptureFixture[str]) -> None:
    script = ("import sys, time; from pipelines.locking import build_lock; "
              "from pipelines.settings import DataFolder\n"
              "with build_lock(DataFolder.at(sys.argv[1])) as holder: "
              "print(holder.started_at, flush=True); time.sleep(60)")
    other = subprocess.Popen([sys.executable, "-c", script, small.data.root], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        started_at = other.stdout.readline().strip()
        before = versions(small.data)
        assert main(["build", "--data", small.data.root, "--wikipedia", str(small.dump)]) == 1
        error = capsys.readouterr().err
        assert f"process {other.pid} " in error
        assert started_at in error
        assert "Traceback" not in error
        assert versions(small.data) == before
        assert main(["status", "--data", small.data.root]) == 0
        assert f"process {other.pid} since {started_at}" in capsys.readouterr().out
    finally:
        other.kill()
        other.wait()
    with build_lock(small.data):
        pass
