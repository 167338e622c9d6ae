"""Citation templates in running text or in a list of works: the words of the entry.

What belongs here: `{{cite book|…}}` outside of footnotes (those inside have been cut by rule).
"""

from __future__ import annotations

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.template_call import Call
from pipelines.documents.readers.template_table import words

_AUTHORS = (("last", "first"), ("last1", "first1"), ("last2", "first2"), ("last3", "first3"),
            ("last4", "first4"), ("surname", "given"), ("surname1", "given1"), ("surname2", "given2"))
# The parameters' names in the languages that were met, English first.
_AUTHOR = ("author", "authors", "author1", "vauthors", "autor", "автор", "հեղինակ", "tác giả", "auteur",
           "autore")
_YEAR = ("date", "year", "год", "năm", "jahr", "année", "año", "anno", "ano", "rok", "рік")
_TITLE = ("title", "заглавие", "tiêu đề", "nhan đề", "վերնագիր", "titel", "titre", "título", "titolo",
          "tytuł", "назва", "script-title", "encyclopedia")
_PUBLISHER = ("publisher", "издательство", "nhà xuất bản", "հրատարակիչ", "verlag", "éditeur", "editorial")
_NUMBERS = ("isbn", "oclc", "issn")


@words("cite")
def citation(call: Call) -> str:
    """Authors (year). Title. Work, volume. Publisher: as the style of the common cite templates shows it."""
    names = []
    for last, first in _AUTHORS:
        if call.text(last):
            names.append(", ".join(filter(None, (call.text(last), call.text(first)))))
    names = names or [value for value in (call.text(*_AUTHOR), call.text("author2"), call.text("author3"))
                      if value]
    year = call.text(*_YEAR)
    authors = "; ".join(names)
    parts = [f"{authors} ({year})" if authors and year else authors]
    chapter = call.text("chapter", "contribution", "article", "section")
    title = call.text(*_TITLE)
    if chapter:
        parts.append(f'"{chapter}"')
    if title:
        parts.append(f"{mark.EMPHASIS_ON}{title}{mark.EMPHASIS_OFF}")
    work = call.text("journal", "work", "newspaper", "magazine", "website", "encyclopedia", "издание")
    if work and work != title:
        volume = call.text("volume")
        parts.append(f"{mark.EMPHASIS_ON}{work}{mark.EMPHASIS_OFF}" + (f" {volume}" if volume else ""))
    place, publisher = call.text("location", "place", "место"), call.text(*_PUBLISHER)
    if place or publisher:
        parts.append(": ".join(filter(None, (place, publisher))))
    if year and not authors:
        parts.append(year)
    shown = [part.rstrip(". ") for part in parts if part]
    shown.extend(f"{name.upper()} {call.text(name)}" for name in _NUMBERS if call.text(name))
    if not shown:
        return " ".join(value for value in call.positional() if value and "|" not in value)
    return ". ".join(shown) + "."


@words("google books")
def google_books(call: Call) -> str:
    return call.text("title", "2")


@words("webarchive|wayback")
def nothing_visible(call: Call) -> str:
    call.reader.counts["references"] += 1
    return ""
