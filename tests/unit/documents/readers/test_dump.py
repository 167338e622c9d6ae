"""Reading dumps: formats, schemas, faults, ranges. Dumps are written here, a few hundred bytes each."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pickle
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.documents.readers.dump import (
    DumpError,
    Page,
    SiteInfo,
    bz2_stream_offsets,
    iter_pages,
    read_site_info,
    sample_dump_path,
)
from pipelines.errors import UserError

SITE = """<siteinfo><sitename>Vikipedio</sitename><dbname>eowiki</dbname><base>https://eo.example/wiki/A</base>
<namespaces><namespace key="-1">Speciala</namespace><namespace key="0" /><namespace key="6">Dosiero</namespace>
<namespace key="14">Kategorio</namespace></namespaces></siteinfo>"""


def page(number: int, title: str, body: str, extra: str = "", ns: int | None = 0) -> str:
    namespace = "" if ns is None else f"<ns>{ns}</ns>"
    return (f"<page><title>{title}</title>{namespace}<id>{number}</id>{extra}<revision><id>{number * 10}</id>"
            f"<timestamp>2020-05-0{number}T01:02:03Z</timestamp>{body}</revision></page>")


def export(*pages: str, site: str = SITE, version: str = "0.10") -> str:
    return (f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-{version}/" version="{version}" '
            f'xml:lang="eo">{site}{"".join(pages)}</mediawiki>')


TWO = export(page(1, "Unu", "<text>one</text>"), page(2, "Du", "<text>two &amp; more</text>"))
PACKERS = {"xml": lambda data: data, "bz2": bz2.compress, "gz": gzip.compress, "xz": lzma.compress}


@pytest.mark.parametrize("packer", PACKERS)
def test_formats_are_told_by_their_bytes(tmp_path: Path, packer: str) -> None:
    path = tmp_path / "dump.anything"
    path.write_bytes(PACKERS[packer](TWO.encode()))
    pages = list(iter_pages(path))
    assert [(p.page_id, p.title, p.text) for p in pages] == [(1, "Unu", "one"), (2, "Du", "two & more")]
    assert pages[0].revision_id == 10
    assert pages[0].revision_time == datetime(2020, 5, 1, 1, 2, 3, tzinfo=UTC)


@pytest.mark.parametrize("version", ["0.10", "0.11"])
@pytest.mark.parametrize(("encoding", "mark"), [
    ("utf-8", b""), ("utf-8-sig", b""), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")])
def test_schemas_and_encodings(tmp_path: Path, version: str, encoding: str, mark: bytes) -> None:
    path = tmp_path / "dump.xml"
    words = "ŝafo 😀 كتاب ספר 本 책"
    path.write_bytes(mark + export(page(1, "Ĝi", f"<text>{words}</text>"), version=version).encode(encoding))
    assert [(p.title, p.text) for p in iter_pages(path)] == [("Ĝi", words)]
    assert read_site_info(path).wiki == "eowiki"


def test_site_info_and_its_json(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_text(TWO)
    info = read_site_info(path)
    assert (info.wiki, info.language, info.base) == ("eowiki", "eo", "https://eo.example/wiki/A")
    assert info.namespaces["Dosiero"] == 6
    assert info.namespace_of("dosiero:Kato.jpg") == (6, "Kato.jpg")
    assert info.namespace_of("Category:Katoj")[0] == 14
    assert info.namespace_of("Arbo: enkonduko") == (0, "Arbo: enkonduko")
    assert SiteInfo.from_json(info.to_json()) == info


def test_dump_without_siteinfo(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_text(export(page(1, "Kategorie:Vögel", "<text>x</text>", ns=None), site=""))
    info = read_site_info(path)
    assert info.wiki is None
    assert info.language == "eo"
    [only] = iter_pages(path)
    assert only.namespace == 0  # Esperanto: the German name is no namespace of this wiki
    path.write_text(export(page(1, "Kategorio:Birdoj", "<text>x</text>", ns=None), site=""))
    assert next(iter(iter_pages(path))).namespace == 14


def test_namespaces_come_by_number_whatever_the_title_says(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_text(export(page(1, "Kategorio:A", "<text>a</text>", ns=0), page(2, "B", "<text>b</text>", ns=14),
                           page(3, "Dosiero:C.png", "<text>c</text>", ns=None)))
    assert [p.namespace for p in iter_pages(path)] == [0, 14, 6]


def test_deleted_empty_and_missing_text(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_text(export(page(1, "A", '<text bytes="0" sha1="x" />'), page(2, "B", "<text>bee</text>"),
                           page(3, "C", '<text deleted="deleted" />'), page(4, "D", "")))
    assert [(p.page_id, p.title, p.text) for p in iter_pages(path)] == [
        (1, "A", None), (2, "B", "bee"), (3, "C", None)]


def test_newest_revision_wins_in_any_order(tmp_path: Path) -> None:
    revisions = [f"<revision><id>{n}</id><text>version {n}</text></revision>" for n in (5, 9, 7)]
    path = tmp_path / "dump.xml"
    path.write_text(export(f"<page><title>A</title><ns>0</ns><id>3</id>{''.join(revisions)}</page>"))
    [only] = iter_pages(path)
    assert (only.page_id, only.revision_id, only.text) == (3, 9, "version 9")


def test_main_slot_among_several(tmp_path: Path) -> None:
    slots = "".join(f"<content><role>{role}</role><text>{role} text</text></content>"
                    for role in ("mediainfo", "main"))
    path = tmp_path / "dump.xml"
    path.write_text(export(page(1, "A", slots), page(2, "B", "<text>direct</text>" + slots), version="0.11"))
    assert [p.text for p in iter_pages(path)] == ["main text", "direct"]


def test_redirect_comes_from_its_element_or_its_words(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_text(export(page(1, "A", "<text>Words.</text>", '<redirect title="Celo" />'),
                           page(2, "B", "<text>#ALIDIREKTU [[Celo]]</text>"),
                           page(3, "C", "<model>css</model><text>#REDIRECT [[Celo]]</text>")))
    assert [p.redirect_to for p in iter_pages(path)] == ["Celo", "Celo", None]


def test_control_characters_arrive_as_nul(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_bytes(export(page(1, "A", "<text>alpha@beta</text>")).encode().replace(b"@", b"\x00"))
    [only] = iter_pages(path)
    assert only.text == "alpha\x00beta"


def test_ranges_of_streams_give_every_page_once(tmp_path: Path) -> None:
    pages = [page(n, f"P{n}", f"<text>text {n} {'x' * n * 7}</text>") for n in range(1, 9)]
    whole = export(*pages).encode()
    # Streams that begin anywhere, as parallel compressors write them: in tags, in text, between pages.
    for size in (37, 200, 511, 5000):
        path = tmp_path / f"{size}.bz2"
        path.write_bytes(b"".join(bz2.compress(whole[i:i + size]) for i in range(0, len(whole), size)))
        offsets = bz2_stream_offsets(path)
        assert len(offsets) == -(-len(whole) // size)
        expected = list(iter_pages(path))
        assert [p.page_id for p in expected] == list(range(1, 9))
        ends = [*offsets[1:], None]
        split = [p for start, end in zip(offsets, ends, strict=True)
                 for p in iter_pages(path, start=start, end=end)]
        assert split == expected


def test_offsets_of_other_files_are_none(tmp_path: Path) -> None:
    path = tmp_path / "dump.gz"
    path.write_bytes(gzip.compress(TWO.encode()))
    assert bz2_stream_offsets(path) == []


def read_until_fault(path: Path) -> tuple[list[Page], DumpError]:
    """The pages that come out, and the error behind them."""
    pages: list[Page] = []
    try:
        pages.extend(iter_pages(path))
    except DumpError as error:
        return pages, error
    raise AssertionError("no fault was found")


@pytest.mark.parametrize("packer", PACKERS)
def test_truncated_file_gives_whole_pages_then_the_fault(tmp_path: Path, packer: str) -> None:
    noise = "".join(chr(97 + (i * i * 7 + i // 3) % 26) for i in range(40_000))
    data = PACKERS[packer](export(page(1, "A", "<text>one</text>"), page(2, "B", f"<text>{noise}</text>"),
                                  page(3, "C", "<text>three</text>")).encode())
    if packer == "bz2":  # a block is lost as a whole: give the first page a stream of its own
        whole = export(page(1, "A", "<text>one</text>"), page(2, "B", f"<text>{noise}</text>")).encode()
        data = bz2.compress(whole[:900]) + bz2.compress(whole[900:])
    path = tmp_path / "cut"
    path.write_bytes(data[:-40 if packer == "xz" else -12])
    pages, error = read_until_fault(path)
    assert [item.title for item in pages][:1] == ["A"]
    assert error.path == str(path)
    assert error.offset is not None
    assert str(path) in str(error)
    assert str(error.offset) in str(error)


def test_broken_xml_names_how_far_it_got(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_text(TWO.replace("two &amp; more", "two <more"))
    pages, error = read_until_fault(path)
    assert [item.page_id for item in pages] == [1]
    assert "after 1 whole pages" in str(error)


@pytest.mark.parametrize(("content", "found"), [
    (b"", "empty"), (b"just words\n", "begins with"), (b"<html><body/></html>", "first element is <html>"),
    (b"BZh91AY&SYgarbage that is no bz2", "corrupt"), (b"  \n", "no XML element"),
    (b'<?xml version="1.0"?>\n<rss version="2.0"/>', "first element is <rss>"),
])
def test_what_is_no_dump_says_so(tmp_path: Path, content: bytes, found: str) -> None:
    path = tmp_path / "thing"
    path.write_bytes(content)
    with pytest.raises(DumpError, match=found) as caught:
        list(iter_pages(path))
    assert isinstance(caught.value, UserError)
    assert caught.value.expected
    assert caught.value.next_step


def test_missing_path_and_directory(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="no such file"):
        list(iter_pages(tmp_path / "none.xml"))
    with pytest.raises(DumpError, match="directory"):
        read_site_info(tmp_path)


def test_error_survives_pickling() -> None:
    error = DumpError("a.bz2", 7, "found", "expected", "Do this.")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (again.path, again.offset, str(again)) == ("a.bz2", 7, str(error))


def test_entities_are_not_resolved(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    path = tmp_path / "dump.xml"
    path.write_text(bomb + export(page(1, "A", "<text>&b;</text>")))
    try:
        texts = [p.text for p in iter_pages(path)]
    except DumpError:
        return
    assert all("aaaa" not in (text or "") for text in texts)


def test_sample_dump() -> None:
    pages = list(iter_pages(sample_dump_path()))
    assert len(pages) == 206
    assert sum(p.namespace == 0 and p.redirect_to is None for p in pages) == 106
    assert read_site_info(sample_dump_path()).wiki == "enwiki"


@pytest.mark.parametrize(("name", "limit", "found"), [
    ("MAX_PAGE_BYTES", 1 << 20, "more than 1048576 bytes"), ("MAX_PAGE_TAGS", 1000, "more than 1000 tags")])
def test_a_page_has_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limit: int,
                           found: str) -> None:
    """What a page takes in memory is bounded, whatever a few packed bytes hold; pages before it come out."""
    monkeypatch.setattr(f"pipelines.documents.readers.dump.{name}", limit)
    path = tmp_path / "bomb.gz"
    small = "".join(page(n % 9 + 1, f"P{n}", f"<text>{'x' * 900}</text>") for n in range(1, 200))
    path.write_bytes(gzip.compress(export(small, "<page><title>T</title>" + "<a></a>x" * 2_000_000).encode()))
    pages, error = read_until_fault(path)
    assert len(pages) == 199
    assert found in error.found


def test_an_xz_file_that_asks_for_too_much_memory_is_refused(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dump.xz"
    path.write_bytes(lzma.compress(TWO.encode(), preset=6))
    assert len(list(iter_pages(path))) == 2
    monkeypatch.setattr("pipelines.documents.readers.streams.XZ_MEMORY_BYTES", 1 << 20)
    pages, error = read_until_fault(path)
    assert pages == []
    assert "Memory usage limit" in error.found


@pytest.mark.parametrize("packer", ["bz2", "gz", "xz"])
def test_a_flipped_byte_in_the_middle_is_told_with_its_place(tmp_path: Path, packer: str) -> None:
    noise = "".join(chr(97 + (i * i * 7 + i // 3) % 26) for i in range(60_000))
    data = bytearray(PACKERS[packer](export(page(1, "A", f"<text>{noise}</text>")).encode()))
    data[len(data) // 2] ^= 0xFF
    path = tmp_path / "dump"
    path.write_bytes(data)
    _, error = read_until_fault(path)
    assert "corrupt compressed data" in error.found or "broken XML" in error.found
    assert error.offset is not None
    assert "--salvage" in error.as_command_line().next_step


def test_pages_in_blocks_before_a_flipped_byte_come_out(tmp_path: Path) -> None:
    """bz2 packs 100 kB at a time here: a fault in the last block costs that block, not those read with it."""
    words = random.Random(3)
    text = ["".join(words.choices("abcdefghij ", k=9_000)) for _ in range(60)]
    data = bytearray(bz2.compress(export(*(page(1, f"P{n}", f"<text>{body}</text>")
                                           for n, body in enumerate(text))).encode(), 1))
    data[-len(data) // 20] ^= 0xFF
    path = tmp_path / "dump.bz2"
    path.write_bytes(data)
    pages, _ = read_until_fault(path)
    assert [found.text for found in pages] == text[:len(pages)]
    assert 9_000 * len(pages) > 9_000 * len(text) - 2 * 100_000
