"""Terms: the words that sparse retrieval and the similarity router compare.

What belongs here: turning text into terms, the same for a passage and for a question. What does not: the
index (`sparse.py`). A term is a run of letters, marks and numbers of the casefolded NFKC text: marks belong
to it, or Hindi words would break at their vowel signs. Scripts written without spaces (Han, kana, Thai, Lao,
Khmer, Burmese) give overlapping pairs of characters; a single character stays alone.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

MAX_TERM_CHARACTERS = 64
"""Longer runs are cut: nobody asks for them, and base64 would fill the index's dictionary."""

# Blocks of the scripts written without spaces between words.
_UNSPACED = (
    "\u0e00-\u0e7f"  # Thai
    "\u0e80-\u0eff"  # Lao
    "\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff"  # Burmese
    "\u1780-\u17ff\u19e0-\u19ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana and iteration marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_ASCII_TERM = re.compile(r"[0-9a-z]+")


def terms(text: str) -> list[str]:
    """The terms of a text, in order, with repetitions.

    >>> terms("Albedo's 2-fold rôle: 東京都")
    ['albedo', 's', '2', 'fold', 'rôle', '東京', '京都']
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if folded.isascii():
        return [term[:MAX_TERM_CHARACTERS] for term in _ASCII_TERM.findall(folded)]
    found: list[str] = []
    for word in folded.translate(_Separators()).split():
        if not _IS_UNSPACED.search(word):
            found.append(word[:MAX_TERM_CHARACTERS])
            continue
        for run in _UNSPACED_RUN.findall(word):
            if not _IS_UNSPACED.match(run):
                found.append(run[:MAX_TERM_CHARACTERS])
            elif len(run) == 1:
                found.append(run)
            else:
                found += [run[place: place + 2] for place in range(len(run) - 1)]
    return found


def is_unspaced(term: str) -> bool:
    """Whether a term is of a script written without spaces."""
    return _IS_UNSPACED.match(term) is not None


class _Separators:
    """A translation table that turns everything but letters, marks and numbers into spaces."""

    def __getitem__(self, code: int) -> int:
        return _kept(code)


@lru_cache(maxsize=4096)
def _kept(code: int) -> int:
    return code if unicodedata.category(chr(code))[0] in "LMN" else 0x20
