"""Signals that end a command: SIGINT, SIGTERM (what `timeout` and a shutdown send), SIGHUP (a closed terminal).

What belongs here: that all three end it the same way, and which one it was. What does not: what is printed
then (`cli.py`). Dagster puts handlers of its own in place while a job runs, so the number is taken from the
pipe that Python writes to for every signal, whoever handles it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[Callable[[], int]]:
    """While the block lasts SIGTERM and SIGHUP do what SIGINT does: raise KeyboardInterrupt, or what Dagster makes
    of it. Yields what tells the first signal that came, SIGINT where none was seen."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: signal.SIGINT
        return
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
    pipe_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in ENDING:
        # Who starts a command with nohup wants it to go on.
        if before[number] == signal.SIG_DFL:
            signal.signal(number, _as_interrupt)
    try:
        yield lambda: _first(reader)
    finally:
        signal.set_wakeup_fd(pipe_before)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reader)
        os.close(writer)


def _as_interrupt(_: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)


def _first(reader: int) -> int:
    try:
        arrived = os.read(reader, 4096)
    except BlockingIOError:
        arrived = b""
    return next((number for number in arrived if number in (signal.SIGINT, *ENDING)), signal.SIGINT)
