"""A key in what a server says: found in the encodings that servers and proxies echo it in, and masked.

What belongs here: finding. What does not: which texts are shown (`http_client.py`). A piece counts from half of
the key on (at least eight characters), so that "a key ending in 1a2b" still helps and a cut echo does not leak.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator

MASK = "…"
_LEAST = 8
_UNIT = re.compile(r"%[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|&#?\w{1,8};|\\.|.", re.DOTALL)
_URL_SAFE = str.maketrans("-_", "+/")


def mask(text: str, key: str) -> str:
    """The text with the key, plain, in base64 (of what else stands around it too), in hex, URL-, JSON- or
    HTML-escaped and in any mixture of cases, as `MASK`. Time grows with the length of the text alone.
    """
    units = [(_plain(match[0]), match.start(), match.end()) for match in _UNIT.finditer(text)]
    hidden = bytearray(len(text))
    for needle, kind in _needles(key):
        stream = [(form, begin, end) for unit, begin, end in units if (form := _as(kind, unit))]
        joined = "".join(form for form, _, _ in stream)
        width = min(len(needle), max(_LEAST, len(needle) // 2))
        windows = {needle[place: place + width] for place in range(len(needle) - width + 1)}
        for place in range(len(joined) - width + 1):
            if joined[place: place + width] in windows:
                begin, end = stream[place][1], stream[place + width - 1][2]
                hidden[begin:end] = b"\1" * (end - begin)
    # The letters beside a piece in base64 hold bits of the key's ends.
    shown = "".join("\0" if is_hidden else character for character, is_hidden in zip(text, hidden, strict=True))
    return re.sub("[\\w+/=-]*\0+(?:[\\w+/=-]*\0+)*[\\w+/=-]*", MASK, shown) if any(hidden) else text


def _needles(key: str) -> Iterator[tuple[str, str]]:
    """What to look for, and in which form of the text: `plain`, `base64` or `hex`."""
    yield key.lower(), "plain"
    raw = key.encode()
    yield raw.hex(), "hex"
    for lead in range(3):
        # Letters that hold bits of what stands before or after the key vary, the others do not.
        letters = base64.b64encode(b"\0" * lead + raw).decode()
        if inner := letters[-(-lead * 8 // 6): (lead + len(raw)) * 8 // 6]:
            yield inner, "base64"


def _as(kind: str, unit: str) -> str:
    if kind == "plain":
        return unit.lower() if len(unit.lower()) == 1 else unit
    if kind == "base64":
        unit = unit.translate(_URL_SAFE)
        return unit if unit.isascii() and (unit.isalnum() or unit in "+/") else ""
    return unit.lower() if unit.lower() in "0123456789abcdef" else ""


def _plain(unit: str) -> str:
    """The one character that a unit of the text stands for."""
    if len(unit) == 1:
        return unit
    if unit[0] == "&":
        decoded = html.unescape(unit)
        return decoded if len(decoded) == 1 else unit[0]
    if unit[0] == "%" or (unit[1] in "ux" and len(unit) > 2):
        return chr(int(unit[1:] if unit[0] == "%" else unit[2:], 16))
    return {"n": "\n", "r": "\r", "t": "\t"}.get(unit[1], unit[1])
