"""What is kept of a template that nobody has written a handler for: the parameters that read as words.

What belongs here: telling words from what only the template understands: sizes, colours, files, addresses, codes,
flags, numbers. The caller marks the words as coming from a template.
"""

from __future__ import annotations

import re

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.infoboxes import FILE, LAYOUT_KEY, LAYOUT_VALUE, PICTURE_KEY

_LONGEST, _LONGEST_IN_ALL = 300, 600
_FLAG = re.compile(r"(?:yes|no|y|n|true|false|on|off|none|left|right|center|centre|top|bottom|small|large|thumb"
                   r"|inline|title|auto|default|ja|nein|oui|non|sí|si|da|да|нет|так|ні|不|是|Q\d+)", re.IGNORECASE)
_CODE = re.compile(r"[a-z]{2,3}(?:-[A-Za-z]{2,8})?")
_ADDRESS = re.compile(r"(?:https?:)?//|www\.|mailto:|\w+@\w+\.")
_LETTER = re.compile(r"[^\W\d_]")
_SAYS = re.compile(r"[^\W\d_]{2,}[\W\d_]+[^\W\d_]{2,}|[^\W\d_a-z][^\W\d_]{2,}|[^\W_\u0000-\u024f]{2,}")
"""Two words, a capitalised one, or one in another script than Latin."""
_NAMED_ASIDE = re.compile(
    r"(?:access|archive)?-?(?:date|url)$|^(?:ref|id|lang|language|sort|sortkey|group|type|format|mode|cat|category|nocat"
    r"|reason|fecha|datum|data|дата|access|publisher|work|website|journal|issn|isbn|doi|oclc|pmid|quote|via|class"
    r"|filename|file|audio|sound|listen|display|name?format|bot|user|talk|section|page|pages)\d*$")
"""Named parameters that are for the template or its sources, however they read."""
_MARKS = re.compile("[\x11\x16\x17][^\x12\x13]*(?=\x12)|[\x01-\x1f]")


def shown_values(call: Call) -> str:
    """The words of a call with several parameters, in order, set apart by commas; "" if none reads as words."""
    found: list[str] = []
    length = 0
    for name in call.ranges:
        value = call.text(name)
        plain = _MARKS.sub("", value).strip()
        if not plain or len(plain) > _LONGEST or mark.BLOCK in value:
            continue
        if not (_reads_as_words(plain) if name.isdigit() else _named_words(name, plain)):
            continue
        length += len(plain)
        if length > _LONGEST_IN_ALL:
            break
        found.append(value.replace("\n", " "))
    return ", ".join(found)


def _reads_as_words(plain: str) -> bool:
    """Whether an unnamed value is something that a reader would see."""
    if not _LETTER.search(plain) or _FLAG.fullmatch(plain) or LAYOUT_VALUE.fullmatch(plain):
        return False
    if _CODE.fullmatch(plain) or (len(plain) == 1 and plain.isascii()):
        return False
    return not (_ADDRESS.search(plain) or FILE.fullmatch(plain))


def _named_words(name: str, plain: str) -> bool:
    """Whether a named value reads as words, and its name does not say that it is for the template."""
    if _NAMED_ASIDE.search(name) or LAYOUT_KEY.search(name) or PICTURE_KEY.search(name):
        return False
    return bool(_SAYS.search(plain)) and _reads_as_words(plain)
