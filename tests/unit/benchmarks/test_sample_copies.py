"""The dumps that benchmarks make: an edit is one that a reader of the article sees, and no other page changes."""

from __future__ import annotations

from pathlib import Path

from benchmarks.sample_copies import edited, sample_articles, write_copies
from pipelines.documents.readers.dump import iter_pages, read_site_info, sample_dump_path
from pipelines.documents.readers.wikitext import read_wikitext


def test_an_edit_changes_the_text_of_one_block() -> None:
    site = read_site_info(sample_dump_path())
    for page in sample_articles()[:12]:
        before, after = ([node.text for node in read_wikitext(page.title, text, site).nodes]
                         for text in (page.text or "", edited(page.text or "", 2)))
        assert len(set(after) - set(before)) == 1, page.title
        assert "revision 2" in (set(after) - set(before)).pop()


def test_a_text_without_a_sentence_gets_one() -> None:
    assert edited("* a list", 3).startswith("* a list\n\nThis sentence")
    assert edited("Words. More.", 3) == "Words, as in revision 3. More."


def test_a_later_dump_has_the_edited_pages_at_newer_revisions(tmp_path: Path) -> None:
    write_copies(tmp_path / "first.bz2", 110)
    write_copies(tmp_path / "second.bz2", 110, revised={3, 107}, revision=2)
    first, second = (list(iter_pages(tmp_path / f"{name}.bz2")) for name in ("first", "second"))
    assert [page.page_id for page in second] == list(range(1, 111))
    assert [one.page_id for one, other in zip(first, second, strict=True) if one != other] == [4, 108]
    assert second[3].text == edited(first[3].text or "", 2)
    assert [second[3].revision_id, second[107].revision_id] == [114, 218]


def test_an_update_has_the_named_pages_alone(tmp_path: Path) -> None:
    write_copies(tmp_path / "update.bz2", 110, numbers=[3, 107], retitled=False)
    pages = list(iter_pages(tmp_path / "update.bz2"))
    assert [(page.page_id, page.title) for page in pages] == [
        (4, sample_articles()[3].title), (108, sample_articles()[1].title)]


def test_the_same_pages_in_other_bytes(tmp_path: Path) -> None:
    write_copies(tmp_path / "one.bz2", 20)
    write_copies(tmp_path / "other.bz2", 20, level=8)
    assert (tmp_path / "one.bz2").read_bytes() != (tmp_path / "other.bz2").read_bytes()
    assert list(iter_pages(tmp_path / "one.bz2")) == list(iter_pages(tmp_path / "other.bz2"))
