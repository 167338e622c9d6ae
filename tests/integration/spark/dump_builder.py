"""Small MediaWiki dumps, written by the tests that read them."""

from __future__ import annotations

import bz2
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr


@dataclass(frozen=True)
class PageSource:
    """A page as a test writes it down. text None: the dump does not have it."""

    page_id: int
    title: str
    text: str | None = "Words."
    revision_id: int = 1
    namespace: int = 0
    redirect_to: str | None = None

    def xml(self) -> str:
        redirect = f"<redirect title={quoteattr(self.redirect_to)}/>" if self.redirect_to else ""
        text = '<text deleted="deleted"/>' if self.text is None else f"<text>{escape(self.text)}</text>"
        return (f"<page><title>{escape(self.title)}</title><ns>{self.namespace}</ns><id>{self.page_id}</id>"
                f"{redirect}<revision><id>{self.revision_id}</id>"
                f"<timestamp>2024-01-02T03:04:05Z</timestamp>{text}</revision></page>\n")


def head(wiki: str | None) -> str:
    dbname = f"<dbname>{wiki}</dbname>" if wiki else ""
    return ('<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">'
            f"<siteinfo>{dbname}<base>https://en.example.org/wiki/Main_Page</base><namespaces>"
            '<namespace key="0" case="first-letter"/><namespace key="1">Talk</namespace>'
            "</namespaces></siteinfo>\n")


END = "</mediawiki>\n"


def write_dump(path: Path, pages: Sequence[PageSource], wiki: str | None = "testwiki") -> Path:
    """A dump, plain or as one bz2 stream by the name's ending."""
    data = (head(wiki) + "".join(page.xml() for page in pages) + END).encode()
    path.write_bytes(bz2.compress(data) if path.suffix == ".bz2" else data)
    return path


def write_multistream(path: Path, pages: Sequence[PageSource], pages_per_stream: int = 1,
                      end: bool = True) -> Path:
    """A multistream bz2 dump: head and end are streams of their own, as Wikimedia writes them."""
    streams = [pages[begin: begin + pages_per_stream] for begin in range(0, len(pages), pages_per_stream)]
    parts = [head("testwiki"), *("".join(page.xml() for page in stream) for stream in streams)]
    if end:
        parts.append(END)
    path.write_bytes(b"".join(bz2.compress(part.encode()) for part in parts))
    return path
