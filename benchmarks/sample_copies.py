"""Dumps of any size: the sample's articles again and again, each copy with page ids of its own.

What belongs here: input for benchmarks that need thousands of pages. Written as MediaWiki writes large dumps:
a bz2 file of many streams of some pages each, between a first stream with the head and a last with the end.
"""

from __future__ import annotations

import bz2
from pathlib import Path
from xml.sax.saxutils import escape

from pipelines.documents.readers.dump import Page, iter_pages, sample_dump_path

PAGES_OF_A_STREAM = 20
"""MediaWiki puts 100 into one; the sample's articles are long."""
_HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
<siteinfo><sitename>Wikipedia</sitename><dbname>enwiki</dbname>
<base>https://en.wikipedia.org/wiki/Main_Page</base><case>first-letter</case>
<namespaces><namespace key="0" case="first-letter"/></namespaces></siteinfo>
"""


def sample_articles() -> list[Page]:
    """The articles of the sample: namespace 0, no redirects, with text."""
    return [page for page in iter_pages(sample_dump_path())
            if page.namespace == 0 and page.redirect_to is None and page.text]


def write_copies(path: Path, n_articles: int) -> int:
    """Write a dump of that many articles; returns the UTF-8 bytes of their wikitext."""
    articles = sample_articles()
    n_bytes = 0
    with open(path, "wb") as file:
        file.write(bz2.compress(_HEAD.encode()))
        for begin in range(0, n_articles, PAGES_OF_A_STREAM):
            stream = []
            for number in range(begin, min(begin + PAGES_OF_A_STREAM, n_articles)):
                copy, place = divmod(number, len(articles))
                article = articles[place]
                text = article.text or ""
                n_bytes += len(text.encode())
                stream.append(
                    f"<page><title>{escape(article.title)} ({copy})</title><ns>0</ns><id>{number + 1}</id>"
                    f"<revision><id>{number + 1}</id><timestamp>2026-01-01T00:00:00Z</timestamp>"
                    f'<text xml:space="preserve">{escape(text)}</text></revision></page>\n')
            file.write(bz2.compress("".join(stream).encode()))
        file.write(bz2.compress(b"</mediawiki>\n"))
    return n_bytes
