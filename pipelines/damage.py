"""Damaged tables: what is wrong with one, what a build mends by itself, and what a user is told to do.

What belongs here: looking at a table's log and at the files that it names (not into them), going back to the
newest version that a kept release names and that is whole, and forgetting what was known of a table that is made
again. What does not: reading rows (`storage.py`). A table that is derived can always be made again from the ones
before it; `pages` and `dump_files` come from dumps, which a user hands in; the others are records that no one can
make again, and stay where they are.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pipelines import files
from pipelines.deletion_vectors import deletion_vectors
from pipelines.errors import EspalierError, RunFailure
from pipelines.schemas import RELEASED_TABLES, TABLES
from pipelines.settings import DataFolder
from pipelines.storage import damaged_table, open_table

DERIVED = tuple(name for name in RELEASED_TABLES if name != "pages")
_NUMBERED = re.compile(r"(\d{20})(?:\.\d{20})?\.(?:json|crc|checkpoint\..*|compacted\.json)")
MOST_NAMED = 5
"""Files that an error names and that are looked into."""
_HINT = "_last_checkpoint"


@dataclass(frozen=True)
class Mended:
    """A table that was put into order. version: the one it went back to, None where it is made from nothing."""

    table: str
    found: str
    version: int | None

    def __str__(self) -> str:
        how = "is made again" if self.version is None else f"went back to version {self.version}, and is refreshed"
        return f"table {self.table} was damaged ({self.found}) and {how}"


def find_fault(data: DataFolder, name: str, version: int | None = None) -> str | None:
    """What is wrong with a table at a version, else its newest: with its log, or with a file's presence or size.

    None for a table that is whole, and for one that does not exist. Files are looked at one by one on a local
    disk alone.
    """
    log = f"{data.table(name)}/_delta_log"
    if not files.exists(data.table(name)):
        return None
    try:
        if found := _fault_of_log(log, version):
            return found
        table = open_table(data, name, version)
        return None if files.is_remote(data.root) else _fault_of_files(table, data.table(name))
    except EspalierError as error:
        return error.found
    except (OSError, ValueError) as error:
        return f"{log}: {error}"


def _fault_of_log(log: str, version: int | None) -> str | None:
    names = files.list_folder(log)
    commits = {int(name[:20]) for name in names if re.fullmatch(r"\d{20}\.json", name)}
    checkpoints = {int(name[:20]) for name in names if ".checkpoint." in name}
    if not commits and not checkpoints:
        return f"{log} has no commit"
    newest = max(commits | checkpoints)
    # The checksum of a version is written behind its commit.
    later = [int(name[:20]) for name in names if re.fullmatch(r"\d{20}\.crc", name) and int(name[:20]) > newest]
    if later and version is None:
        return f"{log}/{max(later):020}.json is missing"
    for number in range(max((n for n in checkpoints if n <= (version or newest)), default=-1) + 1,
                        (newest if version is None else version) + 1):
        path = f"{log}/{number:020}.json"
        if number not in commits:
            return f"{path} is missing"
        try:
            lines = files.read_text(path).splitlines()
            if not lines or not all(isinstance(json.loads(line), dict) for line in lines):
                return f"{path} is empty or no commit"
        except ValueError:
            return f"{path} is no JSON"
    return None


def _fault_of_files(table: Any, folder: str) -> str | None:
    actions = table.get_add_actions(flatten=True)
    sizes = actions.column("size_bytes").to_pylist()
    for path, size in zip(actions.column("path").to_pylist(), sizes, strict=True):
        if found := _fault_of_file(folder, path, size):
            return found
    for vector in deletion_vectors(table, folder):
        if vector.file and (found := _fault_of_file(folder, vector.file, None)):
            return found
    return None


def _fault_of_file(folder: str, name: str, size: int | None) -> str | None:
    for path in dict.fromkeys((f"{folder}/{name}", f"{folder}/{unquote(name)}")):
        if os.path.exists(path):
            found = os.path.getsize(path)
            return None if size in (None, found) else f"{path} has {found:,} bytes instead of {size:,}"
    return f"{folder}/{unquote(name)} is missing"


def mend_tables(data: DataFolder) -> list[Mended]:
    """Put every table into order that a build can make again; with the build lock held, before Spark reads any.

    A derived table goes back to the newest version that is whole and that a kept release names; without one its
    folder is removed. Raises RunFailure, with the remedy, for a table that comes from dumps or is a record.
    """
    mended = []
    for name in TABLES:
        if not files.exists(data.table(name)):
            continue
        mend_checkpoints(data, name)
        if not (found := find_fault(data, name)):
            continue
        if name not in DERIVED:
            raise damaged_table(data, name, found)
        mended.append(remake(data, name, found))
    return mended


def mend_checkpoints(data: DataFolder, name: str) -> None:
    """Remove checkpoints that cannot be read, and a hint to none: all that they sum up stays in the commits."""
    log = f"{data.table(name)}/_delta_log"
    names = files.list_folder(log)
    bad = [each for each in names if ".checkpoint." in each and not _is_parquet(f"{log}/{each}")]
    if _HINT in names:
        try:
            version = int(files.read_json(f"{log}/{_HINT}")["version"])
        except (OSError, ValueError, TypeError, KeyError):
            version = -1
        if not any(each.startswith(f"{version:020}.checkpoint.") and each not in bad for each in names):
            bad.append(_HINT)
    # Hadoop keeps a checksum beside each file, which would be that of a file that is gone.
    files.remove_files(log, [*bad, *(f".{each}.crc" for each in bad)])


def _is_parquet(path: str) -> bool:
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.endswith(".parquet"):
        return True
    try:
        for _ in pq.ParquetFile(io.BytesIO(files.read_bytes(path)), page_checksum_verification=True).iter_batches():
            pass
    except (pa.ArrowException, OSError):
        return False
    return True


def remake(data: DataFolder, name: str, found: str) -> Mended:
    """Go back to the newest whole version that a kept release names, or remove the table."""
    from pipelines.releases import list_releases

    pinned = {release.tables[name] for release in list_releases(data)
              if not release.cleaned and name in release.tables}
    version = next((number for number in sorted(pinned, reverse=True) if not find_fault(data, name, number)), None)
    forget_table(data, name, version)
    if version is None:
        files.remove_folder(data.table(name))
    else:
        _cut_log(f"{data.table(name)}/_delta_log", version)
    return Mended(name, found, version)


def _cut_log(log: str, version: int) -> None:
    """Remove what is later than a version, the newest first: a kill leaves a log that ends a little later."""
    later = sorted((name for name in files.list_folder(log)
                    if (match := _NUMBERED.fullmatch(name)) and int(match[1]) > version), reverse=True)
    files.remove_files(log, [_HINT, f".{_HINT}.crc"])
    # Checksums first, for they must not be of a later version than the log.
    for name in sorted(later, key=lambda name: not name.endswith(".crc")):
        files.remove_files(log, [name, f".{name}.crc"])


def forget_table(data: DataFolder, name: str, version: int | None = None) -> None:
    """Forget what was noted of versions after `version`, all without one: their numbers come again with other rows.

    Stages that read the table start over; releases that name such a version count as cleaned, for they could show
    rows that were never theirs. What was read from dumps is forgotten with the pages.
    """
    from pipelines.releases import list_releases, mark_cleaned

    for file in files.list_folder(data.stages):
        try:
            stored = files.read_json(f"{data.stages}/{file}")
            seen = [stored["upstream"].get(name), stored["version"] if file == f"{name}.json" else None]
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            continue
        if any(number is not None and (version is None or number > version) for number in seen):
            files.remove_files(data.stages, [file])
    for release in list_releases(data):
        pinned = release.tables.get(name)
        if pinned is not None and not release.cleaned and (version is None or pinned > version):
            mark_cleaned(data, release)
    if name == "pages":
        files.remove_folder(data.table("dump_files"))


def damage_in(data: DataFolder, told: str) -> RunFailure | None:
    """The error of a table whose file an engine names in what it told, if that file is damaged; else None."""
    named = dict.fromkeys(re.findall(r"/tables/(\w+)/((?:[\w=%]+/)*[\w.-]+\.(?:parquet|bin|json|crc))", told))
    for name, path in list(named)[:MOST_NAMED]:
        if name not in TABLES:
            continue
        file = f"{data.table(name)}/{unquote(path)}"
        if found := find_fault(data, name):
            return damaged_table(data, name, found)
        if path.endswith(".parquet") and not files.is_remote(data.root) \
                and ("ChecksumException" in told or not _is_parquet(file)):
            return damaged_table(data, name, f"{file} is not as it was written", file)
    return None


def broken_files(data: DataFolder, name: str, version: int | None = None) -> Iterator[str]:
    """The data files of a local table that cannot be read to their end; reads all of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for uri in open_table(data, name, version).file_uris():
        path = next((path for path in (uri, unquote(uri)) if os.path.exists(path)), None)
        if path is None:
            yield unquote(uri)
            continue
        try:
            for _ in pq.ParquetFile(Path(path), page_checksum_verification=True).iter_batches():
                pass
        except (pa.ArrowException, OSError, RunFailure):
            yield path
