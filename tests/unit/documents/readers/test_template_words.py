"""What is kept of templates that nobody knows, of redirects, and of templates that are called after a language."""

from __future__ import annotations

import pytest
from wikitext_trees import read, spans, tree, words

from pipelines.documents.readers.siteinfo import SiteInfo


@pytest.mark.parametrize(("call", "shown"), [
    ("{{Lbc|C2|C3}}", "C2, C3"),
    ("{{Foo thing|en|Some words|size=20px|title=A title here|3}}", "Some words, A title here"),
    ("{{foo|[[A b|see this]]|https://a.example/x|Map.png|left|#ff0000}}", "see this"),
    ("{{foo|山|川}}", "山, 川"), ("{{foo|1999|5|7}}", ""),
    ("{{foo|url=https://a.example|accessdate=May 5, 2011|id=x y}}", ""),
])
def test_an_unknown_template_keeps_what_reads_as_words(call: str, shown: str) -> None:
    assert words(f"X {call} Y") == " ".join(f"X {shown} Y".split())
    marked = [span for span in spans(f"X {call} Y") if span[0] == "template"]
    assert [words_ for _, words_, _ in marked] == [shown]


@pytest.mark.parametrize("name", ["flat list", "Flat_List", "flat-list", "flatlist"])
def test_names_that_differ_in_spaces_and_hyphens_are_one(name: str) -> None:
    assert tree(f"{{{{{name} |\n*Ann Lee\n*Ian Poe\n}}}}\n") == ["ul", "  li Ann Lee", "  li Ian Poe"]


def test_list_templates_in_cells_push_nothing_to_other_columns() -> None:
    assert tree("{|\n| {{unbulleted list|A1}}\n| {{unbulleted list|B1|B2}}\n"
                "| {{ubl|{{Lbb|C1}}|{{nowrap|{{Lbc|C2|C3}}}}}}\n| {{unbulleted list|[[D1]],|[[D2]]}}\n|}") == [
        "table", "  tr", "    td", "      ul", "        li A1", "    td", "      ul", "        li B1",
        "        li B2",
        "    td", "      ul", "        li C1", "        li C2, C3", "    td", "      ul", "        li D1,",
        "        li D2"]


@pytest.mark.parametrize(("language", "markup", "shown"), [
    ("fr", "L{{'}}{{arabe|'''Arabie'''<ref>x</ref>|العربيّة|al-ʿarabiyya}} est un pays.",
     "L'Arabie (en arabe : العربيّة, al-ʿarabiyya) est un pays."),
    ("zh", "比利时，{{kor|한국|韓國}}，简称比。", "比利时，朝鮮語：한국, 韓國，简称比。"),
    ("pt", "O {{Japonês|'''X'''|日本}} e {{japonês|日本}}.", "O X (em japonês: 日本) e em japonês: 日本."),
    ("es", "La {{inglés|Big Apple}} es", "La en inglés: Big Apple es"),
    ("ru", "Город {{нем|Ulm}} есть", "Город нем. Ulm есть"),
    ("en", "The {{nihongo|'''League'''|女子リーグ|lead=yes|extra=''Joshi Rīgu''}} is a league.",
     "The League (Japanese: 女子リーグ, Joshi Rīgu) is a league."),
    ("en", "{{nihongo|A|女|Ro|extra|extra2}}", "A (女, Ro, extra) extra2"),
])
def test_templates_called_after_a_language(language: str, markup: str, shown: str) -> None:
    assert words(markup, SiteInfo.unknown(language)) == shown


@pytest.mark.parametrize(("markup", "shown"), [
    ("20:18 UTC ({{age|1969|07|20}} years ago). Then", "20:18 UTC (… years ago). Then"),
    ("$5 (${{inflation|US|5|1929}} in dollars)", "$5 ($… in dollars)"),
    ("A ({{unk}}) b ({{unk}}, c) d {{unk}}, e ( ) f", "A b (c) d, e ( ) f"),
    ("{{Fossil range|5|0}}<small>Early [[Pliocene]] – Recent</small>", "5–0 Ma Early Pliocene – Recent"),
    ("{{Fossil range|Miocene|Recent}}", "Miocene – Recent"),
])
def test_a_template_without_words_leaves_no_empty_brackets(markup: str, shown: str) -> None:
    assert words(markup) == shown


def test_a_row_of_an_infobox_on_the_line_of_another_is_a_row_of_its_own() -> None:
    rows = tree('{{Infobox song\n|B-side="Wake" (7")<br/>"Way" (12")| released = 1989\n}}\n')
    assert rows[-3:] == ["  tr", "    th released", "    td 1989"]
    assert read("{{flat list|\n* A\n}}").counts == {}


@pytest.mark.parametrize(("language", "call", "shown"), [
    ("de", "{{geburtsdatum|7|5|1931}}", "7. Mai 1931"),
    ("tr", "{{doğum tarihi xyz|1931|5|7}}", "7 Mayıs 1931"),
    ("en", "{{some date of death|May|7|1931}}", "May 7, 1931"),
    ("en", "{{strange birth date|1931|5|7|df=y}}", "7 May 1931"),
    ("fr", "{{âge depuis|1969|7|20}}", ""),
])
def test_templates_called_after_a_date(language: str, call: str, shown: str) -> None:
    assert words(f"X {call} Y", SiteInfo.unknown(language)) == " ".join(f"X {shown} Y".split())
