"""Whole documents for people and programs: an outline of the tree, readable Markdown, JSON.

What belongs here: the three forms of `espalier show` and the line of `espalier export-trees`. What does not:
renderings of parts that know their nodes (`render.py`). Markdown here is complete and has real tables
(spanned cells stay empty), where the context form of `render.py` saves tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pipelines.documents.blocks import ITEM_TAGS, ROW_TAG
from pipelines.documents.render import block_prefix, heading_mark
from pipelines.documents.tree import Document, Node

OUTLINE_CHARACTERS = 80
MOST_SPANNED = 100
"""Columns or rows that a spanning cell fills at most: `colspan="1000"` is common for "all"."""


def outline(document: Document, characters: int = OUTLINE_CHARACTERS) -> str:
    """One node a line, indented by depth: `node_id #/path tag: text`, the text cut to `characters`."""
    return "\n".join(_outline_line(node, characters) for node in document)


def _outline_line(node: Node, characters: int) -> str:
    words = " ".join(node.text.split())
    shown = words if len(words) <= characters else words[: characters - 1] + "…"
    name = f"{node.tag} {node.level}" if node.tag == "section" else node.tag
    attributes = "".join(f" {key}={value}" for key, value in sorted(node.attrs.items()))
    path = "/".join(map(str, node.path))
    return f"{'  ' * len(node.path)}{node.node_id} #/{path} {name}{attributes}{': ' if shown else ''}{shown}"


def to_json(document: Document) -> dict[str, Any]:
    """A document as plain JSON values, the root included: the line of `export-trees`."""
    return {"doc_id": document.doc_id, "title": document.title, "uri": document.uri,
            "nodes": [{"id": node.node_id, "parent": node.parent_id, "path": list(node.path),
                       "kind": node.kind, "tag": node.tag, "level": node.level, "text": node.text}
                      for node in document]}


def to_markdown(document: Document, node_id: int = 0) -> str:
    """A document, or what is below one of its nodes, as Markdown; ends without a newline."""
    pieces: list[tuple[str, str]] = list(_markdown_blocks(document, node_id))
    text: list[str] = []
    for place, (kind, block) in enumerate(pieces):
        if place:
            # Items of one list stand close; all else is set apart by an empty line.
            text.append("\n" if kind == "item" and pieces[place - 1][0] == "item" else "\n\n")
        text.append(block)
    return "".join(text)


def _markdown_blocks(document: Document, first_id: int) -> Iterator[tuple[str, str]]:
    """(kind, text) of each block; kind is "item" for what stands in a list, else "block"."""
    node_id, end_id = first_id, document[first_id].end_id
    while node_id <= end_id:
        node = document[node_id]
        node_id += 1
        above = document.ancestors(node.node_id)
        if node.tag == "table":
            prefix = block_prefix(node, above)
            lines = [prefix + line for line in _table(document, node)]
            if lines:
                yield "block", "\n".join(lines)
            node_id = node.end_id + 1
        elif node.tag == ROW_TAG or node.tag in ("th", "td"):
            # Only where the caller asks for a row or a cell by itself.
            yield "block", " | ".join(_cell_text(document, cell) for cell in _cells(document, node))
            node_id = node.end_id + 1
        elif node.is_structure:
            if node.text:
                yield "block", heading_mark(node) + " ".join(node.text.split())
        elif node.text:
            in_list = node.tag in ITEM_TAGS or any(parent.tag in ITEM_TAGS for parent in above)
            prefix = block_prefix(node, above)
            follow = re.sub(r"[^> ]", " ", prefix)
            lines = _block_lines(node)
            yield ("item" if in_list else "block",
                   prefix + f"\n{follow}".join(lines))


def _block_lines(node: Node) -> list[str]:
    if node.tag == "pre":
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", node.text)), default=0))
        return [fence, *node.text.split("\n"), fence]
    if node.tag == "math":
        return ["$$", *node.text.split("\n"), "$$"]
    if node.tag == "dt":
        return [f"**{' '.join(node.text.split())}**"]
    if node.tag == "caption":
        return [f"*{' '.join(node.text.split())}*"]
    return node.text.split("\n")


def _cells(document: Document, row: Node) -> list[Node]:
    return [row] if row.tag in ("th", "td") else list(document.children(row.node_id))


def _cell_text(document: Document, cell: Node) -> str:
    """All words of a cell on one line, what is nested in it included."""
    below = document.nodes[cell.node_id: cell.end_id + 1]
    text = "<br>".join(node.text.replace("\n", "<br>") for node in below if node.text)
    return " ".join(text.replace("|", "\\|").split())


def _table(document: Document, table: Node) -> Iterator[str]:
    """The lines of a table: caption, header row, rule, rows."""
    rows: list[tuple[bool, list[str]]] = []
    pending: dict[int, int] = {}
    for child in document.children(table.node_id):
        if child.tag != ROW_TAG:
            text = _cell_text(document, child)
            if text:
                yield f"*{text}*"
                yield ""
            continue
        cells = _cells(document, child)
        rows.append((bool(cells) and all(cell.tag == "th" for cell in cells),
                     _grid_row(document, cells, pending)))
    width = max((len(texts) for _, texts in rows), default=0)
    if not width:
        return
    if not rows[0][0]:
        # Markdown tables must have a header row: an empty one where the table has none.
        rows.insert(0, (True, []))
    for place, (_, texts) in enumerate(rows):
        yield "| " + " | ".join(texts + [""] * (width - len(texts))) + " |"
        if place == 0:
            yield "|" + " --- |" * width


def _grid_row(document: Document, cells: list[Node], pending: dict[int, int]) -> list[str]:
    """The texts of one row by column. pending: rows that a spanning cell above still fills, by column."""
    texts: list[str] = []

    def skip_filled() -> None:
        while pending.get(len(texts), 0):
            pending[len(texts)] -= 1
            texts.append("")

    for cell in cells:
        skip_filled()
        column = len(texts)
        width = _spanned(cell, "colspan")
        texts += [_cell_text(document, cell)] + [""] * (width - 1)
        n_below = _spanned(cell, "rowspan") - 1
        if n_below:
            pending.update(dict.fromkeys(range(column, column + width), n_below))
    skip_filled()
    return texts


def _spanned(cell: Node, attribute: str) -> int:
    value = cell.attrs.get(attribute, "1")
    return min(max(int(value), 1), MOST_SPANNED) if value.isdecimal() else 1
