"""Words of a block: links, emphasis, code, math, entities, and what goes by a rule."""

from __future__ import annotations

import pytest
from wikitext_trees import ENGLISH, read, spans, tree, words

from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.residue import find_node_residue, find_residue


def test_link_text_and_target() -> None:
    assert words("A [[lake]], two [[lake|lakes]], [[Lake|''big'' ones]]s.") == "A lake, two lakes, big oness."
    assert spans("A [[lake]], two [[Deep_lake#Size|lakes]].") == [
        ("link", "lake", "lake"), ("link", "lakes", "Deep lake#Size")]


def test_pipe_trick_and_colon_links() -> None:
    assert words("[[Como (lake)|]] [[:Category:Lakes]] [[wikt:lake|lake]]") == "Como Category:Lakes lake"


def test_external_links() -> None:
    assert words("See [http://a.example/x?y=1&z=2 the site] or https://b.example/q. [http://c.example]") == \
        "See the site or https://b.example/q."
    assert spans("See [http://a.example/x?y=1&z=2 the site].") == [
        ("link", "the site", "http://a.example/x?y=1&z=2")]


@pytest.mark.parametrize(("text", "expected"), [
    ("''a'' b", [("emphasis", "a", None)]),
    ("'''a''' b", [("strong", "a", None)]),
    ("'''''a''' b''", [("emphasis", "a b", None), ("strong", "a", None)]),
    ("''open end", [("emphasis", "open end", None)]),
    ("<b>a</b> <i>b</i> <code>c</code>", [("strong", "a", None), ("emphasis", "b", None), ("code", "c", None)]),
])
def test_emphasis(text: str, expected: list[tuple[str, str, None]]) -> None:
    assert sorted(spans(text)) == sorted(expected)


def test_quotes_end_with_their_line_and_apostrophes_stay() -> None:
    assert words("L'''amour'' et ''l'eau''") == "L'amour et l'eau"
    assert spans("''a\nb") == [("emphasis", "a", None)]


def test_math_keeps_its_tex() -> None:
    assert words("Energy <math>E = m c^2</math> holds, <chem>H2O</chem> flows.") == \
        r"Energy E = m c^2 holds, \ce{H2O} flows."
    assert spans("So <math>a < b</math>.") == [("math", "a < b", None)]


def test_nowiki_and_inline_code_are_literal() -> None:
    assert words("Type <nowiki>[[x]] ''y'' &lt;</nowiki>.") == "Type [[x]] ''y'' <."
    assert spans('Call <syntaxhighlight lang="c" inline>f(x)</syntaxhighlight>.') == [("code", "f(x)", None)]


def test_entities() -> None:
    assert words("5&nbsp;km &amp; &lt;b&gt; &#8211; &#x3b1; &eacute;") == "5 km & <b> – α é"
    assert words("AT&T &bogus;") == "AT&T &bogus;"
    assert words("a &amp;nbsp; b") == "a b"


def test_sub_and_superscript_are_spans() -> None:
    assert words("H<sub>2</sub>O, 10<sup>6</sup>") == "H₂O, 10⁶"
    assert spans("10<sup>6</sup>") == [("sup", "⁶", None)]


def test_transparent_tags_leave_their_words() -> None:
    assert words('<span style="x">a</span> <small>b</small> <font color="red">c</font> <u>d</u>') == "a b c d"
    assert words("1 < 2 and <unknown> stays") == "1 < 2 and <unknown> stays"


def test_spaces_are_one_and_spans_move_with_them() -> None:
    assert words("a  b <ref>x</ref> c\u00a0 d") == "a b c d"
    assert spans("<ref>x</ref>  ''a <ref>x</ref> b'' ") == [("emphasis", "a b", None)]


@pytest.mark.parametrize(("text", "rule"), [
    ("a<ref>note</ref>", "references"), ("a<ref name=x />", "references"), ("a{{sfn|B|2000}}", "references"),
    ("a<references />", "references"), ("a[[Category:Lakes]]", "categories"), ("a[[de:Seen]]", "language_links"),
    ("a<!-- hidden -->", "comments"), ("a __NOTOC__", "magic_words"), ("a{{DEFAULTSORT:B}}", "magic_words"),
    ("a{{citation needed|date=May 2010}}", "maintenance"), ("{{Main|Lake}}\na", "navigation"),
    ("a\n{{Navbox lakes}}", "navigation"), ("{{Lake topics}}\na", "navigation"), ("a{{flagicon|IT}}", "layout"),
    ("a<gallery>x.jpg</gallery>", None), ("a<timeline>x</timeline>", "graphics"),
])
def test_what_goes_goes_by_a_named_rule(text: str, rule: str | None) -> None:
    result = read(text)
    assert [node.text for node in result.nodes[1:]] == ["a"]
    if rule:
        assert result.counts[rule] == 1


def test_namespaces_of_the_dump_and_of_other_languages() -> None:
    armenian = SiteInfo("hywiki", "hy", "", {"Պատկեր": 6, "Կատեգորիա": 14, "File": 6, "Category": 14})
    text = "[[Պատկեր:Լիճ.jpg|մինի|Լիճը]]\nՋուր։\n[[Կատեգորիա:Լճեր]] [[Category:X]] [[ru:Озеро]]"
    assert tree(text, armenian) == ["figure", "  caption Լիճը", "p Ջուր։"]
    assert tree("[[Datei:See.jpg|mini|Ein See]] Water.", ENGLISH) == ["figure", "  caption Ein See", "p Water."]
    assert tree("[[Tập tin:Hồ.jpg|nhỏ|phải|Một cái hồ]]\nNước.", SiteInfo.unknown("vi")) == [
        "figure", "  caption Một cái hồ", "p Nước."]


def test_footnotes_without_an_end() -> None:
    result = read("It rained.<ref>Almanac, p. 3\n\n== Air ==\nDry.<ref>Other</ref>\n\n== Soil ==\nClay.\n")
    assert [node.text for node in result.nodes[1:]] == ["It rained.", "Air", "Dry.", "Soil", "Clay."]
    assert result.counts == {"references": 2, "unclosed_references": 1}


def test_control_characters_are_removed_and_counted() -> None:
    result = read("alpha\x00beta\x07 c\r\n\r\nd")
    assert [node.text for node in result.nodes[1:]] == ["alphabeta c", "d"]
    assert result.counts == {"nul_characters": 1, "control_characters": 1}


def test_stray_braces_leave_no_markup() -> None:
    result = read("a {{b|c ]] d [[e }} f {{{x|y}}} g")
    text = " ".join(node.text for node in result.nodes[1:])
    assert not set("{}[]") & set(text)
    for word in "adefyg":
        assert word in text


def test_links_to_media_show_their_words() -> None:
    assert words("Listen: [[Media:Heron.ogg|its call]] or [[Media:Heron.ogg]].") == \
        "Listen: its call or Media:Heron.ogg."


def test_words_in_double_underscores_go_in_any_language_but_not_code() -> None:
    text = ("a __NOTOC__ __KEIN_INHALTSVERZEICHNIS__ __БЕЗ_ОГЛАВЛЕНИЯ__ __ללא_תוכן_עניינים__ __विषयसूचीहीन__ "
            "__KHÔNG_MỤC_LỤC__ __无目录__ __목차숨김__ __لا_فهرس__ <code>__FILE__</code> __init__ b__c__d")
    assert words(text) == "a __FILE__ __init__ b__c__d"
    assert read(text).counts["magic_words"] == 9


@pytest.mark.parametrize(("markup", "shown"), [
    ("-{石}-", "石"), ("-{zh-hans:计算机; zh-hant:電腦;}-", "计算机"), ("-{zh-tw:軟體;zh-cn:软件}-", "软件"),
    ("-{A|zh-cn:软件;zh-tw:軟體}-", "软件"), ("-{H|zh-cn:甲;zh-tw:乙}-丙", "丙"), ("-{T|甲}-丙", "丙"),
    ("-{R|a:b}-", "a:b"), ("-{zh-tw;zh-hk|臺}-", "臺"), ("-{12:30}-", "12:30"), ("-{[[甲|乙]]}-", "乙"),
    ("-{-{甲}-乙}-", "甲乙"), ("-{{{nowrap|甲}}}-", "甲"), ("-{H|zh-cn:甲;\nzh-tw:乙}-丙", "丙"),
    ("-{甲", "-{甲"),
])
def test_variants_of_writing(markup: str, shown: str) -> None:
    assert words(markup, SiteInfo.unknown("zh")) == shown


def test_variants_of_writing_are_text_elsewhere() -> None:
    assert words("x<sup>-{a}-</sup> <math>e^{-{a}-b}</math>") == "x⁻{ᵃ}⁻ e^{-{a}-b}"
    assert words("<math>e^{-{a}-b}</math>", SiteInfo.unknown("sr")) == "e^{-{a}-b}"
    assert words("-{San Francisco}-", SiteInfo.unknown("sr")) == "San Francisco"


@pytest.mark.parametrize("option", [
    "rahmenlos", "hochkant=1.2", "100px", "x80px", "néant", "sans cadre", "lien=Lac", "sin_enmarcar", "безрамки",
    "ссылка=", "200пкс", "без", "ללא", "טקסט=א", "بلا", "なし", "代替文=湖", "无框", "프레임없음", "không_khung",
])
def test_layout_of_pictures_is_no_caption(option: str) -> None:
    assert tree(f"[[File:A.jpg|{option}]]\nx") == ["p x"]
    assert tree(f"[[File:A.jpg|thumb|A lake|{option}]]\nx") == ["figure", "  caption A lake", "p x"]


@pytest.mark.parametrize("caption", ["a=b", "Left bank", "none of it", "1 px wide", "без рыбы"])
def test_captions_that_look_like_layout_stay(caption: str) -> None:
    assert tree(f"[[File:A.jpg|thumb|{caption}]]\nx") == ["figure", f"  caption {caption}", "p x"]


@pytest.mark.parametrize(("caption", "expected"), [
    ("Steps\n<source lang=\"text\">\n 1 = 2*0 + 1\n</source>", "Steps 1 = 2*0 + 1"),
    ("Law <math display=\"block\">E = m</math> holds", "Law E = m holds"),
    ("stray }} braces", "stray braces"),
    ("link=https://a.example/x.svg|<center>'''Words'''</center> <nowiki>[x]</nowiki> y|200px", "Words [x] y"),
    ("link=https://a.example/x.svg|{{Dead link|date=3}}[[Lake]] a [[Sea|sea]] b", "Lake a sea b"),
])
def test_captions_keep_the_words_of_blocks_and_tables_in_them(caption: str, expected: str) -> None:
    assert tree(f"[[File:x.jpg|thumb|{caption}]] After") == ["figure", f"  caption {expected}", "p After"]


def test_a_block_in_a_caption_is_marked_as_what_it_is() -> None:
    _, figure, caption, _ = read("[[File:x.jpg|thumb|See <pre>a  b</pre> now]] After").nodes
    assert figure.tag == "figure"
    assert [(span.kind, caption.text[span.begin:span.end]) for span in caption.spans] == [("code", "a b")]


@pytest.mark.parametrize("markup", [
    "Write &lt;ref name=\"x\"&gt; there", "Two &#91;&#91;brackets&#93;&#93; here",
    "Open &#123;&#123;a&#125;&#125; it", "A <nowiki>[[b]]</nowiki> c",
    "Type &#39;&#39;&#39;bold&#39;&#39;&#39; so", "Put &lt;br /&gt; at the end",
])
def test_escaped_markup_that_the_page_shows_is_no_residue(markup: str) -> None:
    [node] = read(markup).nodes[1:]
    assert find_residue(node.text)
    assert find_node_residue(node) == []
