"""Batches and worker processes: the same figures, whatever does the work."""

from __future__ import annotations

from typing import Any

from pipelines.documents.audit.corpus import BATCH_CHARACTERS, BATCH_PAGES, audit_pages, batches, dump_page
from pipelines.documents.audit.page import RawPage
from pipelines.documents.readers.dump import Page
from pipelines.documents.readers.siteinfo import SiteInfo

SITE = SiteInfo("enwiki", "en", "", SiteInfo.unknown("en").namespaces)


def raw(number: int, text: str) -> RawPage:
    return RawPage(f"enwiki:{number}", f"enwiki:{number}@1.1", f"P{number}", text, SITE)


def test_batches_are_bounded_by_pages_and_by_characters() -> None:
    small = [raw(number, "x") for number in range(2 * BATCH_PAGES + 1)]
    assert [len(batch) for batch in batches(iter(small))] == [BATCH_PAGES, BATCH_PAGES, 1]
    large = [raw(number, "x" * BATCH_CHARACTERS) for number in range(2)]
    assert [len(batch) for batch in batches(iter(large))] == [1, 1]
    assert list(batches(iter(()))) == []


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "speed"}


def test_worker_processes_find_what_one_process_finds() -> None:
    pages = [raw(number, f"== H{number} ==\nWords [[link]] {{{{unknown thing {number}|lost words}}}}\n" * 3)
             for number in range(150)]
    seen: list[int] = []
    alone = audit_pages(iter(pages), 1).to_json()
    together = audit_pages(iter(pages), 2, seen.append).to_json()
    assert without_times(together) == without_times(alone)
    assert alone["pages"]["n"] == seen[-1] == 150
    assert alone["headings"] == {"2": 450}


def test_articles_of_a_dump() -> None:
    page = Page(7, "Lake", 0, None, 9, None, "Words")
    found = dump_page(page, SITE)
    assert found is not None
    assert (found.doc_id, found.title, found.text) == ("enwiki:7", "Lake", "Words")
    assert found.uri.startswith("enwiki:7@9.")
    assert dump_page(page._replace(redirect_to="Sea"), SITE) is None
    assert dump_page(page._replace(namespace=1), SITE) is None
