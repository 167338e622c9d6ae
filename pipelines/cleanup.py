"""Clean-up: removes the data files and indexes that nothing needs any more.

What belongs here: which releases and table versions are kept, and removing the rest. What does not: the
releases themselves (`releases.py`). Delta keeps its log for years, so every version can be named; only the
files of kept ones stay on disk, and of the change feed what a stage has still to read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pipelines import files
from pipelines.deletion_vectors import deletion_vectors
from pipelines.errors import RunFailure
from pipelines.locking import short_lock
from pipelines.releases import SERVED, Release, list_releases, mark_cleaned, next_number, served_number
from pipelines.schemas import RELEASED_TABLES
from pipelines.settings import DataFolder, Profile
from pipelines.storage import open_table, table_exists

_CHANGE_DATA = "_change_data/"


def kept_releases(data: DataFolder, n_newest: int) -> list[Release]:
    """The releases that clean-up keeps: the newest `n_newest` that can be served, and the served one."""
    usable = [release for release in list_releases(data) if not release.cleaned]
    served = served_number(data)
    newest = {release.number for release in usable[-max(n_newest, 1):]}
    return [release for release in usable if release.number in newest or release.number == served]


def kept_versions(data: DataFolder, n_newest: int) -> dict[str, list[int]]:
    """Versions that clean-up keeps, by table, ascending.

    Those of the kept releases, and every version since the oldest that a stage still has to read changes
    from: its watermark names it.
    """
    versions: dict[str, set[int]] = {}
    for release in kept_releases(data, n_newest):
        for name, version in release.tables.items():
            versions.setdefault(name, set()).add(version)
    for name, since in _oldest_unread(data).items():
        if table_exists(data, name):
            newest = open_table(data, name).version()
            versions.setdefault(name, set()).update(range(since, newest + 1))
    return {name: sorted(found) for name, found in sorted(versions.items())}


def _oldest_unread(data: DataFolder) -> dict[str, int]:
    oldest: dict[str, int] = {}
    for name in files.list_folder(data.stages):
        try:
            upstream: dict[str, Any] = files.read_json(f"{data.stages}/{name}").get("upstream", {})
        except (ValueError, AttributeError):
            # A damaged watermark makes its stage start over from the newest version: nothing to keep.
            continue
        for table, version in upstream.items():
            oldest[table] = min(int(version), oldest.get(table, int(version)))
    return oldest


@dataclass(frozen=True)
class CleanUp:
    """What clean-up removed, or in a dry run would remove."""

    files: dict[str, list[str]]
    """Data files by table, relative to the table's folder."""
    indexes: list[str]
    """Index folders, relative to the data folder."""
    releases: list[int]
    """Releases that can no longer be served."""
    dry_run: bool

    @property
    def n_files(self) -> int:
        return sum(map(len, self.files.values()))


def clean_up(data: DataFolder, profile: Profile, *, dry_run: bool = False) -> CleanUp:
    """Remove data files and indexes that no kept release, newest version or due stage needs.

    Call it with the build lock held: files of a write that has not committed yet count as not needed.
    delta-rs's vacuum finds the files, and they are removed here: a vacuum that removes them itself commits
    two versions, which would make every later build think that the tables had changed.
    """
    # Whoever chooses a release meanwhile waits until it says whether its files stay.
    with short_lock(data, SERVED):
        keep = kept_releases(data, profile.kept_releases)
        versions = kept_versions(data, profile.kept_releases)
        dropped = [release for release in list_releases(data) if not release.cleaned and release not in keep]
        if not dry_run:
            for release in dropped:
                mark_cleaned(data, release)
    folders = (folder for release in keep for folder in release.indexes.values())
    unreferenced = _unreferenced_indexes(data, folders)
    unread = _oldest_unread(data)
    removable = {name: _removable(data, name, versions.get(name, []), unread.get(name))
                 for name in RELEASED_TABLES if table_exists(data, name)}
    if not dry_run:
        for folder in unreferenced:
            files.remove_folder(f"{data.root}/{folder}")
        for name, paths in removable.items():
            files.remove_files(data.table(name), paths)
    return CleanUp({name: paths for name, paths in removable.items() if paths}, unreferenced,
                   [release.number for release in dropped], dry_run)


def _removable(data: DataFolder, name: str, versions: list[int], unread_since: int | None) -> list[str]:
    """Files of a table that may go. unread_since: a stage reads its change feed from the version behind it on."""
    from deltalake.exceptions import DeltaError

    table = open_table(data, name)
    try:
        found = table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=True, full=True,
                             keep_versions=[*versions, table.version()])
    except DeltaError as error:
        raise RunFailure(f"table {name}", f"its unneeded files cannot be listed ({error})",
                         f"the Delta log of the versions {versions}",
                         f"Nothing was removed. See {data.table(name)}/_delta_log.") from error
    needed = set() if unread_since is None else _change_files(data, name, unread_since + 1, table.version())
    # delta-rs does not count the files of deletion vectors among those of a version.
    for version in {*versions, table.version()}:
        vectors = deletion_vectors(open_table(data, name, version), data.table(name))
        needed |= {vector.file for vector in vectors if vector.file}
    # The log goes on naming files that an earlier clean-up has removed.
    return files.present(data.table(name), (
        path for path in found
        if path not in needed and (not path.startswith("_") or path.startswith(_CHANGE_DATA))))


def _change_files(data: DataFolder, name: str, first: int, last: int) -> set[str]:
    """The files of change data that the commits of these versions name, relative to the table's folder."""
    found: set[str] = set()
    for version in range(first, last + 1):
        commit = files.read_text(f"{data.table(name)}/_delta_log/{version:020}.json")
        for line in commit.splitlines():
            if path := json.loads(line).get("cdc", {}).get("path"):
                found |= {path, unquote(path)}
    return found


def _unreferenced_indexes(data: DataFolder, referenced: Iterable[str]) -> list[str]:
    """Folders `indexes/<n>` of published numbers that no kept release points into."""
    kept = {"/".join(folder.split("/")[:2]) for folder in referenced}
    found = (f"indexes/{name}" for name in files.list_folder(f"{data.root}/indexes")
             if name.isdigit() and int(name) < next_number(data))
    return [folder for folder in found if folder not in kept]
