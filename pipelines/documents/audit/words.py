"""Words as the audit compares them: runs of letters, marks and digits, as bags and with their places.

What belongs here: cutting a text into words and comparing two bags of them. What does not: where the words
come from (`plain_text.py`, `page.py`). Signs are no words: what is left of markup is `residue.py`'s. An
apostrophe is left out on both sides, because whether it is a sign or a mark of emphasis is decided
differently on each. In scripts that write no spaces every character is a word, so that no rule of
segmentation decides what was lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

Bag = Counter[str]
"""How often each word occurs."""

_UNSPACED = ("\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
             "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af")
_LAST_MARK = 0x1F000


@cache
def _pattern() -> re.Pattern[str]:
    # Python's \w has no combining marks: without them Hindi words would break at their vowel signs.
    marks = "".join(re.escape(char) for char in map(chr, range(0x300, _LAST_MARK))
                    if unicodedata.category(char)[0] == "M" and not re.match(f"[{_UNSPACED}]", char))
    letter = f"(?:[^\\W_{_UNSPACED}]|[{marks}])"
    return re.compile(f"[{_UNSPACED}]|{letter}(?:'*{letter})*")


def find_words(text: str) -> Iterator[tuple[int, str]]:
    """(offset in code points, word) of each word, in order."""
    for match in _pattern().finditer(text):
        yield match.start(), match[0].replace("'", "")


def bag_of(text: str) -> Bag:
    """The bag of a text's words."""
    return Counter(word.replace("'", "") for word in _pattern().findall(text))


def glued(sequence: Iterable[str], missing: Bag, extra: Bag) -> list[tuple[str, str]]:
    """Neighbours of `sequence` that are both missing while the two in one are extra: words run together.

    Each such pair is taken out of both bags; what remains there has another cause.
    """
    pairs: list[tuple[str, str]] = []
    before = ""
    for word in sequence:
        joined = before + word
        if before and extra[joined] and missing[before] and missing[word] and (
                before != word or missing[word] > 1):
            missing[before] -= 1
            missing[word] -= 1
            extra[joined] -= 1
            pairs.append((before, word))
        before = word
    for bag in (missing, extra):
        for word in [word for word, n in bag.items() if n <= 0]:
            del bag[word]
    return pairs
