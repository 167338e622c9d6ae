"""Temporary folders of this project: each with a lock, so that those of dead processes can be told and removed.

What belongs here: making such a folder, and removing what a killed process has left. What does not: what is
in it. The kernel drops the lock with the process, however that ended: a folder whose lock is free belongs to
nobody, and one whose lock is held is never touched, nor is anything of another user's.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

NAMES = ("spark", "sparse", "ray", "train", "jars")
_LOCK = ".lock"
_UNLOCKED_S = 3600
"""A folder without a lock file may have been made this moment; older than this, its process is dead."""


def scratch_folder(name: str, within: str | None = None) -> Path:
    """A folder for this process alone, removed when it ends or, if it is killed, by the next start.

    name: one of NAMES. within: the folder to make it in, else that of temporary files.
    """
    remove_left_overs(within)
    folder = Path(tempfile.mkdtemp(prefix=_prefix(name), dir=within))
    descriptor = os.open(folder / f"{_LOCK}.new", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)  # Held until the process ends: nobody closes the descriptor.
    # Named when it is held: a lock file whose lock is free belongs to a dead process.
    os.rename(folder / f"{_LOCK}.new", folder / _LOCK)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def remove_left_overs(within: str | None = None) -> list[Path]:
    """Remove the folders that killed processes of this user have left; returns them."""
    removed = []
    try:
        found = list(Path(within or tempfile.gettempdir()).iterdir())
    except OSError:
        return []
    for folder in found:
        if folder.name.startswith(tuple(map(_prefix, NAMES))) and _is_left_over(folder):
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
    return removed


def _prefix(name: str) -> str:
    return f"espalier-{name}-"


def _is_left_over(folder: Path) -> bool:
    try:
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return False
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return time.time() - status.st_mtime > _UNLOCKED_S
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
