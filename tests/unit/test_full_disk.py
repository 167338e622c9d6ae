"""A full disk is told as such, with the place, whatever engine met it."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections import namedtuple
from pathlib import Path

import pytest

from pipelines.errors import RunFailure
from pipelines.full_disk import full_disk

Room = namedtuple("Room", "f_bavail f_frsize f_files f_favail")


@pytest.fixture
def disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two folders: one on a disk with room, one on a full disk."""
    roomy, full = tmp_path / "roomy", tmp_path / "full"
    roomy.mkdir()
    full.mkdir()
    monkeypatch.setattr(os, "statvfs", lambda place: Room(3 if str(place).startswith(str(full)) else 1 << 20, 4096,
                                                          100, 50))
    return roomy, full


@pytest.mark.parametrize("error", [
    OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EDQUOT, "Disk quota exceeded"),
    RunFailure("table t", "java.io.IOException: No space left on device", "rows", "Run."),
    Exception("Generic LocalFileSystem error: No space left on device (os error 28)"),
    sqlite3.OperationalError("database or disk is full"), sqlite3.OperationalError("disk I/O error")])
def test_a_full_disk_is_named_with_its_free_bytes(disks: tuple[Path, Path], error: Exception) -> None:
    wrapped = ValueError("a step failed")
    wrapped.__cause__ = error
    for each in (error, wrapped):
        told = full_disk(each, [*disks])
        assert told is not None
        assert str(told) == (f"disk of {disks[1]}: it is full (12,288 bytes free); expected room to write. "
                             "Free space there, then run the command again: what was published is unchanged.")


def test_with_room_everywhere_only_what_says_so_is_a_full_disk(disks: tuple[Path, Path]) -> None:
    roomy, _ = disks
    assert full_disk(sqlite3.OperationalError("disk I/O error"), [roomy]) is None
    assert full_disk(OSError(errno.EACCES, "Permission denied", "x"), [roomy]) is None
    named = full_disk(OSError(errno.EDQUOT, "Disk quota exceeded", str(roomy / "file")), [roomy])
    assert named is not None
    assert named.subject == f"disk of {roomy / 'file'}"
    output = full_disk(OSError(errno.ENOSPC, "No space left on device"), [roomy])
    assert output is not None
    assert output.subject == "output"
    passed = full_disk(RunFailure("Spark", "java.io.IOException: No space left on device", "a", "b"), [roomy])
    assert passed is not None
    assert "it was full while the command ran" in passed.found
