"""Dumps of any size: the sample's articles again and again, each copy with page ids of its own.

What belongs here: input for benchmarks that need thousands of pages, and later dumps of them with some pages
edited. Written as MediaWiki writes large dumps: a bz2 file of many streams of some pages each, between a first
stream with the head and a last with the end.
"""

from __future__ import annotations

import bz2
import re
from collections.abc import Container, Iterable
from pathlib import Path
from xml.sax.saxutils import escape

from pipelines.documents.readers.dump import Page, iter_pages, sample_dump_path

PAGES_OF_A_STREAM = 20
"""MediaWiki puts 100 into one; the sample's articles are long."""
_SENTENCE_END = re.compile(r"(?m)^([A-Z'][^\n{|<]*?[a-z])\. (?=[A-Z])")
"""Of a line that begins as prose does and has no markup but links and quotes before it."""
_HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
<siteinfo><sitename>Wikipedia</sitename><dbname>enwiki</dbname>
<base>https://en.wikipedia.org/wiki/Main_Page</base><case>first-letter</case>
<namespaces><namespace key="0" case="first-letter"/></namespaces></siteinfo>
"""


def sample_articles() -> list[Page]:
    """The articles of the sample: namespace 0, no redirects, with text."""
    return [page for page in iter_pages(sample_dump_path())
            if page.namespace == 0 and page.redirect_to is None and page.text]


def edited(text: str, revision: int) -> str:
    """The wikitext with its first sentence of running text edited; one without such a sentence gets one."""
    changed, n = _SENTENCE_END.subn(rf"\1, as in revision {revision}. ", text, count=1)
    return changed if n else f"{text}\n\nThis sentence was added by revision {revision}.\n"


def write_copies(path: Path, n_articles: int, *, numbers: Iterable[int] | None = None, revised: Container[int] = (),
                 revision: int = 1, retitled: bool = True, level: int = 9) -> int:
    """Write a dump of that many articles; returns the UTF-8 bytes of their wikitext.

    numbers: of the articles that are written, counted from 0; without, all. revised: numbers of those that are
    edited, with the revision id that belongs to `revision` (2 and so on: later). retitled: a copy has its number in
    its title; without, equal texts of all copies become units of one text. level: of bz2, for other bytes of the
    same pages.
    """
    articles = sample_articles()
    chosen = list(range(n_articles) if numbers is None else numbers)
    n_bytes = 0
    with open(path, "wb") as file:
        file.write(bz2.compress(_HEAD.encode(), level))
        for begin in range(0, len(chosen), PAGES_OF_A_STREAM):
            stream = []
            for number in chosen[begin: begin + PAGES_OF_A_STREAM]:
                copy, place = divmod(number, len(articles))
                article = articles[place]
                title = f"{article.title} ({copy})" if retitled else article.title
                text, revision_id = article.text or "", number + 1
                if number in revised:
                    text, revision_id = edited(text, revision), revision_id + (revision - 1) * n_articles
                n_bytes += len(text.encode())
                stream.append(
                    f"<page><title>{escape(title)}</title><ns>0</ns><id>{number + 1}</id>"
                    f"<revision><id>{revision_id}</id><timestamp>2026-01-01T00:00:00Z</timestamp>"
                    f'<text xml:space="preserve">{escape(text)}</text></revision></page>\n')
            file.write(bz2.compress("".join(stream).encode(), level))
        file.write(bz2.compress(b"</mediawiki>\n", level))
    return n_bytes
