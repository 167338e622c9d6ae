"""The one walk over the token stream: lines, links, templates and block tags become blocks.

What belongs here: what each token means where it stands. How blocks nest is in `wikitext_blocks.py`, what
templates say in `wikitext_templates.py`, what links are in `wikitext_links.py`, table lines in
`wikitext_tables.py`, block tags in `wikitext_html.py`. A token is visited once at block level and once where
a template or link needs its words as a string.
"""

from __future__ import annotations

import re
from collections import Counter

from mwparserfromhell.parser import tokens as mw

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext_blocks import WIKI_LIST, Blocks
from pipelines.documents.readers.wikitext_cut import Stashed
from pipelines.documents.readers.wikitext_html import BlockTags
from pipelines.documents.readers.wikitext_links import LinkReader
from pipelines.documents.readers.wikitext_prepare import Prepared
from pipelines.documents.readers.wikitext_tables import TableLines
from pipelines.documents.readers.wikitext_templates import TemplateReader
from pipelines.documents.readers.wikitext_tokens import Tokens, TokenSource

_BLOCK = re.compile(f"{mark.BLOCK}(\\d+){mark.STASH_END}")
Text, TemplateOpen, WikilinkOpen = mw.Text, mw.TemplateOpen, mw.WikilinkOpen
TagOpenOpen, HeadingStart, HeadingEnd = mw.TagOpenOpen, mw.HeadingStart, mw.HeadingEnd
ExternalLinkOpen, ArgumentOpen = mw.ExternalLinkOpen, mw.ArgumentOpen


class Walk(TableLines, BlockTags, LinkReader, TemplateReader):
    """The state of the walk over one page."""

    def __init__(self, title: str, prepared: Prepared, site: SiteInfo, source: TokenSource) -> None:
        self.title, self.site, self.source = title, site, source
        self.stash: list[Stashed] = prepared.stash
        self.counts: Counter[str] = prepared.counts
        self.blocks = Blocks(title, self.stash, self.counts, prepared.lines)
        self.tokens: Tokens = []
        self.is_disambiguation = False
        self.inline_cache: dict[tuple[int, int], str] = {}
        self.n_nested = 0
        self.at_start = True
        """Nothing but list marks stands on this line so far."""
        self.hidden_line = False
        """Only links that show nothing stand on this line so far."""
        self.after_marks = False
        self.term_line = False
        """The line began with `;`: its first colon begins the definition."""
        self.item_line = False
        """The line began with list marks: its end ends the item's words."""
        self.attrs_line = False
        """The rest of the line is attributes of a table or row."""
        self.cell_tag = ""
        """th or td on a line that began with ! or |."""
        self.may_be_attrs = False
        self.n_hidden_tables = 0
        """Templates that open a table of which nothing is shown, and whose end has not come."""

    def run(self, text: str) -> None:
        """Walk over the whole page."""
        self.tokens = self.source(text)
        self.walk(0, len(self.tokens))
        self.blocks.finish()
        self.tokens = []
        self.inline_cache.clear()

    def walk(self, at: int, end: int) -> None:
        """Read the tokens [at, end) as blocks."""
        tokens = self.tokens
        while at < end:
            token = tokens[at]
            kind = type(token)
            if kind is Text:
                self.text(token["text"])
                at += 1
            elif kind is TagOpenOpen:
                at = self.rule(at)
            elif kind is WikilinkOpen:
                at = self.link(at)
            elif kind is TemplateOpen:
                at = self.template(at)
            elif kind is HeadingStart:
                at = self.heading(at, end)
            elif kind is ExternalLinkOpen:
                text, at = self.external_link(at)
                if "|" in text and self.cell_tag:
                    # The tokenizer takes a cell's pipe into a bare address; MediaWiki splits cells first.
                    text = text[1:].partition(mark.LINK_TEXT)[2].removesuffix(mark.LINK_END)
                    self.line_part(text)
                else:
                    self.inline(text)
            elif kind is ArgumentOpen:
                text, at = self.argument(at)
                self.inline(text)
            else:
                at += 1

    def sub_walk(self, begin: int, end: int) -> None:
        """Read a template's parameter as blocks: it starts on a line of its own, and its tables end with it."""
        if self.n_nested >= 40 or self.blocks.is_too_deep():
            self.inline(self.inline_text(begin, end))
            return
        self.n_nested += 1
        self.at_start, self.after_marks = True, False
        self.item_line = self.attrs_line = self.may_be_attrs = False
        self.cell_tag = ""
        line, n_tables = self.blocks.line, len(self.blocks.tables)
        self.walk(begin, end)
        self.blocks.flush()
        while len(self.blocks.tables) > n_tables:
            self.blocks.close_table()
        self.blocks.line = line
        self.at_start = False
        self.n_nested -= 1

    # Text by lines

    def text(self, text: str) -> None:
        if mark.PIPE in text:
            text = text.replace(mark.PIPE, "|")
        if mark.BLOCK in text:
            pieces = _BLOCK.split(text)
            self.lines(pieces[0])
            for number in range(1, len(pieces), 2):
                self.block_event(*self.stash[int(pieces[number])])
                if pieces[number + 1]:
                    self.lines(pieces[number + 1])
        elif "\n" in text:
            self.lines(text)
        elif text:
            self.line_part(text)

    def lines(self, text: str) -> None:
        first, *rest = text.split("\n")
        if first:
            self.line_part(first)
        for line in rest:
            self.newline()
            if line:
                self.line_part(line)

    def newline(self) -> None:
        blocks = self.blocks
        if self.at_start:
            if blocks.form != "poem" and not self.hidden_line:
                if blocks.words or blocks.figures or blocks.form == "pre":
                    blocks.flush()
                if blocks.stack[-1].kind in WIKI_LIST:
                    blocks.close_lists()
        else:
            self.at_start = True
            if self.attrs_line:
                self.end_attrs_line()
            elif self.item_line:
                blocks.flush()
                self.item_line = False
            elif blocks.words:
                blocks.words.append("\n")
            self.cell_tag = ""
            self.may_be_attrs = False
        self.after_marks = self.hidden_line = self.term_line = False
        blocks.line += 1

    def line_part(self, text: str) -> None:
        """Words on the current line."""
        if self.at_start:
            text = self.start_line(text.lstrip(" ") if self.hidden_line else text)
            if not text:
                return
        elif self.after_marks:
            if not text.strip():
                return
            self.after_marks = False
            if text.lstrip(" \t\x01")[:1] == mark.TABLE_OPEN:
                self.table_line(text.lstrip(" \t\x01"))
                return
        if self.cell_tag:
            self.cell_text(text)
            return
        blocks = self.blocks
        if self.term_line and ":" in text:
            self.term_line = False
            term, _, text = text.partition(":")
            blocks.words.append(term)
            blocks.definition()
        if not blocks.words:
            blocks.words_line = blocks.line
        blocks.last_line = blocks.line
        blocks.words.append(text)

    def start_line(self, text: str) -> str:
        """Begin a line with words; returns those that are ordinary ones."""
        first = text[:1]
        if first == mark.LIST:
            return self.list_marks(text)
        if first in " \t|!\x01\x05{":
            bare = text.lstrip(" \t\x01")
            if not bare:
                # Perhaps something else follows on this line; alone it is a blank line.
                return ""
            if bare[0] == mark.TABLE_OPEN or (bare[0] in "|!" and self.is_table_line(bare)):
                self.at_start = False
                self.table_line(bare)
                return ""
        self.begin_line()
        blocks = self.blocks
        if first == " " and blocks.stack[-1].kind in _PRE_PLACES and blocks.form != "poem":
            if blocks.form == "pre":
                text = text[1:]
            else:
                blocks.flush()
                blocks.form, text = "pre", text[1:]
        elif blocks.form == "pre":
            blocks.flush()
        return text

    def list_marks(self, text: str) -> str:
        """Begin an item with a line of list marks; returns the words behind them."""
        words = text.lstrip(_LIST_LINE)
        prefix = text[1:len(text) - len(words)]
        self.at_start = False
        if self.blocks.form == "pre":
            self.blocks.flush()
        self.blocks.list_item(prefix)
        self.item_line = self.after_marks = True
        self.term_line = prefix[-1] == ";"
        if words:
            self.line_part(words)
        return ""

    def begin_line(self) -> None:
        """Something other than a list mark stands at the start of the line."""
        self.at_start = False
        if self.blocks.stack[-1].kind == "item":
            self.blocks.flush()
            self.blocks.close_lists()

    def inline(self, text: str) -> None:
        """Marked words from a link or template, in the flow of the line."""
        if not text:
            return
        blocks = self.blocks
        if self.at_start:
            self.begin_line()
            if blocks.form == "pre":
                blocks.flush()
        self.after_marks = False
        if mark.BLOCK in text or "\n" in text:
            # Words that bring their own lines, as a template's list does.
            at_start, self.at_start = self.at_start, False
            self.text(text)
            self.at_start = at_start and self.at_start
            return
        if not blocks.words:
            blocks.words_line = blocks.line
        blocks.last_line = blocks.line
        blocks.words.append(text)

    # Rules and headings

    def rule(self, at: int) -> int:
        """`----` ends what stands in front of it and shows no words; returns the index behind its tokens."""
        self.blocks.flush()
        self.blocks.close_lists()
        return at + 3

    def heading(self, at: int, end: int) -> int:
        tokens = self.tokens
        level = tokens[at]["level"]
        close = at + 1
        while type(tokens[close]) is not HeadingEnd:
            close += 1
        after = close + 1
        words = self.inline_text(at + 1, close)
        if not self.at_start or not self.ends_line(after, end):
            # MediaWiki wants nothing behind the closing marks: this is a line of text.
            self.line_part("=" * level)
            self.inline(words.replace("\n", " "))
            self.line_part("=" * level)
            return after
        form = self.blocks.form
        self.n_hidden_tables = 0
        self.blocks.flush()
        self.blocks.words.append(words)
        self.blocks.form = f"h{level}"
        self.blocks.flush()
        self.blocks.form = "poem" if form == "poem" else "p"
        self.at_start = False
        return after

    def ends_line(self, at: int, end: int) -> bool:
        """Whether nothing but spaces stands between the index and the end of the line."""
        if at >= end:
            return True
        token = self.tokens[at]
        if type(token) is not Text:
            return False
        line, newline, _ = token["text"].partition("\n")
        return not line.strip(" \t") and (bool(newline) or at + 1 >= end)


_LIST_LINE = mark.LIST + "*#:;"
_PRE_PLACES = frozenset(("root", "section"))
