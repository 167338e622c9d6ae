"""The items of a file, one at a time, in the layouts that several sets have.

What belongs here: what an item is before it is read, an array of items, a line for each. What does not: a
layout that one set alone has (its own module), and what an item's fields mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from pipelines.evaluation.datasets import Question, Split
from pipelines.questions.published.fields import Tally
from pipelines.questions.published.files import text_reader
from pipelines.questions.published.json_stream import JsonStream, json_lines


@dataclass(frozen=True)
class Record:
    """An item of a file. `number` counts from 1: lines in a file of lines, items elsewhere."""

    number: int
    value: Any
    """As JSON has it; a `BadText` where a line is none."""
    split: Split | None
    """The split that it is in: the one the file is of, else where it stands in the file."""
    key: str | None = None
    """Its key, where the file is an object of items."""


@dataclass(frozen=True)
class Source:
    """A file that is read: its name, its stream, and the split it is of, None when nothing tells one."""

    name: str
    stream: BinaryIO
    split: Split | None
    chosen_split: Split | None
    """The split that the user has named, if any."""


class LayoutError(Exception):
    """A file whose outermost form is not the format's."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found)
        self.found, self.expected = found, expected


@dataclass(frozen=True)
class Format:
    """A form that a set is published in."""

    meaning: str
    """One line for people: the set, and the files."""
    layout: str
    """What a file of it is, for the message when another is given."""
    records: Callable[[Source, Tally], Iterator[Record]]
    """The items of a file. Raises JsonError, LayoutError and what reading a stream raises."""
    question: Callable[[Record, Tally], Question]
    """The question of an item. Raises BadField."""


def array_records(source: Source, tally: Tally) -> Iterator[Record]:
    """The elements of a JSON array."""
    stream = JsonStream(text_reader(source.stream))
    if stream.peek() != "[":
        raise LayoutError(f"it begins with {stream.peek() or 'nothing'!r}", "a JSON array of items")
    for number, value in enumerate(stream.items(), 1):
        yield Record(number, value, source.split)
    stream.end()


def line_records(source: Source, tally: Tally) -> Iterator[Record]:
    """The lines of a file of JSON lines, blank ones left out."""
    for number, value in json_lines(source.stream):
        yield Record(number, value, source.split)
