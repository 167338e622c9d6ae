"""Writing a command's result: to a file that appears whole or not at all, or to standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pipelines.errors import UserError

STANDARD_OUTPUT = "-"


def check_out(out: str) -> None:
    """Raise UserError unless `--out` names a file, or - for standard output."""
    target = Path(os.path.realpath(out))
    if out != STANDARD_OUTPUT and (not out or (target.exists() and not target.is_file())):
        raise UserError(f"--out {out!r}", "no file", "the path of a file, or - for standard output",
                        "Correct --out.")


@contextmanager
def output(out: str) -> Iterator[IO[str]]:
    """The stream to write to. A file takes its place when the block has ended without an error.

    Raises UserError when it cannot be written.
    """
    if out == STANDARD_OUTPUT:
        yield sys.stdout
        return
    # A link is followed: what it points to is replaced, not the link.
    target = Path(os.path.realpath(out))
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with unfinished.open("w", encoding="utf-8") as stream:
            yield stream
        unfinished.replace(target)
    except OSError as error:
        raise UserError(f"file {target}", f"it cannot be written ({error.strerror or error})",
                        "a path in a folder that exists, with room", "Correct --out.") from error
    finally:
        unfinished.unlink(missing_ok=True)
