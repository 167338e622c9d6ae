"""MLflow's store in a data folder that was moved or copied: its addresses of artifacts follow the folder.

MLflow keeps absolute addresses. Without this, runs of a copied folder would write into the folder that it was
copied from, and a moved one would find neither its routers nor its reports.

What belongs here: that one repair, on MLflow's own tables. What does not: everything that MLflow's client can do.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pipelines import files
from pipelines.errors import RunFailure
from pipelines.settings import DataFolder

_ADDRESSES = (("experiments", "artifact_location"), ("runs", "artifact_uri"),
              ("logged_models", "artifact_location"), ("model_versions", "storage_location"),
              ("trace_tags", "value"))
"""Table and column of every address of artifacts in MLflow's schema."""


def follow_move(data: DataFolder) -> None:
    """Let the addresses in a store name the data folder's artifacts where they name those of another place.

    Without a store, or with artifacts on an object store, there is nothing to do. Raises RunFailure for a file
    that is no store, or one that cannot be written and would have to be.
    """
    store, artifacts = Path(data.mlflow_uri.removeprefix("sqlite:///")), Path(data.mlflow_artifacts)
    if files.is_remote(data.mlflow_artifacts) or not store.exists():
        return
    import sqlite3  # Here, for commands import this module that need no store.

    try:
        _rewrite(store, artifacts)
    except sqlite3.Error as error:
        raise store_failure(data, error) from error


def artifacts_uri(data: DataFolder) -> str:
    """The address under which the artifacts of all experiments lie: in the data folder."""
    folder = data.mlflow_artifacts
    return folder if files.is_remote(folder) else Path(folder).as_uri()


def store_failure(data: DataFolder, error: BaseException) -> RunFailure:
    """The error of a store that cannot be read or written."""
    return RunFailure(f"MLflow's store {data.mlflow_uri}", f"{type(error).__name__}: {error}".splitlines()[0],
                      "a store that MLflow can read and write",
                      "Mend its permissions or restore it, or move it away: a new one is made.")


def _bring_in(connection: Any, artifacts: Path) -> None:
    """Let the default experiment keep its artifacts in the data folder, those of its runs so far among them.

    MLflow makes it with the store, in the folder mlruns of wherever the process was started.
    """
    import sqlite3

    row = connection.execute("SELECT artifact_location FROM experiments WHERE experiment_id = 0").fetchone()
    old, new = row and row[0], f"{artifacts.as_uri()}/0"
    if not old or f"/{artifacts.name}/" in old:
        return
    address = urlsplit(old)
    source = Path(unquote(address.path)) if address.scheme in ("file", "") else None
    if source is not None and source.is_dir() and any(source.iterdir()):
        shutil.copytree(source, artifacts / "0", dirs_exist_ok=True)
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return  # A store that is only read takes no new run.
    connection.execute("UPDATE experiments SET artifact_location = ? WHERE experiment_id = 0", (new,))
    connection.execute("UPDATE runs SET artifact_uri = ? || substr(artifact_uri, ?) WHERE experiment_id = 0 "
                       "AND substr(artifact_uri, 1, ?) = ?", (new, len(old) + 1, len(old) + 1, f"{old}/"))
    connection.execute("COMMIT")


def _rewrite(store: Path, artifacts: Path) -> None:
    import sqlite3

    here, inner = artifacts.as_uri(), f"/{artifacts.name}/"
    # Not in a transaction of its own: only where the folder was moved is anything written.
    with closing(sqlite3.connect(store, timeout=30, isolation_level=None)) as connection:
        columns = {(table, column) for table, column in _ADDRESSES
                   if column in {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}}
        if _ADDRESSES[0] not in columns:
            return
        found = [row[0] for row in connection.execute("SELECT artifact_location FROM experiments")]
        _bring_in(connection, artifacts)
        elsewhere = {address[:address.rindex(inner)] + inner[:-1] for address in found
                     if address and address.startswith("file:") and inner in address} - {here}
        if not elsewhere:
            return
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise RunFailure(
                f"MLflow's store {store}", f"it came from {min(elsewhere)} and cannot be changed ({error})",
                "a store that may be written once, for its addresses to follow the folder",
                "Make it writable and run the command once, or use the folder where it was.") from error
        for table, column in sorted(columns):
            for old in sorted(elsewhere):
                n = len(old) + 1
                connection.execute(f"UPDATE {table} SET {column} = ? || substr({column}, ?) "
                                   f"WHERE substr({column}, 1, ?) = ?", (here, n, n, f"{old}/"))
        connection.execute("COMMIT")
