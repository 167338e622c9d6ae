"""The build lock: one build at a time on a data folder, however it was started; and locks of a moment.

What belongs here: taking, keeping and reading the lock files in the state folder. What does not: who must
hold it (the resource `lock` of `assets/resources.py`, and the CLI around its jobs). The kernel owns
the lock and drops it when the process ends, so a killed build never blocks the next one; the file only
says who holds it. Within one process the lock is re-entrant: the CLI's two jobs run under one holding.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipelines.errors import RunFailure
from pipelines.settings import DataFolder

PATIENCE_S = 0.5
"""How long a build waits for the lock: longer than another process needs to ask who holds it."""


@dataclass(frozen=True)
class Holder:
    """Who holds the lock: process id, start in UTC (ISO 8601), and its command."""

    pid: int
    started_at: str
    command: str


@dataclass
class _Holding:
    descriptor: int
    holder: Holder
    depth: int = 1


_guard = threading.Lock()
_held: dict[Path, _Holding] = {}


def _forget_in_child() -> None:
    """A forked child must not keep its parent's lock alive: close its copies, which releases nothing."""
    for holding in _held.values():
        os.close(holding.descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_forget_in_child)


@contextmanager
def build_lock(data: DataFolder) -> Iterator[Holder]:
    """Hold the build lock of a data folder.

    Raises RunFailure, with process id and start time of the holder, when another process has it.
    """
    data.prepare_state()
    path = data.lock_file.absolute()
    holder = _enter(path)
    try:
        yield holder
    finally:
        _leave(path)


@contextmanager
def short_lock(data: DataFolder, name: str) -> Iterator[None]:
    """Hold a lock of the data folder for a moment; a second one who wants it waits.

    It keeps two processes apart that change one small file, whether one of them builds or not. Not
    re-entrant.
    """
    descriptor = os.open(data.prepare_state() / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def lock_holder(data: DataFolder) -> Holder | None:
    """Who builds on this data folder now; None when nobody does (what a dead process left is ignored)."""
    path = data.lock_file.absolute()
    with _guard:
        if path in _held:
            return _held[path].holder
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _read(path)
        finally:
            os.close(descriptor)
        return None


def _enter(path: Path) -> Holder:
    with _guard:
        if holding := _held.get(path):
            holding.depth += 1
            return holding.holder
        descriptor = _acquire(path)
        started_at = datetime.now(UTC).isoformat(timespec="seconds")
        holder = Holder(os.getpid(), started_at, " ".join(sys.argv)[:300])
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(asdict(holder)).encode() + b"\n", 0)
        _held[path] = _Holding(descriptor, holder)
        return holder


def _acquire(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError as error:
            if time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            os.close(descriptor)
            holder = _read(path)
            raise RunFailure(
                f"data folder of {path}", f"process {holder.pid} builds on it since {holder.started_at}",
                "no other build", "Wait until it has ended, or end that process, then run again.") from error


def _leave(path: Path) -> None:
    with _guard:
        holding = _held.get(path)
        if holding is None:  # a forked child leaves a block that its parent entered
            return
        holding.depth -= 1
        if holding.depth == 0:
            os.close(_held.pop(path).descriptor)


def _read(path: Path) -> Holder:
    """What the holder wrote; it may not have come to that yet."""
    for _ in range(10):
        try:
            return Holder(**json.loads(path.read_bytes()))
        except ValueError:
            time.sleep(0.02)
    return Holder(0, "an unknown time", "")
