"""Pages out of a MediaWiki XML export: `.xml`, `.bz2` (also multistream), `.gz`, `.xz`, told by their bytes.

What belongs here: opening, decompressing and splitting a dump, and turning each `<page>` into a `Page`;
no wikitext is read. Memory is bounded by the largest page. Whatever is wrong with a file becomes a
`DumpError`, raised only after the whole pages in front of the fault have come out. Siteinfo is in
`siteinfo.py`, decompression in `streams.py`. Serves the corpus that all five papers retrieve from.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from lxml import etree

from pipelines.documents.readers.multistream import bz2_stream_offsets
from pipelines.documents.readers.page_xml import REPLACED_CONTROL, Page, PageFault, read_page
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.streams import FETCH_AGAIN, DumpError, file_bytes, range_bytes

__all__ = ["DumpError", "Page", "PageFault", "SiteInfo", "bz2_stream_offsets", "iter_pages", "read_site_info",
           "sample_dump_path"]

_SAMPLE = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
MAX_PAGE_BYTES = 1 << 28
"""XML bytes that one page, with all its revisions, may take: more is an attack or no dump."""
MAX_PAGE_TAGS = 1 << 21
"""Tags that one page may have: each becomes a node in memory, some thirty times as large as `<a/>`."""
HEAD_BYTES = 4096
"""Of what is no dump: enough to say what it begins with."""
_ELEMENT = re.compile(r"<([\w:.-]+)")


def sample_dump_path() -> Path:
    """The real Wikipedia sample inside gensim's wheel: 206 pages, 106 of them articles.

    Located from the installed files, without importing gensim. Raises DumpError when it is not there.
    """
    try:
        files = importlib.metadata.files("gensim") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for entry in files:
        if entry.name == _SAMPLE:
            return Path(str(entry.locate()))
    raise DumpError(_SAMPLE, None, "the package gensim, which ships it, is not installed", "the demo's dump",
                    "Run make setup.")


def read_site_info(path: str | os.PathLike[str]) -> SiteInfo:
    """The wiki's name, language and namespaces from the head of a dump.

    A dump without `<siteinfo>` gives a SiteInfo with wiki None. Raises DumpError as `iter_pages` does.
    """
    with closing(_Pages(os.fspath(path), None, None)) as pages:
        return pages.site_info()


def iter_pages(path: str | os.PathLike[str], *, start: int | None = None,
               end: int | None = None,
               reject: Callable[[PageFault], None] = lambda _: None) -> Iterator[Page]:
    """Yield the pages of a dump in file order, each at the newest of its revisions in the file.

    start, end: byte offsets from `bz2_stream_offsets` that limit the reading to the pages whose `<page>`
    tag begins in these streams; the ranges of a file, wherever they are cut, give every page once.
    reject: gets what is wrong with each page or revision that is not taken. A page of which no text has the
    checksum that the dump says comes out with `verified` False: what becomes of it is the caller's to say.
    Raises DumpError for a missing, truncated or corrupt file or one that is no dump.
    """
    with closing(_Pages(os.fspath(path), start, end, reject)) as pages:
        yield from pages


class _Pages:
    """A pull parser fed with the decompressed bytes of a file or of a range of it."""

    def __init__(self, path: str, start: int | None, end: int | None,
                 reject: Callable[[PageFault], None] = lambda _: None) -> None:
        self.path, self.reject = path, reject
        self.is_range = start is not None or end is not None
        self.bytes = (range_bytes(path, start or 0, end) if self.is_range else file_bytes(path))
        self.parser = etree.XMLPullParser(
            events=("start", "end"), tag=("{*}mediawiki", "{*}siteinfo", "{*}page"),
            huge_tree=True, resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True,
            remove_pis=True)
        self.info: SiteInfo | None = None
        self.root_seen = self.root_closed = False
        self.n_pages = self.n_seen = 0
        self.offset = self.n_read = self.page_end = self.n_tags = 0
        self.head = b""

    def close(self) -> None:
        self.bytes.close()

    def site_info(self) -> SiteInfo:
        for _ in self._elements():
            break
        return self.info or SiteInfo.unknown()

    def __iter__(self) -> Iterator[Page]:
        for element in self._elements():
            self.n_seen += 1
            page = self._page(element)
            if page is not None:
                yield page
                self.n_pages += 1
            self.page_end, self.n_tags = self.n_read, 0
            _forget(element)

    def _elements(self) -> Iterator[Any]:
        """The `<page>` elements; sets `info` before the first one."""
        fault: Exception | None = None
        while fault is None:
            try:
                piece = next(self.bytes)
                self.offset = piece.offset
                self.n_read = piece.n_before
                if len(self.head) < HEAD_BYTES:
                    self.head += piece.data[:HEAD_BYTES - len(self.head)]
                self.n_tags += piece.data.count(b"<")
                self.parser.feed(_legal(piece.data))
            except StopIteration:
                break
            except (etree.XMLSyntaxError, DumpError) as error:
                fault = error
            yield from self._events()
            if not self.root_seen and self.n_read > 1 << 20:
                fault = fault or self._error(self._first_element(), "a MediaWiki XML export")
            if self.n_read - self.page_end > MAX_PAGE_BYTES:
                fault = fault or self._error(f"more than {MAX_PAGE_BYTES} bytes without the end of a page",
                                             "pages of at most a few MiB")
            if self.n_tags > MAX_PAGE_TAGS:
                fault = fault or self._error(f"more than {MAX_PAGE_TAGS} tags without the end of a page",
                                             "pages of some dozens of tags a revision")
        if fault is not None:
            raise self._translated(fault) from None
        if not self.root_closed:
            found = "the file ends before </mediawiki>" if self.root_seen else self._first_element()
            raise self._error(found, "a complete MediaWiki XML export")

    def _events(self) -> Iterator[Any]:
        for event, element in self.parser.read_events():
            name = etree.QName(element).localname
            if event == "start":
                if name == "mediawiki" and not self.root_seen:
                    self.root_seen = True
                    self.info = SiteInfo.from_root(element)
            elif name == "siteinfo":
                self.info = SiteInfo.from_root(element.getparent(), element)
            elif name == "page" and element.getparent() is not None and element.getparent().getparent() is None:
                yield element
            elif name == "mediawiki":
                self.root_closed = True

    def _first_element(self) -> str:
        """What the file is, where it is no dump: for an error."""
        encoding = "utf-16" if self.head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
        match = _ELEMENT.search(self.head.decode(encoding, "replace"))
        return f"the first element is <{match[1]}>" if match else "no XML element in it"

    def _translated(self, fault: Exception) -> DumpError:
        if isinstance(fault, DumpError):
            return fault
        line, said = getattr(fault, "lineno", None), " ".join(str(fault).split())
        if not self.root_seen:
            return self._error(f"not an XML file ({said})", "a MediaWiki XML export")
        return self._error(f"broken XML in line {line} of its contents, after {self.n_pages} whole pages "
                           f"({said})", "well-formed XML")

    def _error(self, found: str, expected: str) -> DumpError:
        return DumpError(self.path, self.offset, found, expected,
                         FETCH_AGAIN if self.root_seen else
                         "Give a pages-articles dump of a MediaWiki wiki.")

    def _page(self, element: Any) -> Page | None:
        info = self.info or SiteInfo.unknown()
        return read_page(element, f"page {self.n_seen} before byte {self.offset}",
                         lambda title: info.namespace_of(title)[0], self.reject)


_CONTROL = bytes(c for c in range(32) if c not in (9, 10, 13))


def _legal(data: bytes) -> bytes:
    """Replace control bytes, which no XML may hold, by a noncharacter that `_text` turns into NUL.

    Left alone they would end the file for the XML parser. UTF-16 is full of NUL bytes and is not touched.
    """
    if len(data.translate(None, _CONTROL)) == len(data) or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data
    if data.count(0) > len(data) // 8:
        return data
    for byte in _CONTROL:
        data = data.replace(bytes((byte,)), REPLACED_CONTROL.encode())
    return data


def _forget(element: Any) -> None:
    """Free a page that was read, with everything in front of it."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]
