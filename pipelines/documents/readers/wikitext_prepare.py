"""First step of the wikitext reader: text that the tokenizer reads fast, and only once.

What belongs here: control characters and magic words go, simple links become marks. Tags are cut by
`wikitext_cut.py`; `wikitext_balance.py` takes out braces and brackets without a partner.
Everything is linear in the length of the page. Nothing is tokenized here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.language_variants import choose_variants
from pipelines.documents.readers.namespaces import is_file_prefix
from pipelines.documents.readers.source_lines import LineMap
from pipelines.documents.readers.wikitext_balance import balance, without
from pipelines.documents.readers.wikitext_cut import Cutter, Stashed
from pipelines.documents.readers.wikitext_open_tables import close_tables


class Prepared(NamedTuple):
    """Wikitext ready for the tokenizer, with what was put aside and how its lines map to the source."""

    text: str
    stash: list[Stashed]
    counts: Counter[str]
    lines: LineMap
    n_unclosed: int
    depth: int


_UNWANTED = [*map(chr, (*range(9), *range(11, 32))), "\ufeff"]
_CLEANING = re.compile("[\x00-\x08\x0b-\x1f\ufeff]")


def prepare(text: str, has_variants: bool = False, is_picture: Callable[[str], bool] = is_file_prefix) -> Prepared:
    """Take out what is no readable text, mark what is; linear in the length of the text.

    has_variants: whether `-{…}-` is markup on this wiki. is_picture: whether a link's prefix is that of files.
    """
    counts: Counter[str] = Counter()
    source = text
    # One look for each character is twice as fast as a set in a regular expression.
    if any(char in text for char in _UNWANTED):
        if n := text.count("\x00"):
            counts["nul_characters"] = n
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        text, n_removed = _CLEANING.subn("", text)
        if n_removed > n:
            counts["control_characters"] = n_removed - n
    lines = LineMap(source if "\r" not in source or source.count("\r") == source.count("\r\n") else text)
    stash: list[Stashed] = []
    text = Cutter(text, stash, counts, lines).run() if "<" in text else text
    if has_variants and "-{" in text:
        text = choose_variants(text)
    text = text.replace("<", mark.LESS)
    if "&amp;" in text:
        # Escaped twice, so that the entity's name shows: nobody wrote that to be read.
        text = _TWICE.sub("&", text)
    text = text.replace("&", mark.AMPERSAND)
    text = _magic_words(text, counts)
    text = _simple_links(text)
    if "\n===" in text or text[:3] == "===":
        text = _ONLY_EQUALS.sub(_equals_heading, "\n" + text)[1:]
    if "{|" in text:
        text = _TABLE.sub(_table_open, text)
    text = _tame(text, counts)
    # A tokenizer would make three tokens of each list mark; the walk reads them from the line.
    text = _LIST_LINE.sub("\n" + mark.LIST, text)
    if text[:1] in _LIST_MARKS:
        text = mark.LIST + text
    text, n_unclosed, depth = balance(text, counts, stash, is_picture)
    text = close_tables(text, stash, counts)
    return Prepared(text, stash, counts, lines, n_unclosed, depth)


_TWICE = re.compile(r"&amp;(?=#?\w{2,10};)")
_LIST_MARKS = tuple("*#:;")
_LIST_LINE = re.compile(r"\n(?=[*#:;])")
_TABLE = re.compile(r"\{\|(\|?\})?")
_LINE_START = " \t:;*#" + mark.NOTHING
_ONLY_EQUALS = re.compile(r"\n(={3,})(?=[ \t]*(?:\n|$))")
_LINK = re.compile(r"\[\[([^\[\]{}|\n:=\x1f\x02]+)(?:\|([^\[\]{}|\n:=]+))?\]\]")
_DOUBLE_UNDERSCORE = re.compile(
    # Letters without small Latin ones, with the marks of Hebrew, Arabic, Indic, Thai; code has its own names.
    r"\x06[^\x06\x07]*\x07"
    r"|(?<!_)__(?:[^\W\d_a-z]|[\u0300-\u036f\u0591-\u05c7\u0610-\u065f\u0900-\u0dff\u0e31-\u0e4e\u200c]|_(?=[^\W_]))"
    r"{3,40}__")
_PIPES = {"!": mark.PIPE, "!!": mark.PIPE * 2, "(!": "{" + mark.PIPE, "!)": mark.PIPE + "}",
          "!-": mark.PIPE + "-", "!+": mark.PIPE + "+", "=": mark.EQUALS}
_PIPE = re.compile(r"\{\{\s*(!!?|\(!|![)+-]|=)\s*\}\}")


def _magic_words(text: str, counts: Counter[str]) -> str:
    if "__" in text:
        def taken_out(match: re.Match[str]) -> str:
            if match[0][0] == mark.CODE_ON:
                return match[0]
            counts["magic_words"] += 1
            return ""

        text = _DOUBLE_UNDERSCORE.sub(taken_out, text)
    if "{{!" in text or "{{=" in text or "{{(!" in text:
        text = text.replace("{{!}}", mark.PIPE)
        if "{{!" in text or "{{=" in text or "{{(!" in text:
            text = _PIPE.sub(lambda match: _PIPES[match[1]], text)
        text = text.replace("{" + mark.PIPE, mark.TABLE_OPEN)
    return text


def _equals_heading(match: re.Match[str]) -> str:
    """A line of nothing but `=` is a heading of `=`, as large as the marks on both sides of one allow."""
    level = min(6, (len(match[1]) - 1) // 2)
    return f"\n{'=' * level}{mark.EQUALS * (len(match[1]) - 2 * level)}{'=' * level}"


def _table_open(match: re.Match[str]) -> str:
    """`{|` opens a table where only spaces and list marks stand in front of it on its line."""
    text, begin = match.string, match.start()
    at = begin - 1
    while at >= 0 and text[at] in _LINE_START:
        at -= 1
    is_first = at < 0 or text[at] == "\n"
    if is_first and not match[1]:
        return mark.TABLE_OPEN
    if is_first or text[at].isspace():
        # What the tokenizer would take for a table: it may not, tables are read line by line.
        return f"{{{mark.PIPE}{match[1] or ''}"
    return match[0]


def _simple_links(text: str) -> str:
    """Links of plain words as marks: most of them never reach the tokenizer."""
    parts = _LINK.split(text)
    if len(parts) == 1:
        return text
    out = [parts[0]]
    out += [f"\x11{target}\x12{words}\x13{rest}" if words else f"\x11{target}\x13{rest}"
            for target, words, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)]
    return "".join(out)


_ADDRESS = re.compile(r"\[(?=(?:[a-z]{3,8}:)?//|mailto:|news:)")
_ADDRESS_LINE = re.compile(r"\[(?=(?:[a-z]{3,8}:)?//|mailto:|news:)|\]|\n")
_EQUALS_LINE = re.compile(r"\n=[^\n]*")
_MANY = 40


def _tame(text: str, counts: Counter[str]) -> str:
    """Take the sting out of what the tokenizer reads in quadratic time: `[http` without an end on its line,
    and a line of many `=`. Ordinary pages stay as they are."""
    if sum(1 for _ in _ADDRESS.finditer(text)) > _MANY:
        holes: list[tuple[int, int]] = []
        opened: list[int] = []
        for match in _ADDRESS_LINE.finditer(text):
            if match[0] == "[":
                opened.append(match.start())
            elif match[0] == "]":
                if opened:
                    opened.pop()
            else:
                holes.extend((begin, 1) for begin in opened)
                opened.clear()
        holes.extend((begin, 1) for begin in opened)
        if holes:
            counts["unclosed_openings"] += len(holes)
            text = without(text, holes)
    if text[:1] == "=":
        return _tame("\n" + text, counts)[1:]
    if any(line.count("=") > _MANY for line in _EQUALS_LINE.findall(text)):
        text = _EQUALS_LINE.sub(_few_equals, text)
    return text


def _few_equals(match: re.Match[str]) -> str:
    line = match[0]
    if line.count("=") <= _MANY:
        return line
    bare = line.rstrip(" \t=")
    start = len(line) - len(line.lstrip("\n="))
    return line[:start] + bare[start:].replace("=", mark.EQUALS) + line[len(bare):][:20]
