"""Blocks: the nodes that stand on a line of their own when a tree is shown or routed.

What belongs here: which block prints a node, and the texts of a row's cells. A block is the root, a section,
p, li, dt, dd, caption, pre, math or a table row; a row takes in everything below it (cells, their lists and
paragraphs) but nested rows and sections, which are blocks of their own. Lists, tables, figures and
quotations only hold blocks. What does not belong here: how a block looks (`render.py`, `outline.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pipelines.documents.tree import Document, Node

CELL_SEPARATOR = " | "
ROW_TAG = "tr"
ITEM_TAGS = frozenset({"li", "dt", "dd"})


@lru_cache(maxsize=64)
def block_ids(document: Document) -> tuple[int, ...]:
    """For each node the node_id of the block that prints it: the row above it, else itself.

    Containers stand for themselves; they have no text to print. Documents never change, so that the last
    ones are remembered.
    """
    blocks: list[int] = []
    rows: list[int | None] = []
    for node in document:
        row = None if node.parent_id is None or node.is_structure else rows[node.parent_id]
        if node.tag == ROW_TAG:
            row = node.node_id
        rows.append(row)
        blocks.append(node.node_id if row is None else row)
    return tuple(blocks)


def row_members(document: Document, row_id: int, blocks: Sequence[int]) -> list[list[Node]]:
    """The nodes with text of each cell of a row, cells in order; an empty list is an empty cell.

    blocks: `block_ids` of the document.
    """
    cells: list[list[Node]] = []
    for cell in document.children(row_id):
        below = document.nodes[cell.node_id: cell.end_id + 1]
        cells.append([node for node in below if node.text and blocks[node.node_id] == row_id])
    return cells


def block_members(document: Document, block_id: int, blocks: Sequence[int]) -> list[Node]:
    """The nodes whose text a block prints, in document order: a row's cells, else the block itself."""
    node = document[block_id]
    if node.tag == ROW_TAG:
        return [member for cell in row_members(document, block_id, blocks) for member in cell]
    return [node] if node.text else []


def block_text(document: Document, block_id: int, blocks: Sequence[int]) -> str:
    """The own words of a block: its text, or a row's cells joined by " | "."""
    if document[block_id].tag != ROW_TAG:
        return document[block_id].text
    cells = row_members(document, block_id, blocks)
    text = CELL_SEPARATOR.join(" ".join(node.text for node in cell) for cell in cells if cell)
    return text.replace("\n", " ")


def header_row(document: Document, row_id: int) -> int | None:
    """The row of column headings that stands above a row in its table: the first, if all its cells are th.

    None for that row itself and for a table without one.
    """
    table_id = document[row_id].parent_id
    if table_id is None:
        return None
    for node in document.children(table_id):
        if node.tag == ROW_TAG:
            cells = list(document.children(node.node_id))
            is_header = len(cells) > 1 and all(cell.tag == "th" for cell in cells)
            return node.node_id if is_header and node.node_id != row_id else None
    return None
