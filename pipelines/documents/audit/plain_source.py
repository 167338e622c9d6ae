"""Wikitext before and after mwparserfromhell reads it, for the independent route.

What belongs here: comments and HTML tags, which are read before parsing; entities; markup that the parser leaves
in text; the parts of a picture. What does not: which nodes show words (`plain_text.py`).
"""

from __future__ import annotations

import html
import re
from typing import Any

from mwparserfromhell import nodes as mw
from mwparserfromhell.wikicode import Wikicode

from pipelines.documents.audit.raised import MARKS, RAISED_MARK, TAGS
from pipelines.documents.readers.namespaces import name_set

RAW = frozenset(("nowiki", "pre", "math", "chem", "ce", "syntaxhighlight", "source"))
_GLUED = name_set("""
b strong i em cite var dfn code tt kbd samp sup sub span small big u s del ins strike font abbr bdi bdo mark q
rb rp rt rtc ruby time data wbr noinclude onlyinclude translate tvar languages blink nobr acronym label a img
""")
_BLOCK = name_set("""
br hr div center p blockquote ul ol dl li dt dd table caption tr td th thead tbody tfoot h1 h2 h3 h4 h5 h6 section
article aside nav header footer main address figure figcaption details summary colgroup col poem
""")
_LEFT_TABLE = re.compile(r"(?m)^[ \t:*#;]*(?:\{\|.*|\|-.*|\|\}|\|\+)|^[ \t]*[|!][^|\n=]*=[^|\n]*\|(?!\|)")
_MAGIC = re.compile(r"__[^\W\d_a-z]{3,}__")
FIGURE = "▣"
"""A sign that is no word, for a figure's place in its line."""
_IN_LINE, _BORDER = 0xF0000, 0x100000
"""Private characters from here on stand for HTML tags: such as words go on behind, and all others."""
_MOST_TAGS = 0xFFF0
_TAG_MARK = re.compile("[\U000f0000-\U0010ffff]")
UNREAD = re.compile(r"\{\{[^{}]*\}\}|\[\[[^\[\]]*\]\]")
_RAW_PIECE = r"(<(nowiki|pre|math|chem|ce|source|syntaxhighlight)\b[^<>]*(?<!/)>.*?</\2\s*>)"
_COMMENT = re.compile(rf"(?is){_RAW_PIECE}|<!--(.*?)-->")
_TAG = re.compile(rf"(?is){_RAW_PIECE}|</?({'|'.join(sorted(_GLUED | _BLOCK))})(?:[\s/;][^<>]*)?>")
ENTITY = re.compile(r"&#?\w{2,32};")
_REMOVED = re.compile("[\x00-\x08\x0b-\x1f\ufeff\ue0f0-\ue0f3\U000f0000-\U0010ffff]")
_PICTURE_OPTION = re.compile(
    r"\s*(?:[\w -]+=.*|(?:\d+|\d*x\d+)\s*(?:px|пкс|փքս)\.?(?:px)?|thumb|thumbnail|frame|framed|frameless|border"
    r"|left|right|center|centre|none|upright|baseline|middle|sub|super|top|bottom|text-top|text-bottom"
    r"|мини|справа|слева|центр|nhỏ|viền|khung|phải|trái|giữa|մինի|աջից|ձախից|կենտրոն|mini|miniatur|rechts|links|zentriert|hochkant)\s*",
    re.IGNORECASE | re.DOTALL)


class Source:
    """A page's wikitext as the parser gets it: without comments, with a private character for each HTML tag.

    A tag that is not closed makes the parser give up on what is around it; so it gets none to see.
    """

    def __init__(self, wikitext: str) -> None:
        self.comments: list[str] = []
        self._tags: list[str] = []
        text = _REMOVED.sub("", wikitext.replace("\r\n", "\n"))
        self.text = _TAG.sub(self._tag, _COMMENT.sub(self._comment, text))

    def restore(self, text: str) -> str:
        """A part of `text` with its tags as they were."""
        text = RAISED_MARK.sub(lambda match: TAGS[match[0]], text)
        return _TAG_MARK.sub(lambda match: self._tags[ord(match[0]) & 0xFFFF], text)

    def _comment(self, match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[1]
        self.comments.append(match[3])
        return ""

    def _tag(self, match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[1]
        if (raised := MARKS.get(match[0].lower())) is not None:
            return raised
        is_in_line = match[3].lower() in _GLUED
        if len(self._tags) >= _MOST_TAGS:
            return "" if is_in_line else "\n"
        self._tags.append(match[0])
        return chr((_IN_LINE if is_in_line else _BORDER) + len(self._tags) - 1)


def without_tags(text: str) -> str:
    """Text with a new line for each HTML tag that ends one, and nothing for the others."""
    return _TAG_MARK.sub(lambda match: "" if ord(match[0]) < _BORDER else "\n", text)


def without_markup(text: str) -> tuple[str, list[str]]:
    """(text without tags, and table lines and magic words that the parser left in it; the magic words)."""
    return _LEFT_TABLE.sub("\n", _MAGIC.sub("", without_tags(text))), _MAGIC.findall(text)


def picture_parts(node: Any) -> tuple[Wikicode, str]:
    """(caption of a picture's link, its other parts): the last part that is no option is the caption."""
    parts: list[list[Any]] = [[]]
    inside: list[Any] = []
    for inner in node.text.nodes if node.text is not None else ():
        # The parser takes a pipe behind a bare address into the address.
        inside += inner.url.nodes if type(inner) is mw.ExternalLink and not inner.brackets else [inner]
    for inner in inside:
        if type(inner) is mw.Text and "|" in str(inner):
            first, *others = str(inner).split("|")
            parts[-1].append(mw.Text(first))
            parts += [[mw.Text(other)] for other in others]
        else:
            parts[-1].append(inner)
    caption: list[Any] = []
    left_out = [str(node.title)]
    for part in reversed(parts):
        source = "".join(map(str, part))
        if not caption and source.strip() and not _PICTURE_OPTION.fullmatch(source):
            caption = part
        else:
            left_out.append(source)
    return Wikicode(caption), " ".join(left_out)


def unescape(text: str) -> str:
    """Entities as characters; as in MediaWiki one without a semicolon is none."""
    return ENTITY.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text


def template_name(node: Any) -> str:
    """A template's name in lower case, as the page writes it."""
    name = without_tags(str(node.name)).replace("_", " ")
    return " ".join(name.split()).lower()[:60]


def joined(nodes: list[Any]) -> list[Any]:
    """The nodes with runs of text and entities in one where the parser gave up on a link or call in them."""
    if not any(type(node) is mw.Text and ("[[" in str(node) or "{{" in str(node)) for node in nodes):
        return nodes
    joined: list[Any] = []
    for node in nodes:
        last = joined[-1] if joined else None
        is_open = type(last) is mw.Text and ("[[" in str(last) or "{{" in str(last))
        if is_open and type(node) in (mw.Text, mw.HTMLEntity):
            joined[-1] = mw.Text(str(last) + str(node))
        else:
            joined.append(node)
    return joined
