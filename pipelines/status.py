"""The state of a data folder: served release, tables, what is stale, files that wait, disk, lock.

What belongs here: gathering these facts without Spark and Dagster. What does not: printing them
(`jobs/commands/status.py`). A table is stale when one that it is derived from has another version than the
one it was last derived from, or when it was made with other settings or by an older parser: its stage's
watermark says both.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipelines import files
from pipelines.build_options import load_build_options
from pipelines.deletion_vectors import live_rows
from pipelines.drop_files import DropFile, waiting_drops
from pipelines.dump_files import REFUSED, registered_dump_files
from pipelines.errors import EspalierError
from pipelines.locking import Holder, lock_holder
from pipelines.release_settings import release_difference
from pipelines.releases import Release, current_release, served_number
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder, Profile, profile_by_name
from pipelines.sizes import folder_size_bytes
from pipelines.stage_settings import difference, stage_settings
from pipelines.storage import TableReader, missing_columns, open_table, sql_text, table_exists


@dataclass(frozen=True)
class TableStatus:
    """One table. released: the version that the served release pins; stale: why it is due, else None."""

    name: str
    version: int
    rows: int
    size_bytes: int
    released: int | None
    stale: str | None


@dataclass(frozen=True)
class Status:
    """The state of a data folder. Sizes are bytes; `folder_bytes` is None on an object store."""

    root: str
    release: Release | None
    release_fault: str | None
    release_stale: str | None
    """Why a build would publish another release though no table is due: other settings; else None."""
    tables: list[TableStatus]
    pending_files: list[str]
    drop: list[DropFile]
    """Files in the drop folder that are not read: those that wait, are being written, or are refused."""
    refused_files: dict[str, str]
    """Dump files that a build could not read, by path: why. They stay out until they are handed in again."""
    lock: Holder | None
    folder_bytes: int | None
    free_bytes: int

    def to_json(self) -> dict[str, Any]:
        """The status as plain JSON values."""
        return {
            "data": self.root,
            "release": self.release.model_dump(mode="json") if self.release else None,
            "release_fault": self.release_fault,
            "release_stale": self.release_stale,
            "tables": {table.name: {k: v for k, v in asdict(table).items() if k != "name"}
                       for table in self.tables},
            "stale": [table.name for table in self.tables if table.stale],
            "pending_files": self.pending_files,
            "refused_files": self.refused_files,
            "drop": [asdict(file) for file in self.drop],
            "lock": asdict(self.lock) if self.lock else None,
            "disk": {"folder_bytes": self.folder_bytes, "free_bytes": self.free_bytes},
        }


def read_status(data: DataFolder) -> Status:
    """Gather the state of a data folder. Raises RunFailure when a table's log is damaged."""
    release, fault = None, None
    try:
        if served_number(data) is not None:
            release = current_release(data)
    except EspalierError as error:
        fault = str(error)
    versions = {name: int(open_table(data, name).version()) for name in TABLES if table_exists(data, name)}
    pinned = release.tables if release else {}
    profile = load_build_options(data).apply(profile_by_name())
    tables = [_table_status(data, name, versions, pinned.get(name), profile) for name in versions]
    pending, refused = waiting_files(data)
    drop = waiting_drops(data, _read(data), refused)
    dropped = {file.path for file in drop}
    return Status(
        root=data.root, release=release, release_fault=fault,
        release_stale=release_difference(release, profile) if release else None, tables=tables,
        pending_files=[path for path in pending if path not in dropped], drop=drop,
        refused_files={path: why for path, why in refused.items() if path not in dropped}, lock=lock_holder(data),
        folder_bytes=folder_size_bytes(data.root),
        free_bytes=shutil.disk_usage(_existing(data.state)).free)


def waiting_files(data: DataFolder) -> tuple[list[str], dict[str, str]]:
    """Dump files that were handed in and are not in `dump_files`: those that wait, and why others were refused."""
    registered = registered_dump_files(data)
    reader, read = TableReader(data), _read(data)
    unread = {file.key: file.path for file in registered.values() if file.sha256 not in read}
    if not unread or not table_exists(data, "rejects"):
        return list(unread.values()), {}
    rows = reader.rows("rejects", ("source_ref", "detail"), f"reason = {sql_text(REFUSED)}")
    refused = {unread[row["source_ref"]]: row["detail"] for row in rows if row["source_ref"] in unread}
    return [path for path in unread.values() if path not in refused], refused


def _read(data: DataFolder) -> set[str]:
    """SHA-256 of the dump files that were read."""
    if not table_exists(data, "dump_files"):
        return set()
    return {row["sha256"] for row in TableReader(data).rows("dump_files", ("sha256",))}


def _table_status(data: DataFolder, name: str, versions: dict[str, int], released: int | None,
                  profile: Profile) -> TableStatus:
    delta = open_table(data, name, versions[name])
    actions = delta.get_add_actions(flatten=True)
    missing = ", ".join(missing_columns(delta, TABLES[name]))
    old = f"an older version wrote it, without {missing}: move {data.table(name)} away" if missing else None
    return TableStatus(name, versions[name], live_rows(delta, data.table(name)),
                       sum(actions.column("size_bytes").to_pylist()), released,
                       old or _stale(data, name, versions, profile))


def _stale(data: DataFolder, name: str, versions: dict[str, int], profile: Profile) -> str | None:
    """Why a table is due, else None. A table without a watermark is due when it is one that Spark derives."""
    try:
        watermark = files.read_json(f"{data.stages}/{name}.json")
    except FileNotFoundError:
        derived = TABLES[name].released and name != "pages"
        return "its last refresh did not end" if derived else None
    except ValueError:
        return "its watermark is damaged"
    for upstream, seen in watermark["upstream"].items():
        if upstream not in versions:
            return f"{upstream} is missing"
        if versions[upstream] != seen:
            return f"{upstream} is at version {versions[upstream]}, it was derived from {seen}"
    if watermark["version"] != versions[name]:
        return "it was written to after its last refresh"
    return difference(watermark.get("settings"), stage_settings(name, profile))


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    while not folder.exists():
        folder = folder.parent
    return folder
