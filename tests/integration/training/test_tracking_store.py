"""A store that MLflow cannot read or write, before a run and in the middle of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.errors import RunFailure
from pipelines.settings import DataFolder
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
