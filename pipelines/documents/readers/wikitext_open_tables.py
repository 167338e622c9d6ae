"""Tables that a page never closes end in front of the next heading.

What belongs here: finding them and putting an end where the section begins. MediaWiki would let such a table run to
the end of the page, and all sections behind it stand in its last cell. A heading inside a table that is closed
stays in its cell. Linear in the length of the page; a page whose tables are all closed is only counted.
"""

from __future__ import annotations

import re
from collections import Counter

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.templates.names import TABLE_START, table_half
from pipelines.documents.readers.wikitext_cut import Stashed

_EVENT = re.compile(
    rf"(?:^|(?<=\n))[ \t:*#;{mark.NOTHING}{mark.LIST}]*(?:(?P<open>{mark.TABLE_OPEN})"
    r"|(?P<close>\|\}(?!\}(?!\})))"
    r"|(?P<heading>==[^\n]*==[ \t\x01]*(?=\n|$))|\{\{(?P<template>[^{}|\n]{1,40})\}\})"
    rf"|{mark.BLOCK}(?P<piece>\d+){mark.STASH_END}")


class _Table:
    """An open table. heading: where the first heading stands in it and in no table in it."""

    __slots__ = ("heading", "kind")

    def __init__(self, kind: str) -> None:
        self.kind, self.heading = kind, -1


def close_tables(text: str, stash: list[Stashed], counts: Counter[str]) -> str:
    """The text with an end for each open table in front of the first heading in it."""
    if "\n==" not in text:
        return text
    n_html = sum(1 if kind == "open" else -1 for kind, name, _ in stash if name == "table")
    if n_html <= 0 and text.count(mark.TABLE_OPEN) <= text.count("\n|}"):
        return text
    ends: Counter[int] = Counter()
    out, at = [], 0
    kinds: dict[int, list[str]] = {}
    open_tables: list[_Table] = []
    n_hidden = 0
    for match in _EVENT.finditer(text):
        group = match.lastgroup
        if group == "heading":
            n_hidden = 0
            if open_tables and open_tables[-1].heading < 0:
                open_tables[-1].heading = match.start()
        elif group == "open":
            open_tables.append(_Table("wiki"))
        elif group == "close":
            _close(open_tables, "wiki")
        elif group == "template":
            half = table_half(match["template"])
            if half == TABLE_START:
                n_hidden += 1
            elif half and n_hidden:
                n_hidden -= 1
            elif half:
                _close(open_tables, "wiki")
        elif group == "piece":
            kind, name, _ = stash[int(match["piece"])]
            if name == "table":
                if kind == "open":
                    open_tables.append(_Table("html"))
                else:
                    _close(open_tables, "html")
    first = len(text) + 1
    for table in reversed(open_tables):
        if table.heading >= 0:
            first = min(first, table.heading)
        counts["unclosed_tables"] += 1
        if first <= len(text):
            ends[first] += 1
            kinds.setdefault(first, []).append(table.kind)
    for place in sorted(ends):
        # At the end of the line in front of the heading, so that no line is added.
        out.append(text[at:place - 1])
        for kind in kinds[place]:
            stash.append(("close", "table" if kind == "html" else "wikitable", {}))
            out.append(f"{mark.BLOCK}{len(stash) - 1}{mark.STASH_END}")
        at = place - 1
    out.append(text[at:])
    return "".join(out)


def _close(open_tables: list[_Table], kind: str) -> None:
    """Close the innermost table of a kind; `|}` also ends the HTML tables that stand open in its table."""
    for number in range(len(open_tables) - 1, -1, -1):
        if open_tables[number].kind == kind:
            del open_tables[number:]
            return
        if kind == "html":
            return
