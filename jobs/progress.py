"""What a build shows while it runs: a live line and results on a terminal, plain log lines elsewhere.

What belongs here: turning stage events into text, and keeping other people's output off the screen. What
does not: the build (`build.py`). Progress goes to stderr, so that stdout holds the result alone.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from assets.stages import StageEvent
from pipelines.visible import stream_beneath


class Progress:
    """A listener of stage events that writes to a stream."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._live: Any = None
        if stream.isatty():
            from rich.console import Console

            self._console: Any = Console(file=stream_beneath(stream), highlight=False)
        else:
            self._console = None

    def __call__(self, event: StageEvent) -> None:
        if self._console is None:
            if event.state != "running":
                stamp = datetime.now().strftime("%H:%M:%S")
                print(f"{stamp} {event.name}: {describe(event)}", file=self._stream, flush=True)
            return
        self._stop()
        if event.state == "running":
            self._live = self._console.status(f"{event.name} …")
            self._live.start()
        else:
            mark = "[green]✓[/]" if event.state == "done" and not event.facts.get("failed") else "[red]✗[/]"
            self._console.print(f"{mark} {event.name:<18} {describe(event)}")

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def describe(event: StageEvent) -> str:
    """The result of a stage in a few words."""
    seconds = f"{event.seconds:.1f} s"
    if event.state == "failed":
        return f"failed after {seconds}"
    facts = event.facts
    if "mended" in facts:
        return str(facts["mended"])
    if "rules" in facts:
        if failed := facts["failed"]:
            return f"failed: {', '.join(failed)} ({seconds})"
        return f"{facts['rules']} rules hold{'' if facts['changed'] else ', as before'} ({seconds})"
    if "published" in facts:
        return f"{facts['release']} {'published' if facts['published'] else 'is still right'} ({seconds})"
    if "built" in facts:
        return f"{facts['rows']:,} units {'indexed' if facts['built'] else 'as before'} ({seconds})"
    tables = [f"{name} {table['rows']:,} rows, {table['changed']:,} changed"
              for name, table in facts.items() if isinstance(table, dict)]
    return f"{'; '.join(tables) or 'done'} ({seconds})"


@contextmanager
def own_screen(log: Path) -> Iterator[IO[str]]:
    """Send all that is written to stdout and stderr, by Java and C libraries too, to a log file.

    Yields a stream to the real stderr. Both are back when the block ends.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    python_streams = sys.stdout, sys.stderr
    for stream in python_streams:
        stream.flush()
    kept = os.dup(1), os.dup(2)
    # A test's stderr is no file descriptor of its own: progress then goes to the object that stands for it.
    is_real = _descriptor(python_streams[1]) == 2
    screen = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace") if is_real else python_streams[1]
    with io.TextIOWrapper(io.BufferedWriter(_Log(log, "w")), encoding="utf-8") as target:
        os.dup2(target.fileno(), 1)
        os.dup2(target.fileno(), 2)
        sys.stdout = sys.stderr = target
        try:
            yield screen
        finally:
            sys.stdout, sys.stderr = python_streams
            target.flush()
            for number, descriptor in enumerate(kept, 1):
                os.dup2(descriptor, number)
                os.close(descriptor)
            if is_real:
                screen.close()


class _Log(io.FileIO):
    """A file that drops what it cannot take, as on a full disk: a log must not keep an error from the screen."""

    def write(self, content: Any) -> int:
        try:
            return super().write(content) or 0
        except OSError:
            return memoryview(content).nbytes


def _descriptor(stream: Any) -> int:
    try:
        return int(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return -1
