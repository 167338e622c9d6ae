"""Passages of other files: DPR's `psgs_w100.tsv`, and the gold evidence of a questions file.

What belongs here: reading them as a stream, and naming the lines that hold none. What does not: finding them
in documents (`align.py`). The file has the columns id, text and title, separated by tabs, with or without a
header that may order them otherwise; a field may be quoted as in CSV. A passage is one line: a stray quote
spoils its own line and no other.
"""

from __future__ import annotations

import csv
import gzip
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pipelines.errors import UserError, argument
from pipelines.evaluation.datasets import Question

COLUMNS = ("id", "text", "title")
MOST_LINE_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_SAMPLE_CHARACTERS = 200
_READ_ERRORS = (OSError, EOFError, zlib.error)


@dataclass(frozen=True)
class ForeignPassage:
    """A passage as its file has it; `title` is that of the page it was cut from."""

    passage_id: str
    title: str
    text: str


@dataclass(frozen=True)
class BadLine:
    """A line without a passage. `number` counts from 1; `reason` is a short, fixed name."""

    number: int
    reason: str
    """not_utf8, too_long, not_three_fields, no_id or no_title."""
    sample: str


def passages_of(questions: Iterable[Question]) -> Iterator[ForeignPassage]:
    """The gold quotes of questions, each with the id `question id/number of the quote from 0`."""
    for question in questions:
        for number, gold in enumerate(question.evidence):
            yield ForeignPassage(f"{question.question_id}/{number}", gold.title, gold.quote)


def read_passages(path: str | Path) -> Iterator[ForeignPassage | BadLine]:
    """The lines of a file, plain or gzip (told by its first bytes), in order; empty lines are skipped.

    Raises UserError for a file that cannot be read, is cut off or holds no passage at all.
    """
    names = COLUMNS
    n_passages = number = 0
    with _opened(path) as stream:
        try:
            for number, line in enumerate(_lines(stream), 1):
                found = _row(line, number)
                if number == 1 and isinstance(found, list) and sorted(found) == sorted(COLUMNS):
                    names = (found[0], found[1], found[2])
                elif isinstance(found, BadLine):
                    yield found
                elif found is not None:
                    row = _passage(dict(zip(names, found, strict=True)), number)
                    n_passages += isinstance(row, ForeignPassage)
                    yield row
        except _READ_ERRORS as error:
            raise UserError(f"passages file {path}", f"unreadable after line {number} ({_why(error)})",
                            "a whole file, plain or gzip", "Fetch it again.") from error
    if not n_passages:
        raise UserError(f"passages file {path}", f"no passage in its {number} lines",
                        "lines of id, text and title separated by tabs", "Check that it is the right file.")


@contextmanager
def _opened(path: str | Path) -> Iterator[gzip.GzipFile | BinaryIO]:
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise UserError(f"passages file {path}", "a folder, pipe or device", "a file",
                            f"Correct {argument('passages')}.")
        with open(path, "rb") as stream:
            is_gzip = stream.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
            stream.seek(0)
            yield gzip.GzipFile(fileobj=stream) if is_gzip else stream
    except OSError as error:
        raise UserError(f"passages file {path}", _why(error), "a file that can be read",
                        "Check the path and its permissions.") from error


def _why(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)


def _lines(stream: gzip.GzipFile | BinaryIO) -> Iterator[bytes | None]:
    """The lines without their ends; None for one that is too long, of which no more than that is held."""
    while line := stream.readline(MOST_LINE_BYTES):
        if line.endswith(b"\n") or len(line) < MOST_LINE_BYTES:
            yield line.rstrip(b"\r\n")
            continue
        while (rest := stream.readline(MOST_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass
        yield None


def _row(line: bytes | None, number: int) -> list[str] | BadLine | None:
    """The three fields of a line; None when it is empty."""
    if line is None:
        return BadLine(number, "too_long", "")
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        return BadLine(number, "not_utf8", line[:_SAMPLE_CHARACTERS].decode("utf-8", "replace"))
    if not text.strip():
        return None
    fields = [_unquoted(field) for field in text.split("\t")]
    if len(fields) != len(COLUMNS):
        try:
            # A quoted field may hold tabs.
            fields = next(csv.reader([text], delimiter="\t", strict=True))
        except csv.Error:
            fields = []
    return fields if len(fields) == len(COLUMNS) else BadLine(number, "not_three_fields",
                                                              text[:_SAMPLE_CHARACTERS])


def _unquoted(field: str) -> str:
    """A field without its CSV quotes; one that only begins with a quotation mark stays as it is."""
    inner = field[1:-1].replace('""', "")
    if len(field) < 2 or not field.startswith('"') or not field.endswith('"') or '"' in inner:
        return field
    return field[1:-1].replace('""', '"')


def _passage(row: dict[str, str], number: int) -> ForeignPassage | BadLine:
    for name in ("id", "title"):
        if not row[name].strip():
            return BadLine(number, f"no_{name}", "\t".join(row.values())[:_SAMPLE_CHARACTERS])
    return ForeignPassage(row["id"].strip(), row["title"].strip(), row["text"])
