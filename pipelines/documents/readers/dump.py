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
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from pipelines.documents.readers.multistream import bz2_stream_offsets
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.streams import FETCH_AGAIN, DumpError, file_bytes, range_bytes
from pipelines.errors import shortened

__all__ = ["DumpError", "Page", "SiteInfo", "bz2_stream_offsets", "iter_pages", "read_site_info",
           "sample_dump_path"]

_SAMPLE = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
MAX_PAGE_BYTES = 1 << 28
"""XML bytes that one page, with all its revisions, may take: more is an attack or no dump."""
MAX_PAGE_TAGS = 1 << 21
"""Tags that one page may have: each becomes a node in memory, some thirty times as large as `<a/>`."""
HEAD_BYTES = 4096
"""Of what is no dump: enough to say what it begins with."""
_ELEMENT = re.compile(r"<([\w:.-]+)")
_REPLACED_CONTROL = "\ufdd0"


class Page(NamedTuple):
    """One page at its newest revision in the file."""

    page_id: int
    title: str
    namespace: int
    redirect_to: str | None
    """Title of the page that this one redirects to, from the `<redirect>` element."""
    revision_id: int
    revision_time: datetime | None
    text: str | None
    """Wikitext; None where the dump holds none (deleted, hidden or an empty `<text/>`)."""

    def __repr__(self) -> str:
        return f"<Page {self.page_id} {shortened(self.title)!r}, {len(self.text or '')} characters>"


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
               end: int | None = None) -> Iterator[Page]:
    """Yield the pages of a dump in file order, each at the newest of its revisions in the file.

    start, end: byte offsets from `bz2_stream_offsets` that limit the reading to the pages whose `<page>`
    tag begins in these streams; the ranges of a file, wherever they are cut, give every page once.
    Raises DumpError for a missing, truncated or corrupt file or one that is no dump.
    """
    with closing(_Pages(os.fspath(path), start, end)) as pages:
        yield from pages


class _Pages:
    """A pull parser fed with the decompressed bytes of a file or of a range of it."""

    def __init__(self, path: str, start: int | None, end: int | None) -> None:
        self.path = path
        self.is_range = start is not None or end is not None
        self.bytes = (range_bytes(path, start or 0, end) if self.is_range else file_bytes(path))
        self.parser = etree.XMLPullParser(
            events=("start", "end"), tag=("{*}mediawiki", "{*}siteinfo", "{*}page"),
            huge_tree=True, resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True,
            remove_pis=True)
        self.info: SiteInfo | None = None
        self.root_seen = self.root_closed = False
        self.n_pages = 0
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
            yield self._page(element)
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
            elif name == "page":
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
        line = getattr(fault, "lineno", None)
        if not self.root_seen:
            return self._error(f"not an XML file ({fault})", "a MediaWiki XML export")
        return self._error(f"broken XML in line {line} of its contents, after {self.n_pages} whole pages "
                           f"({fault})", "well-formed XML")

    def _error(self, found: str, expected: str) -> DumpError:
        return DumpError(self.path, self.offset, found, expected,
                         FETCH_AGAIN if self.root_seen else
                         "Give a pages-articles dump of a MediaWiki wiki.")

    def _page(self, element: Any) -> Page:
        revision, title, page_id, namespace, redirect_to = None, "", None, 0, None
        has_namespace = False
        for child in element:
            name = etree.QName(child).localname
            if name == "title":
                title = child.text or ""
            elif name == "id":
                page_id = _number(child.text)
            elif name == "ns":
                namespace, has_namespace = _number(child.text) or 0, True
            elif name == "redirect":
                redirect_to = child.get("title") or child.text or ""
            elif name == "revision":
                candidate = _revision(child)
                if revision is None or candidate[0] >= revision[0]:
                    revision = candidate
        if page_id is None:
            raise self._error(f"page {title!r} has no numeric <id>", "an <id> in each <page>")
        if not has_namespace and self.info is not None:
            namespace = self.info.namespace_of(title)[0]
        revision_id, time, text = revision or (0, None, None)
        return Page(page_id, title, namespace, redirect_to, revision_id, time, text)


def _revision(element: Any) -> tuple[int, datetime | None, str | None]:
    number, time, text = 0, None, None
    main_slot: str | None = None
    for child in element:
        name = etree.QName(child).localname
        if name == "id":
            number = _number(child.text) or 0
        elif name == "timestamp":
            time = _time(child.text)
        elif name == "text":
            text = _text(child)
        elif name == "content" and child.findtext("{*}role") == "main":
            slot = child.find("{*}text")
            main_slot = _text(slot) if slot is not None else None
    return number, time, text if text is not None else main_slot


def _text(element: Any) -> str | None:
    if element.get("deleted") is not None:
        return None
    text: str | None = element.text
    return text.replace(_REPLACED_CONTROL, "\x00") if text and _REPLACED_CONTROL in text else text


def _number(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None


def _time(text: str | None) -> datetime | None:
    try:
        time = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


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
        data = data.replace(bytes((byte,)), _REPLACED_CONTROL.encode())
    return data


def _forget(element: Any) -> None:
    """Free a page that was read, with everything in front of it."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]
