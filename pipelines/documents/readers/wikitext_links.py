"""Links of the wikitext reader: articles, pictures, categories, other languages, addresses.

What belongs here: what `[[…]]` and `[http…]` leave in the text. It is a part of the walk.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from mwparserfromhell.parser import tokens as mw

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.namespaces import CATEGORY, FILE, is_file_prefix
from pipelines.documents.readers.picture_options import is_option
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext_blocks import Blocks
from pipelines.documents.readers.wikitext_tokens import Tokens


class LinkReader:
    """The part of the walk that reads links and gives token ranges as marked words."""

    blocks: Blocks
    tokens: Tokens
    counts: Counter[str]
    site: SiteInfo
    at_start: bool
    cell_tag: str
    item_line: bool
    hidden_line: bool
    may_be_attrs: bool
    inline_cache: dict[tuple[int, int], str]

    if TYPE_CHECKING:
        def inline(self, text: str) -> None: ...
        def begin_line(self) -> None: ...
        def text(self, text: str) -> None: ...
        def template_text(self, at: int) -> tuple[str, int]: ...

    def link(self, at: int) -> int:
        """A link at block level; returns the index behind it."""
        n_hidden = self.n_hidden_links()
        text, behind = self.link_text(at, is_block=True)
        if text:
            if text[0] == mark.LINK:
                self.may_be_attrs = False
            self.inline(text)
        elif self.at_start and self.n_hidden_links() > n_hidden:
            # MediaWiki takes it out with the newline in front of it: a list around it goes on.
            self.hidden_line = True
        elif self.at_start:
            self.begin_line()
        n = sum(token["text"].count("\n") for token in self.tokens[at:behind] if type(token) is mw.Text)
        self.blocks.line += n
        return behind

    def n_hidden_links(self) -> int:
        return self.counts["categories"] + self.counts["language_links"]

    def link_text(self, at: int, is_block: bool = False) -> tuple[str, int]:
        """(marked words that a link leaves in the text, index behind it). is_block: blocks may open here."""
        tokens = self.tokens
        begin = at + 1
        at, separator = _close_of(tokens, begin, mw.WikilinkOpen, mw.WikilinkClose, mw.WikilinkSeparator)
        end, behind = at, at + 1
        target = self.inline_text(begin, separator or end).strip()
        prefix, colon, _ = target.partition(":")
        if colon and prefix:
            number, _ = self.site.namespace_of(target)
            if number == FILE or (number == 0 and _FILE_NAME.search(target) and is_file_prefix(prefix)):
                self.picture(target, separator + 1 if separator else end, end, is_block)
                return "", behind
            if number == CATEGORY:
                self.counts["categories"] += 1
                return "", behind
            if self.site.is_language_prefix(prefix):
                self.counts["language_links"] += 1
                return "", behind
        if not target and not separator:
            return "", behind
        words = self.inline_text(separator + 1, end) if separator else ""
        if separator and not words.strip():
            if len(target) > _MAX_TITLE or mark.LINK in target:
                return target, behind
            # The pipe trick: what stands in front of a parenthesis or comma, behind a colon.
            words = re.sub(r"\s*\([^()]*\)$|,.*$", "", target.partition(":")[2] or target)
        target = _NO_MARKS.sub("", target)
        if separator:
            return f"{mark.LINK}{target}{mark.LINK_TEXT}{words}{mark.LINK_END}", behind
        return f"{mark.LINK}{target}{mark.LINK_END}", behind

    def picture(self, target: str, begin: int, end: int, is_block: bool) -> None:
        """`[[File:…|options|caption]]`: the caption waits to become a figure behind its paragraph."""
        caption = ""
        words = self.inline_text(begin, end, is_caption=True)
        if is_block and mark.TABLE_OPEN in words and not any(map(str.strip, self.blocks.words)):
            self.picture_with_table(target, words)
            return
        parts = (_table_words(words) if mark.TABLE_OPEN in words else words).split("\x00")
        for part in reversed(parts):
            if part.strip() and not is_option(part):
                caption = part
                break
        if caption:
            is_apart = self.at_start and not self.blocks.words
            if is_apart and self.blocks.stack[-1].kind == "item":
                self.blocks.close_lists()
            self.blocks.figures.append((caption, " ".join(_NO_MARKS.sub("", target).split())))
            if is_apart:
                self.blocks.flush()
        else:
            self.counts["pictures"] += 1

    def picture_with_table(self, target: str, words: str) -> None:
        """A caption that holds a table: its rows stay rows. The words in front of it are the caption's own."""
        blocks = self.blocks
        if self.at_start:
            self.begin_line()
        blocks.words.clear()
        blocks.flush()
        front, table_open, behind = words.partition(mark.TABLE_OPEN)
        figure = blocks.push_figure(" ".join(_NO_MARKS.sub("", target).split()))
        state = self.cell_tag, self.item_line
        self.cell_tag, self.item_line, self.at_start = "", False, False
        self.text(front.rpartition("\x00")[2] + table_open + behind.replace("\x00", "|"))
        blocks.flush()
        blocks.close_entry(figure)
        self.cell_tag, self.item_line = state
        self.at_start = False

    def external_link(self, at: int) -> tuple[str, int]:
        """(marked words of `[address words]` or of a bare address, index behind it)."""
        tokens = self.tokens
        brackets = tokens[at]["brackets"]
        begin = at + 1
        at, separator = _close_of(tokens, begin, mw.ExternalLinkOpen, mw.ExternalLinkClose,
                                  mw.ExternalLinkSeparator)
        address = self.inline_text(begin, separator or at).strip()
        if not brackets:
            clean = _NO_MARKS.sub("", address)
            return mark.link(clean, address, mark.URL), at + 1
        words = self.inline_text(separator + 1, at) if separator else ""
        if not words.strip():
            self.counts["bare_addresses"] += 1
            return "", at + 1
        return f"{mark.URL}{_NO_MARKS.sub('', address)}{mark.LINK_TEXT}{words}{mark.LINK_END}", at + 1



    def argument(self, at: int) -> tuple[str, int]:
        """`{{{name|default}}}`: its default is what shows; (marked words, index behind it)."""
        tokens = self.tokens
        depth = begin = 0
        at += 1
        while True:
            kind = type(tokens[at])
            if kind is mw.ArgumentOpen:
                depth += 1
            elif kind is mw.ArgumentSeparator and not depth and not begin:
                begin = at + 1
            elif kind is mw.ArgumentClose:
                if not depth:
                    break
                depth -= 1
            at += 1
        self.counts["template_arguments"] += 1
        return (self.inline_text(begin, at) if begin else ""), at + 1

    def inline_text(self, begin: int, end: int, is_caption: bool = False) -> str:
        """The tokens [begin, end) as one string of marked words. In a caption NUL stands for its pipes."""
        tokens = self.tokens
        if end - begin == 1 and type(tokens[begin]) is mw.Text and not is_caption:
            single: str = tokens[begin]["text"]
            return _LIST_LINE.sub("", single) if mark.LIST in single else single
        key = (begin, end)
        if not is_caption and key in self.inline_cache:
            return self.inline_cache[key]
        out: list[str] = []
        at = begin
        while at < end:
            token = tokens[at]
            kind = type(token)
            if kind is mw.Text:
                text = token["text"]
                out.append(text.replace("|", "\x00") if is_caption and "|" in text else text)
                at += 1
            elif kind is mw.WikilinkOpen:
                text, at = self.link_text(at)
                out.append(text)
            elif kind is mw.TemplateOpen:
                text, at = self.template_text(at)
                out.append(text)
            elif kind is mw.ExternalLinkOpen:
                text, at = self.external_link(at)
                if is_caption and "|" in text:
                    if text[0] == mark.URL:
                        text = text.partition(mark.LINK_TEXT)[2].removesuffix(mark.LINK_END)
                    text = text.replace("|", "\x00")
                out.append(text)
            elif kind is mw.ArgumentOpen:
                text, at = self.argument(at)
                out.append(text)
            else:
                # Three tokens of a rule; the two around a heading.
                at += 3 if kind is mw.TagOpenOpen else 1
        result = "".join(out)
        if mark.LIST in result:
            # In a place that knows no lists the newline in front of their marks stays.
            result = _LIST_LINE.sub("", result)
        if not is_caption:
            self.inline_cache[key] = result
        return result


_LIST_LINE = re.compile(mark.LIST + "[*#:;]+")
_MAX_TITLE = 255
_FILE_NAME = re.compile(r"\.(?:jpe?g|png|svg|gif|tiff?|webp|djvu|pdf|og[gav]|webm)\s*$", re.IGNORECASE)
_NO_MARKS = re.compile("[\x01-\x1a\x1c-\x1f]")


def _table_words(words: str) -> str:
    """A table in a caption as the words of its cells, one a line: a caption is a line of text."""
    out = []
    depth = 0
    for line in words.split("\n"):
        bare = line.lstrip(" \t\x01")
        if bare[:1] == mark.TABLE_OPEN:
            depth += 1
        elif not depth:
            out.append(line)
        elif bare[:2] == "\x00}":
            depth -= 1
            out.append(bare[2:])
        elif bare[:1] in ("\x00", "!") and bare[1:2] != "-":
            out += [cell.rpartition("\x00")[2] for cell in _CELL.split(bare[1:].removeprefix("+"))]
        elif bare[:2] != "\x00-":
            out.append(line.replace("\x00", " "))
    return "\n".join(out)


_CELL = re.compile("\x00\x00|!!")


def _close_of(tokens: Tokens, begin: int, opening: type, closing: type, separating: type) -> tuple[int, int]:
    """(index of the token that closes a link whose inside starts at `begin`, its first separator or 0)."""
    at, separator, depth = begin, 0, 0
    while True:
        kind = type(tokens[at])
        if kind is opening:
            depth += 1
        elif kind is closing:
            if not depth:
                return at, separator
            depth -= 1
        elif kind is separating and not depth and not separator:
            separator = at
        at += 1
