"""A full disk, told as such: whatever engine met it says so in other words, and none says where.

What belongs here: knowing these words in an error or in what it was raised from, and which of the folders that
are written to has no room. What does not: other failures of a place (`errors.py:place_failure`).
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from pathlib import Path

from pipelines.errors import RunFailure, causes
from pipelines.settings import DataFolder, cache_folder

FULL = re.compile(r"no space left on device|disk quota exceeded|os error 28\b|os error 122\b|disk is full|enospc"
                  r"|not enough space|storage is full", re.IGNORECASE)
PERHAPS = re.compile(r"disk I/O error|input/output error|failed to flush|write failed|bus error|short write"
                     r"|No usable temporary directory|cannot be written|unable to open database file"
                     r"|Mkdirs failed|Failed to create a temp", re.IGNORECASE)
"""What engines say on a full disk, but not on a full disk alone."""
LITTLE_BYTES = 1 << 20
"""With less room nothing goes on: neither a table nor the run history can be written."""
_STEP = "Free space there, then run the command again: what was published is unchanged."


def full_disk(error: BaseException, folders: Iterable[str | os.PathLike[str]]) -> RunFailure | None:
    """The error of a disk without room, if that is what an error comes down to; else None.

    folders: all that were written to, in the order in which they are named; one that does not exist stands for
    the nearest folder above it.
    """
    found = list(causes(error))
    named = next((cause.filename for cause in found if isinstance(cause, OSError)
                  and cause.errno in (errno.ENOSPC, errno.EDQUOT) and isinstance(cause.filename, str)), None)
    texts = [f"{cause} {getattr(cause, 'java_exception', '')}"[:20_000] for cause in found]
    is_full = named is not None or any(FULL.search(text) for text in texts)
    if not is_full and not any(PERHAPS.search(text) for text in texts):
        return None
    places = [*([named] if named else []), *(os.fspath(folder) for folder in folders)]
    short = [(n_bytes, place, left) for place in dict.fromkeys(map(_existing, places))
             for n_bytes, left in [_room(place)] if left]
    if short:
        _, place, left = min(short)
        return RunFailure(f"disk of {place}", f"it is full ({left})", "room to write", _STEP)
    if not is_full:
        return None
    if named:
        return RunFailure(f"disk of {named}", "it is full, or a quota is used up", "room to write", _STEP)
    if isinstance(error, OSError) or not places:
        return RunFailure("output", f"its disk is full ({_line(found)})", "room to write", _STEP)
    n_bytes, place = min((_room(place)[0], place) for place in map(_existing, places))
    return RunFailure(f"disk of {place}", f"it was full while the command ran, {n_bytes:,} bytes are free now "
                      f"({_line(found)})", "room to write", _STEP)


def _line(found: list[BaseException]) -> str:
    """What the engine said."""
    texts = [getattr(cause, "found", None) or str(cause) for cause in found]
    lines = [line for text in texts for line in text.splitlines() if FULL.search(line)]
    return (lines or texts)[0].strip()[:200]


def _existing(place: str) -> str:
    """The folder itself, or the nearest above that exists: the disk it would be made on."""
    path = Path(place)
    while not path.is_dir() and path != path.parent:
        path = path.parent
    return str(path)


def _room(place: str) -> tuple[int, str]:
    """Free bytes of a disk, and in words what is left of it where that is too little, else nothing."""
    found = os.statvfs(place)
    n_bytes = found.f_bavail * found.f_frsize
    if n_bytes < LITTLE_BYTES:
        return n_bytes, f"{n_bytes:,} bytes free"
    return n_bytes, "room for no further file" if found.f_files and not found.f_favail else ""


def written_folders(data: DataFolder) -> list[str]:
    """The folders that a command on a data folder writes to."""
    return [*([] if "://" in data.root else [data.root]), str(data.state), str(cache_folder()),
            os.environ.get("TMPDIR") or "/tmp"]
