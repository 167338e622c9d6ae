"""Tables of the wikitext reader, line by line as MediaWiki reads them, and HTML's table tags.

What belongs here: `{|`, `|-`, `|+`, `|`, `!` and `|}` at the start of a line, `||` and `!!` in it, the
attributes in front of a cell's single pipe. It is a part of the walk.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.wikitext_blocks import Blocks
from pipelines.documents.readers.wikitext_cut import attributes

KEPT_ATTRIBUTES = ("colspan", "rowspan", "scope", "headers")
_TH = re.compile(r"\|\||!!")
_INFOBOX = re.compile(r"(?i)\binfobox\b")


class TableLines:
    """The part of the walk that reads table lines."""

    blocks: Blocks
    at_start: bool
    attrs_line: bool
    cell_tag: str
    may_be_attrs: bool
    item_line: bool
    after_marks: bool

    if TYPE_CHECKING:
        def text(self, text: str) -> None: ...

    def in_wiki_table(self) -> bool:
        """Whether a table is open in which lines are read; HTML's tables in one of its cells end with it."""
        for table in reversed(self.blocks.tables):
            if table.value != "html":
                return table.value == "wiki"
        return False

    def is_table_line(self, line: str) -> bool:
        """Whether a line that begins with | or ! belongs to a table; `|}` ends an HTML table too."""
        return self.in_wiki_table() or (line.startswith("|}") and bool(self.blocks.tables)
                                        and self.blocks.tables[-1].value == "html")

    def table_line(self, line: str) -> None:
        """A line that begins with table markup, without the spaces in front of it."""
        blocks = self.blocks
        blocks.flush()
        first = line[0]
        if first == mark.TABLE_OPEN:
            # An indented table stands in its item; any other ends the lists in front of it.
            if blocks.stack[-1].kind == "item" and not self.item_line:
                blocks.close_lists()
            self.item_line = self.after_marks = False
            blocks.form = "p"
            if not blocks.is_too_deep():
                blocks.open_table("wiki")
                self.attrs_line = True
                blocks.words.append(line[1:])
            return
        if self.in_wiki_table():
            while blocks.tables[-1].value != "wiki":
                blocks.close_table()
        if line.startswith("|}"):
            blocks.close_table()
            rest = line[2:]
            if rest.strip():
                self.text(rest)
            return
        if line.startswith("|-"):
            blocks.open_row()
            self.attrs_line = True
            return
        self.may_be_attrs = True
        if line.startswith("|+"):
            self.cell_tag = "caption"
            blocks.open_caption()
            self.cell_text(line[2:])
            return
        self.cell_tag = "th" if first == "!" else "td"
        blocks.open_cell(self.cell_tag, {})
        self.cell_text(line[1:])

    def end_attrs_line(self) -> None:
        """The line with a table's or row's attributes is over: they are no words."""
        blocks = self.blocks
        self.attrs_line = False
        if blocks.words:
            text = "".join(blocks.words)
            blocks.words.clear()
            if blocks.stack[-1].kind == "table" and _INFOBOX.search(text):
                blocks.tree.set_attr(blocks.stack[-1].node_id, "infobox", "")

    def cell_text(self, text: str) -> None:
        """Words on a line of cells: `||` starts the next one, a first single pipe ends attributes."""
        blocks = self.blocks
        tag = self.cell_tag
        if tag == "th" and "!!" in text:
            parts = _TH.split(text)
        elif "|" in text:
            parts = text.split("||")
        else:
            if mark.LINK in text:
                self.may_be_attrs = False
            parts = [text]
        for number, part in enumerate(parts):
            if number and tag == "caption":
                # A caption has no cells: what stands behind `||` are words of it.
                part = " " + part
            elif number:
                blocks.open_cell(tag, {})
                self.may_be_attrs = True
            if "|" in part and self.may_be_attrs:
                before, _, after = part.partition("|")
                if mark.LINK not in before and mark.UNCLOSED not in before:
                    self.set_cell_attributes("".join(blocks.words) + before)
                    blocks.words.clear()
                    part = after
                self.may_be_attrs = False
            if part:
                if not blocks.words:
                    blocks.words_line = blocks.line
                blocks.last_line = blocks.line
                blocks.words.append(part)

    def set_cell_attributes(self, text: str) -> None:
        found = attributes(text)
        for name in KEPT_ATTRIBUTES:
            value = found.get(name, "").strip()
            if value and value != "1":
                self.blocks.tree.set_attr(self.blocks.stack[-1].node_id, name, value)

    def table_event(self, kind: str, name: str, values: dict[str, str]) -> None:
        """An HTML tag of a table."""
        blocks = self.blocks
        if name == "wikitable":
            if self.attrs_line:
                self.end_attrs_line()
            if self.in_wiki_table():
                self.table_line("|}")
        elif name == "table":
            if kind == "open" and not blocks.is_too_deep():
                is_infobox = bool(_INFOBOX.search(values.get("class", "")))
                blocks.open_table("html", {"infobox": ""} if is_infobox else None)
            elif kind == "close" and blocks.tables and blocks.tables[-1].value == "html":
                blocks.close_table()
        if name in ("table", "wikitable"):
            return
        if not blocks.tables:
            return
        if kind == "close":
            if name in ("td", "th", "caption"):
                top = blocks.stack[-1]
                while top.kind not in ("cell", "caption", "table"):
                    blocks.pop()
                    top = blocks.stack[-1]
                if top.kind != "table":
                    blocks.pop()
            elif name == "tr" and blocks.tables[-1].value == "html":
                blocks.open_row()
        elif name == "tr":
            blocks.open_row()
        elif name == "caption":
            blocks.open_caption()
        else:
            kept = {key: values[key] for key in KEPT_ATTRIBUTES if values.get(key, "1") != "1"}
            blocks.open_cell(name, kept)
