"""Adding pages up: sums, shares, the worst pages, in any order of pages."""

from __future__ import annotations

from collections import Counter

from pipelines.documents.audit.figures import N_WORST, Figures
from pipelines.documents.audit.page import PageAudit
from pipelines.documents.audit.report import to_markdown


def audit(number: int, *, n_lost: int = 0, status: str = "parsed", reason: str | None = None,
          unhandled: int = 0, cpu_s: float = 0.001) -> PageAudit:
    page = PageAudit(f"enwiki:{number:03}", f"enwiki:{number:03}@1.1", f"Page | {number}", status, reason)
    page.not_compared = None
    page.n_words, page.n_tree_words, page.n_calls = 1000, 1000 - n_lost, 10
    page.size_bytes, page.cpu_s = 4096, cpu_s
    page.headings = Counter({2: 1})
    page.blocks = Counter({"p": 3})
    page.n_nodes_with_text = 4
    page.counts = {"unhandled_template:odd": unhandled, "references": 2} if unhandled else {"references": 2}
    page.exempt, page.n_exempt = {"references": 5}, Counter({"references": 2})
    if n_lost:
        page.lost = {"table": Counter({"cell": n_lost})}
    return page


def test_sums_and_shares() -> None:
    figures = Figures()
    for number in range(4):
        figures.add(audit(number, n_lost=number, unhandled=number))
    found = figures.to_json()
    assert found["pages"]["n"] == 4
    assert found["headings"] == {"2": 4}
    assert found["words"]["lost"] == {
        "n": 6, "per_1000": 1.5, "by_cause": {"table": {"n": 6, "words": ["cell"]}},
        "pages": found["words"]["lost"]["pages"]}
    worst = [page["doc_id"] for page in found["words"]["lost"]["pages"]]
    assert worst == ["enwiki:003", "enwiki:002", "enwiki:001"]
    assert found["templates"]["n_unhandled"] == 6
    assert found["templates"]["share_unhandled"] == 0.15
    assert found["rules"]["references"] == {"used": 8, "words": 20}
    assert found["residue"] == {"n_texts": 16, "n": 0, "one_in": None, "kinds": {}}


def test_slow_pages_are_shares_and_ratios_never_seconds() -> None:
    figures = Figures()
    figures.add(audit(1, cpu_s=0.003))
    figures.add(audit(2, cpu_s=0.001))
    slowest = figures.to_json()["speed"]["slowest"]
    assert [(page["doc_id"], page["share"], page["times_mean"]) for page in slowest] == [
        ("enwiki:001", 0.75, 1.5), ("enwiki:002", 0.25, 0.5)]
    assert "cpu_s" not in slowest[0]


def test_lists_do_not_grow_with_the_corpus_nor_depend_on_the_order_of_pages() -> None:
    pages = [audit(number, n_lost=number % 7 + 1, status="degraded", reason="deep") for number in range(50)]
    forwards, backwards = Figures(), Figures()
    for page in pages:
        forwards.add(page)
    for page in reversed(pages):
        backwards.add(page)
    assert forwards.to_json() == backwards.to_json()
    found = forwards.to_json()
    assert len(found["words"]["lost"]["pages"]) == N_WORST
    assert found["pages"]["not_parsed"]["degraded"]["reasons"] == {"deep": 50}
    assert len(found["pages"]["not_parsed"]["degraded"]["pages"]) == N_WORST


def test_pages_that_were_not_compared_are_counted_apart() -> None:
    figures = Figures()
    page = audit(1, n_lost=5, status="failed", reason="ValueError: x")
    page.not_compared = "failed"
    figures.add(page)
    found = figures.to_json()
    assert found["pages"]["not_compared"] == {"failed": 1}
    assert found["words"]["n_expected"] == 0
    assert found["words"]["lost"]["n"] == 0


def test_the_report_names_pages_and_keeps_its_tables_whole() -> None:
    figures = Figures()
    figures.add(audit(1, n_lost=2, unhandled=1))
    text = to_markdown({"dump": "enwiki"}, figures.to_json())
    assert text.startswith("dump: enwiki")
    assert "Words lost: 2 of 1,000 words that the page shows, 2.000 in 1,000." in text
    assert "| `enwiki:001@1.1` | Page \\| 1 | 2 | table 2 | cell |" in text
    assert "odd 1" in text
