"""Work limits: pages that make other parsers hang are read in linear time, by every token source alike."""

from __future__ import annotations

import re
import time

import pytest
from wikitext_trees import ENGLISH, read

from pipelines.documents.readers.dump import iter_pages, read_site_info, sample_dump_path
from pipelines.documents.readers.wikitext import PARSER_VERSION, ReadResult, read_wikitext
from pipelines.documents.readers.wikitext_tokens import CTokenizer, c_tokens, linear_tokens, python_tokens
from pipelines.documents.residue import find_node_residue

FAMILIES = {
    "templates": "{{a|b word ", "links": "[[word ", "labelled links": "[[a|word ", "tables": "{|\n| word\n",
    "footnotes": "A.<ref>word {{cite|x}} ", "comments": "<!-- word ", "divs": "<div>word ",
    "quotes": "''word '''b ",
    "addresses": "[http://a.example word ", "arguments": "{{{word|", "headings": "== word\n", "equals": "=word",
    "lists": "* word\n", "terms": ";word:word ", "nested": "{{a|[[b|word]] {{c|", "tags": "<nowiki>word ",
    "closings": "}}]] word |} ", "attributes": '<ref name="word ', "pictures": "[[File:a.jpg|thumb|word ",
    "balanced": "{{nowrap|{{small|word}}}} ", "quotations": "<blockquote>word ", "html": "<table><tr><td>word ",
    "line in name": "{{word\nx|a}} ", "galleries": "<gallery>\nFile:a.jpg|word\n", "entities": "&nbsp;word ",
}


def timed(text: str) -> tuple[float, ReadResult]:
    begin = time.process_time()
    result = read_wikitext("T", text, ENGLISH)
    return time.process_time() - begin, result


@pytest.mark.parametrize("family", FAMILIES)
def test_doubling_a_page_at_most_doubles_the_work(family: str) -> None:
    unit = FAMILIES[family]
    size = 60_000 // len(unit)
    small = min(timed(unit * size)[0] for _ in range(2))
    large, result = timed(unit * size * 4)
    assert large < 4 * 2.5 * small + 0.2
    assert sum(len(re.findall("word", node.text)) for node in result.nodes) >= size * 4 * (
        family not in ("attributes",))


def test_over_a_limit_the_page_is_degraded_and_keeps_its_words() -> None:
    result = read("Rain.<ref>Almanac {{cite|x}} " * 3000)
    assert result.status == "degraded"
    assert result.reason is not None
    assert "3000 unclosed openings" in result.reason
    assert result.nodes[1].text.count("Rain.") == 3000
    assert result.nodes[1].text.count("Almanac") == 3000
    for depth in (60, 5000):
        deep = read("{{small|" * depth + "word" + "}}" * depth)
        assert deep.status == "degraded"
        assert "word" in deep.nodes[1].text


def test_nesting_of_blocks_is_limited() -> None:
    result = read("<blockquote>x" * 500)
    assert result.status == "degraded"
    assert max(len(node.path) for node in result.nodes) < 70


@pytest.mark.parametrize("text", [None, "", "  \n", "[[Category:X]]", "<!-- x -->"])
def test_empty_pages(text: str | None) -> None:
    result = read_wikitext("T", text or "", ENGLISH)
    assert result.status == "empty"
    assert result.reason
    assert len(result.nodes) == 1


def test_private_tokenizer_is_the_one_that_the_walk_was_written_for() -> None:
    assert CTokenizer is not None
    tokens = c_tokens("a [[b|c]] {{d|e=f}}\n== g ==\n* h")
    assert [type(token).__name__ for token in tokens] == [
        "Text", "WikilinkOpen", "Text", "WikilinkSeparator", "Text", "WikilinkClose", "Text", "TemplateOpen",
        "Text", "TemplateParamSeparator", "Text", "TemplateParamEquals", "Text", "TemplateClose", "Text",
        "HeadingStart", "Text", "HeadingEnd", "Text", "TagOpenOpen", "Text", "TagCloseSelfclose", "Text"]
    assert tokens[-4:][0]["wiki_markup"] == "*"
    assert PARSER_VERSION > 0


def sample() -> list[tuple[str, str]]:
    return [(page.title, page.text) for page in iter_pages(sample_dump_path())
            if page.namespace == 0 and page.redirect_to is None and page.text]


def test_token_sources_give_equal_trees() -> None:
    site = read_site_info(sample_dump_path())
    pages = sorted(sample(), key=lambda page: len(page[1]))[:25]
    for title, text in pages:
        by_c = read_wikitext(title, text, site, source=c_tokens)
        assert read_wikitext(title, text, site, source=python_tokens) == by_c, title
        linear = read_wikitext(title, text, site, source=linear_tokens)
        lists = [[(n.level, n.text) for n in r.nodes if n.tag == "section"] for r in (by_c, linear)]
        assert lists[0] == lists[1], title


def test_sample_articles() -> None:
    site = read_site_info(sample_dump_path())
    n_headings = n_blocks = n_residue = n_tables = 0
    for title, text in sample():
        result = read_wikitext(title, text, site)
        assert result.status in ("parsed", "disambiguation"), title
        n_headings += sum(node.tag == "section" for node in result.nodes)
        n_tables += sum(node.tag == "table" for node in result.nodes)
        n_blocks += sum(bool(node.text) for node in result.nodes)
        n_residue += sum(len(find_node_residue(node)) for node in result.nodes)
    assert n_headings == 2261
    assert n_tables > 140
    assert n_residue * 2000 <= n_blocks
