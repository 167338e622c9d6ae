"""The default experiment of a store keeps its artifacts in the data folder, whoever made the store."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pipelines.settings import DataFolder
from training.moved_store import artifacts_uri, follow_move


def store(data: DataFolder, location: str) -> None:
    """The tables of MLflow that count here, with a run in the default experiment and one in another."""
    data.prepare_state()
    with closing(sqlite3.connect(data.mlflow_uri.removeprefix("sqlite:///"))) as connection:
        connection.execute("CREATE TABLE experiments (experiment_id INTEGER, artifact_location TEXT)")
        connection.execute("CREATE TABLE runs (experiment_id INTEGER, artifact_uri TEXT)")
        connection.executemany("INSERT INTO experiments VALUES (?, ?)", [
            (0, location), (1, f"{artifacts_uri(data)}/demo")])
        connection.executemany("INSERT INTO runs VALUES (?, ?)", [
            (0, f"{location}/r1/artifacts"), (1, f"{artifacts_uri(data)}/demo/r2/artifacts")])
        connection.commit()


def rows(data: DataFolder) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(data.mlflow_uri.removeprefix("sqlite:///"))) as connection:
        return [*connection.execute("SELECT artifact_location FROM experiments ORDER BY experiment_id"),
                *connection.execute("SELECT artifact_uri FROM runs ORDER BY experiment_id")]


@pytest.mark.parametrize("is_address", [True, False])
def test_the_default_experiment_comes_into_the_data_folder_with_its_artifacts(
        data: DataFolder, tmp_path: Path, is_address: bool) -> None:
    outside = tmp_path / "check out" / "mlruns" / "0"
    (outside / "r1" / "artifacts").mkdir(parents=True)
    (outside / "r1" / "artifacts" / "note.txt").write_text("kept")
    store(data, outside.as_uri() if is_address else str(outside))
    here = artifacts_uri(data)
    expected = [(f"{here}/0",), (f"{here}/demo",), (f"{here}/0/r1/artifacts",), (f"{here}/demo/r2/artifacts",)]
    for _ in range(2):
        follow_move(data)
        assert rows(data) == expected
    assert (Path(data.mlflow_artifacts) / "0" / "r1" / "artifacts" / "note.txt").read_text() == "kept"


def test_a_copied_folder_takes_the_default_experiment_along(data: DataFolder, tmp_path: Path) -> None:
    store(data, str(tmp_path / "gone" / "mlruns" / "0"))
    follow_move(data)
    copied = DataFolder.at(tmp_path / "copy")
    shutil.copytree(data.root, copied.root, dirs_exist_ok=True)
    follow_move(copied)
    assert all(row[0].startswith(artifacts_uri(copied)) for row in rows(copied))
    assert all(row[0].startswith(artifacts_uri(data)) for row in rows(data))
