"""Templates: the words they make, the blocks they make, and what becomes of unknown ones."""

from __future__ import annotations

import pytest
from wikitext_trees import ENGLISH, read, spans, tree, words

from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.templates.links import databases
from pipelines.documents.readers.templates.names import RULES, names_of, rule_of, tables
from pipelines.documents.readers.templates.table import BLOCKS, WORDS


@pytest.mark.parametrize(("call", "shown"), [
    ("{{nowrap|very steep}}", "very steep"), ("{{lang|fr|Bonjour}}", "Bonjour"), ("{{small|x}}", "x"),
    ("{{lang-de|See}}", "German: See"), ("{{langx|de|See}}", "German: See"), ("{{transl|ru|ozero}}", "ozero"),
    ("{{langx|ru|озеро|ozero}}", "Russian: озеро, ozero"), ("{{langx|de|See|label=none}}", "See"),
    ("{{IPA|/leɪk/}}", "/leɪk/"), ("{{IPA|fr|lak}}", "French pronunciation: [lak]"),
    ("{{IPA-fr|lak|lang}}", "French: [lak]"), ("{{IPA-fr|lak|}}", "[lak]"),
    ("{{IPA-es|lak|local}}", "locally [lak]"), ("{{IPAblink|a}}", "[a]"), ("{{lit|lake}}", "lit. 'lake'"),
    ("{{sic}}", "[sic]"), ("{{etymology|la|albedo|white}}", "Latin albedo 'white'"), ("{{rtl-lang|ar|x}}", "x"),
    ("{{longitem|line-height:1em|x}}", "x"), ("{{lang2|bs|hr|x}}", "x"), ("{{IPAc-en|ˈ|l|eɪ|k}}", "/ˈleɪk/"),
    ("{{respell|LAYK}}", "LAYK"), ("{{abbr|Dr.|Doctor}}", "Dr."), ("{{angbr|k}}", "⟨k⟩"),
    ("{{ref-ru}}", "(Russian)"), ("{{nihongo|Lake|湖|mizuumi}}", "Lake (湖, mizuumi)"),
    ("{{color|red|warm}}", "warm"), ("{{nowrap|[[a]] {{small|b}}}}", "a b"), ("{{tooltip|x|long}}", "x"),
    # Numbers
    ("{{formatnum:1234567}}", "1,234,567"), ("{{formatnum: 8779}}", "8,779"), ("{{formatnum:999}}", "999"),
    ("{{formatnum:8,779|R}}", "8779"), ("{{val|3.5|u=km}}", "3.5 km"), ("{{val|12345.6}}", "12345.6"),
    ("{{val|12345|fmt=commas}}", "12,345"), ("{{val|3.5|0.2|e=18|u=km}}", "(3.5±0.2)×10¹⁸ km"),
    ("{{val|5|u=%}}", "5%"), ("{{frac|1|2}}", "1⁄2"), ("{{frac|3|1|4}}", "3 1⁄4"), ("{{frac|8}}", "1⁄8"),
    ("{{sfrac|1|2}}", "1⁄2"), ("{{percentage|1|4}}", "25%"), ("{{percentage|2|3|1}}", "66.7%"),
    ("{{ordinal|129}}", "129th"), ("{{ordinal|12}}", "12th"), ("{{chem|H|2|O}}", "H₂O"), ("{{e|5}}", "×10⁵"),
    ("{{chem2|H2SO4}}", "H₂SO₄"), ("{{chem|SO|4|2-}}", "SO₄²⁻"), ("{{chem|4|He}}", "⁴He"),
    ("{{US$|2 billion}}", "US$2 billion"), ("{{RA|5|6|7}}", "5h 6m 7s"),
    ("{{bartable|78||2||background:x}}", "78"), ("{{bartable|5|%|2}}", "5%"),
    ("{{pop density|3645257|640081.87|km2|sqmi|prec=1}}", "5.7/km²"), ("{{duration|3|26}}", "3:26"),
    # Dates
    ("{{birth date|1931|5|7}}", "May 7, 1931"), ("{{start date|1999|12|df=y}}", "December 1999"),
    ("{{birth date and age|1931|5|7|df=yes}}", "7 May 1931"), ("{{birth-date|7 May 1931}}", "7 May 1931"),
    ("{{death date and age|2001|2|3|1931|5|7|df=yes}}", "3 February 2001 (aged 69)"),
    ("{{death date and age|2001|5|7|1931|5|7}}", "May 7, 2001 (aged 70)"),
    ("{{death year and age|2001|1931}}", "2001 (aged 69–70)"), ("{{circa|1850}}", "c. 1850"),
    ("{{reign|1850|1860}}", "r. 1850–1860"), ("{{as of|2010}}", "As of 2010"),
    ("{{as of|2010|5|lc=y}}", "as of May 2010"), ("{{dts|1999|May|7}}", "May 7, 1999"),
    ("{{dts|1999-05-07}}", "May 7, 1999"), ("{{date|2001-02-03}}", "February 3, 2001"),
    ("{{age|1969|7|20|2000|1|1}}", "30"), ("{{age in days|2000|1|1|2000|3|1}}", "60 days"),
    ("{{age in years, months and days|1775|04|19|1783|09|03}}", "8 years, 4 months and 15 days"),
    ("{{OldStyleDate|7 May|1931|24 April}}", "7 May [O.S. 24 April] 1931"),
    ("{{marriage|Ann|1950|1960|end=div}}", "Ann (m. 1950; div. 1960)"),
    ("{{marriage|Ann|1950|1960}}", "Ann (m. 1950–1960)"),
    # Places, links, signs, functions
    ("{{flag|Italy}}", "Italy"), ("{{ITA}}", "Italy"), ("{{flag|ITA}}", "Italy"), ("{{flagicon|ITA}} x", "x"),
    ("{{ITA|Italian team}}", "Italian team"), ("{{ill|de|Gotha|Gotha|School}}", "Gotha"),
    ("{{map caption|location color=red|region=Asia}}", "Location of T (red) in Asia"),
    ("{{coord|45|27|N|9|11|E|display=inline}}", "45°27′N 9°11′E"), ("{{coord|-33.5|151.25}}", "33.5°S 151.25°E"),
    ("{{coord|45|27|N|9|11|E|display=title}} x", "x"), ("{{HMS|Ajax|22|6}}", "HMS Ajax"),
    ("{{ill|Como|it|Como}}", "Como"), ("{{ill|Como|it|Como|lt=lake}}", "lake"), ("{{sortname|Li|Po}}", "Li Po"),
    ("{{section link|A|B}}", "A § B"), ("{{section link||B}}", "§ B"), ("{{url|example.org}}", "example.org"),
    ("{{official website|http://a.example}}", "Official website"), ("{{ISBN|978-3}}", "ISBN 978-3"),
    ("{{YouTube|id|Title}}", "Title on YouTube"), ("{{IMDb name|0709446}}", "T at IMDb"),
    ("{{SEP|altruism|Altruism|Po}}", "Altruism by Po, entry in the Stanford Encyclopedia of Philosophy"),
    ("{{hlist|a|b}}", "a · b"), ("{{ndash}}", "–"), ("{{yes}}", "Yes"), ("{{no|never}}", "never"),
    ("{{sort|02|two}}", "two"), ("{{ntsh|5}} x", "x"), ("{{uc:abc}}", "ABC"), ("{{PAGENAME}}", "T"),
    ("{{Template:Nowrap|x}}", "x"), ("{{#if:x|a|b}}", "a"), ("{{#if:|a|b}}", "b"), ("{{#ifeq:a|b|c|d}}", "d"),
    ("{{#switch:b|a=1|b=2|3}}", "2"), ("{{#switch:z|a=1|3}}", "3"), ("{{#expr:(2+3)*4/3 round 2}}", "6.67"),
    ("{{#expr:1+1}}", "2"), ("{{#expr:-3*2}}", "-6"),
    ("{{unichar|00E9}}", "U+00E9 é LATIN SMALL LETTER E WITH ACUTE"),
])
def test_words_of_a_template(call: str, shown: str) -> None:
    assert words(f"X {call} Y") == f"X {shown} Y"


@pytest.mark.parametrize("call", ["{{inflation|US|5|1929}}", "{{age|1969|7|20}}", "{{CURRENTYEAR}}",
                                  "{{#invoke:X|main}}", "{{#expr:1/0}}", "{{#expr:2^^x}}"])
def test_what_changes_or_cannot_be_known_is_left_out_and_counted(call: str) -> None:
    result = read(f"X {call} Y")
    assert result.nodes[1].text == "X Y"
    assert result.counts.keys() <= {"current_values", "magic_words"}
    assert sum(result.counts.values()) == 1


@pytest.mark.parametrize("text", ["{{DEFAULTSORT:x}}", "{{ترتيب افتراضي:نور}}", "{{КЛЮЧ_СОРТИРОВКИ:x}}",
                                  "{{SORTIERUNG:x}}", "{{CLEFDETRI:x}}", "{{xếp mặc định:x}}"])
def test_keys_to_sort_by_are_not_shown(text: str) -> None:
    assert read(f"X {text} Y").counts == {"magic_words": 1}


def test_an_age_up_to_today_is_counted_beside_the_date() -> None:
    assert read("{{birth date and age|1931|5|7}}").counts == {"current_values": 1}


@pytest.mark.parametrize(("call", "shown"), [
    ("{{cite book|last=Po|first=Li|year=1990|title=Lakes|publisher=Blue}}", "Po, Li (1990). Lakes. Blue."),
    ("{{cite journal|last=Po|first=Li|last2=Xi|first2=Yo|title=T|journal=J|volume=5|issue=3|pages=1–9|year=1990"
     "|doi=10.1/x}}", 'Po, Li; Xi, Yo (1990). "T". J. 5 (3): 1–9. doi:10.1/x.'),
    ("{{cite web|title=W|url=http://a.example|website=S|date=5 May 2010|access-date=1 June 2011}}",
     '"W". S. 5 May 2010. Retrieved 1 June 2011.'),
    ("{{cite book|author=Po|chapter=C|title=B|editor=Xi|page=7|isbn=1}}", 'Po. "C". In Xi (ed.). B. p. 7. ISBN 1.'),
    ("{{cite journal|vauthors=Po L, Xi Y|display-authors=etal|title=T|journal=J|issue=3}}",
     'Po L, Xi Y et al. "T". J. (3).'),
    ("{{Homebrew source|author=Po|title=Lakes}}", "Po. Lakes."),
])
def test_citations_outside_of_footnotes(call: str, shown: str) -> None:
    assert tree(f"* {call}") == ["ul", f"  li {shown}"]


@pytest.mark.parametrize(("language", "text", "shown"), [
    ("vi", "{{Tính đến|2018|1|20}}: {{As of|2011|lc=y}}", "Tính đến 20 tháng 1 năm 2018: tính đến năm 2011"),
    ("hy", "{{SortKey|a|b}} {{lang-zh|中国}}", "b չին․՝ 中国"), ("vi", "{{zh|c=哀牢|p=Āiláo}}", "哀牢, Āiláo"),
    ("vi", "Hồ {{cvt|5|km}}{{cần chú thích}} sâu.", "Hồ 5 km (3,1 mi) sâu."),
    ("ru", "Озеро{{нет АИ}} {{s|5 км}}, {{lang-de|See}}, {{ref-en}}.", "Озеро 5 км, нем. See, (англ.)."),
    ("ru", "{{нп5|A|b|en|C}}, {{дата|7|5|1931}}, {{число|1200}}, {{число|12000}}", "b, 7 мая 1931, 1200, 12 000"),
    ("fr", "Le lac {{unité|5|km}} {{référence nécessaire|bleu}}.", "Le lac 5 km bleu."),
    ("fr", "{{citation|si lente}}, {{s-|XII}}, {{-s|V}}, {{s2-|XI|XII}}, {{XIXe siècle}}, XIX{{e}}",
     "« si lente », XIIᵉ siècle, Vᵉ siècle av. J.-C., XIᵉ et XIIᵉ siècles, XIXᵉ siècle, XIXᵉ"),
    ("fr", "{{date|7|mai|1931}}, {{nb|12345}}, {{1er}}, {{lien|langue=en|trad=A|fr=B|texte=c}}",
     "7 mai 1931, 12 345, 1er, c"),
    ("es", "{{unidad|728|m}}, {{siglo|XIX||s}}, {{fecha|7|5|1931}}", "728 m, siglo XIX, 7 de mayo de 1931"),
    ("it", "Il lago{{s|geografia}} {{M|5|km}}{{F|x}}, {{data|7|5|1931}}", "Il lago 5 km, 7 maggio 1931"),
    ("pt", "{{fmtn|1234567}}, {{séc|XIX}}, {{dni|7|5|1931}}", "1 234 567, século XIX, 7 de maio de 1931"),
    ("pl", "{{r|a}}{{Państwo|POL}}, {{fakt}}{{ang.|lake}}", "Polska, lake"),
    ("de", "Der See {{lang|it|lago}}, {{Höhe|1234|DE-NHN}}, {{DEU}}, {{\"|klar}}.",
     "Der See lago, 1234 m ü. NHN, Deutschland, „klar“."),
    ("sv", "{{flaggbild2|Sverige}}{{källa behövs}}, {{kapitäler|x}}", "Sverige, x"),
    ("nl", "{{vlag|NLD}}{{bron?}}, {{aut|Po}}", "Nederland, Po"),
    ("hy", "Լիճ{{փաստ}}։ {{FRA}}, {{comment|a|b}}, {{ref-ru}}", "Լիճ։ Ֆրանսիա, a, (ռուս.)"),
    ("uk", "{{нп|A|b}}, {{прапор|Польща}}, {{lang-en|lake}}", "b, Польща, англ. lake"),
    ("ja", "{{生年月日と年齢|1931|5|7}}、{{仮リンク|湖|en|Lake}}、{{ルビ|湖|みずうみ}}",
     "1931年5月7日、湖、湖（みずうみ）"),
    ("zh", "{{bd|1931年|5月7日|2001年|2月3日}}，{{tsl|en|Lake|湖}}，{{link-en|河|River}}",
     "1931年5月7日－2001年2月3日，湖，河"),
    ("ko", "{{llang|en|lake}}, {{출생일|1931|5|7}}{{출처 필요}}", "영어: lake, 1931년 5월 7일"),
    ("ar", "{{وإو|بحيرة|Lake}}{{بحاجة لمصدر}}", "بحيرة"), ("he", "אגם{{הערה|abc}}, {{קטן|x}}", "אגם, x"),
    ("el", "{{lang-en|lake}}{{πηγή}}", "αγγλικά: lake"), ("tr", "{{dil|en|lake}}{{kaynak belirt}}", "lake"),
    ("hi", "{{lang-en|lake}}{{तथ्य}}", "अंग्रेज़ी: lake"),
])
def test_templates_of_other_languages(language: str, text: str, shown: str) -> None:
    assert words(text, SiteInfo.unknown(language)) == shown


@pytest.mark.parametrize(("language", "shown"), [("en", "1 hidden"), ("fr", "1er siècle"), ("ru", "1")])
def test_one_name_means_what_its_wiki_means(language: str, shown: str) -> None:
    """`{{s|…}}` is nothing in English, a century in French, a phrase that does not wrap in Russian."""
    text = {"en": "1 {{s|x}}hidden", "fr": "{{s|I}}", "ru": "{{s|1}}"}[language]
    assert words(text, SiteInfo.unknown(language)).replace("I", "1") == shown


def test_names_of_other_languages_count_where_they_cannot_be_english() -> None:
    assert names_of("en").get("ana") is None
    assert names_of("tr")["ana"] == "(navigation)"
    assert names_of("")["ana"] == "(navigation)"
    assert names_of("be")["см. также"] == "(navigation)"


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


_BOX = "{{Some thing |\n x = 1 |\n y = [[b|2]] |\n z = 3 }}"
_ROWS = ["table", "  tr", "    th x", "    td 1", "  tr", "    th y", "    td 2", "  tr", "    th z", "    td 3"]


@pytest.mark.parametrize(("before", "nodes"), [
    ("", []), ("{{Main|a}}", []), ("{{Zzz|a|b}}\n", []), ("<center>", []), ("Text\n", ["p Text"]),
    ("[[File:x.jpg|thumb|c]]", ["figure", "  caption c"]), ("{{Quote|q}}", ["blockquote", "  p q"]),
])
def test_unknown_template_of_many_parameters_is_a_table_of_them(before: str, nodes: list[str]) -> None:
    assert tree(before + _BOX) == nodes + _ROWS
    assert read(before + _BOX).counts["tables_of_parameters"] == 1


def test_unknown_templates_on_a_line_of_their_own_are_navigation() -> None:
    result = read("Text.\n\n{{Lakes}}{{Rivers|state=collapsed}} {{Seas|expanded}}\n{{Main|a}}{{Ponds}}")
    assert [node.text for node in result.nodes[1:]] == ["Text."]
    assert result.counts == {"navigation": 5}


def test_charts_are_tables() -> None:
    assert tree("{{Pie chart|caption=C|label1=A|value1=5|label2=B|value2=95}}") == [
        "table", "  caption C", "  tr", "    th A", "    td 5%", "  tr", "    th B", "    td 95%"]
    rows = ["  tr", "    th 1901", "    td 73,022", "  tr", "    th 1911", "    td 9", "p S"]
    assert tree("{{historical populations|1901|73022|1911|9|source=S}}") == [
        "table", "  caption Historical populations", *rows]
    assert tree("{{US Census population|1901=73022|1911=9|title=People|footnote=S}}") == [
        "table", "  caption People", *rows]
    assert tree("{{legend|#f00|A}}{{legend|#0f0|B}}") == ["p A", "p B"]
    assert tree("{{chart/start}}\n{{chart| | AAA |-| B| AAA=One|B=Two}}\n{{chart/end}}") == ["p One · Two"]


def test_block_templates_inside_a_caption_keep_their_words_apart() -> None:
    text = "[[File:a.jpg|thumb|census{{Collapsible list|title=Key|a}}{{legend|#f00|b}}{{legend|#f00|c}}]]"
    assert tree(text) == ["figure", "  caption census Key a b c"]


def test_parameters_of_an_infobox_are_read_once_each_in_its_own_cell() -> None:
    assert tree("{{Infobox x\n|a=b\n|other=<div>[[File:x.svg|80px|Cap]]</div>A\n|c=d}}") == [
        "table", "  tr", "    th a", "    td b", "  tr", "    th other", "    td A", "      figure",
        "        caption Cap", "  tr", "    th c", "    td d"]
    assert tree("{{Infobox x\n| j = x\n| k = <gallery>\na.jpg|b\n</gallery>}}")[4:] == [
        "  tr", "    th k", "    td", "      figure", "        caption b"]
    assert tree("{{Infobox x\n| a = {{Infobox y\n| b = c}}\n| d = {{flagicon|x}}\n| e = f\n}}") == [
        "table", "  tr", "    th a", "    td", "      table", "        tr", "          th b", "          td c",
        "  tr", "    th e", "    td f"]
    assert tree("text {{Infobox x|a=b}} more") == ["p text", "table", "  tr", "    th a", "    td b", "p more"]


def test_no_handler_raises_whatever_its_parameters_are() -> None:
    parameters = ["1e30|m|ft", "²|km", "1/0|in|mm", "-5|C|99999999|sigfig=٣|round=-1|e=x", "2000|13|31|1|2|3",
                  "[[a]]|{{nowrap|b}}|=|c=", "", "|||", "1+1/0|e6km|e6mi|disp=x|abbr=~|adj=mid", "FRA|N|5|S"]
    for language in ("en", "fr", "ja", "ru", "hy", ""):
        for name in sorted(WORDS.keys() | BLOCKS.keys() | {"lang-x", "ipa-fr", "ref-ru", "#switch:a"}):
            for given in parameters:
                read(f"x {{{{{name}|{given}}}}} y", SiteInfo.unknown(language))


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


def test_every_line_of_names_leads_to_a_handler_or_a_rule() -> None:
    handled = WORDS.keys() | BLOCKS.keys() | databases().keys()
    for language, names in tables().items():
        for name, meaning in names.items():
            assert name == " ".join(name.lower().split()), (language, name)
            resolved = tables()["*"].get(meaning, meaning)
            known = resolved in handled or resolved.startswith("cite ")
            assert known or (resolved[0] == "(" and resolved[1:-1] in RULES), (language, name, meaning)


def test_no_handler_is_hidden_behind_a_rule() -> None:
    assert not [name for name in WORDS.keys() | BLOCKS.keys() if rule_of(names_of("en").get(name, name))]


def test_site_is_not_needed_for_names() -> None:
    assert ENGLISH.namespace_of("Template:X") == (10, "X")


@pytest.mark.parametrize(("language", "shown"), [
    ("en", "May 7, 1931"), ("de", "7. Mai 1931"), ("uk", "7 травня 1931"), ("vi", "7 tháng 5 năm 1931"),
    ("ka", "1931-05-07"), ("", "May 7, 1931"), ("simple", "May 7, 1931"),
])
def test_dates_are_written_in_the_language(language: str, shown: str) -> None:
    assert words("{{birth date|1931|5|7}}", SiteInfo.unknown(language)) == shown
