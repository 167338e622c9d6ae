"""Templates of the wikitext reader: which handler a call gets, and what is done without one.

What belongs here: reading a call's parameters from the tokens and choosing what becomes of it. What the
templates say stands in tables: `template_words.py` (words in a sentence), `template_blocks.py` (lists,
quotes, infoboxes), `template_names.py` (names that go by rule, and names in other languages). It is a part
of the walk.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mwparserfromhell.parser import tokens as mw

from pipelines.documents.readers import template_blocks, template_names, template_words
from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.template_call import BLANK, Call
from pipelines.documents.readers.wikitext_blocks import Blocks
from pipelines.documents.readers.wikitext_tokens import Tokens

Text, TemplateOpen, TemplateClose = mw.Text, mw.TemplateOpen, mw.TemplateClose
TemplateParamSeparator, TemplateParamEquals = mw.TemplateParamSeparator, mw.TemplateParamEquals
_TABLE_PARAMETERS = 3
"""An unknown template at a place of its own with so many named parameters shows a table of them."""


class TemplateReader:
    """The part of the walk that reads templates."""

    blocks: Blocks
    tokens: Tokens
    counts: Counter[str]
    site: SiteInfo
    title: str
    at_start: bool
    item_line: bool
    attrs_line: bool
    cell_tag: str
    is_disambiguation: bool

    if TYPE_CHECKING:
        def inline(self, text: str) -> None: ...
        def inline_text(self, begin: int, end: int) -> str: ...
        def sub_walk(self, begin: int, end: int) -> None: ...

    def template(self, at: int) -> int:
        """A template at block level; returns the index behind it."""
        call, behind = self.read_call(at)
        block = template_blocks.find(call)
        starts_line = self.at_start
        if block is not None and not self.attrs_line and not self.rule_of(call):
            state = self.item_line, self.cell_tag
            if starts_line and self.blocks.stack[-1].kind == "item":
                self.blocks.flush()
                self.blocks.close_lists()
            block(self, call)
            self.item_line, self.cell_tag = state
            self.at_start = False
        else:
            is_apart = starts_line and not self.blocks.words
            if is_apart and self.apart(call):
                self.at_start = False
            else:
                self.inline(self.call_text(call))
                if starts_line:
                    self.at_start = False
        self.blocks.line += sum(token["text"].count("\n") for token in self.tokens[at:behind]
                                if type(token) is Text)
        return behind

    def template_text(self, at: int) -> tuple[str, int]:
        """(marked words of a template inside a link, heading or parameter, index behind it)."""
        call, behind = self.read_call(at)
        return self.call_text(call), behind

    def call_text(self, call: Call) -> str:
        """The marked words that a call leaves in a sentence."""
        rule = self.rule_of(call)
        if rule:
            self.counts[rule] += 1
            return ""
        words = template_words.find(call)
        if words is not None:
            return words(call)
        block = template_blocks.find(call)
        if block is not None:
            return " ".join(filter(None, (call.text(name) for name in call.ranges
                                          if name.isdigit() or name in ("text", "content", "quote"))))
        return self.unhandled(call)

    def unhandled(self, call: Call) -> str:
        """A template without a handler: its only parameter if it has just one, else a hole, both marked."""
        if not call.name:
            return " ".join(call.positional())
        self.counts[f"unhandled_template:{call.name[:60]}"] += 1
        values = call.positional()
        words = values[0] if len(call.ranges) == 1 and values and len(values[0]) < 300 else ""
        return f"{mark.TEMPLATE}{call.shown_name.strip(BLANK)}{mark.LINK_TEXT}{words}{mark.LINK_END}"

    def apart(self, call: Call) -> bool:
        """An unknown template on a line of its own: navigation without parameters, else perhaps a table."""
        if self.rule_of(call) or template_words.find(call) is not None or not call.name:
            return False
        if not call.ranges:
            self.counts["navigation"] += 1
            return True
        named = [name for name in call.ranges if not name.isdigit() and call.text(name)]
        if len(named) >= _TABLE_PARAMETERS:
            is_lead = not any(entry.kind == "section" for entry in self.blocks.stack)
            template_blocks.parameter_table(self, call, "infobox" if is_lead else "template")
            self.counts["tables_of_parameters"] += 1
            return True
        return False

    def rule_of(self, call: Call) -> str | None:
        """The rule by which a call goes, None if its words stay."""
        rule = template_names.rule_of(call.name)
        if rule == "disambiguation":
            self.is_disambiguation = True
        return rule

    def read_call(self, at: int) -> tuple[Call, int]:
        """(the call whose `{{` is at this index, index behind its `}}`)."""
        tokens = self.tokens
        at += 1
        begin = at
        depth = number = 0
        key: str | None = None
        call: Call | None = None
        while True:
            kind = type(tokens[at])
            if kind is Text:
                pass
            elif kind is TemplateOpen:
                depth += 1
            elif depth:
                if kind is TemplateClose:
                    depth -= 1
            elif kind is TemplateParamSeparator or kind is TemplateClose:
                if call is None:
                    call = self.new_call(begin, at)
                    number = len(call.ranges)
                elif key is None:
                    number += 1
                    call.ranges[str(number)] = (begin, at)
                elif key:
                    call.ranges[key] = (begin, at)
                if kind is TemplateClose:
                    return call, at + 1
                begin, key = at + 1, None
            elif kind is TemplateParamEquals and call is not None and key is None:
                key = self.inline_text(begin, at).strip(BLANK).replace("_", " ").lower()
                begin = at + 1
                if key.isdigit():
                    key = str(int(key))
            at += 1

    def new_call(self, begin: int, end: int) -> Call:
        """A call with its name read; `{{#if:x|y}}` and `{{lc:X}}` have x and X as parameter 1."""
        shown = self.inline_text(begin, end).strip(BLANK)
        prefix, colon, rest = shown.partition(":")
        if colon:
            low = prefix.strip(BLANK).lower()
            number = self.site.numbers.get(low)
            if low in ("subst", "safesubst", "msg", "raw") or number == 10:
                shown = rest.strip(BLANK)
            elif low in template_names.PARSER_FUNCTIONS or low[:1] == "#":
                call = Call(self, low, low)
                # The words behind the colon have no tokens of their own: they are kept as a cached range.
                key = (-begin - 1, -end - 1)
                self.inline_cache[key] = rest
                call.ranges["1"] = key
                return call
        name = " ".join(shown.replace("_", " ").split()).lower()
        return Call(self, shown, template_names.ALIASES.get(name, name))

    inline_cache: dict[tuple[int, int], str]
