"""Kills: at every change of the disk that the library makes, and of a whole build once in each of its stages.

A kill leaves a served release that is whole, or none; the same command then completes the work, with the rows
that a build without a kill has.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import kill_points
import pytest
from built import Built
from kill_points import work
from small_wiki import write_wiki

from jobs.instance import open_instance
from pipelines.api import Corpus
from pipelines.locking import lock_holder
from pipelines.releases import check_usable, current_release, release_numbers
from pipelines.schemas import RELEASED_TABLES, TABLES
from pipelines.settings import DataFolder
from pipelines.status import read_status
from pipelines.storage import TableReader, open_table

OLD, NEW = ["old"], ["new", "newer"]
KILL_S = 400


def texts_of(data: DataFolder, versions: dict[str, int]) -> list[str]:
    return [row["text"] for row in TableReader(data, versions).rows("units", ("text",), order_by=("unit_id",))]


def test_a_kill_at_any_change_of_the_disk_leaves_a_whole_release_and_is_completed(tmp_path: Path) -> None:
    work(DataFolder.at(tmp_path / "base"), OLD)
    done = subprocess.run([sys.executable, kill_points.__file__, str(tmp_path / "base"), str(tmp_path / "killed")],
                          capture_output=True, text=True, check=True)
    n_copies = int(done.stdout)
    assert n_copies > 40, "every write, rename and removal of a publish is a point"
    left: set[tuple[int, bool]] = set()
    for point in range(n_copies):
        data = DataFolder.at(tmp_path / "killed" / str(point))
        served = current_release(data)
        check_usable(data, served)
        assert texts_of(data, served.tables) == (OLD if served.number == 1 else NEW), point
        left.add((served.number, 2 in release_numbers(data)))
        work(data, NEW)
        served = current_release(data)
        assert (served.number, texts_of(data, served.tables)) == (2, NEW), point
        for table, column in (("questions", "question_id"), ("rejects", "source_ref")):
            rows = TableReader(data).rows(table, (column,))
            assert sorted(row[column] for row in rows) == ["new", "newer", "old"], (point, table)
        assert parquet_files(data, "units") == live_files(data, "units"), "what the kill left is cleaned up"
    assert left == {(1, False), (1, True), (2, True)}, "kills came before, within and after the publish"


def parquet_files(data: DataFolder, table: str) -> set[str]:
    folder = Path(data.table(table))
    return {str(path) for path in folder.rglob("*.parquet") if "_" not in path.relative_to(folder).parts[0]}


def live_files(data: DataFolder, table: str) -> set[str]:
    return set(open_table(data, table).file_uris())


class Moment:
    """States that an update of a data folder comes through, told from the files that were not there before."""

    def __init__(self, data: DataFolder) -> None:
        self.root = Path(data.root)
        self.versions = {name: int(open_table(data, name).version()) for name in RELEASED_TABLES}
        self.files = {name: parquet_files(data, name) for name in RELEASED_TABLES}

    def writes(self, table: str) -> bool:
        """Rows are being written, and not committed yet."""
        folder = self.root / "tables" / table
        new = (str(path) not in self.files[table] for path in folder.glob("bucket=*/*.parquet"))
        return any(new) and not self.committed(table)

    def committed(self, table: str) -> bool:
        return (self.root / f"tables/{table}/_delta_log/{self.versions[table] + 1:020}.json").exists()

    def indexing(self) -> bool:
        return (self.root / "indexes/2/dense").exists()

    def published(self) -> bool:
        return (self.root / "releases/2.json").exists()


STAGES: dict[str, Callable[[Moment], bool]] = {
    "pages": lambda now: now.writes("pages"), "trees": lambda now: now.committed("tree_nodes"),
    "sentences": lambda now: now.committed("sentences"), "units": lambda now: now.writes("units"),
    "embeddings": lambda now: now.committed("embeddings"), "indexes": Moment.indexing,
    "release": Moment.published,
}
"""Stage → when its build is killed: in the middle of a write, or right behind a commit."""


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_an_update_that_is_killed_in_each_of_its_stages_is_completed_by_the_same_command(
        small: Built, tmp_path: Path) -> None:
    data, before = small.data, {name: rows_of(small.data, name) for name in RELEASED_TABLES}
    update = write_wiki(tmp_path / "update.xml", {1: "The '''aspen''' quakes. Bears like it.\n"}, revision=2)
    moment = Moment(data)
    for stage, reached in STAGES.items():
        process = start_build(data, update)
        deadline = time.monotonic() + KILL_S
        while process.poll() is None and not reached(moment) and time.monotonic() < deadline:
            time.sleep(0.001)
        assert process.poll() is None, f"{stage}: {process.communicate()[1]}"
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert reached(moment), f"the build did not come to {stage} within {KILL_S} s"
        assert lock_holder(data) is None
        read_status(data)
        served = current_release(data)
        assert served.number == 1 or stage == "release", stage
        if served.number == 1:
            answer = Corpus.open(data).ask("What trembles in the wind?", method="flat").to_json()
            assert (answer["release"], "tremble in the wind" in answer["context"]) == (1, True), stage
    process = start_build(data, update)
    assert process.wait() == 0, process.communicate()[1]
    answer = Corpus.open(data).ask("Which animals like the aspen?", method="flat").to_json()
    assert (answer["release"], "Bears like it" in answer["context"]) == (2, True)
    assert [table.name for table in read_status(data).tables if table.stale] == []
    for name in RELEASED_TABLES:
        others = [row for row in before[name] if row["doc_id"] != "treewiki:1"]
        assert [row for row in rows_of(data, name) if row["doc_id"] != "treewiki:1"] == others, name
    with open_instance(data) as instance:
        assert instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])) == []


def rows_of(data: DataFolder, table: str) -> list[dict[str, Any]]:
    return TableReader(data).rows(table, order_by=TABLES[table].key)


def start_build(data: DataFolder, dump: Path) -> subprocess.Popen[str]:
    """A build in a session of its own, so that its Java and its workers can be killed with it."""
    return subprocess.Popen(
        [sys.executable, "-m", "jobs.cli", "build", "--data", data.root, "--wikipedia", str(dump)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
