"""Superscripts and subscripts in the independent route, by the characters' Unicode decompositions.

What belongs here: the private characters that stand for `<sup>` and `<sub>` while a page is parsed, and the digits,
signs and single letters between them. It shares nothing with the reader's own table.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

MARKS = {"<sup>": "\ue0f0", "</sup>": "\ue0f1", "<sub>": "\ue0f2", "</sub>": "\ue0f3"}
TAGS = {char: tag for tag, char in MARKS.items()}
RAISED_MARK = re.compile("([\ue0f0-\ue0f3])")
_KINDS = {MARKS["<sup>"]: "<super>", MARKS["<sub>"]: "<sub>"}
_LONGEST = 100


@cache
def _forms(kind: str) -> dict[str, str]:
    """Character → its superscript (`<super>`) or subscript (`<sub>`), the first that Unicode has."""
    forms: dict[str, str] = {}
    for char in map(chr, range(sys.maxunicode + 1)):
        parts = unicodedata.decomposition(char).split()
        if len(parts) == 2 and parts[0] == kind and char not in "ªº":
            forms.setdefault(chr(int(parts[1], 16)), char)
    for sign in "-–":
        forms[sign] = forms["−"]
    return forms


def raised(text: str, mark: str) -> tuple[str, str]:
    """(the text without marks, its digits raised and lowered; the mark that is open behind it).

    mark: the one that was open in front of it, or "".
    """
    out = []
    for piece in RAISED_MARK.split(text):
        if piece in TAGS:
            mark = piece if piece in _KINDS else ""
            continue
        if "\n" in piece or len(piece) > _LONGEST:
            mark = ""
        out.append("".join(_of_word(word, _KINDS[mark]) for word in re.split(r"(\s+)", piece)) if mark else piece)
    return "".join(out), mark


def _of_word(word: str, kind: str) -> str:
    forms = _forms(kind)
    letters = re.findall(r"[^\W\d_]+", word)
    if any(len(run) > 1 or run not in forms for run in letters):
        return word
    return "".join(forms.get(char, char) for char in word)
