"""Links, pictures and templates without an end take no heading and no word with them."""

from __future__ import annotations

import pytest
from wikitext_trees import read, tree, words


def test_an_unclosed_link_does_not_reach_a_stray_end_sections_later() -> None:
    assert tree("In 1521 he married Anna of the [[House of Oak|Oak dynasty) and fell at the [[Battle of Elm]].\n\n"
                "== First ==\nText one.\n\n=== Second ===\nText two of ''the Lands|Transland]]'' ends.\n") == [
        "p In 1521 he married Anna of the House of Oak|Oak dynasty) and fell at the Battle of Elm.",
        "section2 First", "  p Text one.", "  section3 Second", "    p Text two of the Lands|Transland ends."]


@pytest.mark.parametrize(("markup", "shown"), [
    ("a [[A|b [[C]] d]] e", "a A|b C d e"), ("[[A|b [[C|c]] d]]", "A|b c d"),
    ("[[A|b {{nowrap|[[C]]}} d]]", "A|b C d"), ("[[a:b|c [[d]] ]] e", "a:b|c d e"),
    ("[[[[A]]]]", "A"),
])
def test_the_label_of_a_link_holds_no_link(markup: str, shown: str) -> None:
    assert words(markup) == shown


def test_captions_hold_links_in_every_language() -> None:
    assert tree("[[File:A.png|thumb|see [[B|C]] and [[D]]]]\n\n[[Datei:X.jpg|mini|Bild [[e]] f]]") == [
        "figure", "  caption see C and D", "figure", "  caption Bild e f"]


def test_a_picture_without_an_end_ends_with_its_line() -> None:
    assert tree("[[File:A.png|thumb|cap [[x]] never closed\n\n== H ==\nText ]] more.\n") == [
        "figure", "  caption cap x never closed", "section2 H", "  p Text more."]


def test_a_template_in_a_line_does_not_reach_over_a_heading() -> None:
    assert tree("A {{nowrap|never closed\n\n== H ==\nText }} more {{nowrap|x}}.\n") == [
        "p A nowrap|never closed", "section2 H", "  p Text more x."]


def test_a_template_that_opens_on_its_own_line_may_hold_sections() -> None:
    assert tree("{{Hidden|title\n|\n== H ==\nText\n}}\n") == ["p title", "section2 H", "  p Text"]


@pytest.mark.parametrize(("markup", "shown"), [
    ("{{nowrap|see [[Ink|black}}}]] end}} tail.", "see black}}} end tail."),
    ("{{nowrap|see [[Ink}}|black]] end}} tail.", "see black end tail."),
    ("{{nowrap|[[Ink|{{lang|fr|noir}}]] end}} tail.", "noir end tail."),
])
def test_braces_inside_a_link_inside_a_template_are_words(markup: str, shown: str) -> None:
    assert words(markup) == shown


def test_a_pipe_behind_an_unclosed_link_ends_no_attributes_of_its_cell() -> None:
    assert tree("{|\n| a [[b|c [[d]] e || f\n|}\n") == ["table", "  tr", "    td a b|c d e", "    td f"]


def test_a_table_that_a_parameter_leaves_open_ends_with_it() -> None:
    read("{{box|<tr>\n{||\n{|\n}}")
    assert tree("{{box|a=1|b=\n{|\n| x\n|c=3}}")[-1] == "    td 3"
