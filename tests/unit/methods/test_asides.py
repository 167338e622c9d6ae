"""Captions, links and notes are proposed after what the text says; a row stands below what explains it."""

from __future__ import annotations

import pytest

from pipelines.documents.tree import Document, TreeBuilder
from pipelines.methods.asides import is_aside
from pipelines.methods.routing_loop import RoutedDocument
from pipelines.methods.similarity_router import NodeScorer
from pipelines.methods.subtree import SubtreeView


def routed(heading: str) -> RoutedDocument:
    """A page with a paragraph, a captioned table without a row of headings, and a section of one item."""
    builder = TreeBuilder("Alabama")
    builder.add("p", text="The population of Alabama grows.")
    builder.open("table")
    builder.add("caption", text="Historical population")
    builder.open("tr")
    builder.add("td", text="1800")
    builder.add("td", text="1,250")
    builder.close_to(0)
    builder.open("section", text=heading, level=2)
    builder.open("ul")
    builder.add("li", text="Alabama population at the census bureau")
    document = Document("xx:1", builder.finish())
    view = SubtreeView(document)
    chosen = {node_id for node_id in view if not view.is_structure(node_id)}
    return RoutedDocument(view, NodeScorer({"alabama": 1.0, "population": 1.0}, view, ()), answers=chosen)


def texts(document: RoutedDocument, *, asides: bool) -> set[str]:
    view = document.view
    return {view.text[view.blocks[piece.ranges[0][0]]] for piece in document.pieces(asides=asides)}


@pytest.mark.parametrize("heading", ["External links", "See  also", "Einzelnachweise:", "外部リンク", "Ссылки"])
def test_links_and_captions_come_after_all_else(heading: str) -> None:
    document = routed(heading)
    assert texts(document, asides=False) == {"The population of Alabama grows.", "1800 | 1,250"}
    assert texts(document, asides=True) == {"Historical population", "Alabama population at the census bureau"}


def test_other_sections_are_no_asides() -> None:
    document = routed("Demography")
    assert not any(is_aside(document.view, node_id) for node_id in document.view
                   if document.view.document[node_id].tag == "li")


def test_a_row_without_column_headings_stands_below_its_caption() -> None:
    document = routed("Notes")
    row = next(piece for piece in document.pieces() if document.view.document[piece.ranges[0][0]].tag == "td")
    assert [document.view.document[node_id].text for node_id, _, _ in row.context] == ["Historical population"]
