"""RDR²'s view and algorithm 1 on small trees; the stored tree stays as it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipelines.documents.tree import Document, TreeBuilder
from pipelines.methods.subtree import SubtreeView


@pytest.fixture(scope="module")
def view(owl: Document) -> SubtreeView:
    return SubtreeView(owl)


@pytest.fixture(scope="module")
def named(view: SubtreeView) -> Callable[[str], int]:
    """node_id of the node of the view whose text begins so."""
    return lambda text: next(node_id for node_id in view if view.text[node_id].startswith(text))


def shape(view: SubtreeView) -> list[str]:
    return ["\t" * view.depth[node_id] + view.text[node_id] for node_id in view]


def test_the_view_hangs_lists_and_definitions_and_drops_empty_headings(view: SubtreeView) -> None:
    assert shape(view) == [
        "Owl",
        "\tOwls are birds of prey. They hunt at night.",
        "\tDiet",
        "\t\tMost owls eat these animals:",
        "\t\t\tsmall mammals",
        "\t\t\t\tvoles",
        "\t\t\t\tfield mice",
        "\t\t\tfish, by the fishing owls of Asia",
        "\t\tPellets hold what they cannot digest. Bones and fur are found in them.",
        "\tRange",
        "\t\tOwls live on all continents but one.",
        "\t\tSpecies | Wingspan | Countries",
        "\t\tBarn owl | 95 cm | 140",
        "\t\tSnowy owl | 12",
        "\tOwls in art",
        "\t\tAthena",
        "\t\t\tThe goddess carries an owl on the silver coins of Athens.",
    ]


def test_the_stored_tree_is_not_changed(owl: Document) -> None:
    before = owl.nodes
    SubtreeView(owl)
    assert owl.nodes is before
    assert any(node.text == "See also" for node in owl)


def test_lighting_takes_siblings_what_is_below_them_and_ancestors(
        view: SubtreeView, named: Callable[[str], int]) -> None:
    lit = view.light({named("voles")})
    assert lit == {named("Most owls"), named("small mammals"), named("voles"), named("field mice")}, \
        "siblings of ancestors stay dark"
    lit = view.light({named("Pellets")})
    assert lit == {named(text) for text in (
        "Most owls", "small mammals", "voles", "field mice", "fish", "Pellets")}
    assert view.light({named("Owls are")}) == {named("Owls are")}
    assert view.light(set()) == set()


def test_cells_match_their_row_and_headings_match_nothing(view: SubtreeView, owl: Document,
                                                          named: Callable[[str], int]) -> None:
    cell = next(node.node_id for node in owl if node.text == "95 cm")
    heading = next(node.node_id for node in owl if node.text == "Range")
    assert view.matched([cell, heading]) == {named("Barn owl")}


def test_direct_content_stops_at_headings(view: SubtreeView, named: Callable[[str], int]) -> None:
    assert view.direct_content(0) == [named("Owls are")]
    assert view.direct_content(named("Diet")) == [named(text) for text in (
        "Most owls", "small mammals", "voles", "field mice", "fish", "Pellets")]


def test_a_heading_above_nothing_but_empty_headings_goes_too(heron: Document) -> None:
    builder = TreeBuilder("T")
    builder.open("section", text="Outer", level=2)
    builder.open("section", text="Inner", level=3)
    builder.close_to(0)
    builder.open("section", text="Kept", level=2)
    builder.open("section", text="Below", level=3)
    builder.add("p", text="words")
    view = SubtreeView(Document("xx:9", builder.finish()))
    assert shape(view) == ["T", "\tKept", "\t\tBelow", "\t\t\twords"]


def test_only_a_paragraph_or_a_heading_ends_what_a_block_introduces() -> None:
    builder = TreeBuilder("T")
    builder.open("ul")
    builder.add("li", text="before all")
    builder.close()
    builder.add("p", text="these:")
    builder.open("figure")
    builder.add("caption", text="a picture")
    builder.close()
    builder.open("ul")
    builder.add("li", text="one")
    builder.close()
    builder.open("ol")
    builder.add("li", text="two")
    builder.close()
    builder.add("p", text="after")
    builder.open("section", text="S", level=2)
    builder.open("ul")
    builder.add("li", text="three")
    assert shape(SubtreeView(Document("xx:9", builder.finish()))) == [
        "T", "\tbefore all", "\tthese:", "\ta picture", "\t\tone", "\t\ttwo", "\tafter", "\tS", "\t\tthree"]


def test_a_list_in_a_cell_belongs_to_its_row_a_nested_table_has_rows_of_its_own() -> None:
    builder = TreeBuilder("T")
    builder.open("table")
    builder.open("tr")
    builder.add("th", text="Members")
    builder.open("td")
    builder.open("ul")
    builder.add("li", text="Ann")
    builder.add("li", text="Bob")
    builder.close()
    builder.open("table")
    builder.open("tr")
    builder.add("td", text="inner")
    builder.close_to(4)
    builder.open("section", text="Within", level=3)
    builder.add("p", text="a paragraph")
    assert shape(SubtreeView(Document("xx:9", builder.finish()))) == [
        "T", "\tMembers | Ann Bob", "\t\tinner", "\t\tWithin", "\t\t\ta paragraph"]
