"""Bytes out of a dump file: decompression by magic bytes, ranges of bz2 streams, faults with offsets.

What belongs here: everything between the file on disk and XML text. The XML itself is `dump.py`'s.
Multistream dumps are split at their bz2 streams, so that many workers share one file; ranges are cut
like Hadoop's input splits, because parallel compressors start streams in the middle of a page.
"""

from __future__ import annotations

import bz2
import functools
import lzma
import re
import zlib
from collections.abc import Generator
from typing import Any, NamedTuple

from pipelines.errors import UserError, argument

READ_BYTES = 1 << 14
"""Bytes at a time. What a decompressor makes of those before a fault is lost with the fault."""
_BUFFER_BYTES = 1 << 18
PIECE_BYTES = 1 << 22
"""Decompressed bytes at a time: a few compressed bytes may hold gigabytes."""
XZ_MEMORY_BYTES = 256 << 20
"""Memory that an xz file may ask for; `xz -9` asks for 65 MiB, a forged header for 4 GiB."""
_XML_HEAD = re.compile(rb"\s*<")
FETCH_AGAIN = (f"Download the file again and compare its checksum, or pass {argument('salvage')} to take the whole "
               "pages in front of the fault.")
"""The next step of who has a file that was cut or damaged."""


class DumpError(UserError):
    """A dump file that cannot be read to its end.

    path: the file. offset: bytes of the file (as it lies on disk) that were read when the fault showed,
    None when it could not be opened.
    """

    def __init__(self, path: str, offset: int | None, found: str, expected: str, next_step: str) -> None:
        self.path, self.offset = path, offset
        self._arguments = (path, offset, found, expected, next_step)
        where = "" if offset is None else f", at byte {offset}"
        super().__init__(f"dump {path}{where}", found, expected, next_step)

    def __reduce__(self) -> Any:
        return type(self), self._arguments


class Piece(NamedTuple):
    """Some decompressed bytes. offset: bytes of the file read so far; n_before: bytes given before."""

    data: bytes
    offset: int
    n_before: int


_Pieces = Generator[Piece, None, None]


def file_bytes(path: str, start: int = 0) -> _Pieces:
    """The decompressed bytes of a file, from `start` (where a stream begins) to its end.

    Raises DumpError, after what is before the fault.
    """
    with open_dump(path) as file:
        file.seek(start)
        yield from _decompressed(path, file, file.read(16))


def range_bytes(path: str, start: int, end: int | None) -> _Pieces:
    """The pages that begin in the bz2 streams of [start, end), wrapped in one root element.

    Reads on behind `end` until the last such page is complete. Without bz2 only a whole file is a range.
    """
    with open_dump(path) as file:
        if file.read(3) != b"BZh":
            if start or end is not None:
                raise DumpError(path, start, "not a bz2 file", "bz2 streams, to read a part of it",
                                "Read the whole file.")
            file.seek(0)
            yield from _decompressed(path, file, b"")
            return
        file.seek(start)
        yield Piece(b"<mediawiki>", start, 0)
        yield from _whole_pages(_decompressed(path, file, file.read(16)), end)
        yield Piece(b"</mediawiki>", end or file.tell(), 1)


_OPEN, _CLOSE = b"<page>", b"</page>"


def _whole_pages(pieces: _Pieces, end: int | None) -> _Pieces:
    """Cut a byte stream to the pages that begin before the stream boundary at offset `end`."""
    buffer = b""
    inside = False
    for piece in pieces:
        is_behind = end is not None and piece.offset > end
        buffer += piece.data
        out = []
        while True:
            if not inside:
                found = buffer.find(_OPEN)
                if found < 0:
                    buffer = buffer[-len(_OPEN) + 1:]
                    break
                if is_behind and found + 0 >= len(buffer) - len(piece.data):
                    buffer = b""
                    break
                buffer, inside = buffer[found:], True
            found = buffer.find(_CLOSE)
            if found < 0:
                keep = len(_CLOSE) - 1
                out.append(buffer[:-keep])
                buffer = buffer[-keep:]
                break
            out.append(buffer[:found + len(_CLOSE)])
            buffer, inside = buffer[found + len(_CLOSE):], False
        if out:
            yield Piece(b"".join(out), piece.offset, piece.n_before)
        if is_behind and not inside:
            return


def open_dump(path: str) -> Any:
    """The file, opened for reading bytes. Raises DumpError that says why it cannot be."""
    try:
        return open(path, "rb", buffering=_BUFFER_BYTES)
    except FileNotFoundError:
        found, step = "there is no such file", "Check the path."
    except IsADirectoryError:
        found, step = "it is a directory", "Give the dump file in it."
    except PermissionError:
        found, step = "no permission to read it", "Change its permissions or run as another user."
    except (OSError, ValueError) as error:
        found, step = f"it cannot be opened ({error})", "Check the path."
    raise DumpError(path, None, found, "a dump file (.xml, .bz2, .gz or .xz)", step)


def _decompressed(path: str, file: Any, head: bytes) -> _Pieces:
    """Decompress from the file's position on, `head` being what was read of it already."""
    origin = file.tell() - len(head)
    if not head:
        head = file.read(16)
    if not head:
        raise DumpError(path, 0, "the file is empty", "a MediaWiki XML export", "Download it again.")
    make = _decompressor(head)
    if make is None:
        if not (_XML_HEAD.match(head.removeprefix(b"\xef\xbb\xbf")) or head[:2] in (b"\xff\xfe", b"\xfe\xff")
                or not head.strip()):
            raise DumpError(path, 0, f"the file begins with {head[:12]!r}",
                            "a MediaWiki XML export, plain or as bz2, gz or xz",
                            "Give a pages-articles dump.")
        n_given = 0
        data = head
        while data:
            yield Piece(data, origin + n_given + len(data), n_given)
            n_given += len(data)
            data = _read(path, file)
        return
    n_given = 0
    data, read_to = head, origin + len(head)
    decoder = make()
    is_fresh = True
    while data:
        is_fresh = False
        while True:
            try:
                produced = decoder.decompress(data, PIECE_BYTES)
            except (OSError, lzma.LZMAError, zlib.error, EOFError, ValueError) as error:
                raise DumpError(path, read_to - len(data), f"corrupt compressed data ({error})",
                                "a whole compressed file", FETCH_AGAIN) from None
            if produced:
                # A stream's last bytes count as read up to its end, so that ranges know their border.
                consumed = read_to - (len(decoder.unused_data) if decoder.eof else 0)
                yield Piece(produced, consumed, n_given)
                n_given += len(produced)
            data = b""
            if decoder.eof or decoder.needs_input:
                break
        if decoder.eof:
            data = decoder.unused_data
            if not data:
                data = _read(path, file)
                read_to += len(data)
            if not data.strip(b"\0"):
                data = b""
                rest = _read(path, file)
                while rest and not rest.strip(b"\0"):
                    read_to += len(rest)
                    rest = _read(path, file)
                data, read_to = rest, read_to + len(rest)
            decoder, is_fresh = make(), True
        else:
            data = _read(path, file)
            read_to += len(data)
    if not is_fresh:
        raise DumpError(path, read_to, "the compressed data ends in the middle of a stream",
                        "a whole compressed file", FETCH_AGAIN)


def _decompressor(head: bytes) -> Any:
    """What makes the decompressor for a file that begins with `head`; None for plain bytes."""
    if head.startswith(b"BZh"):
        return bz2.BZ2Decompressor
    if head.startswith(b"\x1f\x8b"):
        return _GzipDecompressor
    if head.startswith(b"\xfd7zXZ\x00"):
        return functools.partial(lzma.LZMADecompressor, memlimit=XZ_MEMORY_BYTES)
    return None


class _GzipDecompressor:
    """zlib's decompressor with the interface of the other two."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def needs_input(self) -> bool:
        return not self._decoder.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data


def _read(path: str, file: Any) -> bytes:
    try:
        data: bytes = file.read(READ_BYTES)
    except OSError as error:
        raise DumpError(path, file.tell(), f"reading fails ({error})", "a readable file", "Check the disk.") \
            from None
    return data
