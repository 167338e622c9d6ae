"""How much room things take on the disk. Local folders only: an object store counts for itself."""

from __future__ import annotations

import os

from pipelines.files import is_remote


def folder_size_bytes(folder: str) -> int | None:
    """Bytes of all files in a folder and below, without following links; None on an object store.

    A folder that does not exist has 0. Files that vanish meanwhile count as not there.
    """
    if is_remote(folder):
        return None
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except FileNotFoundError:
                continue
    return total
