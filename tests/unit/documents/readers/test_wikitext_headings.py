"""Headings: every one that MediaWiki shows, against a list that an independent script made, and by family."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from wikitext_trees import read, tree

from pipelines.documents.readers.dump import iter_pages, read_site_info, sample_dump_path
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.tree import Node

SCRIPT = Path(__file__).parents[3] / "fixtures" / "headings" / "make_headings.py"
Row = tuple[int, int, int, str]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_headings", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Loaded as a file, so that the fixture stays a script that runs by itself.
    spec.loader.exec_module(module)
    return module


def rows(nodes: tuple[Node, ...]) -> list[Row]:
    """(ordinal, level, ordinal of the section above or 0, text) of the sections of a tree."""
    ordinals: dict[int, int] = {}
    found: list[Row] = []
    for node in nodes:
        if node.tag != "section":
            continue
        above = node.parent_id
        while above is not None and nodes[above].tag != "section":
            above = nodes[above].parent_id
        ordinals[node.node_id] = len(found) + 1
        found.append((len(found) + 1, node.level or 0, ordinals[above] if above is not None else 0, node.text))
    return found


def listed() -> Iterator[tuple[str, list[Row]]]:
    """(title, rows) of the articles of the fixture."""
    for piece in ("\n" + (SCRIPT.parent / "headings.tsv").read_text("utf-8")).split("\n# ")[1:]:
        title, *lines = piece.rstrip("\n").split("\n")
        cells = [line.split("\t") for line in lines]
        yield title, [(int(ordinal), int(level), int(parent), text) for ordinal, level, parent, text in cells]


def test_headings_of_all_sample_articles_are_those_of_the_fixture() -> None:
    site = read_site_info(sample_dump_path())
    found = [(page.title, rows(read_wikitext(page.title, page.text, site).nodes))
             for page in iter_pages(sample_dump_path()) if page.namespace == 0 and page.redirect_to is None]
    expected = list(listed())
    assert len(expected) == 106
    assert sum(len(headings) for _, headings in expected) == 2261
    assert [title for title, _ in found] == [title for title, _ in expected]
    for (title, headings), (_, right) in zip(found, expected, strict=True):
        assert headings == right, title


def test_the_script_makes_the_fixture_again_and_shares_no_code(script: ModuleType) -> None:
    assert script.fixture() == (SCRIPT.parent / "headings.tsv").read_text("utf-8")
    imported = re.findall(r"^(?:import|from) ([\w.]+)", SCRIPT.read_text("utf-8"), re.MULTILINE)
    assert imported
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


@pytest.mark.parametrize(("text", "expected"), [
    ("======7=====", [(5, "=7")]), ("== a == b ==", [(2, "a == b")]), ("== A ===", [(2, "A =")]),
    ("=== A ==", [(2, "= A")]), ("======= A =======", [(6, "= A =")]), ("=A=", [(1, "A")]),
    ("== = a ==", [(2, "= a")]),
    ("===", [(1, "=")]), ("====", [(1, "==")]), ("=====", [(2, "=")]), ("==", []), ("=", []), ("= x", []),
    ("== A == x", []), (" == A ==", []), ("x == A ==", []), ("== A ==<ref>x</ref>", []), ("''== A ==''", []),
    ("== A ==\t ", [(2, "A")]), ("== A ==\xa0", []), ("== A == &nbsp;", []), ("== <!-- x --> ==", []),
    ("__NOTOC__== A ==", [(2, "A")]), ("== A == __NOTOC__", [(2, "A")]), ("__NOTOC__ == A ==", []),
    ("== A<br>B ==", [(2, "A B")]), ("== A <!-- x\n y --> ==", [(2, "A")]), ("== A<ref>x</ref> ==", [(2, "A")]),
    ("<!-- c\n -->== A ==", [(2, "A")]), ("== A == <!-- c --> <!-- d -->", [(2, "A")]),
    ("== [[a=b|c=d]] ==", [(2, "c=d")]), ("== [http://a.example/?d=e f] ==", [(2, "f")]),
    ("== <span id=x>A</span> <sup>nd</sup> ==", [(2, "A nd")]), ("== L''''amour'''' ==", [(2, "L'amour'")]),
    ("<H3 id=x>A</H3>", [(3, "A")]), ("<h2>A\nB</h2>", [(2, "A B")]), ("<div>== A ==</div>", []),
    ("<center>\n== A ==\n</center>", [(2, "A")]), ("<ul><li>a\n== B ==\n</ul>\n=== C ===", [(2, "B"), (3, "C")]),
    ("<noinclude>== A ==</noinclude>", [(2, "A")]), ("<includeonly>\n== A ==\n</includeonly>", []),
    ("* a\n== B ==\n* c", [(2, "B")]), ("{|\n! == A ==\n|}", []), ("[[x\n== A ==\nb", [(2, "A")]),
    ("== A ==\r\nx\r\n=== B ===\r\n", [(2, "A"), (3, "B")]),
    ("== 見出し ==\n=== عنوان ===", [(2, "見出し"), (3, "عنوان")]),
])
def test_families_of_headings_by_both_routes(script: ModuleType, text: str,
                                             expected: list[tuple[int, str]]) -> None:
    assert [(heading.level, heading.text) for heading in script.headings(text)] == expected
    assert [(level, words) for _, level, _, words in rows(read(text).nodes)] == expected


def test_headings_in_cells_have_an_order_of_their_own(script: ModuleType) -> None:
    text = "== O ==\n{|\n| x\n=== A ===\n==== B ====\n| y\n==== C ====\n|}\n=== D ==="
    expected = [(1, 2, 0, "O"), (2, 3, 1, "A"), (3, 4, 2, "B"), (4, 4, 1, "C"), (5, 3, 1, "D")]
    assert rows(read(text).nodes) == expected
    assert [tuple(heading) for heading in script.headings(text)] == expected


def test_headings_inside_a_call_whose_name_is_none_are_shown() -> None:
    # `{{x` up to the line break is no template's name, so that MediaWiki shows the braces and the heading.
    assert tree("{{x\n== A ==\n}}\n== B ==") == ["p x", "section2 A", "section2 B"]
