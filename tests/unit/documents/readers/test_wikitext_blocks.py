"""Blocks of wikitext: headings, paragraphs, lists, quotations, preformatted text, figures."""

from __future__ import annotations

import pytest
from wikitext_trees import read, tree, words

# Headings


def test_sections_nest_by_level_and_skip_levels() -> None:
    assert tree("Lead.\n== A ==\na\n==== B ====\nb\n=== C ===\nc\n== D ==\n= E =\ne") == [
        "p Lead.", "section2 A", "  p a", "  section4 B", "    p b", "  section3 C", "    p c", "section2 D",
        "section1 E", "  p e"]


def test_equal_headings_stay_distinct() -> None:
    assert tree("== A ==\n=== Notes ===\nx\n== B ==\n=== Notes ===\ny") == [
        "section2 A", "  section3 Notes", "    p x", "section2 B", "  section3 Notes", "    p y"]


@pytest.mark.parametrize("opening", ["''open", "'''bold", "<div class=x>", "<small>", "<center>", "{{a|b",
                                     "[[link", "<ref>note", "<font color=red>", "<blockquote>", "<!-- cut",
                                     "{| class=x", "<poem>"])
def test_nothing_unclosed_hides_a_heading(opening: str) -> None:
    result = read(f"Lead {opening} words\n\n== Alpha ==\none\n\n=== Beta ===\ntwo\n")
    headings = [(node.level, node.text) for node in result.nodes if node.tag == "section"]
    assert headings == [(2, "Alpha"), (3, "Beta")]


@pytest.mark.parametrize(("opening", "closing"), [
    ("<div>", "</div>"), ("<small>", "</small>"), ("<poem>", "</poem>"), ("''", "''"), ("{|\n|", "\n|}"),
    ("<noinclude>", "</noinclude>"), ("<blockquote>", "</blockquote>")])
def test_headings_inside_markup(opening: str, closing: str) -> None:
    result = read(f"{opening}\n== Alpha ==\none\n== Beta ==\ntwo\n{closing}\nend")
    assert [node.text for node in result.nodes if node.tag == "section"] == ["Alpha", "Beta"]
    assert "one" in [node.text for node in result.nodes]


def test_prose_with_equals_signs_is_no_heading() -> None:
    assert tree("= 7*k, so k = 2 as said\nmore\n== Ponds == here\n== Real ==\nx\n==\n") == [
        "p = 7*k, so k = 2 as said more == Ponds == here", "section2 Real", "  p x =="]


@pytest.mark.parametrize("hidden", ["<!--\n== No ==\n-->", "<nowiki>\n== No ==\n</nowiki>",
                                    "<pre>\n== No ==\n</pre>", "{{note|\n== No ==\n}}",
                                    "<syntaxhighlight lang=x>\n== No ==\n</syntaxhighlight>"])
def test_what_is_no_heading(hidden: str) -> None:
    result = read(f"a\n{hidden}\n== Yes ==\nb")
    assert [node.text for node in result.nodes if node.tag == "section"] == ["Yes"]


def test_comments_beside_a_heading() -> None:
    assert tree("<!-- x -->== A ==\na\n== B == <!-- y -->\nb\n== C<!-- z --> ==\nc") == [
        "section2 A", "  p a", "section2 B", "  p b", "section2 C", "  p c"]


def test_html_headings_and_markup_in_headings() -> None:
    assert tree("<h2>Old ''style''</h2>\na\n=== [[Lake|Lakes]] &amp; '''ponds''' ===\nb") == [
        "section2 Old style", "  p a", "  section3 Lakes & ponds", "    p b"]


def test_heading_path_excludes_itself() -> None:
    nodes = read("== A ==\n=== B ===\nx").nodes
    assert [node.heading_path for node in nodes[1:]] == [(), ("A",), ("A", "B")]


# Paragraphs and lines


def test_lines_of_a_paragraph_join_and_blank_lines_part() -> None:
    assert tree("one\ntwo\n\nthree\n\n\nfour") == ["p one two", "p three", "p four"]


def test_comment_on_its_own_line_parts_nothing() -> None:
    assert tree("one\n<!-- c -->\ntwo") == ["p one two"]


def test_line_breaks_stay() -> None:
    assert words("one<br>two <br /> three") == "one\ntwo\nthree"


def test_leading_space_is_preformatted() -> None:
    assert tree("a\n  x = 1\n y\nb") == ["p a", "pre  x = 1\ny", "p b"]


def test_pre_and_code_keep_their_lines() -> None:
    [pre] = read("<pre>\nif a &lt; b:\n    [[x]] ''y''\n</pre>").nodes[1:]
    assert (pre.tag, pre.text) == ("pre", "if a < b:\n    [[x]] ''y''")
    [code] = read('<syntaxhighlight lang="python">\ndef f():\n    pass\n</syntaxhighlight>').nodes[1:]
    assert (code.tag, code.text, code.attrs) == ("pre", "def f():\n    pass", {"lang": "python"})


def test_poem_keeps_its_lines_and_markup() -> None:
    [poem] = read("<poem>\nThe ''sea''\n  is wide[[x|!]]\n</poem>").nodes[1:]
    assert (poem.tag, poem.text) == ("pre", "The sea\n  is wide!")


def test_blockquote() -> None:
    assert tree("He said:\n<blockquote>Go.\n\nNow.</blockquote>\nafter") == [
        "p He said:", "blockquote", "  p Go.", "  p Now.", "p after"]


def test_block_math_and_rule() -> None:
    assert tree('a\n<math display="block">x^2</math>\nb\n----\nc') == ["p a", "math x^2", "p b", "p c"]


# Lists


def test_nested_and_mixed_lists() -> None:
    assert tree("Do:\n* cut\n** by hand\n*# sawn\n*# split\n# other\nDone.") == [
        "p Do:", "ul", "  li cut", "    ul", "      li by hand", "    ol", "      li sawn", "      li split",
        "ol", "  li other", "p Done."]


def test_definition_lists() -> None:
    assert tree("; Term : its meaning\n; Other\n: first\n: second") == [
        "dl", "  dt Term", "  dd its meaning", "  dt Other", "  dd first", "  dd second"]


def test_indented_runs_and_deep_starts() -> None:
    assert tree(":a\n::b\n:c\n\n** deep") == [
        "dl", "  dd a", "    dl", "      dd b", "  dd c", "ul", "  li", "    ul", "      li deep"]


def test_blank_line_ends_a_list() -> None:
    assert tree("* a\n\n* b") == ["ul", "  li a", "ul", "  li b"]


def test_items_with_nested_tables_and_templates_over_lines() -> None:
    assert tree("* a {{nowrap\n|b c}} d\n* e\n:{|\n|x\n|}\nend") == [
        "ul", "  li a b c d", "  li e", "dl", "  dd", "    table", "      tr", "        td x", "p end"]


def test_html_lists() -> None:
    assert tree("<ul><li>a<li>b<ol><li>c</li></ol></li></ul>after") == [
        "ul", "  li a", "  li b", "    ol", "      li c", "p after"]


def test_empty_items_are_left_out() -> None:
    assert tree("*\n* a\n* {{clear}}\n") == ["ul", "  li a"]


# Figures


def test_pictures_keep_only_their_captions() -> None:
    assert tree("[[File:Heron.jpg|thumb|right|220px|alt=bird|A [[grey heron]] fishing]] Herons wade.") == [
        "figure", "  caption A grey heron fishing", "p Herons wade."]
    assert tree("[[File:Dot.png|20px]] x [[Image:Y.svg|thumb]]") == ["p x"]


def test_picture_in_a_paragraph_follows_it() -> None:
    assert tree("Herons [[File:A.jpg|thumb|Cap]] wade.") == ["p Herons wade.", "figure", "  caption Cap"]


def test_gallery_captions() -> None:
    text = "<gallery>\nFile:A.jpg|First ''one''<ref>r</ref>\nB.png|alt=b|Second<br>line\nFile:C.jpg\n</gallery>"
    assert tree(text) == ["figure", "  caption First one", "figure", "  caption Second\nline"]


# Where it stands in the source


def test_source_ref_is_the_byte_span_of_the_lines() -> None:
    text = "Ĝi <!-- a\nb --> kaj\nĉi\n\n== H ==\n* unu\n"
    source = text.encode()
    nodes = read(text).nodes
    for node in nodes[1:]:
        assert node.source_ref is not None
        begin, end = map(int, node.source_ref.split("-"))
        piece = source[begin:end].decode()
        assert {"p": "Ĝi <!-- a\nb --> kaj\nĉi", "section": "== H ==\n* unu", "ul": "* unu", "li": "* unu"}[
            node.tag] == piece


def test_links_that_show_nothing_part_no_list() -> None:
    assert tree("* a\n[[Category:X]]\n[[de:Y]]\n* b") == ["ul", "  li a", "  li b"]
    assert tree("* a\n[[Category:X]]\n\n* b") == ["ul", "  li a", "ul", "  li b"]
    assert tree("* a\n[[File:X.jpg|thumb|c]]\n* b") == ["ul", "  li a", "figure", "  caption c", "ul", "  li b"]
    assert tree("a\n[[Category:X]]\nb\n[[Category:Y]] c") == ["p a b c"]


def test_a_gallery_keeps_its_own_caption() -> None:
    assert tree('a\n<gallery mode=packed caption="Two [[lake|lakes]]">\nFile:A.jpg|Como\n</gallery>\nb') == [
        "p a", "p Two lakes", "figure", "  caption Como", "p b"]


def test_poems_indent_by_colons_and_lose_their_footnotes() -> None:
    text = "<poem>\nSea<ref>x\ny</ref>\n:and ''land''<ref name=a />\n::far<!-- z -->\n</poem>"
    assert tree(text) == ["pre Sea\n and land\n  far"]


@pytest.mark.parametrize(("text", "expected"), [
    ("; a:b : c", ["dl", "  dt a", "  dd b : c"]), (";term :def", ["dl", "  dt term", "  dd def"]),
    ("; [http://x.example a:b] : c", ["dl", "  dt a:b", "  dd c"]), ("; [[a:b|c]] : d", ["dl", "  dt c", "  dd d"]),
    ("; <span style='a:b'>t</span> : d", ["dl", "  dt t", "  dd d"]), (": a : b", ["dl", "  dd a : b"]),
    (";;a::b", ["dl", "  dt", "    dl", "      dt a", "      dd :b"]),
    (":*#x\n:*#y\n:*z\n:w", ["dl", "  dd", "    ul", "      li", "        ol", "          li x", "          li y",
                             "      li z", "  dd w"]),
    ("*;a:b\n*:d", ["ul", "  li", "    dl", "      dt a", "      dd b", "      dd d"]),
    ("#a\n#:b\n#c", ["ol", "  li a", "    dl", "      dd b", "  li c"]),
    ("*a\n#b", ["ul", "  li a", "ol", "  li b"]),
    ("; a\n* b\n: c", ["dl", "  dt a", "ul", "  li b", "dl", "  dd c"]), ("* a :b", ["ul", "  li a :b"]),
    ("* a<!--\n--> b\n<!-- c -->\n* d", ["ul", "  li a b", "  li d"]), ("<div>* a</div>", ["p * a"]),
    ("* a <pre>x\ny</pre> c\n* b", ["ul", "  li a", "    pre x\ny", "    p c", "  li b"]),
    ("*: <blockquote>x</blockquote>", ["ul", "  li", "    dl", "      dd", "        blockquote", "          p x"]),
    ("* ''a\n* b''", ["ul", "  li a", "  li b"]), (" * a", ["pre * a"]), ("*a**b", ["ul", "  li a**b"]),
    ("<ul>\n<li>a\n* b\n</li>\n</ul>\nc", ["ul", "  li a", "    ul", "      li b", "p c"]),
])
def test_families_of_lists(text: str, expected: list[str]) -> None:
    assert tree(text) == expected
