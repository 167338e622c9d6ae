"""The Dagster instance of a data folder: runs that the CLI makes are the ones that the UI shows.

What belongs here: placing `dagster.yaml` as DAGSTER_HOME in the folder's state, opening the instance, and
the environment that processes started for a data folder need. What does not: definitions and runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines import files
from pipelines.settings import DATA_VARIABLE, PROFILE_VARIABLE, STATE_VARIABLE, DataFolder

if TYPE_CHECKING:
    from dagster import DagsterInstance

HOME_VARIABLE = "DAGSTER_HOME"


def place_instance(data: DataFolder) -> Path:
    """Make DAGSTER_HOME of a data folder; a `dagster.yaml` that lies there stays. Returns the folder."""
    settings = data.dagster_home / "dagster.yaml"
    if not settings.exists():
        files.write_bytes(str(settings), resources.files("jobs").joinpath("dagster.yaml").read_bytes())
    return data.dagster_home


def instance_environment(data: DataFolder, profile: str | None = None) -> dict[str, str]:
    """Environment variables for a process whose runs work on this data folder."""
    chosen = {DATA_VARIABLE: data.root, STATE_VARIABLE: str(data.state),
              HOME_VARIABLE: str(data.dagster_home), "DAGSTER_DISABLE_TELEMETRY": "yes"}
    return {**chosen, PROFILE_VARIABLE: profile} if profile else chosen


@contextmanager
def open_instance(data: DataFolder, profile: str | None = None) -> Iterator[DagsterInstance]:
    """The instance of a data folder; while the block lasts this process's environment is that of its runs."""
    place_instance(data)
    chosen = instance_environment(data, profile)
    before = {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    try:
        from dagster import DagsterInstance

        with DagsterInstance.get() as instance:
            yield instance
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
