"""The document tree: one type for every format, the same after every reader.

A tree is an immutable list of nodes in pre-order. Node 0 is the root (tag `document`, its text is the
title); headings are nodes of tag `section`; everything else is content. `node_id` is the position in the
list and `end_id` that of the last descendant, so "is below" is two comparisons and a subtree is a slice.
Methods derive views of a tree and never change it. Rendering is in `render.py` and `outline.py`.

Readers build trees with `TreeBuilder`; storage loads them with `Document`, which proves itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from pipelines.errors import shortened

ROOT_TAG = "document"
SECTION_TAG = "section"
STRUCTURE_TAGS = frozenset({ROOT_TAG, SECTION_TAG})
TEXT_TAGS = frozenset({"document", "section", "p", "li", "dt", "dd", "th", "td", "caption", "pre", "math"})
"""Tags whose nodes have visible words of their own. All other tags have the text ''."""
CONTAINER_TAGS = frozenset({"ul", "ol", "dl", "table", "tr", "figure", "blockquote"})
HEADING_SEPARATOR = " > "


class TreeError(ValueError):
    """A tree that contradicts itself. The message names the document, the node and the rule."""


class Span(NamedTuple):
    """Inline markup as a range `[begin, end)` of a node's text, in Unicode code points."""

    begin: int
    end: int
    kind: str
    """link, emphasis, strong, code, math, template (the text stands for an unhandled template) …"""
    target: str | None = None


class Sentence(NamedTuple):
    """A sentence sentinel: the range `[begin, end)` of a node's own text, in Unicode code points."""

    sentence_id: int
    node_id: int
    begin: int
    end: int
    text: str


class Node(NamedTuple):
    """One node. The fields are the columns of the table `tree_nodes`, documented in `schemas.py`."""

    node_id: int
    end_id: int
    path: tuple[int, ...]
    parent_id: int | None
    kind: str
    tag: str
    level: int | None
    text: str
    spans: tuple[Span, ...]
    heading_path: tuple[str, ...]
    attrs: Mapping[str, str]
    source_ref: str | None
    begin: int
    end: int

    def __repr__(self) -> str:
        return f"<Node {self.node_id} {self.tag} {shortened(self.text)!r}>"

    @property
    def is_structure(self) -> bool:
        return self.kind == "structure"


class Document:
    """A document and its tree.

    Iterating gives the nodes in document order; `document[node_id]` is a node. Raises TreeError when the
    nodes are no tree: every relation that can be derived is compared with what is stored.
    """

    __slots__ = ("_ids_by_path", "doc_id", "language", "nodes", "parser_version", "revision", "source", "uri")

    def __init__(self, doc_id: str, nodes: Sequence[Node], *, source: str = "wikipedia", uri: str = "",
                 language: str = "", revision: str = "", parser_version: int = 0, check: bool = True) -> None:
        self.doc_id = doc_id
        self.nodes = tuple(nodes)
        self.source, self.uri, self.language = source, uri, language
        self.revision, self.parser_version = revision, parser_version
        self._ids_by_path: dict[tuple[int, ...], int] | None = None
        if check:
            check_tree(doc_id, self.nodes)

    def __repr__(self) -> str:
        return f"<Document {self.doc_id} {shortened(self.title)!r}, {len(self)} nodes>"

    @property
    def title(self) -> str:
        return self.nodes[0].text

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, node_id: int) -> Node:
        if node_id < 0:
            raise IndexError(f"{self.doc_id} has no node {node_id}")
        return self.nodes[node_id]

    def children(self, node_id: int) -> Iterator[Node]:
        """The children of a node, in order."""
        child, end_id = node_id + 1, self.nodes[node_id].end_id
        while child <= end_id:
            yield self.nodes[child]
            child = self.nodes[child].end_id + 1

    def descendants(self, node_id: int) -> tuple[Node, ...]:
        """All nodes below a node, in document order, without itself."""
        return self.nodes[node_id + 1: self.nodes[node_id].end_id + 1]

    def ancestors(self, node_id: int) -> list[Node]:
        """The nodes above a node, the root first, without itself."""
        above = []
        parent_id = self.nodes[node_id].parent_id
        while parent_id is not None:
            above.append(self.nodes[parent_id])
            parent_id = self.nodes[parent_id].parent_id
        return above[::-1]

    def is_below(self, node_id: int, ancestor_id: int) -> bool:
        """Whether `node_id` is a proper descendant of `ancestor_id`."""
        return ancestor_id < node_id <= self.nodes[ancestor_id].end_id

    def section_of(self, node_id: int) -> Node:
        """The nearest structure node above a node; the node itself when it is one."""
        node = self.nodes[node_id]
        while not node.is_structure and node.parent_id is not None:
            node = self.nodes[node.parent_id]
        return node

    def at(self, path: Sequence[int]) -> Node:
        """The node at a path. Raises KeyError when the tree has no such path."""
        if self._ids_by_path is None:
            self._ids_by_path = {node.path: node.node_id for node in self.nodes}
        return self.nodes[self._ids_by_path[tuple(path)]]

    def visible_text(self) -> str:
        """The non-empty texts in document order, joined by newlines; `begin` and `end` are ranges of it."""
        return "\n".join(node.text for node in self.nodes if node.text)


def check_tree(doc_id: str, nodes: Sequence[Node]) -> None:
    """Raise TreeError unless the nodes form one tree in pre-order with right ids, paths and offsets."""

    def fail(node_id: int, rule: str) -> None:
        raise TreeError(f"{doc_id}, node {node_id}: {rule}")

    if not nodes or nodes[0].tag != ROOT_TAG or nodes[0].path or nodes[0].parent_id is not None:
        fail(0, "the first node must be the root, with an empty path and no parent")
    n_children = [0] * len(nodes)
    last_descendant = list(range(len(nodes)))
    cursor = 0
    for number, node in enumerate(nodes):
        if node.node_id != number:
            fail(number, f"node_id is {node.node_id}")
        if (node.kind == "structure") != (node.tag in STRUCTURE_TAGS):
            fail(number, f"tag {node.tag} cannot have kind {node.kind}")
        if (node.level is None) != (node.kind == "content"):
            fail(number, "structure has a level, content has none")
        if node.text and node.tag not in TEXT_TAGS:
            fail(number, f"tag {node.tag} has no text of its own")
        if number:
            parent_id = node.parent_id
            if parent_id is None or not 0 <= parent_id < number:
                fail(number, f"parent {parent_id} does not come before it")
            assert parent_id is not None
            if node.path != (*nodes[parent_id].path, n_children[parent_id]):
                fail(number, f"path {list(node.path)} is not that of its parent plus its place there")
            n_children[parent_id] += 1
        if (node.begin, node.end) != (cursor, cursor + len(node.text)):
            fail(number, f"range {node.begin}-{node.end} is not that of its text")
        for span in node.spans:
            if not 0 <= span.begin <= span.end <= len(node.text):
                fail(number, f"span {span.begin}-{span.end} lies outside its text")
        cursor += len(node.text) + 1 if node.text else 0
    for number in range(len(nodes) - 1, 0, -1):
        parent_id = nodes[number].parent_id
        assert parent_id is not None
        last_descendant[parent_id] = max(last_descendant[parent_id], last_descendant[number])
    for number, node in enumerate(nodes):
        if node.end_id != last_descendant[number]:
            fail(number, f"end_id {node.end_id} should be {last_descendant[number]}")


_new_node = partial(tuple.__new__, Node)
"""A node from a tuple: faster than the class's own call."""


class TreeBuilder:
    """Builds the nodes of one document, strictly in document order.

    `open` starts a node below the innermost open one, `close` ends that one, `close_to` all down to an
    ancestor. Text and spans may be set until `finish`.
    """

    def __init__(self, title: str) -> None:
        self._rows: list[list[Any]] = []
        self._open: list[int] = []
        self.open(ROOT_TAG, text=title, level=0)

    @property
    def current_id(self) -> int:
        """node_id of the innermost open node."""
        return self._open[-1]

    def tag_of(self, node_id: int) -> str:
        return str(self._rows[node_id][1])

    def open(self, tag: str, *, text: str = "", spans: Sequence[Span] = (), level: int | None = None,
             attrs: Mapping[str, str] | None = None, source_ref: str | None = None) -> int:
        """Start a node below the innermost open node and return its node_id."""
        node_id = len(self._rows)
        parent_id = self._open[-1] if self._open else None
        self._rows.append([parent_id, tag, level, text, tuple(spans), attrs or {}, source_ref, node_id])
        self._open.append(node_id)
        return node_id

    def close(self) -> None:
        """End the innermost open node. Raises IndexError when only the root is open."""
        if len(self._open) == 1:
            raise IndexError("the root is closed by finish()")
        self._end_last()

    def close_to(self, node_id: int) -> None:
        """End all open nodes below `node_id`, which stays open. Raises TreeError if it is not open."""
        if node_id not in self._open:
            raise TreeError(f"node {node_id} is not open")
        while self._open[-1] != node_id:
            self._end_last()

    def add(self, tag: str, *, text: str = "", spans: Sequence[Span] = (), level: int | None = None,
            attrs: Mapping[str, str] | None = None, source_ref: str | None = None) -> int:
        """Add a node without children: `open` and `close` in one."""
        node_id = len(self._rows)
        self._rows.append([self._open[-1], tag, level, text, tuple(spans), attrs or {}, source_ref, node_id])
        return node_id

    def set_text(self, node_id: int, text: str, spans: Sequence[Span] = ()) -> None:
        """Give a node its own visible words, once they are known."""
        self._rows[node_id][3], self._rows[node_id][4] = text, tuple(spans)

    def set_attr(self, node_id: int, name: str, value: str) -> None:
        """Give a node an attribute, once it is known."""
        row = self._rows[node_id]
        row[5] = {**row[5], name: value}

    def set_source_ref(self, node_id: int, source_ref: str) -> None:
        """Say where in the source a node stands, once its end is known."""
        self._rows[node_id][6] = source_ref

    def is_empty(self, node_id: int) -> bool:
        """Whether the newest node is this one, without text: nothing was put into it or below it."""
        return node_id == len(self._rows) - 1 and not self._rows[node_id][3]

    def discard(self, node_id: int) -> None:
        """Take back a node and everything behind it, as if it had not been opened.

        Raises TreeError for the root.
        """
        if node_id == 0:
            raise TreeError("the root cannot be discarded")
        del self._rows[node_id:]
        while self._open[-1] >= node_id:
            self._open.pop()

    def _end_last(self) -> None:
        self._rows[self._open.pop()][7] = len(self._rows) - 1

    def finish(self) -> tuple[Node, ...]:
        """End all open nodes and return the finished nodes. The builder cannot be used afterwards."""
        while self._open:
            self._end_last()
        nodes: list[Node] = []
        append = nodes.append
        n_children: list[int] = [0] * len(self._rows)
        heading_paths: list[tuple[str, ...]] = []
        """Of the children of each node."""
        cursor = 0
        for node_id, (parent_id, tag, level, text, spans, attrs, source_ref, end_id) in enumerate(self._rows):
            if parent_id is None:
                path: tuple[int, ...] = ()
                heading_path: tuple[str, ...] = ()
            else:
                parent = nodes[parent_id]
                path = (*parent.path, n_children[parent_id])
                n_children[parent_id] += 1
                heading_path = heading_paths[parent_id]
            heading_paths.append((*heading_path, text) if tag == SECTION_TAG else heading_path)
            end = cursor + len(text)
            append(_new_node((node_id, end_id, path, parent_id,
                              "structure" if tag in STRUCTURE_TAGS else "content", tag, level, text, spans,
                              heading_path, attrs, source_ref, cursor, end)))
            cursor = end + 1 if text else end
        return tuple(nodes)
