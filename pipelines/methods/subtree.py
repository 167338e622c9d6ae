"""RDR²'s view of a document and the retrieval subtrees in it (paper 2510.04293, section 3.2, algorithm 1).

The view is derived and the stored tree never changed: it holds the blocks that can be routed (sections, p,
li, dt, dd, caption, pre, math, table rows as a whole), hangs a list under the block that introduces it (the
next paragraph or heading ends it) and a definition under its term, and drops headings with no content
below. A retrieval subtree is all structure nodes plus the *lit* content nodes.

What belongs here: the view, lighting, the order of ids. What does not: how it is written for a router
(`routing.py`) and the loop (`rdr2.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from pipelines.documents.blocks import ITEM_TAGS, ROW_TAG, block_ids, block_text
from pipelines.documents.tree import Document, Node

LIST_TAGS = frozenset({"ul", "ol", "dl"})
INTRODUCING_TAGS = frozenset({"p", "pre", "math", "dt"})
CONTENT_TAGS = ITEM_TAGS | {"p", "caption", "pre", "math", ROW_TAG}
ROOT_ID = 0


class SubtreeView:
    """The routable nodes of a document. Ids are those of the stored tree, in document order."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.blocks = block_ids(document)
        self.text: dict[int, str] = {}
        self.parent: dict[int, int | None] = {}
        self.depth: dict[int, int] = {}
        self.children: dict[int, list[int]] = {}
        for node_id, parent_id in _view_parents(document, self.blocks, self.text):
            self.parent[node_id] = parent_id
            self.depth[node_id] = 0 if parent_id is None else self.depth[parent_id] + 1
            self.children[node_id] = []
            if parent_id is not None:
                self.children[parent_id].append(node_id)
        self._drop_empty_headings()

    def _drop_empty_headings(self) -> None:
        has_content = {ROOT_ID}
        for node_id in reversed(self.text):
            if not self.is_structure(node_id) or node_id in has_content:
                has_content.add(node_id)
                parent_id = self.parent[node_id]
                if parent_id is not None:
                    has_content.add(parent_id)
        for node_id in [n for n in self.text if n not in has_content]:
            parent_id = self.parent.pop(node_id)
            if parent_id is not None and parent_id in self.children:
                self.children[parent_id].remove(node_id)
            del self.text[node_id], self.depth[node_id], self.children[node_id]

    def __contains__(self, node_id: int) -> bool:
        return node_id in self.text

    def __iter__(self) -> Iterator[int]:
        """All ids in document order."""
        return iter(self.text)

    def is_structure(self, node_id: int) -> bool:
        return self.document[node_id].is_structure

    def content_ancestors(self, node_id: int) -> list[int]:
        """The content nodes above a node up to the nearest heading, outermost first."""
        above = []
        parent_id = self.parent[node_id]
        while parent_id is not None and not self.is_structure(parent_id):
            above.append(parent_id)
            parent_id = self.parent[parent_id]
        return above[::-1]

    def matched(self, node_ids: Iterable[int]) -> set[int]:
        """The content nodes of the view that hold these nodes of the tree; headings are never matched."""
        found = {self.blocks[node_id] for node_id in node_ids}
        return {node_id for node_id in found if node_id in self and not self.is_structure(node_id)}

    def light(self, matched: Iterable[int]) -> set[int]:
        """Algorithm 1: content siblings (with the node itself), what is below them, content ancestors."""
        lit: set[int] = set()
        for node_id in matched:
            lit.update(self.content_ancestors(node_id))
            parent_id = self.parent[node_id]
            if parent_id is not None:
                lit.update(self.direct_content(parent_id))
        return lit

    def direct_content(self, node_id: int) -> list[int]:
        """The content children of a node and their content descendants, in document order."""
        found: list[int] = []
        waiting = [child for child in reversed(self.children[node_id]) if not self.is_structure(child)]
        while waiting:
            current = waiting.pop()
            found.append(current)
            waiting += [child for child in reversed(self.children[current]) if not self.is_structure(child)]
        return found


@lru_cache(maxsize=64)
def view_of(document: Document) -> SubtreeView:
    """The view of a document; the last ones are remembered, for documents never change."""
    return SubtreeView(document)


def _view_parents(document: Document, blocks: tuple[int, ...],
                  text: dict[int, str]) -> Iterator[tuple[int, int | None]]:
    """The nodes of the view with their parents there, in document order; fills in their texts."""
    introducers: dict[int, int] = {}
    for node in document:
        node_id = node.node_id
        if blocks[node_id] == node_id and (node.is_structure or node.tag in CONTENT_TAGS):
            words = block_text(document, node_id, blocks)
            if words or node_id == ROOT_ID:
                text[node_id] = words
                yield node_id, _view_parent(document, node, blocks, text, introducers)
        if node.parent_id is not None and node.tag in INTRODUCING_TAGS and node_id in text:
            introducers[node.parent_id] = node_id


def _view_parent(document: Document, node: Node, blocks: tuple[int, ...], text: dict[int, str],
                 introducers: dict[int, int]) -> int | None:
    """Nearest node of the view above; for an item what introduces its list, for a definition its term."""
    parent_id = node.parent_id
    if node.tag == "dd" and parent_id in introducers:
        return introducers[parent_id]
    if node.tag in ITEM_TAGS and parent_id is not None and document[parent_id].tag in LIST_TAGS:
        holder_id = document[parent_id].parent_id
        if holder_id in introducers and document[holder_id].tag not in ITEM_TAGS:
            return introducers[holder_id]
    while parent_id is not None and blocks[parent_id] not in text:
        parent_id = document[parent_id].parent_id
    return None if parent_id is None else blocks[parent_id]
