"""The audit of a page: words that are truly lost or invented are found, by cause, and others are not."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from pipelines.documents.audit.page import PageAudit, RawPage, audit_page, compare_words
from pipelines.documents.audit.words import find_words
from pipelines.documents.readers.dump import iter_pages, read_site_info, sample_dump_path
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.tree import Node

ENGLISH = SiteInfo.unknown("en")
PAGE = """{{Infobox lake| name = Big lake| depth = 12 m}}
'''Big lake''' is a [[lake]].{{citation needed}} It is {{convert|3|km|mi}} long.<ref>Smith</ref>
[[File:Lake.jpg|thumb|The lake at dawn]]
== Fish ==
{| class="wikitable"
! Kind !! Count
|-
| Pike || 7
|}
"""


def page(text: str | None) -> RawPage:
    return RawPage("enwiki:1", "enwiki:1@2.1", "Big lake", text, ENGLISH)


def causes(bags: dict[str, Counter[str]]) -> dict[str, list[str]]:
    return {cause: sorted(bag.elements()) for cause, bag in bags.items()}


def audit_of_tampered(text: str, old: str, new: str) -> PageAudit:
    """The comparison of a page with its tree, in one text of which `old` became `new`."""
    result = read_wikitext("Big lake", text, ENGLISH)
    nodes: list[Node] = list(result.nodes)
    number = next(node.node_id for node in nodes[1:] if old in node.text)
    nodes[number] = nodes[number]._replace(text=nodes[number].text.replace(old, new))
    found = PageAudit("enwiki:1", "enwiki:1@2.1", "Big lake", "parsed")
    compare_words(page(text), result._replace(nodes=tuple(nodes)), found)
    return found


def test_a_page_that_keeps_everything() -> None:
    found = audit_page(page(PAGE))
    assert (found.status, found.not_compared) == ("parsed", None)
    assert found.lost == {}
    assert found.invented == {}
    assert found.n_words == found.n_tree_words > 20
    assert found.headings == {2: 1}
    assert found.blocks["table"] == 2
    assert found.exempt["references"] == 1
    assert found.n_exempt["maintenance"] == 1
    assert found.n_calls == 3
    assert found.residue == {}
    assert found.cpu_s > 0


@pytest.mark.parametrize(("old", "new", "lost", "invented"), [
    ("Pike", "", {"table": ["Pike"]}, {}),
    ("dawn", "", {"caption": ["dawn"]}, {}),
    ("Fish", "", {"heading": ["Fish"]}, {}),
    ("12 m", "", {"template": ["12", "m"]}, {}),
    ("long", "long thumb", {}, {"other": ["thumb"]}),
    ("is a lake", "isa lake", {"run together": ["a", "is"]}, {"run together": ["isa"]}),
    ("Big lake is", "B ig lake is", {"torn apart": ["Big"]}, {"torn apart": ["B", "ig"]}),
])
def test_a_damaged_tree_is_found_out(old: str, new: str, lost: dict[str, list[str]],
                                     invented: dict[str, list[str]]) -> None:
    found = audit_of_tampered(PAGE, old, new)
    assert causes(found.lost) == lost
    assert causes(found.invented) == invented


def test_the_words_of_a_template_without_a_handler_are_lost() -> None:
    found = audit_page(page("A {{strange thing nobody knows|seen words|x=more}} here."))
    assert causes(found.lost) == {"unhandled template": ["more"]}
    assert found.counts["unhandled_template:strange thing nobody knows"] == 1
    assert found.n_words == 5


def test_words_that_a_handler_writes_are_no_invention_but_counted() -> None:
    found = audit_page(page("It is {{convert|3|km|mi}} long."))
    assert found.invented == {}
    assert found.written_by["convert"] > 0


def test_parameters_that_a_handler_does_not_show_are_counted_by_template() -> None:
    found = audit_page(page("Called {{lang|fr|lac}} there."))
    assert found.lost == {}
    assert found.left_out_by == {"lang": 1}
    assert found.exempt["template_parameters"] == 1


def test_a_parameter_table_is_taken_as_it_stands_in_the_page() -> None:
    box = "{{Strange thing| a = one| b = two| c = three}}"
    for text in (box, f"Words.\n\n{box}\n\nWords.", f"{{{{Main|x}}}}{box}\nWords."):
        found = audit_page(page(text))
        assert (found.lost, found.invented) == ({}, {}), text


@pytest.mark.parametrize(("text", "status", "reason"), [
    (None, "empty", "no text"), ("[[Category:Lakes]]", "empty", "no visible words"),
    ("{{a|" * 60 + "}}" * 60, "degraded", "markup nested 60 deep, limit 40"),
])
def test_pages_that_are_not_parsed_as_they_are(text: str | None, status: str, reason: str) -> None:
    found = audit_page(page(text))
    assert (found.status, found.reason) == (status, reason)
    assert (found.not_compared is None) == (status != "degraded")


def test_residue_is_listed_with_what_stands_around_it() -> None:
    found = audit_page(page("Left <nowiki/> over: <nowiki>x</nowiki> thumb|200px|right"))
    assert list(found.residue) == ["picture_option"]
    assert "200px" in found.residue["picture_option"][0]


def test_a_word_taken_out_of_any_block_of_a_real_article_is_found() -> None:
    site = read_site_info(sample_dump_path())
    chance = random.Random(7)
    articles = [article for article in iter_pages(sample_dump_path())
                if article.namespace == 0 and article.redirect_to is None and len(article.text or "") < 20_000]
    for article in chance.sample(articles, 8):
        result = read_wikitext(article.title, article.text, site)
        nodes = list(result.nodes)
        chosen = chance.sample([node for node in nodes[1:] if "'" not in node.text and " " in node.text], 4)
        for node in chosen:
            offset, word = chance.choice(list(find_words(node.text)))
            cut = node.text[:offset] + node.text[offset + len(word):]
            nodes[node.node_id] = node._replace(text=cut)
        found = PageAudit("enwiki:1", "enwiki:1@2.1", article.title, "parsed")
        compare_words(RawPage("enwiki:1", "enwiki:1@2.1", article.title, article.text, site),
                      result._replace(nodes=tuple(nodes)), found)
        assert sum(bag.total() for bag in found.lost.values()) == len(chosen), article.title
