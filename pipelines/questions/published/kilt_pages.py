"""KILT's pages, kilt_knowledgesource.json: the words that its questions' evidence points to.

What belongs here: taking the wanted places out of the pages in one pass, and the quotes of a place. What does
not: the questions (`kilt.py`). Source: the section "Structure of each record" of README.md in the repository
facebookresearch/KILT, and scripts/create_kilt_data_paragraphs.py there for how `text` is made:

- a page a line; `wikipedia_id`: what provenance names (a whole number or a string), other fields are not read
- `text[]`: its paragraphs; the first is the title, one with `Section::::` is a heading, `BULLET::::` begins the
  item of a list. Paragraph ids and characters of provenance count in it from 0

The pages take tens of gigabytes. Only quotes of places that were asked for are held.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pipelines.documents.sentences import split_text
from pipelines.errors import UserError
from pipelines.questions.published.files import READ_ERRORS, opened_files, why
from pipelines.questions.published.json_stream import BadText, json_lines

_HEADING, _BULLET = "Section::::", "BULLET::::"
_LANGUAGE = "en"
"""KILT's pages are of the English Wikipedia."""


class Place(NamedTuple):
    """Paragraphs and characters of a page, as provenance has them: from 0, the end behind the last."""

    page_id: str
    begin_paragraph: int
    begin: int
    end_paragraph: int
    end: int


class KiltPages:
    """The quotes of the places that were asked for."""

    def __init__(self, quotes: dict[Place, list[str]], n_pages: int) -> None:
        self._quotes = quotes
        self.n_pages = n_pages
        """Pages that were read."""

    def quotes(self, place: Place) -> list[str]:
        """The sentences that a place touches, one text a paragraph; none when the pages do not have it."""
        return self._quotes.get(place, [])

    @classmethod
    def read(cls, path: str | Path, places: Iterable[Place]) -> KiltPages:
        """Read the pages once. Raises UserError for a file that cannot be read or is none of pages."""
        wanted: dict[str, set[Place]] = defaultdict(set)
        for place in places:
            wanted[place.page_id].add(place)
        quotes: dict[Place, list[str]] = {}
        n_pages = 0
        with opened_files(path) as files:
            for name, stream in files:
                try:
                    for number, page in json_lines(stream):
                        page_id, paragraphs = _page(name, number, page)
                        n_pages += 1
                        for place in wanted.get(page_id, ()):
                            quotes[place] = quotes_of(place, paragraphs)
                except READ_ERRORS as error:
                    raise UserError(f"pages {name}", f"unreadable after {n_pages:,} pages ({why(error)})",
                                    "a whole file", "Fetch it again.") from error
        return cls(quotes, n_pages)


def _page(name: str, number: int, page: object) -> tuple[str, list[str]]:
    found = "no page"
    if isinstance(page, BadText):
        found = page.found
    elif isinstance(page, dict) and isinstance(page.get("text"), list) and "wikipedia_id" in page:
        return str(page["wikipedia_id"]), [text if isinstance(text, str) else "" for text in page["text"]]
    raise UserError(f"pages {name}, line {number}", found, "an object with wikipedia_id and a list text",
                    "Give kilt_knowledgesource.json as KILT's authors publish it.")


def quotes_of(place: Place, paragraphs: list[str]) -> list[str]:
    """The sentences that a place touches, one text a paragraph; titles and headings are no evidence."""
    quotes = []
    for number in range(max(1, place.begin_paragraph), min(place.end_paragraph + 1, len(paragraphs))):
        text = paragraphs[number]
        if _HEADING in text:
            continue
        begin = place.begin if number == place.begin_paragraph else 0
        end = place.end if number == place.end_paragraph else len(text)
        if begin < 0 or end <= begin:  # Not found there, as -1 says: the paragraph is.
            begin, end = 0, len(text)
        touched = [(first, last) for first, last in split_text(text, _LANGUAGE) if first < end and last > begin]
        if touched:
            quotes.append(text[touched[0][0]: touched[-1][1]].removeprefix(_BULLET).strip())
    return quotes
