"""Citation templates in running text or in a list of works: the words of the entry.

What belongs here: `{{cite book|…}}` outside of footnotes (those inside have been cut by rule), in the order
of the common English style: authors (date). title. work, volume (issue): pages. publisher. identifiers.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.data import rows
from pipelines.documents.readers.templates.table import Words, words, words_by_pattern


@lru_cache(maxsize=1)
def _parameters() -> dict[str, list[str]]:
    """`citation_parameters.tsv`: what a parameter says → its names."""
    found: dict[str, list[str]] = {}
    for meaning, names in rows("citation_parameters.tsv"):
        found.setdefault(meaning, []).extend(names.split("|"))
    return found


@lru_cache(maxsize=1)
def _meanings() -> dict[str, list[tuple[str, int]]]:
    """The other way round: a parameter's name → what it may say, each with the rank of this name for it.

    Names of persons come with the numbers that they may have: `last2` says `last2`.
    """
    found: dict[str, list[tuple[str, int]]] = {}
    for meaning, names in _parameters().items():
        numbers = ("", *map(str, range(1, 10))) if meaning in ("last", "first") else ("",)
        for rank, name in enumerate(names):
            for number in numbers:
                found.setdefault(name + number, []).append((meaning + number, rank))
    for number in map(str, range(1, 10)):
        for part in ("last", "first"):
            found.setdefault(f"author{number}-{part}", []).append((part + number, 99))
            found.setdefault(f"author-{part}{number}", []).append((part + number, 99))
        found.setdefault(f"author{number}", []).append((f"author{number}", 99))
    return found


class _Fields:
    """A citation's parameters by what they say: each is looked at once, however many names are known."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.names: dict[str, list[tuple[int, str]]] = {}
        known = _meanings()
        for name in call.ranges:
            for meaning, rank in known.get(name, ()):
                self.names.setdefault(meaning, []).append((rank, name))

    def __call__(self, meaning: str) -> str:
        """The words of the first parameter of this meaning that has any."""
        names = self.names.get(meaning)
        return self.call.text(*(name for _, name in sorted(names))) if names else ""


_NUMBERS = (("isbn", "ISBN"), ("issn", "ISSN"), ("oclc", "OCLC"), ("doi", "doi:"), ("jstor", "JSTOR"),
            ("pmid", "PMID"), ("arxiv", "arXiv:"), ("bibcode", "Bibcode:"))
_FEW_PAGES = re.compile(r"[^-–—,&]+")


@words("cite")
def citation(call: Call) -> str:
    """Authors (date). Title. Work. Volume (issue): pages. Publisher. Identifiers."""
    is_english, of = call.language in ("", "en", "simple"), _Fields(call)
    date = of("date")
    authors = "; ".join(_people(of))
    if authors and call.text("display-authors") == "etal":
        authors += " et al."
    title = of("title")
    chapter = of("chapter")
    work = of("work")
    work = "" if work == title else work
    parts = [f"{authors} ({date})" if authors and date else authors]
    if chapter:
        parts.append(f'"{chapter}"')
    editors = _editors(call)
    if editors and is_english:
        parts.append(f"In {editors} (ed{'s' if ';' in editors else ''}.)" if chapter else f"{editors} (ed.)")
    if title:
        parts.append(f'"{title}"' if work else f"{mark.EMPHASIS_ON}{title}{mark.EMPHASIS_OFF}")
    parts.append(call.text("trans-title") and f"[{call.text('trans-title')}]")
    parts.append(call.text("others", "series", "type", "edition") and ". ".join(
        filter(None, (call.text("others"), call.text("series"), call.text("type"), _edition(call)))))
    volume, issue, pages = of("volume"), of("issue"), of("pages")
    if work:
        inside = f"{volume} ({issue})" if volume and issue else volume or (f"({issue})" if issue else "")
        inside += f": {pages}" if inside and pages else pages
        parts.append(f"{mark.EMPHASIS_ON}{work}{mark.EMPHASIS_OFF}" + (f". {inside}" if inside else ""))
    elif volume:
        parts.append(f"Vol. {volume}" if is_english else volume)
    parts.append(": ".join(filter(None, (of("place"), of("publisher")))))
    if pages and not work:
        sign = "p. " if _FEW_PAGES.fullmatch(pages) else "pp. "
        parts.append(pages if "at" in call.ranges or not pages[0].isdigit() or not is_english else sign + pages)
    if date and not authors:
        parts.append(date)
    shown = [part.rstrip(". ") for part in parts if part]
    shown.extend(f"{label}{'' if label.endswith(':') else ' '}{call.text(name)}" for name, label in _NUMBERS
                 if call.text(name))
    if call.text("quote"):
        shown.append(f'"{call.text("quote")}"')
    if is_english:
        shown.extend(_visits(call))
    if not shown:
        return " ".join(value for value in call.positional() if value and "|" not in value)
    return ". ".join(shown) + "."


def _people(of: _Fields) -> list[str]:
    """Authors in order: `Po, Li`, and first who is named in one parameter."""
    found = []
    for number in ("", *map(str, range(1, 10))):
        last = of("last" + number)
        shown = ", ".join(filter(None, (last, of("first" + number)))) if last else of("author" + number)
        if shown and shown not in found:
            found.append(shown)
    return found


def _editors(call: Call) -> str:
    found = []
    for number in ("", "1", "2", "3", "4"):
        last = call.text(f"editor{number}-last", f"editor-last{number}")
        first = call.text(f"editor{number}-first", f"editor-first{number}")
        if last or call.text(f"editor{number}"):
            found.append(", ".join(filter(None, (last, first))) or call.text(f"editor{number}"))
    return "; ".join(found) or call.text("editors")


def _edition(call: Call) -> str:
    edition = call.text("edition")
    return f"({edition} ed.)" if edition else ""


def _visits(call: Call) -> list[str]:
    """When the source was archived and read, as English citations end."""
    archived = call.text("archive-date", "archivedate")
    visited = call.text("access-date", "accessdate") if call.text("url") else ""
    out = []
    if archived and call.text("archive-url", "archiveurl"):
        out.append(f"Archived from the original on {archived}")
    if visited:
        out.append(f"Retrieved {visited}")
    return out


@words("google books")
def google_books(call: Call) -> str:
    return call.text("title", "2")


@words("webarchive|wayback")
def nothing_visible(call: Call) -> str:
    call.reader.counts["references"] += 1
    return ""


@words_by_pattern
def by_kind(call: Call) -> Words | None:
    """`{{cite book}}`, `{{cite web}}` and the rest of the family; another template in a list or sentence that
    has a title with an author, publisher, address or ISBN is a citation as well, whatever it is called."""
    if call.name.startswith(("cite ", "vcite ", "citation/")):
        return citation
    return None


def is_citation(call: Call) -> bool:
    """Whether the parameters are those of a citation."""
    names, known = call.ranges.keys(), _parameters()
    return not names.isdisjoint(known["title"]) and not all(
        names.isdisjoint(known[meaning]) for meaning in ("author", "publisher", "last", "address"))
