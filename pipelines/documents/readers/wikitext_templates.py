"""Templates of the wikitext reader: which handler a call gets, and what is done without one.

What belongs here: reading a call's parameters from the tokens and choosing what becomes of it. What the
templates say stands in the package `templates`: its tables hold a handler by name (`table.py`), `names.tsv`
the rules by which templates go and their names in other languages. It is a part of the walk.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from mwparserfromhell.parser import tokens as mw

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.templates import names as template_names
from pipelines.documents.readers.templates.call import BLANK, Call
from pipelines.documents.readers.templates.citations import citation, is_citation
from pipelines.documents.readers.templates.infoboxes import is_blank, parameter_table, says_facts
from pipelines.documents.readers.templates.prose import shown_values
from pipelines.documents.readers.templates.table import (
    BLOCKS,
    find_block,
    find_words,
    load_handlers,
    meaning_of,
)
from pipelines.documents.readers.wikitext_blocks import MAX_OPEN, Blocks
from pipelines.documents.readers.wikitext_tokens import Tokens

Text, TemplateOpen, TemplateClose = mw.Text, mw.TemplateOpen, mw.TemplateClose
TemplateParamSeparator, TemplateParamEquals = mw.TemplateParamSeparator, mw.TemplateParamEquals
load_handlers()
_TABLE_PARAMETERS = 3
"""An unknown template at a place of its own with so many named parameters shows a table of them."""
_SHOWN = ("text", "content", "quote", "title", "list", "caption")
"""Named parameters of a block template that are words inside a caption, link or heading as well."""
_FOLDING = frozenset(("state", "expanded", "selected", "collapse", "collapsed", "nocat", "navbar", "align",
                      "float", "width", "state1", "style", "show", "списък", "стан", "состояние", "κατάσταση"))
_FOLDED = frozenset(("expanded", "collapsed", "uncollapsed", "autocollapse", "plain", "open", "off", "hide",
                     "show", "collapsible", "nocat"))
"""Parameters and values of navigation boxes that say how they are shown."""
_ONLY_HOLES = re.compile(f"(?:[\\s{mark.NOTHING}]|{mark.TEMPLATE}[^{mark.LINK_TEXT}]*{mark.LINK_TEXT}"
                         f"{mark.LINK_END})*")

_MAX_HOLES = 20
_LONGEST_VALUE = 300


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
    bare_line: int = -1
    """The line on which only templates that show nothing stand so far."""

    if TYPE_CHECKING:
        def inline(self, text: str) -> None: ...
        def inline_text(self, begin: int, end: int) -> str: ...
        def sub_walk(self, begin: int, end: int) -> None: ...
        def end_attrs_line(self) -> None: ...

    def template(self, at: int) -> int:
        """A template at block level; returns the index behind it."""
        call, behind = self.read_call(at)
        blocks = self.blocks
        on_own = self.at_start or self.bare_line == blocks.line
        rule = self.rule_of(call)
        if (self.attrs_line and not rule and find_words(call) is None and call.name not in BLOCKS
                and says_facts(self, call)):
            # It brings rows of its own to the table whose attributes it stands among.
            self.end_attrs_line()
            parameter_table(self, call, "infobox", blocks.tables[-1])
            self.at_start, self.attrs_line = False, True
            blocks.line += call.n_lines
            return behind
        block = None if rule or self.attrs_line else find_block(call)
        if block is not None:
            state = self.item_line, self.cell_tag
            if on_own and blocks.stack[-1].kind == "item":
                blocks.flush()
                blocks.close_lists()
            block(self, call)
            self.item_line, self.cell_tag = state
            self.at_start = False
            is_bare = not blocks.words
        elif not rule and self.apart(call, on_own):
            self.at_start = False
            is_bare = True
        else:
            words = self.call_text(call)
            self.inline(words)
            self.at_start = False
            is_bare = not words
        blocks.line += call.n_lines
        if on_own and is_bare:
            self.bare_line = blocks.line
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
        words = find_words(call)
        if words is not None:
            return words(call)
        block = find_block(call)
        if block is not None:
            # Where no more nodes may be opened, all of its words stand in the line.
            is_deep = len(self.blocks.stack) >= MAX_OPEN
            shown = [call.text(name) for name in call.ranges if is_deep or name.isdigit() or name in _SHOWN]
            return f" {' '.join(filter(None, shown))} "
        return self.unhandled(call)

    def unhandled(self, call: Call) -> str:
        """A template without a handler: its only parameter if it has just one, else a hole, both marked."""
        if not call.name:
            return " ".join(call.positional())
        if is_citation(call):
            self.counts["citations_by_parameters"] += 1
            return citation(call)
        self.counts[f"unhandled_template:{call.name[:60]}"] += 1
        values = call.positional()
        if len(call.ranges) == 1:
            words = values[0] if values and len(values[0]) < _LONGEST_VALUE else ""
        else:
            words = shown_values(call)
        return f"{mark.TEMPLATE}{call.shown_name.strip(BLANK)}{mark.LINK_TEXT}{words}{mark.LINK_END}"

    def apart(self, call: Call, on_own: bool) -> bool:
        """Whether an unknown template is no part of a sentence: navigation, or a table of its parameters.

        on_own: nothing that is shown stands in front of it on its line.
        """
        if find_words(call) is not None or not call.name:
            return False
        blocks = self.blocks
        # Many pieces are never looked through: a paragraph of such calls would be for each of them.
        waiting = len(blocks.words) > _MAX_HOLES or not all(map(_ONLY_HOLES.fullmatch, blocks.words))
        if on_own and not waiting and self.is_navigation(call):
            self.counts["navigation"] += 1
            return True
        if (waiting and not on_own) or (blocks.stack[-1].kind == "item" and is_citation(call)):
            return False
        named = [name for name, span in call.ranges.items() if not name.isdigit() and not is_blank(self, span)]
        if len(named) < _TABLE_PARAMETERS or not says_facts(self, call):
            return False
        is_lead = not any(entry.kind == "section" for entry in blocks.stack)
        parameter_table(self, call, "infobox" if is_lead else "template")
        self.counts["tables_of_parameters"] += 1
        return True

    def is_navigation(self, call: Call) -> bool:
        """A call without parameters, or with such alone as fold a navigation box or place it."""
        return all(is_blank(self, span) or name in _FOLDING or call.text(name).lower() in _FOLDED
                   for name, span in call.ranges.items())

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
        depth = number = n_lines = 0
        key: str | None = None
        call: Call | None = None
        while True:
            kind = type(tokens[at])
            if kind is Text:
                text = tokens[at]["text"]
                if "\n" in text:
                    n_lines += text.count("\n")
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
                    call.n_lines = n_lines
                    return call, at + 1
                begin, key = at + 1, None
            elif kind is TemplateParamEquals and call is not None and key is None:
                key = self.inline_text(begin, at).strip(BLANK).replace("_", " ").lower()
                begin = at + 1
                if key.isdecimal() and len(key) < 9:
                    key = str(int(key))
            at += 1

    def new_call(self, begin: int, end: int) -> Call:
        """A call with its name read; `{{#if:x|y}}` and `{{lc:X}}` have x and X as parameter 1."""
        shown = self.inline_text(begin, end).strip(BLANK)
        prefix, colon, rest = shown.partition(":")
        if colon:
            low = prefix.strip(BLANK).lower().replace(" ", "_")
            number = self.site.numbers.get(low.replace("_", " "))
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
        return Call(self, shown, meaning_of(name, self.site.language))

    inline_cache: dict[tuple[int, int], str]
