"""Templates: the words they make, the blocks they make, and what becomes of unknown ones."""

from __future__ import annotations

import pytest
from wikitext_trees import ENGLISH, read, spans, tree, words

from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.template_names import ALIASES, rule_of
from pipelines.documents.readers.template_table import HANDLERS


@pytest.mark.parametrize(("call", "shown"), [
    ("{{convert|93|m|ft}}", "93 m"), ("{{convert|5|to|10|km|mi}}", "5 to 10 km"), ("{{cvt|2|sqmi}}", "2 sq mi"),
    ("{{convert|12345|ft|m|abbr=on}}", "12,345 ft"), ("{{convert|5|by|7|m}}", "5 by 7 m"),
    ("{{nowrap|very steep}}", "very steep"), ("{{lang|fr|Bonjour}}", "Bonjour"), ("{{small|x}}", "x"),
    ("{{lang-de|See}}", "German: See"), ("{{langx|de|See}}", "German: See"), ("{{transl|ru|ozero}}", "ozero"),
    ("{{frac|1|2}}", "1⁄2"), ("{{frac|3|1|4}}", "3 1⁄4"), ("{{frac|8}}", "1⁄8"),
    ("{{birth date|1931|5|7}}", "May 7, 1931"), ("{{start date|1999|12|df=y}}", "December 1999"),
    ("{{death date and age|2001|2|3|1931|5|7|df=yes}}", "3 February 2001"), ("{{circa|1850}}", "c. 1850"),
    ("{{IPA|/leɪk/}}", "/leɪk/"), ("{{IPAc-en|ˈ|l|eɪ|k}}", "/ˈleɪk/"), ("{{respell|LAYK}}", "LAYK"),
    ("{{formatnum:1234567}}", "1,234,567"), ("{{val|3.5|u=km}}", "3.5 km"), ("{{abbr|Dr.|Doctor}}", "Dr."),
    ("{{flag|Italy}}", "Italy"), ("{{ITA}}", "Italy"), ("{{hlist|a|b}}", "a · b"), ("{{ndash}}", "–"),
    ("{{coord|45|27|N|9|11|E|display=inline}}", "45°27′N 9°11′E"), ("{{as of|2010}}", "As of 2010"),
    ("{{ill|Como|it|Como}}", "Como"), ("{{nihongo|Lake|湖|mizuumi}}", "Lake (湖, mizuumi)"),
    ("{{chem|H|2|O}}", "H2O"), ("{{uc:abc}}", "ABC"), ("{{PAGENAME}}", "T"), ("{{Template:Nowrap|x}}", "x"),
    ("{{color|red|warm}}", "warm"), ("{{sort|02|two}}", "two"), ("{{nowrap|[[a]] {{small|b}}}}", "a b"),
    ("{{cite book|last=Po|first=Li|year=1990|title=Lakes|publisher=Blue}}", "Po, Li (1990). Lakes. Blue."),
    ("{{url|example.org}}", "example.org"), ("{{ISBN|978-3}}", "ISBN 978-3"), ("{{percentage|1|4}}", "25%"),
])
def test_words_of_a_template(call: str, shown: str) -> None:
    assert words(f"X {call} Y") == f"X {shown} Y"


@pytest.mark.parametrize(("language", "text", "shown"), [
    ("vi", "Hồ {{cvt|5|km}}{{cần chú thích}} sâu.", "Hồ 5 km sâu."),
    ("ru", "Озеро{{нет АИ}} {{s|5 км}}.", "Озеро 5 км."),
    ("fr", "Le lac {{unité|5|km}}{{référence nécessaire}}.", "Le lac 5 km."),
    ("de", "Der See {{lang|it|lago}}.", "Der See lago."),
    ("hy", "Լիճ{{փաստ}}։", "Լիճ։"),
])
def test_templates_of_other_languages(language: str, text: str, shown: str) -> None:
    assert words(text, SiteInfo.unknown(language)) == shown


def test_unknown_template_in_a_sentence_is_a_marked_hole() -> None:
    result = read("The {{zzz unknown|a|b=c}} lake {{zzz one|deep}}.")
    [paragraph] = result.nodes[1:]
    assert paragraph.text == "The lake deep."
    assert [(s.kind, paragraph.text[s.begin:s.end], s.target) for s in paragraph.spans] == [
        ("template", "", "zzz unknown"), ("template", "deep", "zzz one")]
    assert result.counts == {"unhandled_template:zzz unknown": 1, "unhandled_template:zzz one": 1}


def test_quotation_templates() -> None:
    assert tree("{{quote|Water is ''all''.\n\nIt flows.|Thales|Fragments}}\nx") == [
        "blockquote", "  p Water is all.", "  p It flows.", "  p — Thales, Fragments", "p x"]
    assert tree("{{poemquote|Sea\nand land}}") == ["pre Sea\nand land"]


def test_wrappers_are_transparent() -> None:
    assert tree("{{div col}}\n* a\n* b\n{{div col end}}\n{{columns-list|\n* c\n* d}}") == [
        "ul", "  li a", "  li b", "ul", "  li c", "  li d"]


def test_list_templates_and_picture_templates() -> None:
    assert tree("{{ordered list|a|b}}") == ["ol", "  li a", "  li b"]
    assert tree("{{multiple image|image1=A.jpg|caption1=One|image2=B.jpg|caption2=Two}}\nx") == [
        "figure", "  caption One", "figure", "  caption Two", "p x"]


def test_template_arguments_show_their_default() -> None:
    assert words("a {{{1|b}}} c {{{2}}} d") == "a b c d"


def test_emphasis_and_links_go_through_templates() -> None:
    assert spans("{{nowrap|''a'' [[b|c]]}}") == [("emphasis", "a", None), ("link", "c", "b")]


@pytest.mark.parametrize("name", ["Disambiguation", "hndis", "Begriffsklärung", "Неоднозначность",
                                  "Homonymie", "曖昧さ回避", "Trang định hướng"])
def test_disambiguation_is_flagged_and_parsed(name: str) -> None:
    result = read(f"'''Como''' may be:\n* [[Como (lake)]]\n{{{{{name}}}}}")
    assert result.status == "disambiguation"
    assert [node.text for node in result.nodes[1:]] == ["Como may be:", "", "Como (lake)"]


def test_tables_of_names_are_sound() -> None:
    assert all(name == name.lower() for name in ALIASES)
    assert not [name for name in ALIASES if ALIASES[name] in ALIASES and ALIASES[ALIASES[name]] != ALIASES[name]]
    assert rule_of("sfn") == "references"
    assert rule_of("convert") is None
    assert not [name for name in HANDLERS if rule_of(name)]


def test_site_is_not_needed_for_names() -> None:
    assert ENGLISH.namespace_of("Template:X") == (10, "X")


@pytest.mark.parametrize(("language", "shown"), [
    ("en", "May 7, 1931"), ("de", "7 Mai 1931"), ("uk", "7 травня 1931"), ("vi", "7 tháng 5 năm 1931"),
    ("ka", "1931-05-07"), ("", "May 7, 1931"), ("simple", "May 7, 1931"),
])
def test_dates_are_written_in_the_language(language: str, shown: str) -> None:
    assert words("{{birth date|1931|5|7}}", SiteInfo.unknown(language)) == shown
