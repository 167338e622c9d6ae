"""The rules that exempt words are a fixed list: the docs explain each, and the reader has no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipelines.documents.audit.rules import EXTENSIONS, RULES, TEMPLATE_RULES

DOCS = Path(__file__).resolve().parents[4] / "docs" / "audit.md"


def test_the_docs_explain_exactly_these_rules() -> None:
    section = DOCS.read_text("utf-8").partition("## Rules that let words go")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(RULES)


def test_tags_and_templates_go_by_rules_of_the_list() -> None:
    assert set(EXTENSIONS.values()) <= set(RULES)
    assert set(TEMPLATE_RULES) <= set(RULES)


@pytest.mark.parametrize("name", re.findall(r"<!-- figures (\w+) -->", DOCS.read_text("utf-8")))
def test_figures_in_the_docs_say_what_they_are_of(name: str) -> None:
    block = DOCS.read_text("utf-8").partition(f"<!-- figures {name} -->")[2]
    block, end, _ = block.partition(f"<!-- end {name} -->")
    assert end
    assert re.search(r"^dump: \w+, SHA-256 [0-9a-f]{64}", block.strip())
    assert re.search(r"^newest revision: \d{4}-\d\d-\d\d", block, re.MULTILINE)
    assert re.search(r"^command: espalier audit --dump FILE", block, re.MULTILINE)
    assert "/" not in block.partition("parser:")[0]
