"""The errors that a user meets, each in four parts: subject, found, expected, next step.

What belongs here: the exception types that the CLI prints as one clear line, and nothing that raises
them. `UserError` is the user's input (exit code 2); `RunFailure` is a failure of a run (exit code 1).
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from typing import Any

NAMED_ERRORS = 3
"""Of many errors the message of all has the first ones; the command line prints each on a line of its own."""


class EspalierError(Exception):
    """An error with the four parts that a user needs to act on it.

    subject: what it is about, with its name or path. found: what was met. expected: what should have
    been there. next_step: what to do now.
    """

    exit_code = 1

    def __init__(self, subject: str, found: str, expected: str, next_step: str) -> None:
        self.subject, self.found, self.expected, self.next_step = subject, found, expected, next_step
        super().__init__(f"{subject}: {found}; expected {expected}. {next_step}")

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str]]:
        # The default would call the class with the one joined message: Spark and Ray pickle errors.
        return type(self), (self.subject, self.found, self.expected, self.next_step)


class UserError(EspalierError):
    """Something in what the user gave: a path, a file, an option, an identifier."""

    exit_code = 2


class UserErrors(UserError):
    """Several things in what the user gave: all are named, for who mends one wants to know of the others."""

    def __init__(self, subject: str, errors: Sequence[EspalierError], next_step: str) -> None:
        self.errors = tuple(errors)
        first = self.errors[:NAMED_ERRORS]
        more = f"; and {len(errors) - NAMED_ERRORS} more" if len(errors) > NAMED_ERRORS else ""
        super().__init__(f"{len(errors)} {subject}", "; ".join(f"{e.subject}: {e.found}" for e in first) + more,
                         "; ".join(dict.fromkeys(error.expected for error in first)), next_step)
        self._plural = subject

    def __reduce__(self) -> Any:
        return type(self), (self._plural, self.errors, self.next_step)


class RunFailure(EspalierError):
    """A run that could not finish: a lock, a full disk, a failed check, a damaged table."""

    exit_code = 1


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what it was raised from, outermost first; Dagster keeps the cause of a step apart."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = getattr(current, "user_exception", None) or current.__cause__


_PLACE_ERRORS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO,
                 errno.ENOTDIR, errno.EISDIR)


def place_failure(error: OSError) -> RunFailure | None:
    """The error of a place that cannot be written or is full, in four parts; None where it is of another kind."""
    if error.errno not in _PLACE_ERRORS:
        return None
    return RunFailure(f"file {error.filename}" if error.filename else "output", str(error.strerror),
                      "a place that can be written, with room",
                      "Free space, mend its permissions, or choose another place.")


def one_line(text: str) -> str:
    """A text with every run of white space as one space: an error is one line, whatever it quotes."""
    return " ".join(text.split())
