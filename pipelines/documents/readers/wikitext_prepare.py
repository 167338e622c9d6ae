"""First step of the wikitext reader: text that the tokenizer reads fast, and only once.

What belongs here: control characters and magic words go, simple links become marks, unbalanced braces and
brackets are taken out, so that the tokenizer never has to try again; tags are cut by `wikitext_cut.py`.
Everything is linear in the length of the page. Nothing is tokenized here.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.source_lines import LineMap
from pipelines.documents.readers.wikitext_cut import Cutter, Stashed


class Prepared(NamedTuple):
    """Wikitext ready for the tokenizer, with what was put aside and how its lines map to the source."""

    text: str
    stash: list[Stashed]
    counts: Counter[str]
    lines: LineMap
    n_unclosed: int
    depth: int


_NEEDS_CLEANING = re.compile("[\x00-\x08\x0b-\x1f]|\ufeff")


def prepare(text: str) -> Prepared:
    """Take out what is no readable text, mark what is; linear in the length of the text."""
    counts: Counter[str] = Counter()
    source = text
    if _NEEDS_CLEANING.search(text):
        if n := text.count("\x00"):
            counts["nul_characters"] = n
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        text, n_removed = _NEEDS_CLEANING.subn("", text)
        if n_removed > n:
            counts["control_characters"] = n_removed - n
    lines = LineMap(source if "\r" not in source or source.count("\r") == source.count("\r\n") else text)
    stash: list[Stashed] = []
    text = Cutter(text, stash, counts, lines).run() if "<" in text else text
    text = text.replace("<", mark.LESS)
    if "&amp;" in text:
        # Escaped twice, so that the entity's name shows: nobody wrote that to be read.
        text = _TWICE.sub("&", text)
    text = text.replace("&", mark.AMPERSAND)
    text = _magic_words(text, counts)
    text = _simple_links(text)
    if "{|" in text:
        text = _TABLE.sub(r"\1" + mark.TABLE_OPEN, text)
    text = _tame(text, counts)
    text, n_unclosed, depth = balance(text, counts)
    return Prepared(text, stash, counts, lines, n_unclosed, depth)


_TWICE = re.compile(r"&amp;(?=#?\w{2,10};)")
_TABLE = re.compile(r"(?m)^([ \t:;*#\x01]*)\{\|(?!\|?\})")
_LINK = re.compile(r"\[\[([^\[\]{}|\n:=\x1f\x02]+)(?:\|([^\[\]{}|\n:=]+))?\]\]")
_DOUBLE_UNDERSCORE = re.compile(r"__[^\W\d_a-z]{3,}__")
_PIPES = {"!": mark.PIPE, "!!": mark.PIPE * 2, "(!": "{" + mark.PIPE, "!)": mark.PIPE + "}",
          "!-": mark.PIPE + "-", "!+": mark.PIPE + "+", "=": mark.EQUALS}
_PIPE = re.compile(r"\{\{\s*(!!?|\(!|![)+-]|=)\s*\}\}")


def _magic_words(text: str, counts: Counter[str]) -> str:
    if "__" in text:
        text, n = _DOUBLE_UNDERSCORE.subn(mark.NOTHING, text)
        if n:
            counts["magic_words"] += n
    if "{{!" in text or "{{=" in text or "{{(!" in text:
        text = _PIPE.sub(lambda match: _PIPES[match[1]], text)
        text = text.replace("{" + mark.PIPE, mark.TABLE_OPEN)
    return text


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
            text = _without(text, sorted(holes))
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


def _without(text: str, holes: list[tuple[int, int]]) -> str:
    """The text without these (begin, size) places, which are in order."""
    pieces, at = [], 0
    for begin, size in holes:
        pieces.append(text[at:begin])
        pieces.append(mark.NOTHING)
        at = begin + size
    pieces.append(text[at:])
    return "".join(pieces)


_BRACES = re.compile(r"\{\{+|\}\}+|\[\[+|\]\]+")


def balance(text: str, counts: Counter[str]) -> tuple[str, int, int]:
    """Take out braces and brackets without a partner: (text, how many openings, greatest depth)."""
    stack: list[tuple[int, int]] = []
    holes: list[tuple[int, int]] = []
    depth = n_open = 0
    for match in _BRACES.finditer(text):
        run, begin = match[0], match.start()
        size = len(run)
        char = run[0]
        if char == "{":
            while size >= 2:
                take = 3 if size == 3 or size == 5 else 2
                stack.append((begin, take))
                begin, size = begin + take, size - take
            depth = max(depth, len(stack))
        elif char == "[":
            # Of more than two brackets the innermost two open the link, as MediaWiki reads it.
            stack.append((begin + size - 2, -2))
            depth = max(depth, len(stack))
        elif char == "}":
            while size >= 2:
                while stack and stack[-1][1] < 0:
                    holes.append((stack.pop()[0], 2))
                    n_open += 1
                if not stack:
                    holes.append((begin, size))
                    counts["stray_closings"] += 1
                    break
                opened, take = stack[-1]
                if take > size:
                    stack.pop()
                    holes.append((opened, 1))
                    take = 2
                else:
                    stack.pop()
                begin, size = begin + take, size - take
        elif stack and stack[-1][1] < 0:
            stack.pop()
            while size >= 4 and stack and stack[-1][1] < 0:
                stack.pop()
                size -= 2
        else:
            holes.append((begin, 2))
            counts["stray_closings"] += 1
    holes.extend((begin, abs(take)) for begin, take in stack)
    n_open += len(stack)
    if not holes:
        return text, n_open, depth
    if n_open:
        counts["unclosed_openings"] += n_open
    return _without(text, sorted(holes)), n_open, depth
