"""Blocks of the wikitext reader: the stack of open nodes and the words that wait for their node.

What belongs here: which node gets the next words, and what a heading, list mark, cell or block tag opens
and closes. It knows nothing of tokens; `wikitext_walk.py` feeds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pipelines.documents.readers.source_lines import LineMap
from pipelines.documents.readers.wikitext_cut import Stashed
from pipelines.documents.readers.wikitext_inline import render
from pipelines.documents.readers.wikitext_marks import BREAK
from pipelines.documents.tree import Span, TreeBuilder

LIST_TAGS = {"*": ("ul", "li"), "#": ("ol", "li"), ":": ("dl", "dd"), ";": ("dl", "dt")}
MAX_OPEN = 60
"""Open nodes at most; what would open more leaves its words in the innermost one."""
MAX_LIST_DEPTH = 20
WIKI_LIST = frozenset(("list", "item"))
_BARRIERS = frozenset(("root", "cell"))
"""Kinds of open nodes that a heading or a block tag inside them cannot close."""


class Open:
    """An open node. kind: its role; owns: the next words are its own text; value: list mark, table kind…"""

    __slots__ = ("kind", "line", "node_id", "owns", "value")

    def __init__(self, kind: str, node_id: int, owns: bool, value: str, line: int) -> None:
        self.kind, self.node_id, self.owns, self.value, self.line = kind, node_id, owns, value, line


class Blocks:
    """Collects marked words in `words` and puts them, block by block, into a tree."""

    def __init__(self, title: str, stash: list[Stashed], counts: Counter[str], lines: LineMap) -> None:
        self.tree = TreeBuilder(title)
        self.stash, self.counts, self.lines = stash, counts, lines
        self.stack = [Open("root", 0, False, "", 0)]
        self.tables: list[Open] = []
        self.words: list[str] = []
        self.form = "p"
        """What the waiting words will be: p, pre, poem, or h1 to h6."""
        self.figures: list[tuple[str, str]] = []
        self.line = 0
        self.words_line = self.last_line = 0

    # Open nodes

    def push(self, kind: str, tag: str, *, owns: bool = False, value: str = "", level: int | None = None,
             attrs: dict[str, str] | None = None, text: str = "", spans: tuple[Span, ...] = ()) -> Open:
        self.stack[-1].owns = False
        node_id = self.tree.open(tag, text=text, spans=spans, level=level, attrs=attrs)
        entry = Open(kind, node_id, owns, value, self.line)
        self.stack.append(entry)
        return entry

    def pop(self) -> None:
        """Close the innermost open node; one that stayed without words and children is taken back."""
        if self.figures:
            self._put_figures()
        entry = self.stack.pop()
        if entry.kind == "table":
            self.tables.pop()
        if entry.kind not in _KEPT_EMPTY and self.tree.is_empty(entry.node_id):
            self.tree.discard(entry.node_id)
            parent = self.stack[-1]
            parent.owns = parent.kind in _OWNERS and self.tree.is_empty(parent.node_id)
            return
        if entry.kind != "row" and entry.kind != "cell" and entry.kind != "item":
            last = max(entry.line, self.last_line)
            self.tree.set_source_ref(entry.node_id, self.lines.span(entry.line, last))
        self.tree.close()

    def pop_to(self, entry: Open) -> None:
        """Close everything inside `entry`, which stays open."""
        while self.stack[-1] is not entry:
            self.pop()

    def innermost(self, kinds: Iterable[str]) -> Open | None:
        """The innermost open node of one of these kinds, not looking out of a cell; else None."""
        for entry in reversed(self.stack):
            if entry.kind in kinds:
                return entry
            if entry.kind in _BARRIERS:
                return None
        return None

    def close_kind(self, *kinds: str) -> None:
        entry = self.innermost(kinds)
        if entry is not None:
            self.pop_to(entry)
            self.pop()

    def finish(self) -> None:
        """The page is over: put what waits and close everything."""
        self.flush()
        while len(self.stack) > 1:
            self.pop()
        if self.figures:
            self._put_figures()

    def is_too_deep(self) -> bool:
        """Whether another container must not be opened: paths, and so the work, grow with the depth."""
        if len(self.stack) < MAX_OPEN:
            return False
        self.counts["too_deep"] += 1
        return True

    # Words

    def flush(self) -> None:
        """Put the waiting words into the tree as one block."""
        words, form = self.words, self.form
        if words:
            raw = words[0] if len(words) == 1 else "".join(words)
            words.clear()
            if form == "p":
                text, spans = render(raw, self.stash, self.counts)
                if text and not (len(text) < 4 and _is_hole(text, spans)):
                    self.put(text, spans)
            elif form == "pre" or form == "poem":
                text, spans = render(raw, self.stash, self.counts, True)
                if text.strip():
                    self.add("pre", text, spans, {"class": "poem"} if form == "poem" else None)
            else:
                self.form = "p"
                text, spans = render(raw.replace(BREAK, " "), self.stash, self.counts)
                self.section(int(form[1]), text, spans)
        if form == "pre":
            self.form = "p"
        if self.figures and not self.stack[-1].owns:
            self._put_figures()

    def put(self, text: str, spans: tuple[Span, ...]) -> None:
        """Words as the own text of the innermost node if they are its first, else as a paragraph in it."""
        top = self.stack[-1]
        if top.kind in _NO_WORDS:
            top = self.place()
        first, last = self.words_line, self.last_line
        source_ref = self.lines.span(first, last if last > first else first)
        if top.owns:
            top.owns = False
            self.tree.set_text(top.node_id, text, spans)
            self.tree.set_source_ref(top.node_id, source_ref)
        else:
            self.tree.add("p", text=text, spans=spans, source_ref=source_ref)

    def add(self, tag: str, text: str, spans: tuple[Span, ...] = (),
            attrs: dict[str, str] | None = None) -> None:
        """A block of its own that is no paragraph: pre, math."""
        self.place().owns = False
        self.tree.add(tag, text=text, spans=spans, attrs=attrs,
                      source_ref=self.lines.span(self.words_line or self.line, self.line))

    def place(self) -> Open:
        """The node that may hold words now; a bare table, row or list gets a cell or an item for them."""
        top = self.stack[-1]
        if top.kind == "table" or top.kind == "row":
            return self.open_cell("td", {})
        if top.kind == "hlist":
            return self.push("hitem", "dd" if top.value == "dl" else "li", owns=True)
        return top

    def _put_figures(self) -> None:
        figures, self.figures = self.figures, []
        for raw, target in figures:
            text, spans = render(raw, self.stash, self.counts)
            if text:
                self.place().owns = False
                self.tree.open("figure", attrs={"file": target},
                               source_ref=self.lines.span(self.line, self.line))
                self.tree.add("caption", text=text, spans=spans)
                self.tree.close()
            else:
                self.counts["pictures"] += 1

    def push_figure(self, target: str) -> Open:
        """Open a figure with a caption whose words follow; `close_entry` ends it."""
        self.place()
        figure = self.push("figure", "figure", attrs={"file": target})
        self.push("caption", "caption", owns=True)
        return figure

    def close_entry(self, entry: Open) -> None:
        """Close an open node and all in it, unless something in it has closed it already."""
        if entry in self.stack:
            self.pop_to(entry)
            self.pop()

    # Headings

    def section(self, level: int, text: str, spans: tuple[Span, ...]) -> None:
        """Open a section in the innermost cell or the document, under the last section of lower level."""
        self.flush()
        stack = self.stack
        while stack[-1].kind not in _BARRIERS:
            if stack[-1].kind == "section" and int(stack[-1].value) < level:
                break
            self.pop()
        if text:
            self.push("section", "section", value=str(level), level=level, text=text, spans=spans)
        else:
            self.counts["empty_headings"] += 1

    # Lists

    def close_lists(self) -> None:
        while self.stack[-1].kind in WIKI_LIST:
            self.pop()

    def list_item(self, prefix: str) -> None:
        """Open the item of a line that begins with these list marks, as MediaWiki nests them."""
        self.flush()
        if len(prefix) > MAX_LIST_DEPTH:
            self.counts["too_deep"] += 1
            prefix = prefix[:MAX_LIST_DEPTH]
        stack = self.stack
        base = len(stack)
        while stack[base - 1].kind in WIKI_LIST:
            base -= 1
        n_open = (len(stack) - base) // 2
        common = 0
        while common < n_open and common < len(prefix):
            mark = prefix[common]
            if (":" if mark == ";" else mark) != stack[base + 2 * common].value:
                break
            common += 1
        if common == len(prefix):
            keep, common = 2 * common - 1, common - 1
        else:
            keep = 2 * common
        while len(stack) > base + keep:
            self.pop()
        if base + keep <= len(stack) and keep % 2:
            self.push("item", LIST_TAGS[prefix[common]][1], owns=True, value="item")
            return
        for mark in prefix[common:]:
            list_tag, item_tag = LIST_TAGS[mark]
            if stack[-1].kind in _NO_WORDS:
                self.place()
            self.push("list", list_tag, value=":" if mark == ";" else mark)
            self.push("item", item_tag, owns=True, value="item")

    def definition(self) -> None:
        """The `:` behind a term on the same line: its definition."""
        self.flush()
        if self.stack[-1].kind == "item":
            self.pop()
        if self.stack[-1].kind == "list":
            self.push("item", "dd", owns=True, value="item")

    # Tables

    def open_table(self, value: str, attrs: dict[str, str] | None = None) -> Open:
        self.flush()
        if self.stack[-1].kind in _NO_WORDS:
            self.place()
        entry = self.push("table", "table", value=value, attrs=attrs)
        self.tables.append(entry)
        return entry

    def open_row(self) -> None:
        """The next cell starts a new row; rows come into being with their first cell."""
        self.flush()
        self.pop_to(self.tables[-1])

    def open_cell(self, tag: str, attrs: dict[str, str]) -> Open:
        """A cell in the innermost table, in its open row or a new one."""
        self.flush()
        table = self.tables[-1]
        while self.stack[-1] is not table and self.stack[-1].kind != "row":
            self.pop()
        if self.stack[-1] is table:
            self.push("row", "tr")
        return self.push("cell", tag, owns=True, attrs=attrs)

    def open_caption(self) -> None:
        self.flush()
        self.pop_to(self.tables[-1])
        self.push("caption", "caption", owns=True)

    def close_table(self) -> None:
        self.flush()
        self.pop_to(self.tables[-1])
        self.pop()


def _is_hole(text: str, spans: tuple[Span, ...]) -> bool:
    """Whether only punctuation is left around a template that says nothing here (and was counted)."""
    return any(span.kind == "template" for span in spans) and not any(map(str.isalnum, text))


_NO_WORDS = frozenset(("table", "row", "hlist"))
"""Open nodes that hold no words: those in them get a cell or an item of their own."""
_KEPT_EMPTY = frozenset(("cell", "section", "root"))
_OWNERS = frozenset(("cell", "item", "hitem", "caption"))
