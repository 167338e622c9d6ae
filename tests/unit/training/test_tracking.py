"""What is said to MLflow about a run, without a store, and a damaged one; a whole store is tested elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.errors import RunFailure
from pipelines.settings import DataFolder
from training.tracking import TrackedRun, Tracker, open_client


class Recording:
    """Keeps the tags of a run; artifacts go nowhere."""

    def __init__(self) -> None:
        self.tags: dict[str, str] = {}

    def log_artifact(self, run_id: str, path: str, folder: str | None) -> None:
        pass

    def set_tag(self, run_id: str, name: str, value: str) -> None:
        self.tags[name] = value


def test_every_table_of_a_run_is_announced() -> None:
    client = Recording()
    run = TrackedRun(client, "1", "r")
    run.log_table([{"id": "q1"}], "per_question.json")
    run.log_table([], "differences.json")
    announced = json.loads(client.tags["mlflow.loggedArtifacts"])
    assert announced == [{"path": name, "type": "table"} for name in ("per_question.json", "differences.json")]


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
