"""Checked access to the fields of an item, and what is counted while a set is read.

What belongs here: text, lists and objects of the form that a set's format has, fields that it does not have,
evidence with the reasons why some is left out. What does not: the fields of any one set.

A field that is missing, or of another form, makes its item a reject: what follows from it would be a guess.
A field that the format does not have is counted and told, and its item is taken: sets are published again with
a field more, and the fields that are read keep their meaning.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pipelines.evaluation.datasets import GoldEvidence
from pipelines.evaluation.normalise import normalise_quote
from pipelines.questions.published.json_stream import Repeated

LEFT_OUT = {
    "no_title": "the set names no page for it",
    "title_cut_off": "the set has only the beginning of the page's title",
    "no_quote": "the set names a page or a place in it, but not the words",
    "not_in_context": "the page is not among the item's paragraphs",
    "no_such_sentence": "the paragraph has fewer sentences than the number says",
}
"""Why evidence of a question that was taken is not in its row."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class BadField(Exception):
    """A field that is not of the format's form: its place in the item, what was met, what was expected."""

    def __init__(self, place: str, found: str, expected: str) -> None:
        super().__init__(found)
        self.place, self.found, self.expected = place, found, expected


@dataclass
class Tally:
    """What was met while a set was read."""

    n_items: int = 0
    n_questions: int = 0
    n_without_evidence: int = 0
    bad: Counter[str] = field(default_factory=Counter)
    """Items that are no questions, by reason."""
    unknown_fields: Counter[str] = field(default_factory=Counter)
    """Fields of questions that the format does not have, as `answer_list[].colour`, and how often."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Pieces of questions' evidence that are in no row, by reason (`LEFT_OUT`)."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Items that the set itself marks as none of its questions, by reason."""


class Fields:
    """A JSON object of an item. Raises BadField where it is not of the form that is asked for.

    place: where it stands in the item, empty for the item itself.
    """

    def __init__(self, value: Any, known: frozenset[str], tally: Tally, place: str = "", path: str = "") -> None:
        if not isinstance(value, dict):
            raise BadField(place, show(value), "an object")
        self._place, self._path, self._tally = place, path, tally
        if isinstance(value, Repeated):
            raise BadField(self.place_of(value.key), "the field twice in one object", "each field once")
        self._row = value
        for name in value.keys() - known:
            tally.unknown_fields[f"{path}.{name}" if path else name] += 1

    def place_of(self, name: str) -> str:
        """Where a field stands in the item, as `answer_list[2].aliases`."""
        return f"{self._place}.{name}" if self._place else name

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._row.get(name) is not None

    def raw(self, name: str, expected: str) -> Any:
        """The field as it is."""
        if name not in self._row:
            raise BadField(self.place_of(name), "missing", expected)
        return self._row[name]

    def text(self, name: str, expected: str = "a string") -> str:
        """Some text, without space around it."""
        return checked_text(self.raw(name, expected), self.place_of(name), expected)

    def text_or_none(self, name: str) -> str | None:
        """Some text; None when it is missing, null or blank."""
        value = self._row.get(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        return checked_text(value, self.place_of(name))

    def identifier(self, name: str) -> str:
        """Text, or a whole number as text."""
        value = self.raw(name, "a string or a whole number")
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return checked_text(value, self.place_of(name), "a string or a whole number")

    def number(self, name: str) -> int:
        """A whole number."""
        value = self.raw(name, "a whole number")
        if not isinstance(value, int) or isinstance(value, bool):
            raise BadField(self.place_of(name), show(value), "a whole number")
        return value

    def flag(self, name: str) -> bool:
        """True or false; false when it is missing."""
        value = self._row.get(name, False)
        if not isinstance(value, bool):
            raise BadField(self.place_of(name), show(value), "true or false")
        return value

    def array(self, name: str, expected: str = "a list") -> list[Any]:
        """A list."""
        return checked_list(self.raw(name, expected), self.place_of(name), expected)

    def texts(self, name: str) -> list[str]:
        """A list of strings, blank ones left out."""
        return checked_texts(self.raw(name, "a list of strings"), self.place_of(name))

    def nested(self, name: str, known: frozenset[str], expected: str = "an object") -> Fields:
        """An object."""
        return Fields(self.raw(name, expected), known, self._tally, self.place_of(name), self._path_of(name))

    def each(self, name: str, known: frozenset[str]) -> Iterator[Fields]:
        """A list of objects."""
        for number, value in enumerate(self.array(name, "a list of objects")):
            yield Fields(value, known, self._tally, f"{self.place_of(name)}[{number}]",
                         f"{self._path_of(name)}[]")

    def _path_of(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name


def checked_text(value: Any, place: str, expected: str = "a string") -> str:
    """Some text that is valid Unicode, without space around it. Raises BadField."""
    if not isinstance(value, str):
        raise BadField(place, show(value), expected)
    if not value.strip():
        raise BadField(place, "an empty string", "some text")
    if _SURROGATE.search(value):
        raise BadField(place, "half of a surrogate pair", "text that is valid Unicode")
    return value.strip()


def checked_list(value: Any, place: str, expected: str) -> list[Any]:
    """A list. Raises BadField."""
    if not isinstance(value, list):
        raise BadField(place, show(value), expected)
    return value


def checked_texts(value: Any, place: str) -> list[str]:
    """A list of strings, blank ones left out. Raises BadField."""
    texts = checked_list(value, place, "a list of strings")
    return [checked_text(text, f"{place}[{number}]") for number, text in enumerate(texts)
            if not isinstance(text, str) or text.strip()]


def answer(aliases: list[str], place: str) -> tuple[str, ...]:
    """An answer: its aliases, each once. Raises BadField when there is none."""
    if not aliases:
        raise BadField(place, "no answer", "at least one, with text")
    return tuple(dict.fromkeys(aliases))


class Evidence:
    """Gold evidence of one question as it is found, each piece once."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._gold: dict[GoldEvidence, None] = {}

    def add(self, title: str | None, text: str | None, section: tuple[str, ...] = ()) -> None:
        """A passage of the page `title`: a quote for each of its lines, for a quote is of one block."""
        if title is None:
            self.leave_out("no_title")
            return
        quotes = [line.strip() for line in (text or "").splitlines() if normalise_quote(line)]
        if not quotes:
            self.leave_out("no_quote")
        for quote in quotes:
            self._gold[GoldEvidence(title, section, quote)] = None

    def leave_out(self, reason: str) -> None:
        """Count a piece that can be no row's evidence. reason: a key of `LEFT_OUT`."""
        self._tally.left_out[reason] += 1

    def gold(self) -> tuple[GoldEvidence, ...]:
        """What was found."""
        return tuple(self._gold)


def show(value: Any) -> str:
    """A JSON value in a few characters."""
    shown = json.dumps(value, ensure_ascii=True)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
