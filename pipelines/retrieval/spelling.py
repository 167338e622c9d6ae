"""Other spellings of a term: without the accents that people leave out when they type.

What belongs here: which marks may be left out, by script. What does not: cutting text into terms (`terms.py`).
The rule: Latin and Greek lose all combining marks, so that Vietnamese is found without its tones; Latin letters
with a stroke, ligatures and the dotless i become the letters that a keyboard has (`ø` o, `ł` l, `đ` d, `æ` ae);
German `ä` becomes a, not ae. Cyrillic loses the stress above a vowel and the dots of `ё`; `й` and `ї` are
letters. Hebrew loses its points, Arabic its vowel signs, hamza signs and the tatweel. Elsewhere marks are part of
the word, as vowel signs in Devanagari and dakuten in kana, and nothing is left out.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i",
                          "ħ": "h", "ŧ": "t", "ŀ": "l", "ŋ": "n", "ĸ": "k", "ƒ": "f", "ə": "e"})
_STRESS = "\u0300\u0301"
_STRESSED = "аеиоуыэюяієїў"
_TATWEEL = "\u0640"


@lru_cache(maxsize=16_384)
def plain(term: str) -> str:
    """A term, as `terms()` makes it, without what may be left out; the term itself where nothing may be.

    >>> plain("müller"), plain("hà"), plain("が"), plain("हिन्दी")
    ('muller', 'ha', 'が', 'हिन्दी')
    """
    if term.isascii():
        return term
    kept: list[str] = []
    base = ""
    for character in unicodedata.normalize("NFD", term):
        if unicodedata.category(character) != "Mn":
            base = character
            if character != _TATWEEL:
                kept.append(character)
        elif not _left_out(base, character):
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_LETTERS) or term


def _left_out(base: str, mark: str) -> bool:
    """Whether a mark above or below a letter may be missing."""
    script = _script(base) if base else ""
    if script == "CYRILLIC":
        return (mark in _STRESS and base in _STRESSED) or (mark == "\u0308" and base == "е")
    return script in ("LATIN", "GREEK", "HEBREW", "ARABIC")


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0]
