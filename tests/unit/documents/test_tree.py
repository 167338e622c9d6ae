"""The tree type: what the builder makes proves itself, and every broken relation is found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.documents.tree import Document, Node, Span, TreeBuilder, TreeError, check_tree


def small_tree() -> Document:
    """Title > p; section A > (p, ul > (li > ul > li, li)); section B."""
    builder = TreeBuilder("Owl")
    builder.add("p", text="Owls are birds.")
    builder.open("section", text="Food", level=2)
    builder.add("p", text="They eat:")
    builder.open("ul")
    builder.open("li", text="mice")
    builder.open("ul")
    builder.add("li", text="voles")
    builder.close()
    builder.close()
    builder.add("li", text="fish")
    builder.close()
    builder.close()
    builder.open("section", text="Calls", level=2)
    return Document("xx:1", builder.finish())


def test_ids_paths_and_ends() -> None:
    tree = small_tree()
    assert [(n.node_id, n.end_id, list(n.path), n.tag) for n in tree] == [
        (0, 9, [], "document"), (1, 1, [0], "p"), (2, 8, [1], "section"), (3, 3, [1, 0], "p"),
        (4, 8, [1, 1], "ul"), (5, 7, [1, 1, 0], "li"), (6, 7, [1, 1, 0, 0], "ul"), (7, 7, [1, 1, 0, 0, 0], "li"),
        (8, 8, [1, 1, 1], "li"), (9, 9, [2], "section"),
    ]


def test_offsets_are_ranges_of_the_visible_text() -> None:
    tree = small_tree()
    text = tree.visible_text()
    assert text == "Owl\nOwls are birds.\nFood\nThey eat:\nmice\nvoles\nfish\nCalls"
    assert all(text[node.begin:node.end] == node.text for node in tree)


def test_relations() -> None:
    tree = small_tree()
    assert [n.text for n in tree.children(4)] == ["mice", "fish"]
    assert [n.node_id for n in tree.ancestors(7)] == [0, 2, 4, 5, 6]
    assert [n.node_id for n in tree.descendants(5)] == [6, 7]
    assert tree.is_below(7, 2)
    assert not tree.is_below(2, 2)
    assert not tree.is_below(9, 2)
    assert tree.section_of(7).text == "Food"
    assert tree.at([1, 1, 0]).text == "mice"
    assert tree[7].heading_path == ("Food",)
    assert tree[2].heading_path == ()
    with pytest.raises(KeyError):
        tree.at([7])


@pytest.mark.parametrize(("node_id", "change", "rule"), [
    (3, {"node_id": 4}, "node_id"),
    (5, {"parent_id": 3}, "path"),
    (5, {"parent_id": 7}, "does not come before"),
    (5, {"end_id": 6}, "end_id"),
    (5, {"path": (1, 1, 1)}, "path"),
    (5, {"level": 2}, "level"),
    (2, {"kind": "content", "level": None}, "kind"),
    (4, {"text": "x"}, "no text of its own"),
    (7, {"begin": 0}, "range"),
    (7, {"spans": (Span(0, 9, "link"),)}, "outside its text"),
    (0, {"tag": "section"}, "root"),
])
def test_a_broken_relation_is_named_with_its_node(node_id: int, change: dict[str, object], rule: str) -> None:
    nodes = list(small_tree().nodes)
    nodes[node_id] = nodes[node_id]._replace(**change)
    with pytest.raises(TreeError, match=rf"xx:1, node \d+: .*{rule}"):
        check_tree("xx:1", nodes)


def test_no_nodes_are_no_tree() -> None:
    with pytest.raises(TreeError):
        Document("xx:1", ())


def test_builder_refuses_to_close_what_is_not_open() -> None:
    builder = TreeBuilder("T")
    with pytest.raises(IndexError):
        builder.close()
    done = builder.add("p", text="x")
    with pytest.raises(TreeError):
        builder.close_to(done)


@given(st.lists(st.sampled_from(["open", "add", "close", "section"]), max_size=60))
def test_whatever_is_built_is_a_tree(steps: list[str]) -> None:
    builder = TreeBuilder("T")
    depth = 0
    for number, step in enumerate(steps):
        if step == "open":
            builder.open("li", text=f"item {number}")
            depth += 1
        elif step == "section":
            builder.open("section", text=f"h {number}", level=2)
            depth += 1
        elif step == "add":
            builder.add("p", text=f"é{number}")
        elif depth:
            builder.close()
            depth -= 1
    nodes: tuple[Node, ...] = builder.finish()
    tree = Document("xx:1", nodes)
    for node in tree:
        assert tree.at(node.path) is node
        assert [n.node_id for n in tree.descendants(node.node_id)] == [
            n.node_id for n in tree if tree.is_below(n.node_id, node.node_id)]
