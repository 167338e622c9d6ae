"""How words are compared: the rule for gold quotes and the rule for answers.

What belongs here: the two normal forms of docs/evaluation.md, the search of a quote in a
text with its place there, and the search of an answer on word borders. What does not: which texts are
compared and what is counted (`metrics.py`).
"""

from __future__ import annotations

import re
import string
import unicodedata
from functools import lru_cache

# Scripts written without spaces, and Hangul whose particles stick to the word: no word borders there.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han, kana
    "\U00020000-\U0003ffff\u31f0-\u31ff\uff66-\uff9f"
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul
)
_SPACED_WORD = re.compile(rf"(?![{_UNSPACED}])\w")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_DROP_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise_quote(text: str) -> str:
    """NFKC, casefold, letters and digits only: `Asian | 0.9 %` becomes `asian09`."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


_normalise_run = lru_cache(maxsize=65536)(normalise_quote)


# Plain ASCII up to the last character before another one, for that may be a mark on it; and the rest.
_ASCII_OR_OTHER = re.compile(r"[\x00-\x7f]+(?=[\x00-\x7f]|\Z)|[\x00-\x7f]?[^\x00-\x7f]+")
_ASCII_WORD = re.compile(r"[0-9A-Za-z]+")


class QuotedText:
    """A text in which quotes are looked up; its normal form keeps where each character came from.

    Character `i` of `normalised` came from `text[begins[i]:ends[i]]`; both lists ascend.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        parts: list[str] = []
        self.begins: list[int] = []
        self.ends: list[int] = []
        for match in _ASCII_OR_OTHER.finditer(text):
            first, run = match.start(), match[0]
            if run.isascii():
                # NFKC leaves it as it is: words are taken whole.
                for word in _ASCII_WORD.finditer(run):
                    parts.append(word[0].lower())
                    self.begins += range(first + word.start(), first + word.end())
                    self.ends += range(first + word.start() + 1, first + word.end() + 1)
                continue
            for begin, end in _composing_runs(run):
                part = _normalise_run(run[begin:end])
                parts.append(part)
                self.begins += [first + begin] * len(part)
                self.ends += [first + end] * len(part)
        self.normalised = "".join(parts)

    def find(self, normalised_quote: str) -> tuple[int, int] | None:
        """Range of the first place of a quote in `text`, in code points; None when it is not there.

        The argument is `normalise_quote` of the quote; an empty one is nowhere.
        """
        begin = self.normalised.find(normalised_quote) if normalised_quote else -1
        if begin < 0:
            return None
        return self.begins[begin], self.ends[begin + len(normalised_quote) - 1]


def _composing_runs(text: str) -> list[tuple[int, int]]:
    """Shortest ranges that NFKC may compose within but never across: a character with its marks."""
    runs = []
    begin = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or not _joins_previous(text[place]):
            runs.append((begin, place))
            begin = place
    return runs


@lru_cache(maxsize=65536)
def _joins_previous(character: str) -> bool:
    if character < "\u0300":
        return False
    if unicodedata.category(character).startswith("M"):
        return True
    # Hangul vowels and finals, and what decomposes to a mark (half-width kana sound marks).
    first = unicodedata.normalize("NFKD", character)[0]
    return "\u1160" <= first <= "\u11ff" or unicodedata.category(first).startswith("M")


def merge_ranges(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted union of half-open ranges; ranges that touch become one."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def normalise_answer(text: str) -> str:
    """Lower-case, without ASCII punctuation, without a, an, the, single spaces (docs/evaluation.md).

    NFC comes first, so that composed and decomposed accents agree. A text of which nothing else would be
    left (`A`, `The The`) keeps its articles.
    """
    plain = unicodedata.normalize("NFC", text).lower().translate(_DROP_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split()) or " ".join(plain.split())


def answer_tokens(text: str) -> list[str]:
    """Words of the normalised answer; each character of an unspaced script is a word of its own."""
    return re.findall(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])\S)+", normalise_answer(text))


class AnswerText:
    """A text in which answers are looked up on word borders (CJK, Thai and their kin: as substrings)."""

    def __init__(self, text: str) -> None:
        self._normalised = normalise_answer(text)
        self._with_articles: str | None = None
        self._text = text

    def holds(self, alias: str) -> bool:
        """Whether the alias stands in the text. An alias without letters, digits, marks never does."""
        wanted = normalise_answer(alias)
        if not wanted:
            return False
        if _ARTICLES.sub(" ", wanted).split():
            return _on_word_borders(wanted, self._normalised)
        if self._with_articles is None:  # The alias is an article itself: look where articles are kept.
            plain = unicodedata.normalize("NFC", self._text).lower().translate(_DROP_PUNCTUATION)
            self._with_articles = " ".join(plain.split())
        return _on_word_borders(wanted, self._with_articles)


def _on_word_borders(wanted: str, text: str) -> bool:
    begin = text.find(wanted)
    while begin >= 0:
        end = begin + len(wanted)
        if _is_border(text, begin) and _is_border(text, end):
            return True
        begin = text.find(wanted, begin + 1)
    return False


def _is_border(text: str, place: int) -> bool:
    """Whether no word of a spaced script runs across `place`. Marks belong to the word before them."""
    if place in (0, len(text)):
        return True
    if unicodedata.category(text[place]).startswith("M"):
        return False
    before = place - 1
    while before > 0 and unicodedata.category(text[before]).startswith("M"):
        before -= 1
    return not (_SPACED_WORD.match(text[before]) and _SPACED_WORD.match(text[place]))


def normalise_title(title: str) -> str:
    """NFC, underscores as spaces, single spaces: how titles of gold evidence and documents are compared."""
    return " ".join(unicodedata.normalize("NFC", title).replace("_", " ").split())
