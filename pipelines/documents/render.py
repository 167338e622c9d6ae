"""Renderings of parts of a document, apart from the tree; a rendering knows which nodes it shows.

What belongs here: the *context* form that a reader gets (Markdown-like: title, headings as #, list items
with marks and indentation, a row's cells joined by " | ") and the *plain* form (own words only, for
`evidence.text` and the quotes of citations). What does not: whole documents for people (`outline.py`) and
what is shown under a budget (`retrieval/budget.py`).

Both forms follow document order, whatever the order of the ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.documents.blocks import CELL_SEPARATOR, ITEM_TAGS, ROW_TAG, block_ids, row_members
from pipelines.documents.tree import Document, Node
from pipelines.errors import shortened

Range = tuple[int, int, int]
"""(node_id, begin, end): characters of a node's own text, in code points; (id, 0, len(text)) is all of it."""
INDENT = "  "
GAP = " … "
"""Between two ranges of one text with words left out between them (context form)."""


class Part(NamedTuple):
    """Characters `[begin, end)` of a rendering that are those from `node_begin` on of a node's own text.

    In a row a line break within a cell stands as a space, so that the row stays one line.
    """

    begin: int
    end: int
    node_id: int
    node_begin: int


@dataclass(frozen=True, repr=False)
class Rendering:
    """A text and which characters of which nodes it shows, in the order of the text."""

    text: str
    parts: tuple[Part, ...]

    def __repr__(self) -> str:
        return f"<Rendering {shortened(self.text)!r}, {len(self.parts)} parts>"


class _Writer:
    """Collects text and the parts that come from nodes."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._parts: list[Part] = []
        self._length = 0

    def write(self, text: str) -> None:
        self._texts.append(text)
        self._length += len(text)

    def write_node(self, node: Node, begin: int, end: int, *, on_one_line: bool = False) -> None:
        self._parts.append(Part(self._length, self._length + end - begin, node.node_id, begin))
        text = node.text[begin:end]
        self.write(text.replace("\n", " ") if on_one_line else text)

    def end_line(self) -> None:
        if self._texts:
            self.write("\n")

    def finish(self) -> Rendering:
        return Rendering("".join(self._texts), tuple(self._parts))


def merge_ranges(document: Document, ranges: Iterable[Range]) -> dict[int, list[tuple[int, int]]]:
    """Ranges by node, overlaps merged; ranges with only white space between them become one.

    Raises ValueError for a range outside its node's text.
    """
    by_node: dict[int, list[tuple[int, int]]] = {}
    for node_id, begin, end in sorted(set(ranges)):
        text = document[node_id].text
        if not 0 <= begin <= end <= len(text):
            raise ValueError(f"{document.doc_id}, node {node_id}: no range {begin}-{end}, it has {len(text)}")
        if begin == end:
            continue
        merged = by_node.setdefault(node_id, [])
        if merged and (begin <= merged[-1][1] or text[merged[-1][1]:begin].isspace()):
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return by_node


def whole(document: Document, node_ids: Iterable[int]) -> tuple[Range, ...]:
    """The ranges that show all of these nodes' own text."""
    return tuple((node_id, 0, len(document[node_id].text)) for node_id in node_ids)


def render_context(document: Document, ranges: Iterable[Range], *, headings: bool,
                   title: bool = True) -> Rendering:
    """The form that a reader of the evidence gets: one block a line, title first.

    headings: also print the headings above each block, each once, before the first block below it.
    """
    by_node = merge_ranges(document, ranges)
    blocks = block_ids(document)
    writer = _Writer()
    printed: set[int] = set()

    def print_heading(node: Node) -> None:
        if node.node_id in printed or not node.text:
            return
        printed.add(node.node_id)
        writer.end_line()
        writer.write(heading_mark(node))
        writer.write_node(node, 0, len(node.text))

    if title:
        print_heading(document[0])
    printed.add(0)
    for block_id in sorted({blocks[node_id] for node_id in by_node}):
        node = document[block_id]
        above = document.ancestors(block_id)
        if headings:
            for ancestor in above:
                if ancestor.is_structure:
                    print_heading(ancestor)
        if node.is_structure:
            print_heading(node)
            continue
        writer.end_line()
        writer.write(block_prefix(node, above))
        _write_block(writer, document, node, blocks, by_node, gap=GAP, keep_empty_cells=True)
    return writer.finish()


def render_plain(document: Document, ranges: Iterable[Range]) -> Rendering:
    """Own words only, one block a line, a row's cells in order: no ids, ordinals, marks or headings' #."""
    by_node = merge_ranges(document, ranges)
    blocks = block_ids(document)
    writer = _Writer()
    for block_id in sorted({blocks[node_id] for node_id in by_node}):
        writer.end_line()
        _write_block(writer, document, document[block_id], blocks, by_node, gap=" ", keep_empty_cells=False)
    return writer.finish()


def _write_block(writer: _Writer, document: Document, block: Node, blocks: Sequence[int],
                 by_node: dict[int, list[tuple[int, int]]], *, gap: str, keep_empty_cells: bool) -> None:
    if block.tag != ROW_TAG:
        _write_ranges(writer, block, by_node[block.node_id], gap, on_one_line=False)
        return
    shown = [(cell, [node for node in cell if node.node_id in by_node])
             for cell in row_members(document, block.node_id, blocks)]
    while shown and not shown[-1][1]:
        shown.pop()
    # An empty cell keeps the next ones in their column; a cell that is left out does not stand as empty.
    columns = [nodes for cell, nodes in shown if nodes or (keep_empty_cells and not cell)]
    for number, nodes in enumerate(columns):
        if number:
            writer.write(CELL_SEPARATOR)
        for place, node in enumerate(nodes):
            if place:
                writer.write(" ")
            _write_ranges(writer, node, by_node[node.node_id], gap, on_one_line=True)


def _write_ranges(writer: _Writer, node: Node, ranges: Sequence[tuple[int, int]], gap: str, *,
                  on_one_line: bool) -> None:
    for number, (begin, end) in enumerate(ranges):
        if number:
            writer.write(gap)
        writer.write_node(node, begin, end, on_one_line=on_one_line)


def heading_mark(node: Node) -> str:
    """`# ` for the title, `##` and more for sections by their level."""
    return "#" * (max(2, node.level or 0) if node.parent_id is not None else 1) + " "


def block_prefix(node: Node, above: Sequence[Node]) -> str:
    """Quotation marks, indentation and the mark of a list item before a block's own words.

    above: the nodes above it, the root first.
    """
    inside = list(_since_section(above))
    quoted = "> " * sum(ancestor.tag == "blockquote" for ancestor in inside)
    indent = INDENT * sum(ancestor.tag in ITEM_TAGS for ancestor in inside)
    return quoted + indent + _item_mark(node, inside[-1] if inside else None)


def _since_section(above: Sequence[Node]) -> Iterator[Node]:
    """The content nodes above a block, down from the last structure node."""
    first = max((place + 1 for place, node in enumerate(above) if node.is_structure), default=0)
    return iter(above[first:])


def _item_mark(node: Node, parent: Node | None) -> str:
    if node.tag == "dd":
        return ": "
    if node.tag != "li":
        return ""
    if parent is None or parent.tag != "ol":
        return "- "
    start = parent.attrs.get("start", "1")
    return f"{(int(start) if start.lstrip('-').isdecimal() else 1) + node.path[-1]}. "
