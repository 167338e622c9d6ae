"""Dump files by content: the key of a file, and the register of files that were handed in.

What belongs here: `name + 8 hex of SHA-256`, the key of the table `dump_files` and of Dagster's partitions,
and the register in the state folder that leads from a key back to the path. The register also keeps size
and time of change, so that a file that did not change is not hashed again. What does not: reading dumps
(`documents/readers/dump.py`) and what became of a file (table `dump_files`).
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pipelines import files
from pipelines.documents.readers.multistream import index_beside
from pipelines.errors import EspalierError, UserError, UserErrors, argument
from pipelines.locking import short_lock
from pipelines.settings import DataFolder

REFUSED = "dump_unreadable"
"""Reason in the table `rejects` of a file that was handed in and not read."""
KEY_NAME_CHARACTERS = 150
KEY_DIGITS = 8
_NO_KEY = re.compile(r"[\x00-\x1f\x7f]|\.\.\.")


@dataclass(frozen=True)
class DumpFile:
    """A dump file as it was when it was handed in. `changed_ns` is its time of change (st_mtime_ns)."""

    key: str
    path: str
    size_bytes: int
    changed_ns: int
    sha256: str


def dump_file_key(name: str, sha256: str, n_digits: int = KEY_DIGITS) -> str:
    """The key of a dump file: its name and the first hex digits of its SHA-256, 8 unless another file has them too.

    What Dagster takes for no partition key (control characters, three dots) is an underscore in it, and a
    name of more than 150 characters is cut.
    """
    return f"{_NO_KEY.sub('_', name)[:KEY_NAME_CHARACTERS]}-{sha256[:n_digits]}"


def registered_dump_files(data: DataFolder) -> dict[str, DumpFile]:
    """The files that were ever handed in, by key. Empty when none was, or the register was lost."""
    try:
        entries = files.read_json(_register_path(data))
        return {key: DumpFile(**entry) for key, entry in entries.items()}
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return {}


def refusals(errors: Mapping[str, EspalierError]) -> list[dict[str, str]]:
    """Rows for the table `rejects`: why each dump file, named by key or path, was not read."""
    return [{"table": "pages", "source_ref": name, "reason": REFUSED,
             "detail": f"{error.found}; expected {error.expected}"} for name, error in errors.items()]


def register_dump_files(data: DataFolder, paths: Iterable[str | Path]) -> list[DumpFile]:
    """Hash and remember the files, in the order given, each once.

    Raises UserError for a path that is missing, no file, or cannot be read: before anything is remembered.
    """
    chosen, refused = _described(paths, registered_dump_files(data))
    if refused:
        raise _faults(refused)
    return _remember(data, chosen)


def take_dump_files(data: DataFolder, paths: Iterable[str | Path]) -> tuple[list[DumpFile], list[UserError]]:
    """Hash and remember the files that can be read; return them, and why each of the others cannot.

    Raises UserError for paths that do not exist, before anything is remembered: what else stands in a folder
    beside dumps is passed over, but a path that is wrong was meant to be another one.
    """
    chosen, refused = _described(paths, registered_dump_files(data))
    if missing := [error for error in refused if isinstance(error, _Missing)]:
        raise _faults(missing)
    return _remember(data, chosen), refused


def known_dump_file(data: DataFolder, path: Path) -> DumpFile | None:
    """The file as it was remembered, if it has not changed since by size and time; it is not read."""
    status = path.stat()
    found = (str(path.absolute()), status.st_size, status.st_mtime_ns)
    return next((file for file in registered_dump_files(data).values() if _state(file) == found), None)


def describe_dump_file(path: str | Path) -> DumpFile:
    """A file with its hash, remembered nowhere. Raises UserError for a path that cannot be read."""
    return _describe(os.fspath(path), {})


class _Missing(UserError):
    """There is nothing at a path."""


def _faults(errors: Sequence[UserError]) -> UserError:
    return errors[0] if len(errors) == 1 else UserErrors("dump files", errors, f"Correct {argument('wikipedia')}.")


def _remember(data: DataFolder, chosen: dict[str, DumpFile]) -> list[DumpFile]:
    with short_lock(data, "dump_files"):
        known = registered_dump_files(data)
        if any(known.get(key) != file for key, file in chosen.items()):
            entries = {key: asdict(file) for key, file in {**known, **chosen}.items()}
            files.write_json(_register_path(data), entries)
    return list(chosen.values())


def _state(file: DumpFile) -> tuple[str, int, int]:
    return file.path, file.size_bytes, file.changed_ns


def _described(paths: Iterable[str | Path],
               known: dict[str, DumpFile]) -> tuple[dict[str, DumpFile], list[UserError]]:
    """Key → file for what can be read, and an error for everything else.

    The stream index of a file that is given too is passed over: a pattern such as `*.bz2` finds both.
    """
    all_given = [os.fspath(path) for path in paths]
    indexes = {index.absolute() for path in all_given if (index := index_beside(path)) is not None}
    unchanged = {_state(file): file for file in known.values()}
    chosen: dict[str, DumpFile] = {}
    refused: list[UserError] = []
    for given in all_given:
        if Path(given).absolute() in indexes:
            continue
        try:
            file = _describe(given, unchanged)
        except UserError as error:
            refused.append(error)
        else:
            file = _with_own_key(file, {**known, **chosen})
            chosen[file.key] = file
    return chosen, refused


def _with_own_key(file: DumpFile, others: Mapping[str, DumpFile]) -> DumpFile:
    """The file under a key that no file of other content has: a longer part of its hash where it must be."""
    for n_digits in range(KEY_DIGITS, len(file.sha256) + 1, KEY_DIGITS):
        key = dump_file_key(Path(file.path).name, file.sha256, n_digits)
        if key not in others or others[key].sha256 == file.sha256:
            return replace(file, key=key)
    raise AssertionError("a whole SHA-256 is the key of another content")


def _describe(given: str, unchanged: dict[tuple[str, int, int], DumpFile]) -> DumpFile:
    if not given:
        raise _Missing("a dump file", "an empty name", "the path of a file", f"Correct {argument('wikipedia')}.")
    path = Path(given).expanduser().absolute()
    subject = f"dump {os.fsencode(path).decode(errors='backslashreplace')}"
    expected = "a dump file (.xml, .bz2, .gz, .xz)"
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise UserError(subject, "a folder", expected, "Name the files in it.")
        if not stat.S_ISREG(status.st_mode):
            raise UserError(subject, "a pipe or device", "a file: it is read twice", "Save it to a file first.")
        str(path).encode()
        found = (str(path), status.st_size, status.st_mtime_ns)
        if found in unchanged:
            return unchanged[found]
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    except UnicodeEncodeError:
        raise UserError(subject, "its name is not UTF-8", "a name that can be written down",
                        "Rename the file.") from None
    except (OSError, ValueError) as error:
        kind = _Missing if isinstance(error, FileNotFoundError) and not path.is_symlink() else UserError
        raise kind(subject, getattr(error, "strerror", None) or str(error), "a dump file that can be read",
                   "Check the path and its permissions.") from error
    return DumpFile(dump_file_key(path.name, sha256), *found, sha256)


def _register_path(data: DataFolder) -> str:
    return str(data.state / "dump_files.json")
