"""Where a bz2 dump can be divided: at the beginnings of its streams.

What belongs here: finding these places, by a scan of the file or from the index that Wikimedia publishes
beside a multistream dump, and choosing borders among them. What does not: reading what lies between two
borders (`streams.py`). A file of any size is looked at through one buffer; nothing of it is kept but offsets.
"""

from __future__ import annotations

import bz2
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pipelines.documents.readers.streams import open_dump

SCAN_BYTES = 1 << 20
"""Looked at at a time. Not a mapping of the file: what was looked at would stay in the process's memory."""
TAIL_BYTES = 64 << 20
"""How far from its end a file is searched for its last stream; Wikimedia's have about a megabyte."""
_STREAM = re.compile(rb"BZh[1-9]1AY&SY")
_STREAM_BYTES = 10
_LINE_BYTES = 4096
"""Of an index: far more than the longest title takes."""
_DUMP_NAME = re.compile(r"(?P<before>.*multistream)(?P<part>\d*)\.xml(?P<pages>-p\d+p\d+)?\.bz2")
_INDEX_NAME = re.compile(r".*multistream-index\d*\.txt(-p\d+p\d+)?(\.bz2)?")


class Borders(NamedTuple):
    """Where the parts of a file begin, ascending from 0. index_path: the index that told it, None for a scan.
    fault: what is wrong with an index that was not used."""

    offsets: list[int]
    index_path: str | None = None
    fault: str | None = None


class IndexFault(ValueError):
    """An index file that is damaged or belongs to another dump."""


def bz2_stream_offsets(path: str | os.PathLike[str]) -> list[int]:
    """Byte offsets at which bz2 streams begin, ascending; empty for a file that is not bz2.

    The pages of a dump are those of the ranges between neighbouring offsets. Reads the whole file. Raises
    DumpError when it cannot be opened.
    """
    with open_dump(os.fspath(path)) as file:
        return list(_scan(file))


def last_streams(path: str | os.PathLike[str]) -> list[int]:
    """Like `bz2_stream_offsets`, of the streams that begin in the last 64 MiB of the file alone."""
    with open_dump(os.fspath(path)) as file:
        size = os.fstat(file.fileno()).st_size
        return list(_scan(file, max(0, size - TAIL_BYTES)))


def _scan(file: BinaryIO, start: int = 0) -> Iterator[int]:
    if file.read(3) != b"BZh":
        return
    if start == 0:
        yield 0
    position = file.seek(start)
    kept = b""
    while data := file.read(SCAN_BYTES):
        data = kept + data
        for match in _STREAM.finditer(data):
            if offset := position + match.start():
                yield offset
        # The first bytes of a stream may lie on both sides of the cut.
        kept = data[-_STREAM_BYTES + 1:]
        position += len(data) - len(kept)


def split_borders(path: str, target_bytes: int) -> Borders:
    """Borders of parts of about `target_bytes` compressed bytes, each the beginning of a stream.

    Taken from the index beside the file if there is one, so that the file need not be read for them. An index
    is believed only if a stream begins at every border taken from it and it reaches to the file's end;
    otherwise the file is scanned. Empty for a file that is not bz2. Raises DumpError.
    """
    with open_dump(path) as file:
        if file.read(3) != b"BZh":
            return Borders([])
        size = os.fstat(file.fileno()).st_size
        index = index_beside(path)
        fault = None
        if index is not None:
            try:
                offsets = _spaced(index_offsets(index), target_bytes, size)
                _check(file, offsets, target_bytes, size)
                return Borders(offsets, str(index))
            except IndexFault as error:
                fault = f"{index.name}: {error}"
        file.seek(0)
        return Borders(_spaced(_scan(file), target_bytes, size), None, fault)


def _spaced(offsets: Iterable[int], target_bytes: int, size: int) -> list[int]:
    """Of the offsets those that begin a part; the last part is at least half as long as the others."""
    borders = [0]
    for offset in offsets:
        if offset - borders[-1] >= target_bytes and size - offset >= target_bytes // 2:
            borders.append(offset)
    return borders


# --- the index that Wikimedia publishes

def index_beside(path: str | os.PathLike[str]) -> Path | None:
    """The index of a multistream dump in the folder of the dump, compressed or not; None without one.

    `X-multistream1.xml-p1p41242.bz2` has `X-multistream-index1.txt-p1p41242.bz2`.
    """
    dump = Path(path)
    match = _DUMP_NAME.fullmatch(dump.name)
    if match is None:
        return None
    name = f"{match['before']}-index{match['part']}.txt{match['pages'] or ''}"
    return next((found for found in (dump.with_name(f"{name}.bz2"), dump.with_name(name)) if found.is_file()),
                None)


def is_index_name(name: str) -> bool:
    """Whether Wikimedia names a stream index so."""
    return _INDEX_NAME.fullmatch(name) is not None


def index_offsets(index: Path) -> Iterator[int]:
    """The offsets of an index, each once, ascending; its lines are `offset:page id:title`, in file order.

    Raises IndexFault for what is no index, or a damaged one.
    """
    last = 0
    # Lines of one stream share their offset: what they begin with is compared before it is read as a number.
    prefix = b""
    try:
        with (bz2.open(index) if index.suffix == ".bz2" else index.open("rb")) as lines:
            while line := lines.readline(_LINE_BYTES):
                if prefix and line.startswith(prefix):
                    continue
                digits, colon, _ = line.partition(b":")
                if not colon or not digits.isdigit() or int(digits) <= last:
                    raise IndexFault(f"the line {line[:60]!r}")
                last, prefix = int(digits), digits + colon
                yield last
    except (OSError, EOFError) as error:
        raise IndexFault(f"it cannot be read ({error})") from error
    if not last:
        raise IndexFault("no line in it")


def _check(file: BinaryIO, borders: list[int], target_bytes: int, size: int) -> None:
    for offset in borders[1:]:
        file.seek(offset)
        if not _STREAM.match(file.read(_STREAM_BYTES)):
            raise IndexFault(f"no stream begins at byte {offset}")
    if size - borders[-1] > 2 * target_bytes:
        raise IndexFault(f"it ends at or before byte {borders[-1] + target_bytes} of {size}")
