"""Counting words: one rule for passages, limits and reports, in every script.

Words are whitespace-separated runs, except that Han, kana, Thai, Lao, Khmer and Burmese, which write no
spaces, count one word for every two characters (a run of one counts one). Paper: passages of about 100
words (RDR², section on retrieval), made to mean the same length in every language.
"""

from __future__ import annotations

import re

_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
                       "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+")


def count_words(text: str) -> int:
    """Words of a text: whitespace-separated runs, plus half the characters of unspaced scripts."""
    if text.isascii():
        return len(text.split())
    halves = 0

    def take(match: re.Match[str]) -> str:
        nonlocal halves
        halves += (match.end() - match.start() + 1) // 2
        return " "

    rest = _UNSPACED.sub(take, text)
    # Punctuation between unspaced words ("。") is no word of its own where words were taken out.
    return halves + sum(1 for run in rest.split() if not halves or any(c.isalnum() for c in run))
