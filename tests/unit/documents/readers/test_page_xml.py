"""Fields of a page that cannot be believed, checksums of texts, and which revision counts."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pipelines.documents.readers.dump import Page, PageFault, iter_pages
from pipelines.documents.readers.page_xml import is_systematic

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
GOOD = ("<page><title>Good</title><ns>0</ns><id>9</id><revision><id>90</id><text>Good words.</text></revision>"
        "</page>")


def base_36(text: str) -> str:
    number, written = int(hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), 16), ""
    while number:
        number, digit = divmod(number, 36)
        written = DIGITS[digit] + written
    return written.rjust(31, "0")


def read(folder: Path, *pages: str, before: str = "") -> tuple[list[Page], list[PageFault]]:
    path = folder / "dump.xml"
    path.write_text(f"{before}<mediawiki>{''.join(pages)}</mediawiki>", newline="")
    faults: list[PageFault] = []
    return list(iter_pages(path, reject=faults.append)), faults


def page(title: str | None = "<title>Bad</title>", ns: str = "<ns>0</ns>", number: str = "<id>7</id>",
         revision: str = "<id>70</id><timestamp>2024-01-01T00:00:00Z</timestamp><text>Words.</text>") -> str:
    return f"<page>{title or ''}{ns}{number}<revision>{revision}</revision></page>"


def revision(number: int, time: str, text: str, checksum: str = "") -> str:
    return (f"<revision><id>{number}</id><timestamp>{time}T00:00:00Z</timestamp><text>{text}</text>"
            f"<sha1>{checksum}</sha1></revision>")


def with_revisions(*revisions: str) -> str:
    return f"<page><title>P</title><ns>0</ns><id>7</id>{''.join(revisions)}</page>"


@pytest.mark.parametrize("number", ["1_000", "+7", "١٢٣", "", "1.0", "0x7", "abc", "9223372036854775808", "1 2",
                                    "7e1", "<b>7</b>", "99999999999999999999999"])
def test_an_id_that_is_no_plain_number_costs_its_page_alone(tmp_path: Path, number: str) -> None:
    pages, faults = read(tmp_path, page(number=f"<id>{number}</id>"), GOOD)
    assert [p.page_id for p in pages] == [9]
    assert [(f.place, f.reason) for f in faults] == [("Bad", "page_id_invalid")]
    pages, faults = read(tmp_path, page(revision=f"<id>{number}</id><text>Words.</text>"), GOOD)
    assert [p.page_id for p in pages] == [9]
    assert [(f.place, f.reason, f.page_id) for f in faults] == [("Bad", "revision_id_invalid", 7)]


def test_white_space_around_a_number_belongs_to_the_xml(tmp_path: Path) -> None:
    [one], faults = read(tmp_path, page(number="<id>\n 12 </id>"))
    assert (one.page_id, faults) == (12, [])


@pytest.mark.parametrize(("bad", "reason"), [
    (page(number=""), "page_id_invalid"), (page(number="<id>0</id>"), "page_id_not_positive"),
    (page(number="<id>-4</id>"), "page_id_not_positive"), (page(number="<id>7</id><id>8</id>"), "id_twice"),
    (page(title=None), "title_missing"), (page(title="<title> </title>"), "title_missing"),
    (page(title="<title>a\nb</title>"), "title_invalid"),
    (page(title=f"<title>{'x' * 1025}</title>"), "title_invalid"),
    (page(title="<title>A<b/>B</title>"), "title_invalid"),
    (page(title="<title>A</title><title>B</title>"), "title_twice"),
    (page(ns="<ns>2147483648</ns>"), "namespace_invalid"), (page(ns="<ns>-1</ns>"), "namespace_invalid"),
    (page(ns="<ns>+0</ns>"), "namespace_invalid"), (page(ns="<ns/>"), "namespace_invalid"),
    (page(revision="<id>-1</id><text>x</text>"), "revision_id_negative"),
    (page(revision="<text>x</text>"), "revision_id_invalid"), (page(revision="<id>70</id>"), "text_missing"),
    ("<page><title>Bad</title><ns>0</ns><id>7</id></page>", "revision_missing"),
    *((page(revision=f"<id>70</id><timestamp>{time}</timestamp><text>x</text>"), "timestamp_invalid") for time in (
        "", "yesterday", "2024-13-01T00:00:00Z", "0000-01-01T00:00:00Z", "99999-01-01T00:00:00Z", "2024-01-01",
        "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00Z", "٢٠٢٤-01-01T00:00:00Z", "20240101000000")),
    (page(revision="<id>70</id><text>First.<br />Second with <b>bold</b> words.</text>"), "text_has_elements"),
    (page(revision="<id>70</id><text><page><title>In</title><id>3</id></page></text>"), "text_has_elements"),
    (page(revision="<id>70</id><text>a</text><text>b</text>"), "text_twice"),
    (page(revision="<id>70</id><model>-1</model><text>a</text>"), "model_invalid"),
])
def test_a_page_that_cannot_be_believed_is_told_and_the_others_come_out(
        tmp_path: Path, bad: str, reason: str) -> None:
    pages, faults = read(tmp_path, bad, GOOD)
    assert [p.title for p in pages] == ["Good"]
    assert [f.reason for f in faults] == [reason]
    assert faults[0].place
    assert faults[0].detail


@pytest.mark.parametrize("declared", ['"expanded"', '"&b;"><!ENTITY b "bee"', 'SYSTEM "file:///etc/hostname"'])
def test_a_text_with_an_entity_of_its_own_is_refused_whole(tmp_path: Path, declared: str) -> None:
    pages, faults = read(tmp_path, page(revision="<id>70</id><text>First part. &e; Second part.</text>"), GOOD,
                         before=f"<!DOCTYPE mediawiki [<!ENTITY e {declared}>]>")
    assert [p.title for p in pages] == ["Good"]
    assert [(f.place, f.reason) for f in faults] == [("Bad", "text_has_elements")]


def test_escaped_markup_and_cdata_arrive_whole(tmp_path: Path) -> None:
    text = "<text>a &lt;br /&gt; <![CDATA[<b>b</b>]]> &#99;</text>"
    [one], faults = read(tmp_path, page(revision=f"<id>70</id>{text}"))
    assert (one.text, faults) == ("a <br /> <b>b</b> c", [])


def test_the_later_revision_counts_and_not_the_higher_id(tmp_path: Path) -> None:
    now, imported = revision(501, "2026-03-01", "9000 people"), revision(905, "2004-05-01", "12 people")
    for revisions in ((now, imported), (imported, now)):
        [one], _ = read(tmp_path, with_revisions(*revisions))
        assert (one.revision_id, one.text) == (501, "9000 people")
    same = revision(502, "2026-03-01", "of one second")
    [one], _ = read(tmp_path, with_revisions(same, now, imported))
    assert one.revision_id == 502


def test_a_bad_revision_costs_itself_alone(tmp_path: Path) -> None:
    [one], faults = read(tmp_path, with_revisions(revision(1, "2020-01-01", "Old."),
                                                 revision(2, "2021-99-01", "New.")))
    assert (one.text, [f.reason for f in faults]) == ("Old.", ["timestamp_invalid"])


@pytest.mark.parametrize(("text", "fields", "verified"), [
    ("Words.", "<sha1>{good}</sha1>", True), ("Words.", "<sha1>{bad}</sha1>", False), ("Words.", "<sha1/>", None),
    ("Words.", "", None), ("Words.", "<sha1>{hex}</sha1>", True),
    ("Words.", "<sha1>nonsense</sha1>", None)])
def test_a_text_is_compared_with_its_checksum(tmp_path: Path, text: str, fields: str,
                                              verified: bool | None) -> None:
    written = fields.format(good=base_36(text), bad=base_36("other"),
                            hex=hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())
    [one], faults = read(tmp_path, page(revision=f"<id>70</id><text>{text}</text>{written}"))
    assert (one.verified, faults) == (verified, [])


@pytest.mark.parametrize(("original", "written"), [
    ("a\r\nb\r\n", "a\r\nb\r\n"), ("a", "\n  a\n  "), ("a\n", "a"), ("  a", "  a\n"), ("ŝ 📚", "ŝ 📚"), ("", "")])
def test_white_space_that_an_export_or_xml_changes_is_no_damage(tmp_path: Path, original: str,
                                                                    written: str) -> None:
    """Line ends become one character in XML; printing XML anew adds or takes space at the ends."""
    [one], faults = read(tmp_path, page(revision=f'<id>70</id><text sha1="{base_36(original)}">{written}</text>'))
    assert (one.verified, faults) == (True, [])


def test_a_revision_of_several_slots_is_compared_with_the_checksum_of_its_text(tmp_path: Path) -> None:
    slots = (f"<text sha1='{base_36('main')}'>main</text>"
             "<content><role>mediainfo</role><text>{}</text></content>"
             f"<sha1>{base_36('of both')}</sha1>")
    [one], faults = read(tmp_path, page(revision=f"<id>70</id>{slots}"))
    assert (one.text, one.verified, faults) == ("main", True, [])


def test_a_deleted_text_needs_no_checksum_and_a_lost_one_is_refused(tmp_path: Path) -> None:
    lost = f"<id>70</id><text bytes='6'/><sha1>{base_36('Words.')}</sha1>"
    deleted = f"<id>70</id><text deleted='deleted' bytes='6'/><sha1>{base_36('Words.')}</sha1>"
    assert [f.reason for f in read(tmp_path, page(revision=lost))[1]] == ["text_missing"]
    [one], faults = read(tmp_path, page(revision=deleted))
    assert (one.text, one.verified, faults) == (None, None, [])


def test_a_damaged_text_never_takes_the_place_of_a_good_one(tmp_path: Path) -> None:
    good = revision(1, "2020-01-01", "Good.", base_36("Good."))
    for number in (1, 2):
        bad = revision(number, "2021-01-01", "Bxd.", base_36("Bad."))
        [one], faults = read(tmp_path, with_revisions(bad, good))
        assert (one.text, one.verified) == ("Good.", True)
        assert [(f.reason, f.sample) for f in faults] == [("text_checksum", "Bxd.")]


def test_a_text_much_shorter_than_its_length_is_not_verified(tmp_path: Path) -> None:
    [one], _ = read(tmp_path, page(revision='<id>70</id><text bytes="600">Words.</text>'))
    assert one.verified is False
    [one], _ = read(tmp_path, page(revision='<id>70</id><text bytes="7">Words.</text>'))
    assert one.verified is None


@pytest.mark.parametrize(("fields", "model"), [
    ("", None), ("<model>wikitext</model><format>text/x-wiki</format>", None), ("<model>json</model>", "json"),
    ("<model>Scribunto</model><format>text/plain</format>", "Scribunto"), ("<format>application/json</format>",
                                                                         "application/json"),
    ("<model> wikitext </model>", None), ("<model>wikibase-item</model>", "wikibase-item")])
def test_what_is_no_wikitext_says_what_it_is(tmp_path: Path, fields: str, model: str | None) -> None:
    [one], faults = read(tmp_path, page(revision=f'<id>70</id>{fields}<text>{{"a": [["b", 1]]}}</text>'))
    assert (one.content_model, one.text, faults) == (model, '{"a": [["b", 1]]}', [])


def test_checksums_of_a_rewritten_dump_are_told_from_damage() -> None:
    assert is_systematic(655, 2004)
    assert not is_systematic(9, 970)
    assert not is_systematic(6, 7)
    assert not is_systematic(0, 0)
