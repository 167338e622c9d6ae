"""Work limits: pages that make other parsers hang are read in linear time, by every token source alike."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest
from wikitext_trees import ENGLISH, read

from pipelines.documents.readers.dump import iter_pages, read_site_info, sample_dump_path
from pipelines.documents.readers.wikitext import MAX_UNCLOSED, read_wikitext
from pipelines.documents.readers.wikitext_tokens import CTokenizer, c_tokens, linear_tokens, python_tokens
from pipelines.documents.residue import find_node_residue


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


ORDINARY = """Lead with [[A|link]] and {{nowrap|kept words}}.
== First ==
* one
** two
# three
{| class=wikitable
|+ Caption
! Head
|-
| cell || [http://a.example address]
|}
=== Second ===
; term : meaning
{{infobox x|name=Value|size=12 m}}
== Third ==
Last words, {{{1|default}}}.
"""


def test_a_degraded_page_keeps_its_blocks() -> None:
    page, unclosed = read(ORDINARY), read(ORDINARY + "[[stray " * (MAX_UNCLOSED + 1))
    assert (page.status, unclosed.status) == ("parsed", "degraded")
    kept = [(node.tag, node.text) for node in unclosed.nodes]
    lost = [(node.tag, node.text) for node in page.nodes if (node.tag, node.text) not in kept]
    # External links are left as text; the last paragraph goes on with what is stray.
    assert lost == [("td", "address"), ("p", "Last words, default.")]
    assert ("td", "[http://a.example address]") in kept
    assert ("dt", "term") in kept
    assert kept[-1][1].startswith("Last words, default. stray stray")
    assert Counter(kept[-1][1].split())["stray"] == MAX_UNCLOSED + 1


def test_limits_count_work_and_never_look_at_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any) -> float:
        raise AssertionError("the reader looked at a clock")

    texts = [ORDINARY, "{{a " * 5000, "* x\n" * 5000]
    before = [read_wikitext("T", text, ENGLISH) for text in texts]
    with monkeypatch.context() as patch:
        for clock in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns",
                      "process_time", "process_time_ns", "thread_time"):
            patch.setattr(time, clock, stopped)
        after = [read_wikitext("T", text, ENGLISH) for text in texts]
    assert before == after


def test_nesting_of_blocks_is_limited() -> None:
    result = read("<blockquote>x" * 500)
    assert result.status == "degraded"
    assert max(len(node.path) for node in result.nodes) < 70


@pytest.mark.parametrize(("text", "shown"), [
    ("<nowiki> {</nowiki>", "{"),
    ("a {{small|²=b|word}}", "a word"),
    ("{{date|1|1|" + "1" * 5000 + "}} word", None),
    ("{{formatnum:" + "1" * 5000 + "}}", None),
    ("[[[[word]]]]", "word"),
    ("[[[[" * 300 + "word", "word"),
    ("{|}\nword\n|}", None),
    ("\xa0{|\n\n|\n|}word", None),
    ("<gallery>[[{{:{{|}\n|}\n{{|{{</gallery>" + "{{[[" * 300 + "word", None),
])
def test_small_pages_that_once_could_not_be_read(text: str, shown: str | None) -> None:
    nodes = read(text).nodes
    if shown is not None:
        assert nodes[1].text == shown


@pytest.mark.parametrize("page", [
    "{{url|a.example/" * 30 + "b" + "}}" * 30, "{{uss|a " * 30 + "b" + "}}" * 30,
    "{{sortname|a|" * 30 + "b" + "}}" * 30, "[[a{{small|" * 30 + "b" + "}}|]]" * 30])
def test_nested_links_do_not_double_with_each_level(page: str) -> None:
    assert sum(len(node.text) for node in read(page).nodes) < 2 * len(page)


@pytest.mark.parametrize("text", [None, "", "  \n", "[[Category:X]]", "<!-- x -->"])
def test_empty_pages(text: str | None) -> None:
    result = read_wikitext("T", text or "", ENGLISH)
    assert result.status == "empty"
    assert result.reason
    assert len(result.nodes) == 1


def test_private_tokenizer_is_the_one_that_the_walk_was_written_for() -> None:
    assert CTokenizer is not None
    text = "''a [[b|c]] {{d|e=f}}\n== g ==\n* h [http://a.example i] {{{j|k}}}"
    tokens = c_tokens(text)
    assert tokens == python_tokens(text)
    assert [type(token).__name__ for token in tokens] == [
        "Text", "WikilinkOpen", "Text", "WikilinkSeparator", "Text", "WikilinkClose", "Text", "TemplateOpen",
        "Text", "TemplateParamSeparator", "Text", "TemplateParamEquals", "Text", "TemplateClose", "Text",
        "HeadingStart", "Text", "HeadingEnd", "Text", "TagOpenOpen", "Text", "TagCloseSelfclose", "Text",
        "ExternalLinkOpen", "Text", "ExternalLinkSeparator", "Text", "ExternalLinkClose", "Text",
        "ArgumentOpen", "Text", "ArgumentSeparator", "Text", "ArgumentClose"]
    assert tokens[0]["text"] == "''a "
    assert tokens[15]["level"] == 2
    assert tokens[19]["wiki_markup"] == "*"
    assert tokens[23]["brackets"]


def sample() -> list[tuple[str, str]]:
    return [(page.title, page.text) for page in iter_pages(sample_dump_path())
            if page.namespace == 0 and page.redirect_to is None and page.text]


def test_token_sources_give_equal_trees() -> None:
    site = read_site_info(sample_dump_path())
    pages = sorted(sample(), key=lambda page: len(page[1]))[:8]
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
