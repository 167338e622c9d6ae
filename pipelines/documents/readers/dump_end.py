"""Whether a dump file ends as a whole one does, told from its last bytes before anything is read.

What belongs here: the look at the end of a file, cheap enough to come before an engine is started. What does
not: reading (`dump.py`, `streams.py`), which meets every fault that this look does not. A download that broke
off is the commonest fault of a dump; it is told at once for plain XML, bz2 and xz of any size, and for gz up
to a size that is decompressed in a second.
"""

from __future__ import annotations

import os
import re
from contextlib import closing
from typing import BinaryIO

from pipelines.documents.readers.multistream import last_streams
from pipelines.documents.readers.streams import FETCH_AGAIN, DumpError, file_bytes, open_dump

TAIL_BYTES = 4096
"""Behind the closing tag there may be white space and comments, behind an xz stream zeros."""
GZIP_BYTES = 32 << 20
"""Compressed bytes: a larger gz file tells its end only to who reads all of it."""
MOST_CONTENT_BYTES = 256 << 20
"""Decompressed bytes after which the look gives up: a small file may hold gigabytes."""
_CLOSE, _NO_CLOSE = re.compile(rb"</(?:[\w.-]+:)?mediawiki\s*>"), "the file ends before </mediawiki>"
_BZ2_END, _BZ2_MASK, _BZ2_CHECKSUM_BITS = 0x177245385090, (1 << 48) - 1, 32
"""The bits in front of the checksum that ends a bz2 stream; they begin at any bit of a byte."""
_XZ_END = b"YZ"


def missing_end(path: str) -> DumpError | None:
    """The fault of a file that was cut; None for one that ends well, and where its end does not tell.

    Raises DumpError when the file cannot be opened.
    """
    with open_dump(path) as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(6)
        if head.startswith(b"BZh"):
            return _bz2_fault(path, file, size)
        file.seek(max(0, size - TAIL_BYTES))
        tail = file.read()
    if head == b"\xfd7zXZ\x00":
        whole = tail.rstrip(b"\0").endswith(_XZ_END)
        return _fault(path, size, None if whole else "the compressed data ends in the middle of a stream")
    if head.startswith(b"\x1f\x8b"):
        return _content_fault(path, size, 0) if size <= GZIP_BYTES else None
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        tail = tail.replace(b"\0", b"")
    return _fault(path, size, None if _CLOSE.search(tail) else _NO_CLOSE)


def _fault(path: str, offset: int, found: str | None) -> DumpError | None:
    if found is None:
        return None
    return DumpError(path, offset, found, "a complete MediaWiki XML export", FETCH_AGAIN)


def _bz2_fault(path: str, file: BinaryIO, size: int) -> DumpError | None:
    file.seek(max(0, size - TAIL_BYTES))
    tail = file.read()
    stripped = tail.rstrip(b"\0")
    last, n_zeros = int.from_bytes(stripped[-32:]), len(tail) - len(stripped)
    # The last bytes of a checksum may be zeros too.
    if not any(last >> shift & _BZ2_MASK == _BZ2_END and shift + 8 * n_zeros >= _BZ2_CHECKSUM_BITS
               for shift in range(256)):
        return _fault(path, size, "the compressed data ends in the middle of a stream")
    offsets = last_streams(path)
    # Cut between two of many streams, each of its parts is whole. A stream may begin inside the closing tag.
    return _content_fault(path, size, offsets[-2]) if len(offsets) > 1 else None


def _content_fault(path: str, size: int, start: int) -> DumpError | None:
    """Decompress from a stream's beginning on and look at the end; None where that would take long."""
    tail = b""
    with closing(file_bytes(path, start)) as pieces:
        try:
            for piece in pieces:
                if piece.n_before > MOST_CONTENT_BYTES:
                    return None
                tail = (tail + piece.data)[-TAIL_BYTES:]
        except DumpError as error:
            return error
    return _fault(path, size, None if _CLOSE.search(tail) else _NO_CLOSE)
