"""The example questions: every quote stands in one node of the tree of its article, below the named headings.

Reads the quoted articles of the sample dump with the real readers. What is compared is what evaluation
compares: letters and digits after NFKC and case folding; a table row is its cells in document order.
"""

from __future__ import annotations

import importlib.util
import json
import unicodedata
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipelines.documents.readers.dump import Page, iter_pages, read_site_info, sample_dump_path
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.tree import Document, Node

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
ANSWERABLE = [question for question in QUESTIONS if question["type"] != "unanswerable"]
TITLES = {evidence["title"] for question in QUESTIONS for evidence in question["evidence"]}
MIN_COUNTS = {"fact": 8, "table": 8, "list": 8, "multi_section": 8, "multi_document": 6, "unanswerable": 8}


def letters_and_digits(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())


def block_text(document: Document, node: Node) -> str:
    """A node's own words; of a table row, those of everything in it."""
    nodes = (node, *document.descendants(node.node_id)) if node.tag == "tr" else (node,)
    return letters_and_digits("".join(part.text for part in nodes))


def find_quote(document: Document, quote: str) -> list[Node]:
    """The blocks that hold a quote."""
    wanted = letters_and_digits(quote)
    return [node for node in document if not node.is_structure and wanted in block_text(document, node)]


def aliases(question: dict[str, Any]) -> list[list[str]]:
    """The aliases of each required answer."""
    answers = question["answers"]
    return answers if answers and isinstance(answers[0], list) else [answers]


@pytest.fixture(scope="module")
def pages() -> dict[str, Page]:
    return {page.title: page for page in iter_pages(sample_dump_path()) if page.title in TITLES}


@pytest.fixture(scope="module")
def documents(pages: dict[str, Page]) -> dict[str, Document]:
    site = read_site_info(sample_dump_path())
    return {title: Document(title, read_wikitext(title, page.text, site).nodes)
            for title, page in pages.items()}


@pytest.fixture(scope="module")
def make_notice() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_notice", EXAMPLES / "make_notice.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_quoted_article_is_in_the_sample(pages: dict[str, Page]) -> None:
    assert set(pages) == TITLES
    assert all(page.namespace == 0 and page.redirect_to is None for page in pages.values())
    assert len(TITLES) >= 45


@pytest.mark.parametrize("question", ANSWERABLE, ids=lambda question: question["id"])
def test_quotes_stand_in_one_block_of_their_section(
        question: dict[str, Any], documents: dict[str, Document]) -> None:
    for evidence in question["evidence"]:
        blocks = find_quote(documents[evidence["title"]], evidence["quote"])
        assert blocks, f"{evidence['title']} has no such block: {evidence['quote']}"
        assert evidence["section"] in [list(node.heading_path) for node in blocks]


@pytest.mark.parametrize("question", ANSWERABLE, ids=lambda question: question["id"])
def test_answers_can_be_read_off_the_quotes(question: dict[str, Any]) -> None:
    quotes = letters_and_digits(" ".join(evidence["quote"] for evidence in question["evidence"]))
    for names in aliases(question):
        assert any(letters_and_digits(name) in quotes for name in names), names


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_rows_are_well_formed(question: dict[str, Any]) -> None:
    assert set(question) == {"id", "question", "answers", "evidence", "type", "split"}
    assert question["question"].endswith("?")
    assert question["split"] in {"dev", "test"}
    for evidence in question["evidence"]:
        assert 5 <= sum(word != "|" for word in evidence["quote"].split()) <= 45
    titles = [evidence["title"] for evidence in question["evidence"]]
    sections = [(evidence["title"], *evidence["section"]) for evidence in question["evidence"]]
    if question["type"] == "unanswerable":
        assert question["answers"] == titles == []
    elif question["type"] == "multi_document":
        assert len(set(titles)) >= 2
    elif question["type"] == "multi_section":
        assert len(set(titles)) == 1
        assert len(set(sections)) >= 2
    else:
        assert len(set(sections)) == 1


def test_tables_and_lists_are_quoted_from_tables_and_lists(documents: dict[str, Document]) -> None:
    containers = {"table": {"table"}, "list": {"ul", "ol", "dl"}}
    for question in ANSWERABLE:
        if question["type"] not in containers:
            continue
        for evidence in question["evidence"]:
            document = documents[evidence["title"]]
            tags = {above.tag for node in find_quote(document, evidence["quote"])
                    for above in document.ancestors(node.node_id)}
            assert tags & containers[question["type"]], question["id"]


def test_ids_and_questions_are_unique() -> None:
    for field in ("id", "question"):
        assert max(Counter(question[field] for question in QUESTIONS).values()) == 1


def test_no_article_is_quoted_by_both_splits() -> None:
    titles = {split: {evidence["title"] for question in QUESTIONS if question["split"] == split
                      for evidence in question["evidence"]} for split in ("dev", "test")}
    assert not titles["dev"] & titles["test"]


def test_types_and_splits_are_balanced() -> None:
    types = Counter(question["type"] for question in QUESTIONS)
    assert set(types) == set(MIN_COUNTS)
    assert all(types[kind] >= count for kind, count in MIN_COUNTS.items())
    splits = Counter((question["type"], question["split"]) for question in QUESTIONS)
    assert all(abs(splits[kind, "dev"] - splits[kind, "test"]) <= 1 for kind in MIN_COUNTS)


def test_readme_and_notice_are_up_to_date(pages: dict[str, Page], make_notice: ModuleType) -> None:
    assert make_notice.counts_table(QUESTIONS) in (EXAMPLES / "README.md").read_text(encoding="utf-8")
    lines = [make_notice.notice_line(pages[title]) for title in sorted(TITLES)]
    assert (EXAMPLES / "notice").read_text(encoding="utf-8").splitlines()[-len(lines):] == lines
