"""The Dagster instance of a data folder: runs that the CLI makes are the ones that the UI shows.

What belongs here: placing `dagster.yaml` as DAGSTER_HOME in the folder's state, opening the instance, and
the environment that processes started for a data folder need. What does not: definitions and runs.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines import files
from pipelines.errors import RunFailure, one_line
from pipelines.settings import DATA_VARIABLE, PROFILE_VARIABLE, STATE_VARIABLE, DataFolder

if TYPE_CHECKING:
    from dagster import DagsterInstance

HOME_VARIABLE = "DAGSTER_HOME"
CHECKED_BYTES = 32 << 20
"""A file of the run history up to this size is checked to its end."""


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


def check_store(data: DataFolder) -> None:
    """Raise RunFailure for a file of the run history that is no whole SQLite database."""
    for file in sorted(data.dagster_home.rglob("*.db")):
        try:
            with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=30)) as connection:
                size = connection.execute("PRAGMA page_size").fetchone()[0] * \
                    connection.execute("PRAGMA page_count").fetchone()[0]
                # Of a large one the head alone is looked at: the whole of it would be read at every start.
                check = "PRAGMA quick_check(1)" if size <= CHECKED_BYTES else "SELECT 'ok'"
                if (found := connection.execute(check).fetchone()[0]) != "ok":
                    raise sqlite3.DatabaseError(found)
                if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] and size:
                    raise sqlite3.DatabaseError("it has no tables")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) and "readonly" not in str(error):
                raise broken_store(data, f"{file}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise broken_store(data, f"{file}: {error}") from error


def broken_store(data: DataFolder, found: str) -> RunFailure:
    """The error of a run history that cannot be read."""
    return RunFailure(f"run history {data.dagster_home}", one_line(found)[:300], "whole SQLite files",
                      f"Remove the folder {data.dagster_home} and run again: it costs the history of past runs "
                      "alone, no table and no release.")


@contextmanager
def open_instance(data: DataFolder, profile: str | None = None) -> Iterator[DagsterInstance]:
    """The instance of a data folder; while the block lasts this process's environment is that of its runs."""
    place_instance(data)
    check_store(data)
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
