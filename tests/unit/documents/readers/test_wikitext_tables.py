"""Tables: wiki markup in all its forms, HTML, nested, indented, infoboxes and other parameter tables."""

from __future__ import annotations

import pytest
from wikitext_trees import read, tree


def test_caption_headers_spans_and_continued_cells() -> None:
    result = read('{| class="wikitable" style="x"\n|+ style="y" | Lakes of \'\'X\'\'\n'
                  '! scope="col" | Name !! Depth\n'
                  '|- style="z"\n| rowspan="2" | [[Como]] || 410 m\n|-\n| colspan=3 | deep\n\nvery\n* and cold\n|}')
    table = [(n.tag, n.text, dict(n.attrs)) for n in result.nodes[1:]]
    assert table == [
        ("table", "", {}), ("caption", "Lakes of X", {}), ("tr", "", {}), ("th", "Name", {"scope": "col"}),
        ("th", "Depth", {}), ("tr", "", {}), ("td", "Como", {"rowspan": "2"}), ("td", "410 m", {}), ("tr", "", {}),
        ("td", "deep", {"colspan": "3"}), ("p", "very", {}), ("ul", "", {}), ("li", "and cold", {})]


def test_empty_cells_keep_their_places() -> None:
    assert tree("{|\n|a|| ||c\n|-\n|\n|b\n|}") == ["table", "  tr", "    td a", "    td", "    td c", "  tr",
                                                   "    td", "    td b"]


def test_pipes_in_links_templates_and_attributes_split_nothing() -> None:
    assert tree("{|\n| [[A|b]] || {{lang|fr|c}} || style=x | d || e | f\n|}") == [
        "table", "  tr", "    td b", "    td c", "    td d", "    td f"]


def test_nested_and_indented_tables() -> None:
    assert tree("Before\n:{| \n| a\n{|\n| inner\n|}\nb\n| c\n|}\nafter") == [
        "p Before", "dl", "  dd", "    table", "      tr", "        td a", "          table", "            tr",
        "              td inner", "          p b", "        td c", "p after"]


def test_pipe_templates() -> None:
    assert tree("{{{!}} class=x\n{{!}}-\n! H\n{{!}}-\n{{!}} a {{!}}{{!}} b\n{{!}}}") == [
        "table", "  tr", "    th H", "  tr", "    td a", "    td b"]
    assert tree("{{hidden|1=\n{{{!}}\n{{!}} a\n{{!}}}\n}}") == ["table", "  tr", "    td a"]


def test_html_table() -> None:
    assert tree('<table><caption>C</caption><tr><th colspan="2">H</th></tr>\n<tr><td>a<td>b<ul><li>x</ul></tr>'
                "</table>end") == [
        "table", "  caption C", "  tr", "    th H", "  tr", "    td a", "    td b", "      ul", "        li x",
        "p end"]


def test_heading_in_a_cell_is_a_section_of_that_cell() -> None:
    assert tree("{|\n| x\n== In ==\ny\n| z\n|}\n== Out ==\nw") == [
        "table", "  tr", "    td x", "      section2 In", "        p y", "    td z", "section2 Out", "  p w"]


def test_unclosed_table_loses_no_word() -> None:
    lines = tree("{|\n| a\n|-\n| b || c\ntail")
    assert [line.split()[-1] for line in lines if line.split()[0] in ("td", "p")] == ["a", "b", "tail"] or \
        " ".join(lines).count("tail") == 1
    assert "    td a" in lines


def test_words_outside_of_cells_get_a_cell() -> None:
    assert tree("{|\nlost\n|-\n| a\n|}") == ["table", "  tr", "    td lost", "  tr", "    td a"]


def test_infobox_rows() -> None:
    result = read("{{Infobox lake\n| name = Como\n| image = C.jpg\n| image_size = 200px\n"
                  "| caption = From the [[air]]\n"
                  "| depth_max = {{convert|410|m|ft}}\n| inflow =\n* [[Adda]]\n* Mera\n| empty =\n}}\nLead.")
    assert result.nodes[1].attrs == {"infobox": "Infobox lake"}
    assert [f"{n.tag} {n.text}" for n in result.nodes[1:]] == [
        "table ", "tr ", "th name", "td Como", "tr ", "th caption", "td From the air", "tr ", "th depth max",
        "td 410 metres (1,350 ft)", "tr ", "th inflow", "td ", "ul ", "li Adda", "li Mera", "p Lead."]
    assert result.counts["infobox_pictures"] == 2


def test_infobox_of_another_language_and_inside_a_page() -> None:
    [table, *_] = read("{{Ficha de lago\n| nombre = Como\n| país = Italia\n}}\nEl lago.").nodes[1:]
    assert (table.tag, table.attrs) == ("table", {"infobox": "Ficha de lago"})
    unknown = read("== A ==\n{{Strange data\n| a = 1\n| b = 2\n| c = 3\n}}\n").nodes[2]
    assert (unknown.tag, unknown.attrs) == ("table", {"template": "Strange data"})


def test_nested_infobox_value_with_a_table_or_list_template() -> None:
    lines = tree("{{Infobox x\n| a = {{plainlist|\n* one\n* two\n}}\n| b = {{unbulleted list|three|four}}\n}}")
    assert lines == ["table", "  tr", "    th a", "    td", "      ul", "        li one", "        li two", "  tr",
                     "    th b", "    td", "      ul", "        li three", "        li four"]


def test_wiki_table_with_class_infobox() -> None:
    assert read('{| class="infobox vcard"\n! A\n| b\n|}').nodes[1].attrs == {"infobox": ""}


def cells(text: str) -> list[list[str]]:
    """The first table of a page: tag and text of each cell, row by row."""
    rows: list[list[str]] = []
    for node in read(text).nodes:
        if node.tag == "tr":
            rows.append([])
        elif node.tag in ("th", "td"):
            rows[-1].append(f"{node.tag} {node.text}".rstrip())
    return rows


@pytest.mark.parametrize(("lines", "expected"), [
    ("|-\n|- style=x\n| a", [["td a"]]), ("! a || b !! c\n| d !! e", [["th a", "th b", "th c", "td d !! e"]]),
    ("| a | b | c", [["td b | c"]]), ("| [[a|b]] | c", [["td b | c"]]), ("| | d\n|| e", [["td d", "td e"]]),
    ("| <nowiki>||</nowiki> || b", [["td ||", "td b"]]), ("| <math>a|b</math> | c", [["td c"]]),
    ("|a<ref>x | y || z</ref>|| b", [["td a", "td b"]]), ("|- | a\n| b", [["td b"]]), ("|-----\n| b", [["td b"]]),
    (" | a\n |-\n | b", [["td a"], ["td b"]]),
    ("|a<!-- x -->\n<!-- y -->\n|b\n|-<!-- z -->\n|c", [["td a", "td b"], ["td c"]]),
    ("| http://x.example/?a=b|c", [["td c"]]), ("| [http://x.example z || w]", [["td z", "td w"]]),
    ("! style=x | a !! style=y | b", [["th a", "th b"]]), ("|style=x|'''a'''||''b", [["td a", "td b"]]),
    ("| a ! b\n! c | d", [["td a ! b", "th d"]]), ("!a\nb\n|c", [["th a b", "td c"]]),
    ("{{!}} a {{!}}{{!}} b\n{{!-}}\n! c {{!!}} d", [["td a", "td b"], ["th c", "th d"]]),
    ("<tr><td>a</td></tr>", [["td a"]]), ("| id='[[x]]' | a", [["td id='x' | a"]]),
    ("|a||\n|b", [["td a", "td", "td b"]]),
])
def test_families_of_cells(lines: str, expected: list[list[str]]) -> None:
    assert cells(f"{{|\n{lines}\n|}}") == expected


def test_tables_stand_where_their_lines_say() -> None:
    assert tree(":: {|\n| x\n|}\nafter") == [
        "dl", "  dd", "    dl", "      dd", "        table", "          tr", "            td x", "p after"]
    assert tree(":{|\n|x\n|}\n:{|\n|y\n|}") == [
        "dl", "  dd", "    table", "      tr", "        td x", "  dd", "    table", "      tr", "        td y"]
    assert tree("* a\n{|\n| x\n|} b\n* c") == ["ul", "  li a", "table", "  tr", "    td x", "p b", "ul", "  li c"]
    assert tree("<center>\n{|\n|\n{|\n|x\n|}\n|}\n</center>") == [
        "table", "  tr", "    td", "      table", "        tr", "          td x"]
    assert tree("<table><tr><td>\n{|\n|b\n|}\n</td><td>c</td></tr></table>d") == [
        "table", "  tr", "    td", "      table", "        tr", "          td b", "    td c", "p d"]


def test_blocks_in_cells_and_captions() -> None:
    assert tree("{|\n|+ a\nb\n* c\n|-\n|\n; t : d\n| <poem>x\ny</poem>\n|<gallery>\nf.jpg|g\n</gallery>\n|}") == [
        "table", "  caption a b", "    ul", "      li c", "  tr", "    td", "      dl", "        dt t",
        "        dd d",
        "    td", "      pre x\ny", "    td", "      figure", "        caption g"]
