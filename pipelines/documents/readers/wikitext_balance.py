"""Braces and brackets without a partner are taken out, so that the tokenizer never has to try again.

What belongs here: which `{{` and `[[` close where, as MediaWiki reads them. Everything is linear in the
length of the page; nothing is tokenized here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.wikitext_cut import Stashed

_BRACES = re.compile(r"\{\{+|\}\}+|\[\[+|\]\]+")
_HEADING = re.compile(r"\n==[^\n]*==[ \t\x01]*(?=\n|$)")
_ENDS_LINK = re.compile(r"[^\[\]{}\n]*\]\]").match
"""Behind braces in a link: the link ends before anything else opens or the line is over."""
_PAIRS = (("[[", "]]"), ("{{", "}}"))
_LINE_START = " \t:;*#|" + mark.NOTHING + mark.LIST
_LONGEST_PREFIX, _LONGEST_LINE = 60, 1_000
"""Characters at most of a prefix, as `File:`, and of the line that a picture without an end may take."""


def without(text: str, holes: list[tuple[int, int]], words: dict[int, str] | None = None) -> str:
    """The text without these (begin, size) places; words: what stands at one instead, by its begin."""
    pieces, at = [], 0
    for begin, size in sorted(set(holes)):
        pieces.append(text[at:begin])
        is_link = size == 2 and text[begin] == "["
        pieces.append(words[begin] if words and begin in words else mark.UNCLOSED if is_link else mark.NOTHING)
        at = begin + size
    pieces.append(text[at:])
    return "".join(pieces)


def balance(text: str, counts: Counter[str], stash: list[Stashed],
            is_picture: Callable[[str], bool]) -> tuple[str, int, int]:
    """Take out braces and brackets without a partner: (text, how many openings, greatest depth).

    An opening whose partner stands behind a heading has none, unless a template opens at the start of its
    line, as one that wraps sections does; nor has a link to an article with another link in it. Braces in a
    link belong to its words and are put into the stash.
    """
    stack: list[tuple[int, int]] = []
    """Openings as (begin, size): 2 or 3 for braces, -2 for a link."""
    with_link: set[int] = set()
    """Openings in which another link has closed."""
    holes: list[tuple[int, int]] = []
    literal: dict[int, str] = {}
    headings = [match.start() for match in _HEADING.finditer(text)] if "\n==" in text else []
    depth = n_open = n_braces = 0

    def crosses_heading(begin: int, end: int) -> bool:
        place = bisect_right(headings, begin)
        return place < len(headings) and headings[place] < end

    def close_link(end: int) -> bool:
        """End the innermost opening, a link, at this place; False where it has no partner there."""
        begin = stack.pop()[0]
        if stack:
            with_link.add(stack[-1][0])
        if headings and crosses_heading(begin, end):
            drop(begin, -2)
            return False
        if (begin in with_link or text.find(mark.LINK, begin, end) >= 0) and not opens_picture(begin + 2):
            holes.append((begin, 2))
            return False
        return True

    def opens_picture(begin: int) -> bool:
        prefix, colon, _ = text[begin:begin + _LONGEST_PREFIX].partition(":")
        return bool(colon) and is_picture(prefix)

    def drop(begin: int, size: int) -> None:
        """Take out an opening that was never closed; a picture ends with its line: its caption stays one."""
        if size < 0 and opens_picture(begin + 2):
            at = begin + 2
            end = text.find("\n", at, at + _LONGEST_LINE)
            end = len(text) if end < 0 else end
            if end < at + _LONGEST_LINE and all(
                    text.count(left, at, end) == text.count(right, at, end) for left, right in _PAIRS):
                holes.append((end, 0))
                literal[end] = literal.get(end, "") + "]]"
                return
        holes.append((begin, abs(size)))

    for match in _BRACES.finditer(text):
        run, begin = match[0], match.start()
        size = len(run)
        char = run[0]
        if char == "{":
            while size >= 2:
                take = 3 if size == 3 or size == 5 else 2
                stack.append((begin, take))
                n_braces += 1
                begin, size = begin + take, size - take
            depth = max(depth, len(stack))
        elif char == "[":
            # Of more than two brackets the innermost two open the link, as MediaWiki reads it.
            stack.append((begin + size - 2, -2))
            if size > 3:
                holes.append((begin, size - 2 - size % 2))
            depth = max(depth, len(stack))
        elif char == "}":
            if n_braces and stack[-1][1] < 0 and _ENDS_LINK(text, begin + size):
                holes.append((begin, size))
                literal[begin] = f"{mark.STASH}{len(stash)}{mark.STASH_END}"
                stash.append(("nowiki", run, {}))
                continue
            while size >= 2:
                if not n_braces:
                    # Braces that close nothing leave the link around them as it is.
                    holes.append((begin, size))
                    counts["stray_closings"] += 1
                    break
                while stack[-1][1] < 0:
                    holes.append((stack.pop()[0], 2))
                    n_open += 1
                n_braces -= 1
                opened, take = stack.pop()
                if headings and crosses_heading(opened, begin) and not _begins_line(text, opened):
                    # Two halves that belong to other calls: neither has a partner.
                    holes.append((opened, take))
                    n_open += 1
                    continue
                if take > size:
                    holes.append((opened, 1))
                    take = 2
                begin, size = begin + take, size - take
        elif stack and stack[-1][1] < 0:
            while size >= 2 and stack and stack[-1][1] < 0:
                if not close_link(begin):
                    n_open += 1
                    counts["stray_closings"] += 1
                    holes.append((begin, 2))
                begin, size = begin + 2, size - 2
        else:
            holes.append((begin, size - size % 2))
            counts["stray_closings"] += 1
    for begin, size in stack:
        drop(begin, size)
    n_open += len(stack)
    if n_open:
        counts["unclosed_openings"] += n_open
    return (without(text, holes, literal) if holes else text), n_open, depth


def _begins_line(text: str, at: int) -> bool:
    """Whether only spaces and list or cell marks stand in front of this place on its line."""
    at -= 1
    while at >= 0 and text[at] in _LINE_START:
        at -= 1
    return at < 0 or text[at] == "\n"
