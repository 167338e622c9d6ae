"""Dividing a multistream dump: its index and a scan give the same borders."""

from __future__ import annotations

import bz2
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.documents.readers import multistream
from pipelines.documents.readers.dump import bz2_stream_offsets, iter_pages
from pipelines.documents.readers.multistream import index_beside, last_streams, split_borders

NAME = "xxwiki-20260101-pages-articles-multistream.xml.bz2"
INDEX = "xxwiki-20260101-pages-articles-multistream-index.txt"
N_STREAMS, PAGES_OF_A_STREAM = 60, 3
TARGET_BYTES = 4000


def page(number: int) -> str:
    letters = random.Random(number)
    words = "".join(chr(letters.randrange(97, 123)) for _ in range(letters.randrange(100, 900)))
    return (f"<page><title>P{number}</title><ns>0</ns><id>{number}</id><revision><id>{number}</id>"
            f"<text>{words}</text></revision></page>\n")


@pytest.fixture(scope="module")
def written() -> tuple[bytes, str, list[int]]:
    """A multistream dump of 60 streams of 3 pages, its index, and where its streams begin."""
    data, lines = bz2.compress(b"<mediawiki>\n"), []
    offsets = [0]
    for stream in range(N_STREAMS):
        numbers = range(stream * PAGES_OF_A_STREAM + 1, (stream + 1) * PAGES_OF_A_STREAM + 1)
        offsets.append(len(data))
        lines += [f"{len(data)}:{number}:P:{number}\n" for number in numbers]
        data += bz2.compress("".join(map(page, numbers)).encode())
    offsets.append(len(data))
    return data + bz2.compress(b"</mediawiki>\n"), "".join(lines), offsets


@pytest.fixture
def dump(written: tuple[bytes, str, list[int]], tmp_path: Path) -> Path:
    """The dump in a folder of its own, without an index."""
    path = tmp_path / NAME
    path.write_bytes(written[0])
    return path


@pytest.mark.parametrize("scan_bytes", [11, 64, 1000, 1 << 20])
def test_the_scan_finds_every_stream_wherever_its_buffer_is_cut(
        dump: Path, written: tuple[bytes, str, list[int]], monkeypatch: pytest.MonkeyPatch,
        scan_bytes: int) -> None:
    monkeypatch.setattr(multistream, "SCAN_BYTES", scan_bytes)
    assert bz2_stream_offsets(dump) == written[2]
    monkeypatch.setattr(multistream, "TAIL_BYTES", len(written[0]) - written[2][-5])
    assert last_streams(dump) == written[2][-5:]


@pytest.mark.parametrize("compressed", [True, False])
def test_index_and_scan_give_the_same_borders(dump: Path, written: tuple[bytes, str, list[int]],
                                              monkeypatch: pytest.MonkeyPatch, compressed: bool) -> None:
    by_scan = split_borders(str(dump), TARGET_BYTES)
    assert (by_scan.index_path, by_scan.fault) == (None, None)
    assert len(by_scan.offsets) > 10
    assert set(by_scan.offsets) < set(written[2])
    index = dump.with_name(INDEX + ".bz2" * compressed)
    index.write_bytes(bz2.compress(written[1].encode()) if compressed else written[1].encode())
    # With an index the dump itself is not searched.
    monkeypatch.delattr(multistream, "_scan")
    by_index = split_borders(str(dump), TARGET_BYTES)
    assert by_index == (by_scan.offsets, str(index), None)


def test_the_parts_hold_every_page_once(dump: Path) -> None:
    starts = split_borders(str(dump), TARGET_BYTES).offsets
    numbers = [page.page_id for start, end in zip(starts, [*starts[1:], None], strict=True)
               for page in iter_pages(dump, start=start, end=end)]
    assert numbers == list(range(1, N_STREAMS * PAGES_OF_A_STREAM + 1))


DAMAGES: dict[str, tuple[Callable[[str], bytes], str]] = {
    "of another dump": (lambda text: b"".join(
        b"%d:%s\n" % (int(line.partition(":")[0]) + 1, line.partition(":")[2].encode())
        for line in text.splitlines()), "no stream begins at byte"),
    "cut": (lambda text: "".join(text.splitlines(keepends=True)[:30]).encode(), "it ends at or before byte"),
    "empty": (lambda text: b"", "no line in it"),
    "no index": (lambda text: b"<html>not found</html>", "the line"),
    "backwards": (lambda text: "".join(reversed(text.splitlines(keepends=True))).encode(), "the line"),
    "one endless line": (lambda text: b"7" * 100_000, "the line"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_wrong_index_is_told_and_the_file_is_searched(dump: Path, written: tuple[bytes, str, list[int]],
                                                        damage: str) -> None:
    expected = split_borders(str(dump), TARGET_BYTES).offsets
    make, fault = DAMAGES[damage]
    dump.with_name(INDEX).write_bytes(make(written[1]))
    borders = split_borders(str(dump), TARGET_BYTES)
    assert (borders.offsets, borders.index_path) == (expected, None)
    assert borders.fault is not None
    assert borders.fault.startswith(f"{INDEX}: {fault}")


def test_a_cut_compressed_index_is_told(dump: Path, written: tuple[bytes, str, list[int]]) -> None:
    dump.with_name(f"{INDEX}.bz2").write_bytes(bz2.compress(written[1].encode())[:-20])
    assert "cannot be read" in str(split_borders(str(dump), TARGET_BYTES).fault)


@pytest.mark.parametrize(("dump_name", "index_name"), [
    (NAME, f"{INDEX}.bz2"), (NAME, INDEX),
    ("xxwiki-latest-pages-articles-multistream12.xml-p1p41242.bz2",
     "xxwiki-latest-pages-articles-multistream-index12.txt-p1p41242.bz2"),
    ("xxwiki-latest-pages-articles.xml.bz2", None), ("multistream.txt", None),
])
def test_the_name_of_the_index(tmp_path: Path, dump_name: str, index_name: str | None) -> None:
    assert index_beside(tmp_path / dump_name) is None
    for name in (index_name, "xxwiki-latest-pages-articles-multistream-index13.txt-p1p41242.bz2"):
        if name:
            (tmp_path / name).touch()
    found = index_beside(tmp_path / dump_name)
    assert (found.name if found else None) == index_name


def test_what_is_not_bz2_has_no_borders(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_bytes(b"<mediawiki/>")
    assert split_borders(str(path), TARGET_BYTES) == ([], None, None)
    assert last_streams(path) == []
