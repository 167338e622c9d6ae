"""The Dagster instance of a data folder: runs that the CLI makes are the ones that the UI shows.

What belongs here: placing `dagster.yaml` as DAGSTER_HOME in the folder's state, opening the instance, and
the environment that processes started for a data folder need. What does not: definitions and runs.
"""

from __future__ import annotations

import os
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
    chosen = {DATA_VARIABLE: data.root, STATE_VARIABLE: str(data.state), HOME_VARIABLE: str(data.dagster_home),
              "DAGSTER_DISABLE_TELEMETRY": "yes"}
    return {**chosen, PROFILE_VARIABLE: profile} if profile else chosen


def open_instance(data: DataFolder, profile: str | None = None) -> DagsterInstance:
    """The instance of a data folder, with this process's environment set for runs on it."""
    place_instance(data)
    os.environ.update(instance_environment(data, profile))
    from dagster import DagsterInstance

    return DagsterInstance.get()
