"""The look at the end of a dump: a file that was cut is told before anything is read, a whole one never."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.documents.readers import dump_end
from pipelines.documents.readers.dump_end import missing_end

Packer = Callable[[bytes], bytes]


def multistream(data: bytes) -> bytes:
    """Streams of 300 bytes, cut anywhere, as parallel compressors write them."""
    return b"".join(bz2.compress(data[begin: begin + 300]) for begin in range(0, len(data), 300))


PACKERS: dict[str, Packer] = {"xml": bytes, "bz2": bz2.compress, "multistream": multistream,
                              "gz": gzip.compress, "xz": lzma.compress}


def dump(seed: int) -> bytes:
    letters = random.Random(seed)
    words = "".join(chr(letters.randrange(97, 123)) for _ in range(letters.randrange(20, 4000)))
    return f"<mediawiki><page><text>{words}</text></page></mediawiki>".encode()


def found(path: Path, data: bytes) -> str | None:
    path.write_bytes(data)
    fault = missing_end(str(path))
    return fault.found if fault else None


@pytest.mark.parametrize("packer", PACKERS)
def test_a_whole_file_is_whole_and_every_cut_is_told(tmp_path: Path, packer: str) -> None:
    for seed in range(25):
        data = PACKERS[packer](dump(seed))
        assert found(tmp_path / "dump", data) is None
        for n_cut in (1, 2, 3, 4, 9, random.Random(seed).randrange(10, len(data) - 10)):
            assert found(tmp_path / "dump", data[:-n_cut]) is not None, (seed, n_cut)


@pytest.mark.parametrize("packer", ["bz2", "xz", "gz"])
def test_zeros_behind_the_last_stream_are_no_fault(tmp_path: Path, packer: str) -> None:
    for seed in range(25):
        for n_zeros in (4, 512):
            assert found(tmp_path / "dump", PACKERS[packer](dump(seed)) + b"\0" * n_zeros) is None


def test_a_cut_between_two_streams_is_told_by_what_they_hold(tmp_path: Path) -> None:
    parts = [bz2.compress(part) for part in (b"<mediawiki>", b"<page/>", b"</mediawiki>\n")]
    assert found(tmp_path / "dump", b"".join(parts)) is None
    assert found(tmp_path / "dump", b"".join(parts[:2])) == "the file ends before </mediawiki>"


@pytest.mark.parametrize("end", [
    "</mediawiki>\n\n", "</mediawiki >", "</mw:mediawiki>", "</mediawiki><!-- made by a tool -->"])
def test_forms_of_the_end(tmp_path: Path, end: str) -> None:
    assert found(tmp_path / "dump", f"<mediawiki>{end}".encode()) is None
    assert found(tmp_path / "dump", f"<mediawiki>{end}".encode("utf-16")) is None


def test_a_look_ends_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small gz may hold gigabytes, a large one takes long: both are left to whoever reads them."""
    cut = gzip.compress(b"<mediawiki>" + b"x" * (9 << 20))
    assert found(tmp_path / "dump", cut) == "the file ends before </mediawiki>"
    monkeypatch.setattr(dump_end, "MOST_CONTENT_BYTES", 1 << 20)
    assert found(tmp_path / "dump", cut) is None
    monkeypatch.setattr(dump_end, "GZIP_BYTES", 1 << 10)
    assert found(tmp_path / "dump", cut[:-20]) is None
