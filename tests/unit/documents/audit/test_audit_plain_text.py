"""The independent route: the words that pages show, worked out by hand, and what goes by which rule."""

from __future__ import annotations

import pytest

from pipelines.documents.audit.plain_source import Source
from pipelines.documents.audit.plain_text import PlainText
from pipelines.documents.audit.rules import RULES
from pipelines.documents.readers.siteinfo import SiteInfo


def shown(wikitext: str, language: str = "en") -> str:
    """The words in order, those of captions behind the others."""
    read = PlainText(SiteInfo.unknown(language)).read(Source(wikitext))
    return " ".join(word for word, _ in read.words())


@pytest.mark.parametrize(("wikitext", "expected"), [
    ("'''Lake''' [[Deep lake|lakes]]s, [[sea]]side.", "Lake lakess seaside"),
    ("H<sub>2</sub>O and <small>a</small>b", "H₂O and ab"),
    ("one<br>two<div>three</div>four <span>open", "one two three four open"),
    ("{|\n! a !! b\n|- style=\"x\"\n| style=\"y\" | c || d\n|}", "a b c d"),
    ("<table><tr><td>a<td align=center>b</table>", "a b"),
    ("== Head ==\n* item\n*: more\n;term: words", "Head item more term words"),
    ("[http://a.example the site] [http://b.example] http://c.example", "the site http c example"),
    ("5&nbsp;km, &amp;nbsp; &#x10330; &nbsp no", "5 km 𐌰 nbsp no"),
    ("<math>a+b</math>th <nowiki>[[x]]</nowiki> <pre>p  q</pre>", "a bth x p q"),
    ("[[File:A.jpg|thumb|200px|alt=dark|A [[owl]]]] after", "after A owl"),
    ("[[File:A.svg|link=https://a.example/A.svg|thumb|The caption]] after", "after The caption"),
    ("<gallery caption=\"Birds\">\nA.jpg|an ''owl''\nFile:B.jpg\n</gallery>", "Birds an owl"),
    ("{{{1|default}}} {{{2}}}", "default"),
    ("see [<!-- old -->http://a.example it] now", "see it now"),
    ("__TOC__ word [[Category:Owls]] [[de:Eule]]", "word"),
])
def test_words_that_a_page_shows(wikitext: str, expected: str) -> None:
    assert shown(wikitext) == expected


def test_names_of_namespaces_are_the_wikis_own() -> None:
    assert shown("[[Файл:A.jpg|мини|Сова]] и [[Категория:Совы]]", "ru") == "и Сова"


def test_places_of_words() -> None:
    read = PlainText(SiteInfo.unknown("en")).read(Source(
        "== Head ==\nText [[link]]\n{|\n| cell\n|}\n<syntaxhighlight>code</syntaxhighlight> <math>x</math>\n"
        "[[File:A.jpg|thumb|caption]]"))
    assert list(read.words()) == [
        ("Head", "heading"), ("Text", "text"), ("link", "link"), ("cell", "table"), ("code", "code"),
        ("x", "formula"), ("caption", "caption")]


@pytest.mark.parametrize(("wikitext", "rule", "n_words"), [
    ("a <!-- one two --> b", "comments", 2),
    ("a <ref>one two three</ref> b", "references", 3),
    ("[[Category:Owls of Asia]]", "categories", 3),
    ("[[de:Eule]]", "language_links", 1),
    ("[[File:A.jpg|thumb|200px|words]]", "pictures", 5),
    ("__NOTOC__", "magic_words", 1),
    ("<timeline>one two</timeline>", "graphics", 2),
    ("[http://a.example/x]", "bare_addresses", 4),
    ("<includeonly>one</includeonly>", "includeonly", 1),
    ("<inputbox>one</inputbox>", "navigation", 1),
])
def test_what_goes_by_a_rule_is_counted(wikitext: str, rule: str, n_words: int) -> None:
    assert rule in RULES
    read = PlainText(SiteInfo.unknown("en")).read(Source(wikitext))
    assert read.n_exempt[rule] == 1
    assert read.exempt[rule].total() == n_words


def test_a_call_gets_its_own_source_back_with_its_tags() -> None:
    source = Source("a {{x|<b>y</b><br/>z<!-- c -->}}")
    calls: list[tuple[str, bool]] = []

    def call_text(node: object, is_apart: bool) -> str:
        calls.append((source.restore(str(node)), is_apart))
        return "Y"

    read = PlainText(SiteInfo.unknown("en"), call_text).read(source)
    assert read.text.split() == ["a", "Y"]
    assert calls == [("{{x|<b>y</b><br/>z}}", False)]


@pytest.mark.parametrize(("before", "is_apart"), [
    ("", True), ("words ", False), ("words\n", False), ("words\n\n", True), ("== Head ==\n", True),
    ("* item\n", True), ("[[File:A.jpg|thumb|c]]\n", True), ("{|\n| ", False),
])
def test_whether_a_call_stands_alone(before: str, is_apart: bool) -> None:
    found: list[bool] = []
    PlainText(SiteInfo.unknown("en"), lambda _, alone: found.append(alone) or "").read(Source(before + "{{x}}"))
    assert found == [is_apart]
