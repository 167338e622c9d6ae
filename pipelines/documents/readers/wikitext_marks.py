"""The one-character marks that stand for markup between the steps of the wikitext reader.

What belongs here: the alphabet that `wikitext_prepare.py` writes and `wikitext_inline.py` and
`wikitext_walk.py` read. All marks are control characters, which no XML file may contain and which the
reader removes from its input first, so that they can never be confused with text.
"""

from __future__ import annotations

NOTHING = "\x01"
"""Where something was cut out or an inline tag stood: shows nothing, but is no empty place to MediaWiki."""
STASH, STASH_END = "\x02", "\x03"
"""Around the number of a stashed inline piece (math, nowiki, code)."""
BREAK = "\x04"
TABLE_OPEN = "\x05"
"""`{|` at the start of a line."""
CODE_ON, CODE_OFF = "\x06", "\x07"
STRONG_ON, STRONG_OFF = "\x08", "\x0b"
EMPHASIS_ON, EMPHASIS_OFF = "\x0c", "\x0e"
SUPER_ON, SUPER_OFF = "\x0f", "\x10"
LINK, LINK_TEXT, LINK_END = "\x11", "\x12", "\x13"
"""`[[target|text]]` as LINK target LINK_TEXT text LINK_END; without text the target is shown."""
SUB_ON, SUB_OFF = "\x14", "\x15"
URL = "\x16"
"""An external link: URL target LINK_TEXT text LINK_END."""
TEMPLATE = "\x17"
"""An unhandled template: TEMPLATE name LINK_TEXT text LINK_END."""
WITH_TARGET = LINK + URL + TEMPLATE


def link(target: str, shown: str, kind: str = LINK) -> str:
    """A link; its words alone where they or its target hold links, or each level of nested ones would double."""
    if LINK in target or URL in target or LINK in shown or URL in shown:
        return shown
    return f"{kind}{target}{LINK_TEXT}{shown}{LINK_END}"


LIST = "\x18"
"""In front of the list marks at the start of a line, which then are ordinary text to a tokenizer."""
UNCLOSED = "\x19"
"""Where an opening `[[` without a partner stood: shows nothing, but a pipe behind it ends no attributes."""
AMPERSAND = "\x1b"
PIPE = "\x1c"
"""`{{!}}`: a pipe that separates no template parameters."""
EQUALS = "\x1d"
BLOCK = "\x1e"
"""In front of the number of a stashed block event (an HTML block tag, a pre), which STASH_END ends."""
LESS = "\x1f"

INLINE_TAGS: dict[str, tuple[str, str]] = {
    "b": (STRONG_ON, STRONG_OFF), "strong": (STRONG_ON, STRONG_OFF),
    "i": (EMPHASIS_ON, EMPHASIS_OFF), "em": (EMPHASIS_ON, EMPHASIS_OFF),
    "cite": (EMPHASIS_ON, EMPHASIS_OFF), "var": (EMPHASIS_ON, EMPHASIS_OFF),
    "dfn": (EMPHASIS_ON, EMPHASIS_OFF),
    "code": (CODE_ON, CODE_OFF), "tt": (CODE_ON, CODE_OFF), "kbd": (CODE_ON, CODE_OFF),
    "samp": (CODE_ON, CODE_OFF),
    "sup": (SUPER_ON, SUPER_OFF), "sub": (SUB_ON, SUB_OFF),
}
"""HTML tags that become spans: the marks of their opening and closing."""

SPAN_OF_MARK: dict[str, tuple[str, bool]] = {
    STRONG_ON: ("strong", True), STRONG_OFF: ("strong", False),
    EMPHASIS_ON: ("emphasis", True), EMPHASIS_OFF: ("emphasis", False),
    CODE_ON: ("code", True), CODE_OFF: ("code", False),
    SUPER_ON: ("sup", True), SUPER_OFF: ("sup", False),
    SUB_ON: ("sub", True), SUB_OFF: ("sub", False),
}
"""Span kind of a mark, and whether it opens one."""
