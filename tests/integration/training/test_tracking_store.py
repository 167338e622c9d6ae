"""A store that MLflow cannot read or write, before a run and in the middle of one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipelines.errors import RunFailure
from pipelines.settings import DataFolder
from training.moved_store import artifacts_uri
from training.tracking import Tracker, open_client


def test_a_damaged_store_is_named(data: DataFolder) -> None:
    data.prepare_state()
    path = Path(data.mlflow_uri.removeprefix("sqlite:///"))
    path.write_bytes(b"no database at all" * 500)
    with pytest.raises(RunFailure, match=r"MLflow's store sqlite:.*mlflow\.db: DatabaseError"):
        open_client(data)


def test_a_store_that_fails_in_the_middle_of_a_run_is_named(data: DataFolder) -> None:
    tracker = Tracker(data, "training")

    def work() -> None:
        with tracker.run("owls", "one") as run:
            Path(data.mlflow_uri.removeprefix("sqlite:///")).write_bytes(b"no database at all" * 500)
            run.log_metrics({"loss": 1.0})

    with pytest.raises(RunFailure, match=r"MLflow's store sqlite:"):
        work()


def test_an_error_in_a_run_stays_what_it_is(data: DataFolder) -> None:
    with pytest.raises(KeyError, match="owl"), Tracker(data, "training").run("owls", "one"):
        raise KeyError("owl")


def test_a_new_store_keeps_the_artifacts_of_the_default_experiment_in_the_data_folder(
        data: DataFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the process that makes it was started, and also after the folder was copied."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    client = open_client(data)
    assert client.get_experiment("0").artifact_location == f"{artifacts_uri(data)}/0"
    run = client.create_run("0")
    client.log_text(run.info.run_id, "words", "note.txt")
    assert list(elsewhere.iterdir()) == []
    copied = DataFolder.at(tmp_path / "copied")
    shutil.copytree(data.root, copied.root)
    moved = open_client(copied)
    assert moved.get_experiment("0").artifact_location == f"{artifacts_uri(copied)}/0"
    assert moved.get_run(run.info.run_id).info.artifact_uri.startswith(artifacts_uri(copied))
