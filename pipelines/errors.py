"""The errors that a user meets, each in four parts: subject, found, expected, next step.

What belongs here: the exception types that the CLI prints as one clear line, and nothing that raises
them. `UserError` is the user's input (exit code 2); `RunFailure` is a failure of a run (exit code 1).

The library and the command line raise the same errors. What the user has to change is an argument to one and an
option to the other: a message names it by `argument`, and is put into words for its reader.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

NAMED_ERRORS = 3
"""Of many errors the message of all has the first ones; the command line prints each on a line of its own."""

_ARGUMENT = re.compile("\0([a-z-]+)\0([^\0]*)\0")
_PYTHON_NAMES = {"title": "titles", "set": "options"}
"""Arguments of the library whose option has another name."""
_FLAGS = ("salvage", "full-snapshot")


def argument(name: str, value: str = "") -> str:
    """An argument in the text of an error, by the name of its option: `--budget` there, `budget=` in Python.

    value: shown behind it; in capitals it stands for any, and Python leaves it out. Of `set` it is KEY=VALUE.
    """
    return f"\0{name}\0{value}\0"


def _option(name: str, value: str) -> str:
    return f"--{name} {value}".rstrip()


def _keyword(name: str, value: str) -> str:
    keyword = f"{_PYTHON_NAMES.get(name, name.replace('-', '_'))}="
    if name in _FLAGS:
        return f"{keyword}True"
    if name == "set" and value:
        key, _, setting = value.partition("=")
        return f"{keyword}{{{key!r}: {setting if setting.isupper() else repr(setting)}}}"
    return keyword if not value or value.isupper() else f"{keyword}{value!r}"


def _spoken(text: str, speak: Callable[[str, str], str]) -> str:
    return _ARGUMENT.sub(lambda found: speak(found[1], found[2]), text)


class EspalierError(Exception):
    """An error with the four parts that a user needs to act on it.

    subject: what it is about, with its name or path. found: what was met. expected: what should have
    been there. next_step: what to do now. They name arguments as Python does; `as_command_line` is for the shell.
    """

    exit_code = 1

    def __init__(self, subject: str, found: str, expected: str, next_step: str) -> None:
        self.parts = subject, found, expected, next_step
        self.subject, self.found, self.expected, self.next_step = (_spoken(part, _keyword) for part in self.parts)
        super().__init__(_joined(self.subject, self.found, self.expected, self.next_step))

    def as_command_line(self) -> EspalierError:
        """The same error, its arguments named as options."""
        said = type(self).__new__(type(self))
        EspalierError.__init__(said, *(_spoken(part, _option) for part in self.parts))
        return said

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str]]:
        # The default would call the class with the one joined message: Spark and Ray pickle errors.
        return type(self), self.parts


def _joined(subject: str, found: str, expected: str, next_step: str) -> str:
    return f"{subject}: {found}; expected {expected}. {next_step}"


class UserError(EspalierError):
    """Something in what the user gave: a path, a file, an option, an identifier."""

    exit_code = 2


class UserErrors(UserError):
    """Several things in what the user gave: all are named, for who mends one wants to know of the others."""

    def __init__(self, subject: str, errors: Sequence[EspalierError], next_step: str) -> None:
        self.errors = tuple(errors)
        first = self.errors[:NAMED_ERRORS]
        more = f"; and {len(errors) - NAMED_ERRORS} more" if len(errors) > NAMED_ERRORS else ""
        super().__init__(f"{len(errors)} {subject}", "; ".join(f"{e.parts[0]}: {e.parts[1]}" for e in first) + more,
                         "; ".join(dict.fromkeys(error.parts[2] for error in first)), next_step)
        self._plural = subject

    def __reduce__(self) -> Any:
        return type(self), (self._plural, self.errors, self.parts[3])


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


def shortened(text: str, most: int = 60) -> str:
    """A text on one line, cut behind `most` characters: what a `repr` quotes."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[:most - 1]}…"


def one_line(text: str) -> str:
    """A text with every run of white space as one space: an error is one line, whatever it quotes."""
    return " ".join(text.split())
