"""Dump files by content: the key of a file, and the register of files that were handed in.

What belongs here: `name + 8 hex of SHA-256`, the key of the table `dump_files` and of Dagster's partitions,
and the register in the state folder that leads from a key back to the path. The register also keeps size
and time of change, so that a file that did not change is not hashed again. What does not: reading dumps
(`documents/readers/dump.py`) and what became of a file (table `dump_files`).
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pipelines import files
from pipelines.errors import UserError
from pipelines.settings import DataFolder


@dataclass(frozen=True)
class DumpFile:
    """A dump file as it was when it was handed in. `changed_ns` is its time of change (st_mtime_ns)."""

    key: str
    path: str
    size_bytes: int
    changed_ns: int
    sha256: str


def dump_file_key(name: str, sha256: str) -> str:
    """The key of a dump file: its name and the first 8 hex digits of its SHA-256."""
    return f"{name}-{sha256[:8]}"


def registered_dump_files(data: DataFolder) -> dict[str, DumpFile]:
    """The files that were ever handed in, by key. Empty when none was, or the register was lost."""
    try:
        entries = files.read_json(_register_path(data))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return {key: DumpFile(**entry) for key, entry in entries.items()}


def register_dump_files(data: DataFolder, paths: Iterable[str | Path]) -> list[DumpFile]:
    """Hash and remember the files, in the order given, each once.

    Raises UserError for a path that is missing, a folder, or cannot be read: before anything is remembered.
    """
    known = registered_dump_files(data)
    chosen = {file.key: file for file in _described(paths, known)}
    if any(known.get(key) != file for key, file in chosen.items()):
        entries = {key: asdict(file) for key, file in {**known, **chosen}.items()}
        files.write_json(_register_path(data), entries)
    return list(chosen.values())


def _described(paths: Iterable[str | Path], known: dict[str, DumpFile]) -> Iterator[DumpFile]:
    unchanged = {(file.path, file.size_bytes, file.changed_ns): file for file in known.values()}
    for given in paths:
        if not str(given):
            raise UserError("a dump file", "an empty name", "the path of a file", "Correct --wikipedia.")
        path = Path(given).expanduser().absolute()
        try:
            if path.is_dir():
                raise UserError(f"dump {path}", "a folder", "a dump file (.xml, .bz2, .gz, .xz)",
                                "Name the files in it.")
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise UserError(f"dump {path}", "a pipe or device", "a file: it is read twice",
                                "Save it to a file first.")
            found = (str(path), status.st_size, status.st_mtime_ns)
            if found in unchanged:
                yield unchanged[found]
                continue
            with path.open("rb") as stream:
                sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise UserError(f"dump {path}", error.strerror or str(error), "a dump file that can be read",
                            "Check the path and its permissions.") from error
        yield DumpFile(dump_file_key(path.name, sha256), *found, sha256)


def _register_path(data: DataFolder) -> str:
    return str(data.state / "dump_files.json")
