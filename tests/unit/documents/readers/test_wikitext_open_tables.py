"""Tables that templates open, close or fill, and tables that nothing closes."""

from __future__ import annotations

import pytest
from wikitext_trees import read, tree

from pipelines.documents.readers.siteinfo import SiteInfo

TABLE = '{| class="wikitable"\n! Year !! Prize\n|-\n| 1988 || Silver\n'
ROWS = ["table", "  tr", "    th Year", "    th Prize", "  tr", "    td 1988", "    td Silver"]
LEGACY = ["section2 Legacy", "  p The band broke up in 1990."]


@pytest.mark.parametrize(("end", "language"), [
    ("{{end}}", "en"), ("{{table end}}", "en"), ("{{s-end}}", "en"), ("{{Table_End}}", "en"), ("{{конец}}", "ru"),
    ("{{cuối}}", "vi"), ("{{fin}}", "fr"), ("|}", "en"),
])
def test_a_template_closes_the_table_of_the_page(end: str, language: str) -> None:
    shown = tree(f"{TABLE}{end}\n\n== Legacy ==\nThe band broke up in 1990.\n", SiteInfo.unknown(language))
    assert shown == ROWS + LEGACY


def test_a_table_that_nothing_closes_ends_before_the_next_heading() -> None:
    result = read(f"{TABLE}\n== Legacy ==\nThe band broke up in 1990.\n")
    assert result.counts == {"unclosed_tables": 1}
    assert tree(f"{TABLE}\n== Legacy ==\nThe band broke up in 1990.\n") == ROWS + LEGACY
    assert tree(f"<table><tr><td>{TABLE}\n== Legacy ==\nThe band broke up in 1990.\n")[-2:] == LEGACY
    assert tree("{|\n|- style=x\n== H ==\nx") == ["section2 H", "  p x"]


def test_a_heading_in_a_table_that_is_closed_stays_in_its_cell() -> None:
    assert tree(f"{TABLE}|-\n| a\n== In ==\ntext\n|}}\nafter")[len(ROWS):] == [
        "  tr", "    td a", "      section2 In", "        p text", "p after"]
    assert tree(f"{TABLE}{TABLE}|}}\n== Legacy ==\nThe band broke up in 1990.\n")[-2:] == LEGACY


def test_the_end_of_a_succession_box_closes_no_other_table() -> None:
    assert tree(f"{TABLE}{{{{s-start}}}}\n{{{{s-bef|before=x}}}}\n{{{{s-end}}}}\n|-\n| a\n|}}\nb") == [
        *ROWS, "  tr", "    td a", "p b"]


def test_html_tables_in_cells_end_with_the_cells() -> None:
    assert tree("{|\n| a <table><tr><td>b\n|-\n| c\n|}\nafter") == [
        "table", "  tr", "    td a", "      table", "        tr", "          td b", "  tr", "    td c", "p after"]
    assert tree("<table><tr><td>a\n|}\nafter") == ["table", "  tr", "    td a", "p after"]


def test_templates_on_the_line_that_opens_a_table_bring_rows() -> None:
    assert tree("{|{{Infobox aircraft begin\n |name = Airbus A300\n}}{{Infobox aircraft type\n"
                " |type = [[Wide-body aircraft|Wide-body airliner]]\n}}\n|}\nThe A300 is a plane.\n") == [
        "table", "  tr", "    th name", "    td Airbus A300", "  tr", "    th type", "    td Wide-body airliner",
        "p The A300 is a plane."]
    assert tree("{| {{table style|width=3}}\n|- {{row style|color=red}}\n| a\n|}") == ["table", "  tr", "    td a"]


def test_colours_sizes_and_styles_are_no_facts() -> None:
    assert tree("{{Some thing|a=1|background=#000|width=20px|b=2|c=text-align: left|d=45%}}") == [
        "table", "  tr", "    th a", "    td 1", "  tr", "    th b", "    td 2", "  tr", "    th d", "    td 45%"]


def test_a_caption_keeps_its_table_and_all_its_lines() -> None:
    assert tree('[[File:Map.png|thumb|Legend:\n{| class="wikitable"\n| red || [[Oak|oaks]]\n|-\n| blue || [[Elm]]s'
                "\n|}\nof the park]]\nThe park is big.\n") == [
        "figure", "  caption Legend:", "    table", "      tr", "        td red", "        td oaks", "      tr",
        "        td blue", "        td Elms", "    p of the park", "p The park is big."]
    assert tree("{|\n| [[File:M.png|thumb|Zones\n{|\n| One\n|}]] || b\n|}") == [
        "table", "  tr", "    td", "      figure", "        caption Zones", "          table", "            tr",
        "              td One", "    td b"]
    assert tree("{|\n|+\ncaption line 1\ncaption line 2\n|-\n| a\n|}\n\n{|\n|+ cap || cell\n|}\n") == [
        "table", "  caption caption line 1 caption line 2", "  tr", "    td a", "table", "  caption cap cell"]


def test_episodes_are_rows_under_readable_headings() -> None:
    assert tree("{{Episode table |background=#000 |overall=5 |title=20 |airdate=15 |episodes=\n{{Episode list\n"
                " |EpisodeNumber = 1\n |Title = The Owl\n |OriginalAirDate = {{Start date|2013|2|28}}\n"
                " |ShortSummary = Ann helps a shop.\n}}\n{{Episode list|EpisodeNumber=2|Title=The Elm}}\n}}\n") == [
        "table", "  tr", "    th No. overall", "    th Title", "    th Original air date", "  tr", "    td 1",
        "    td The Owl", "    td February 28, 2013", "    td Ann helps a shop.", "  tr", "    td 2",
        "    td The Elm", "    td"]
    assert tree("{{Episode list|EpisodeNumber=1|Title=A}}\nb") == ["table", "  tr", "    td 1", "    td A", "p b"]
