"""An update that ends at every point between two writes of Spark's stages, one after the other, and is completed.

The points lie between a commit and what must follow it: before the second table of a stage that writes two, and
before each watermark. `tests/integration/faults/test_kills.py` kills real processes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dump_builder import PageSource, write_dump
from pyspark.sql import SparkSession

from pipelines import files
from pipelines.settings import DataFolder, Profile
from pipelines.storage import TableReader
from spark_jobs import tables
from spark_jobs.embeddings import refresh_embeddings
from spark_jobs.nodes import refresh_trees
from spark_jobs.pages import ingest_dump_files
from spark_jobs.sentences import refresh_sentences
from spark_jobs.units import refresh_units

TABLES = ("pages", "documents", "tree_nodes", "sentences", "units", "embeddings")
SECOND_TABLES = ("dump_files", "documents")
"""Tables that a stage writes behind another one."""
FIRST = (PageSource(1, "Owl", "Owls hunt at night.\n== Diet ==\n* mice\n* fish\n", 11),
         PageSource(2, "Heron", "Herons wade in rivers. They nest in colonies.", 12),
         PageSource(3, "Stork", "Storks clatter.", 13))
SECOND = (PageSource(1, "Owl", "Owls hunt at dusk.\n== Diet ==\n* mice\n* fish\n", 21), FIRST[1],
          PageSource(4, "Crane", "Cranes dance. They bow.", 24))
"""One page edited, one gone, one new."""


class Killed(BaseException):
    """Ends a run as a kill does: nothing catches it."""


class Points:
    """Ends a run at the first point that no run before it has ended at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed: list[str] = []
        self._hook(monkeypatch, tables, "_merge", lambda spark, data, table, rows:
                   f"merge {table.name}" if table.name in SECOND_TABLES else None)
        self._hook(monkeypatch, files, "write_json", lambda path, value: f"write {Path(path).name}")

    def _hook(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str,
              label: Callable[..., str | None]) -> None:
        original = getattr(module, name)

        def hooked(*arguments: Any, **named: Any) -> Any:
            point = label(*arguments, **named)
            if point is not None and point not in self.passed:
                self.passed.append(point)
                raise Killed(point)
            return original(*arguments, **named)

        monkeypatch.setattr(module, name, hooked)


def build(spark: SparkSession, data: DataFolder, profile: Profile, dump: Path) -> None:
    ingest_dump_files(spark, data, profile, [dump], full_snapshot=True)
    for refresh in (refresh_trees, refresh_sentences, refresh_units, refresh_embeddings):
        refresh(spark, data, profile)


def rows(data: DataFolder, name: str) -> list[str]:
    """The rows of a table as sorted JSON. A page that is in both dumps keeps the first one's name."""
    found = TableReader(data).rows(name)
    return sorted(json.dumps({**row, "dump_file": None}, default=str, sort_keys=True) for row in found)


def test_an_update_that_ends_at_any_point_is_completed_with_the_rows_of_one_that_did_not(
        spark: SparkSession, profile: Profile, tmp_path: Path) -> None:
    first, second = write_dump(tmp_path / "first.xml", FIRST), write_dump(tmp_path / "second.xml", SECOND)
    whole, killed = DataFolder.at(tmp_path / "whole"), DataFolder.at(tmp_path / "killed")
    build(spark, whole, profile, second)
    build(spark, killed, profile, first)
    with pytest.MonkeyPatch.context() as monkeypatch:
        points = Points(monkeypatch)
        n_runs = 0
        while True:
            try:
                build(spark, killed, profile, second)
                break
            except Killed:
                n_runs += 1
    assert n_runs == len(points.passed)
    assert points.passed == [
        "write dump_files.json", "merge dump_files", "write pages.json", "merge documents", "write tree_nodes.json",
        "write documents.json", "write sentences.json", "write units.json", "write embeddings.json"]
    for name in TABLES:
        assert rows(killed, name) == rows(whole, name), name
    assert len(TableReader(killed).rows("dump_files")) == 2
