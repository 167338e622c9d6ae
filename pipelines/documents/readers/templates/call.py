"""One template call, as the tables of handlers see it.

What belongs here: a call's name and parameters. What does not: what becomes of it (`wikitext_templates.py`)
and what a template says (the other modules of this package).
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.siteinfo import SiteInfo

BLANK = " \t\n\xa0" + mark.NOTHING
"""What stands around the words of a parameter and belongs to none."""


class ParameterReader(Protocol):
    """What a call needs of the walk that met it."""

    site: SiteInfo
    title: str
    counts: Counter[str]

    def inline_text(self, begin: int, end: int) -> str:
        """The marked words of a range of tokens."""


class Call:
    """One template call: its normalised name, and its parameters as token ranges, given as marked words."""

    __slots__ = ("n_lines", "name", "ranges", "reader", "shown_name")

    def __init__(self, reader: ParameterReader, shown_name: str, name: str) -> None:
        self.reader, self.shown_name, self.name = reader, shown_name, name
        self.ranges: dict[str, tuple[int, int]] = {}
        self.n_lines = 0

    def text(self, *names: str) -> str:
        """The words of the first of these parameters that has any, without space around them; else ''."""
        for name in names:
            span = self.ranges.get(name)
            if span is not None:
                words = self.reader.inline_text(*span).strip(BLANK)
                if words:
                    return words
        return ""

    def positional(self) -> list[str]:
        """The words of the unnamed parameters in order, empty ones included."""
        return [self.text(name) for name in self.ranges if name.isdigit()]

    @property
    def language(self) -> str:
        return self.reader.site.language
