"""Block tags of the wikitext reader: HTML's lists, headings, quotations and breaks; pre and math.

What belongs here: what a tag that was put aside by `wikitext_cut.py` opens or closes. Tags that only lay
out (div, center …) end a paragraph and leave nothing. It is a part of the walk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.documents.readers.wikitext_blocks import Blocks
from pipelines.documents.readers.wikitext_inline import decoded

_LISTS = frozenset(("ul", "ol", "dl", "li", "dt", "dd"))
_TABLE_PARTS = frozenset(("table", "caption", "tr", "th", "td"))


class BlockTags:
    """The part of the walk that reads block tags."""

    blocks: Blocks
    at_start: bool
    may_be_attrs: bool

    if TYPE_CHECKING:
        def begin_line(self) -> None: ...
        def table_event(self, kind: str, name: str, values: dict[str, str]) -> None: ...

    def block_event(self, kind: str, name: str, values: dict[str, str]) -> None:
        """A block that was put aside: math and pre with their text, or an HTML tag that opens or closes."""
        blocks = self.blocks
        if kind == "math":
            if self.at_start:
                self.begin_line()
            blocks.flush()
            blocks.add("math", name)
            return
        if kind == "pre":
            if self.at_start:
                self.begin_line()
            blocks.flush()
            text = decoded(name)
            if text.strip():
                blocks.add("pre", text, (), values)
            return
        if name == "wikitable":
            self.table_event(kind, name, values)
            return
        if self.at_start:
            self.begin_line()
        blocks.flush()
        self.may_be_attrs = False
        if name == "poem":
            blocks.form = "poem" if kind == "open" else "p"
        elif name[0] == "h" and name[1:].isdigit():
            blocks.form = name if kind == "open" else "p"
        elif name == "blockquote":
            if kind == "open":
                if not blocks.is_too_deep():
                    blocks.place()
                    blocks.push("quote", "blockquote")
            else:
                blocks.close_kind("quote")
        elif name in _LISTS:
            self.list_event(kind, name)
        elif name in _TABLE_PARTS:
            self.table_event(kind, name, values)

    def list_event(self, kind: str, name: str) -> None:
        blocks = self.blocks
        if name in ("ul", "ol", "dl"):
            if kind == "open":
                if not blocks.is_too_deep():
                    blocks.place()
                    blocks.push("hlist", name, value=name)
            else:
                blocks.close_kind("hlist")
            return
        inner = blocks.innermost(("hlist", "hitem"))
        if inner is not None and inner.kind == "hitem":
            blocks.pop_to(inner)
            blocks.pop()
            inner = blocks.innermost(("hlist",))
        if kind == "open":
            if inner is None:
                value = "ul" if name == "li" else "dl"
                blocks.push("hlist", value, value=value)
            else:
                blocks.pop_to(inner)
            blocks.push("hitem", name, owns=True)
