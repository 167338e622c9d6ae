"""The residue detector: what it must find, and what it must leave alone."""

from __future__ import annotations

import pytest
from linear import is_linear

from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.residue import KINDS, find_node_residue, find_residue
from pipelines.documents.tree import TreeBuilder

FOUND = {
    "template_braces": ["a {{b", "c}} d"], "link_brackets": ["[[a", "a]] b"],
    "table_markup": ["{| class=x", "|- x"],
    "quote_marks": ["'''bold", "a ''b"], "tag": ["a <ref name=x>", "b<br />c", "</div>", "<!-- x"],
    "picture_option": ["a.jpg|thumb|x", "|200px|left", "x |right"], "magic_word": ["__NOTOC__ x"],
    "entity": ["a&nbsp;b", "&#160;", "&amp; x"], "namespace_link": ["Category:Lakes", "x Datei:Eule.jpg|mini"],
    "signature": ["by ~~~~"], "parameter": ["| name = x"], "control_character": ["a\x02b"],
}
CLEAN = ["f(x) = {a, b}", "a [1] b [2]", "it's the dogs' home", "1 < 2 > 0", "AT&T & Co; x", "a | b",
         "the left | right split", "__init__", "Category: a class of things", "x -> y", "rock 'n' roll", "5' 10''",
         "a~b ~~", "key = value", "<unknown>", "C:\\x"]


@pytest.mark.parametrize("kind", KINDS)
def test_finds(kind: str) -> None:
    for text in FOUND[kind]:
        assert kind in [found for found, _, _ in find_residue(text)], text


@pytest.mark.parametrize("text", CLEAN)
def test_leaves_alone(text: str) -> None:
    assert find_residue(text) == []


def test_places_are_exact() -> None:
    assert find_residue("ab {{cd}} <br>") == [("template_braces", 3, 5), ("template_braces", 7, 9), ("tag", 10, 14)]


def test_math_code_pre_and_nowiki_are_exempt() -> None:
    nodes = read_wikitext("T", "<math>{{a}}</math> <code>x''y''z&amp;amp;</code> <nowiki>[[b]]</nowiki>\n"
                          "<pre>{{c}}</pre>", SiteInfo.unknown("en")).nodes
    assert [find_node_residue(node) for node in nodes] == [[] for _ in nodes]
    assert find_node_residue(nodes[1]._replace(spans=()))


@pytest.mark.parametrize(("text", "n_found"), [("&#0; &#x110000; &#xD800;", 0), ("&#65; &#x41; &#X41;", 3)])
def test_references_to_no_character_are_text(text: str, n_found: int) -> None:
    assert len(find_residue(text)) == n_found


def test_a_title_is_no_wikitext() -> None:
    assert find_node_residue(TreeBuilder("[[Odd]] <b>title</b>").finish()[0]) == []


@pytest.mark.parametrize("unit", ["\n", "\n ", "|\n", "| ", "<b ", "''", "{{", "&#", "\n|a a "])
def test_work_is_linear(unit: str) -> None:
    assert is_linear(lambda size: find_residue(unit * (size // len(unit)) + "x"), 50_000)
