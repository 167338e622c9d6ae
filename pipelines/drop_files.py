"""The drop folder `<data>/drop`: which of its files are dumps to read, and what became of each.

What belongs here: telling dump files from everything else, for the sensor that reads them (`jobs/drop_folder.py`)
and for who asks what waits. What does not: reading them. No clock is asked: a file is complete when two looks find
it with the same size and time of change.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipelines.documents.readers.multistream import is_index_name
from pipelines.dump_files import known_dump_file
from pipelines.settings import DataFolder

DUMP_ENDINGS = (".xml", ".bz2", ".gz", ".xz")
LOOK_S = 0.5
"""Between the two looks of who cannot come back later."""
States = dict[str, list[int]]


@dataclass(frozen=True)
class DropFile:
    """A file of the drop folder that is not read. why: for one that is refused."""

    path: str
    state: Literal["waits", "is being written", "refused"]
    why: str | None = None


def drop_folder_of(data: DataFolder) -> Path:
    """Where dump files are dropped."""
    return Path(data.root) / "drop"


def look(folder: Path) -> tuple[States, dict[str, str]]:
    """Size and time of change of the dump files in a folder by name, and why each other file is none.

    Hidden files are passed over, and a stream index, which is read with its dump. No folder: nothing.
    """
    states: States = {}
    refused: dict[str, str] = {}
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return {}, {}
    except OSError as error:
        return {}, {".": str(error.strerror)}
    for name in names:
        if name.startswith(".") or is_index_name(name):
            continue
        found = _state(folder / name)
        if isinstance(found, str):
            refused[name] = found
        else:
            states[name] = found
    return states, refused


def _state(path: Path) -> list[int] | str:
    """Size and time of change of a dump file, or why it is none."""
    try:
        path.name.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8: rename it"
    if path.suffix.lower() not in DUMP_ENDINGS:
        return f"its name ends with none of {', '.join(DUMP_ENDINGS)}"
    try:
        status = path.stat()
    except OSError as error:
        return f"a link to nothing ({os.readlink(path)})" if path.is_symlink() else str(error.strerror)
    if not stat.S_ISREG(status.st_mode):
        return "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or device"
    if not os.access(path, os.R_OK):
        return "it cannot be read: mend its permissions"
    return [status.st_size, status.st_mtime_ns]


def waiting_drops(data: DataFolder, read: Set[str], refused: Mapping[str, str]) -> list[DropFile]:
    """The files of the drop folder that are not read yet, by two looks in a row.

    read: SHA-256 of the files that were. refused: why files that were handed in could not be, by path.
    """
    folder = drop_folder_of(data)
    before, none = look(folder)
    unread = {}
    for name, state in before.items():
        file = known_dump_file(data, folder / name)
        if file is None or file.sha256 not in read:
            unread[name] = state
    if unread:
        time.sleep(LOOK_S)
    now = look(folder)[0]
    found = [DropFile(str(folder / name), "refused", why) for name, why in none.items()]
    for name, state in unread.items():
        path = str(folder / name)
        if now.get(name) != state:
            found.append(DropFile(path, "is being written"))
        elif path in refused:
            found.append(DropFile(path, "refused", refused[path]))
        else:
            found.append(DropFile(path, "waits"))
    return found
