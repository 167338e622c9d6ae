"""Sentence sentinels: where the sentences of a block begin and end, in every script.

What belongs here: the splitter. One expression finds the places where a sentence may end: a line break, or a
stop mark with its closing quotes, followed by space or by nothing after marks that need none. Most are decided
by the letters around them, the others by the tables of the language in `sentence_rules.py`. A quotation or
bracket of up to 300 characters stays in one sentence, whatever it holds. Offsets are code points of the text:
every non-space character lies in exactly one sentence. Implements the sentence sentinels of SPIRE (sections on
sentences) and the units of DISRetrieval.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter

from pipelines.documents.sentence_rules import Rules, common_words, rules_of
from pipelines.documents.tree import Node, Sentence

_UNSPACED = "。！？｡．"
"""Stops of scripts that put no space behind them: they end a sentence wherever they stand."""
_SPACED = ".!?…‼⁇⁈⁉‽։।॥؟۔።፧፨។៕။།༎᠃᠉᙮᱾᱿꓿꘎꯫܀׃߹"
_CLOSERS = "\"'”’»)\\]）」』】〉》›“＂"
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_THAI = "\u0e01-\u0e5b"
_WHOLE = 300
"""Longest quotation or bracket, in characters, that is kept in one sentence."""
_PLAIN, _POINT = 1, 2
"""Groups of a match: a point between a plain word and a space with a capital letter, another point; the groups
behind are other marks with space; none: a line break or a mark that needs no space."""
_OTHER_OPENER = re.compile("[”„“（「『«»]")
_FIELDS = itemgetter(*map(Node._fields.index, ("node_id", "kind", "tag", "text")))
_QUOTES = ("\"", "'", "”", "’", "»", "“")
_BEFORE_OPENER = " \u00a0([—–-"
_Finder = Callable[[str], Iterator[re.Match[str]]]
_CAPITALS = "A-ZÀ-ÖØ-ÞΑ-ΩЀ-ЯҐԱ-Ֆ"
# The class itself would unpack and pack the five values in Python, which takes twice as long.
_new = tuple.__new__

_OPENERS = re.compile(r"['’][a-z] (?=[A-Z])|[\"'’“”‘«»(\[„‚「『《〈—–\-¿¡.…]*(?:(?<=[—–-])\s+)?")
_WORD = re.compile(r"\w+['’]?")
_LAST_WORD = re.compile(r"[^\s(\[{\"“„«»”‘—–/]+\Z")
_CHAIN = re.compile(r"(?<![\w.])(?:\w{1,4}\.\s?){1,5}\w{1,4}\Z")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,3}\.-?)+[^\W\d_]{1,2}")
_LIST_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,2})*|[IVXLC]{1,5}|[A-Za-zΑ-Ωα-ωЀ-ӿ]")
_NUMBER = re.compile(r"[\d#№?]|[IVXLCDM]+\b")
_ROMAN = re.compile(r"[IVXLC]+")
_INITIAL = re.compile(r"\w\.")
_LETTERED, _EXCLAIMED, _DANDA_FINAL = map(common_words, ("lettered", "exclaimed", "danda"))
_MAX_WORD = 40
"""Longest word, in characters, that is looked at."""
_LATE = 30
"""Shortest sentence, in characters, that ends at "1900 г." before a capital letter: a shorter one begins so."""


def split_text(text: str, language: str) -> list[tuple[int, int]]:
    """Sentences of a text as (begin, end) in code points, without the space between them.

    language: code of the wiki (en, uk, hy …); an unknown one gets the rules of its script, none at all
    those of English.
    """
    rules = rules_of(language)
    sentences: list[Sentence] = []
    _split(text, _finder(rules, only_ascii=text.isascii())(text), rules, 0, sentences)
    return [(sentence.begin, sentence.end) for sentence in sentences]


def split_nodes(nodes: Iterable[Node], language: str) -> list[Sentence]:
    """The sentences of a tree in document order, numbered from 0. Headings and the title are none."""
    rules = rules_of(language)
    find, find_ascii = _finder(rules), _finder(rules, only_ascii=True)
    find_points = find_ascii if rules.extra_stops else _finder(rules, only_points=True)
    sentences: list[Sentence] = []
    append = sentences.append
    for node_id, kind, tag, text in map(_FIELDS, nodes):
        if not text or kind != "content":
            continue
        first = None
        # Most blocks have few kinds of marks: looking for points alone takes half the time.
        if not text.isascii():
            first = next(places := find(text), None)
        elif "!" in text or "?" in text or "\n" in text:
            first = next(places := find_ascii(text), None)
        elif "." in text or rules.extra_stops:
            first = next(places := find_points(text), None)
        if tag == "math" or (first is None and len(text.strip()) == len(text)):
            append(_new(Sentence, (len(sentences), node_id, 0, len(text), text)))
        else:
            _split(text, chain((first,), places) if first else (), rules, node_id, sentences)
    return sentences


def _split(text: str, places: Iterable[re.Match[str]], rules: Rules, node_id: int,
           sentences: list[Sentence]) -> None:
    """Append the sentences of a text, given the places where one may end."""
    begin, last = 0, len(text)
    if (bare := len(text.strip())) != last:
        begin = last - len(text.lstrip())
        last = begin + bare
    tails = rules.tails
    append = sentences.append
    number = len(sentences)
    bracket, quote = "(" in text, '"' in text
    other = not text.isascii() and _OTHER_OPENER.search(text) is not None
    quoting = bracket or quote or other
    for match in places:
        stop, cut = match.span()
        kind = match.lastindex
        if kind == _PLAIN:
            if text[stop - 4:stop] in tails and not _point_ends(text, stop, begin, cut, rules):
                continue
        elif cut >= last:
            break
        elif kind is None:
            if cut <= begin:
                continue
        elif not (_point_ends if kind == _POINT else _mark_ends)(text, stop, begin, cut, rules):
            continue
        if quoting:
            near = begin if cut - begin < _WHOLE else cut - _WHOLE
            if ((other or (quote and text.count('"', near, cut) % 2)
                 or (bracket and (at := text.rfind("(", near, cut)) >= 0 and text.find(")", at, cut) < 0))
                    and _is_inside(text, near, cut, rules.pairs)):
                continue
        piece = text[begin:cut - 1] if kind == _PLAIN else text[begin:cut].rstrip()
        append(_new(Sentence, (number, node_id, begin, begin + len(piece), piece)))
        number += 1
        begin = cut
    if begin < last:
        append(_new(Sentence, (number, node_id, begin, last, text[begin:last])))


def _is_inside(text: str, begin: int, cut: int, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether `cut` lies in a short quotation or bracket of the text from `begin` on."""
    for opener, closers in pairs:
        at = text.rfind(opener, begin, cut)
        if at < 0:
            continue
        if opener == closers:
            # Marks that look alike open only behind space, a bracket or a dash.
            if (at > begin and text[at - 1] not in _BEFORE_OPENER) or text[at + 1].isspace():
                continue
        elif text.count(opener, begin, cut) <= sum(text.count(closer, begin, cut) for closer in closers):
            continue
        end = at + _WHOLE
        line = text.find("\n", at, end)
        if any(text.find(closer, cut, end if line < 0 else line) >= 0 for closer in closers):
            return True
    return False


@lru_cache(maxsize=64)
def _finder(rules: Rules, only_ascii: bool = False, only_points: bool = False) -> _Finder:
    """Finds the places where a sentence may end; a match ends where the next begins.

    only_ascii: for texts without other characters; only_points: and without other marks, line breaks included.
    """
    stops, closers, spaced_closer = _SPACED + rules.extra_stops + _UNSPACED, _CLOSERS, ""
    if only_ascii or only_points:
        stops, closers = (re.sub("[^ -~]", "", marks) for marks in (stops, closers))
    elif rules.reversed_quotes:
        closers += "«"
    else:
        spaced_closer = "|[ \u00a0\u202f]»"
    gap = f"(?:[{closers}]|\\[\\d{{1,3}}\\]{spaced_closer})*+[^\\S\n]++(?=[^\\s])"
    first = f"(?<![{stops}][{stops}])"
    plain = f"(?<=[^\\W_]{{4}}\\.| [a-z]{{3}}\\.|[^\\W_]{{3}}\\)\\.)\"?+ (?=[{_CAPITALS}])()"
    point = f"(?<=\\.){first}(?![{stops}]|\\s[.…!?]+\\s){gap}()"
    runs = f"[{stops}]*+(?:[^\\S\n][.!?…]+){{0,4}}{gap}()"
    run = f"(?<=\\.)(?=[{stops}]|\\s[.!?…]){first}{runs}"
    if only_points:
        return re.compile(f"\\.(?:{plain}|{point}|{run})").finditer
    head = "\n" + stops
    branches = [plain, point, run, r"(?<=\n)\s*+", f"(?<=[{stops}])(?<!\\.){first}{runs}"]
    if not only_ascii:
        # A particle behind a quotation carries the sentence on, as do a few Chinese verbs of saying.
        carried = "[とっ、，のでをがはもに]|な(?!お)|[^。！？，\\s]{0,5}[說说问問道喊叫答]着?[，。：]"
        closing = closers.replace("“", "")
        free = f"(?:[{closing}]++(?!{carried}))?+(?![{closing}]|を|[はがの](?![ぁ-ん]))\\s*+(?=\\S)"
        unspaced = f"(?:(?<=[{_UNSPACED}])[{stops}]*+|[{stops}]*+(?<=[{_UNSPACED}]))(?<!\\d．)"
        branches[2:2] = [
            f"(?<=[{stops}]){first}{unspaced}{free}",
            f"(?<=[{_CJK}][!?])[!?]*+(?=[{_CJK}“「『（])",
            f"(?<=፡)፡(?:[{closers}])*+\\s*+(?=\\S)",
        ]
        head += "፡"
        if rules.language == "th":
            branches.append(f"(?<=[{_THAI}] )(?={'|'.join(sorted(common_words('first', 'th')))})")
            head += " "
    # One set in front, so that the search skips from mark to mark.
    return re.compile(f"[{head}](?:{'|'.join(branches)})").finditer


def _next_letter(text: str, cut: int) -> int:
    """Offset of the first character behind quotes, brackets and dashes."""
    if text[cut].isalnum():
        return cut
    opener = _OPENERS.match(text, cut)
    return opener.end() if opener and opener.end() < len(text) else cut


def _second_before(text: str, at: int) -> str:
    """The character before the space before `at`."""
    return text[at - 2] if at >= 2 else ""


def _continues(text: str, at: int) -> bool:
    """Whether a small letter stands there, except that of a name like `iPhone` or of a list: `b)`."""
    letter = text[at]
    if not letter.islower() or "\u10d0" <= letter <= "\u10ff":
        # To Unicode the letters of Georgian, which has no capitals in sentences, are small.
        return False
    after = text[at + 1:at + 2]
    return not after.isupper() and after != ")"


def _starts(text: str, at: int, rules: Rules) -> bool:
    """Whether a word that begins sentences stands there, and not an initial."""
    word = _WORD.match(text, at)
    return bool(word and word[0] in rules.starters and not text.startswith(".", word.end()))


def _mark_ends(text: str, stop: int, begin: int, cut: int, rules: Rules) -> bool:
    """Whether marks other than a single point end a sentence."""
    at = _next_letter(text, cut)
    mark = text[stop]
    if text[cut] == "&" or _continues(text, at):
        return False
    if mark in ".…":
        # An omission in brackets ends nothing, and one before a small letter or in a script without capitals.
        return text[at].isupper() and text[stop - 1:stop] not in ("[", "(")
    if mark == "!" and text[max(begin, stop - 9):stop].rpartition(" ")[2].lower() in _EXCLAIMED:
        return _starts(text, at, rules)
    if rules.reporting and text[stop + 1:stop + 2] in _QUOTES and rules.reporting.match(text, at):
        return _starts(text, at, rules)
    return True


def _point_ends(text: str, stop: int, begin: int, cut: int, rules: Rules) -> bool:
    """Whether the point at `stop` ends the sentence that began at `begin`; `cut` is where the next would."""
    at = cut
    if text[cut] == "&":
        # "Com. & Adm."
        return False
    if not text[cut].isupper():
        at = _next_letter(text, cut)
        if _continues(text, at):
            return False
    near = text[max(begin, stop - _MAX_WORD):stop]
    word = near[near.rfind(" ") + 1:]
    front = stop - len(word)
    if not word.isalpha():
        last = _LAST_WORD.search(word)
        word = last[0].rstrip("'’׳") if last else ""
        front = stop - len(last[0]) if last else stop
        if not word or (word[0] < "\u0590" and front + len(word) < stop):
            # A quotation ends here; a Hebrew initial may have its mark behind.
            return True
        if rules.elides and (mark := max(word.rfind("'"), word.rfind("’"))) >= 0:
            # "l'art. 5"
            front += mark + 1
            word = word[mark + 1:]
    elif word.islower() and len(word) > 1 and word < "\u0530" and word not in rules.listed \
            and _second_before(text, front) != ".":
        return True
    if front == begin and _LIST_NUMBER.fullmatch(word):
        return False
    low = word.lower()
    if len(word) <= 4 and _second_before(text, front) == "." and text[front - 1].isspace():
        # "z. B.", "т. д.", "н. э.": the words of the tables are written without the space.
        joined = _CHAIN.search(text, max(begin, stop - 24), stop)
        parts = "".join(joined[0].split()).lower() if joined else ""
        while "." in parts:
            if (verdict := _listed(text, parts, front, begin, stop, at, rules)) is not None:
                return verdict
            parts = parts.partition(".")[2]
    if (verdict := _listed(text, low, front, begin, stop, at, rules)) is not None:
        return verdict
    if "." in word:
        return not _DOTTED.fullmatch(word) or _starts(text, at, rules)
    if word.isdigit():
        return not rules.ordinals or _number_ends(text, word, front, begin, at, rules)
    if len(word) == 1:
        return _letter_ends(text, word, front, begin, at, rules)
    if rules.ordinals and _ROMAN.fullmatch(word):
        return _starts(text, at, rules)
    if rules.danda and len(word) <= 3 and not word.isascii():
        return low in _DANDA_FINAL
    # The point of Thai is that of an abbreviation, the Armenian one a colon.
    return not ("\u0e00" <= word[-1] <= "\u0eff" or "\u0531" <= word[-1] <= "\u0587")


def _number_ends(text: str, number: str, front: int, begin: int, at: int, rules: Rules) -> bool:
    """As `_point_ends` behind a number, where it may be an ordinal: "3. Oktober", "19. Jahrhundert"."""
    if len(number) > 3 or not text[front - 1].isspace() or _starts(text, at, rules):
        return True
    before = text[max(begin, front - _MAX_WORD):front].split()
    if not before:
        return False
    # "Abb. 3", "Kapitel 3"
    last = before[-1].lower()
    return last in _LETTERED or (last.endswith(".") and last[:-1] in rules.numbered)


def _listed(text: str, word: str, front: int, begin: int, stop: int, at: int, rules: Rules) -> bool | None:
    """What the tables say of a word before a point; None when it is in none."""
    if word not in rules.listed:
        return None
    if word in rules.introducing:
        # "3 м." is a unit
        return len(word) <= 2 and _second_before(text, front).isdigit() and _starts(text, at, rules)
    if word in rules.numbered and _NUMBER.match(text, at):
        return False
    if word in rules.ending:
        return True
    if word in rules.abbreviations:
        return (word in rules.late and stop - begin >= _LATE) or _starts(text, at, rules)
    return True if word in rules.numbered and len(word) > 1 else None


def _letter_ends(text: str, letter: str, front: int, begin: int, at: int, rules: Rules) -> bool:
    """As `_point_ends` behind a single letter: an initial, or the last word."""
    if not letter.isalpha() or letter >= "\u2e80" or _starts(text, at, rules):
        return True
    if letter.islower():
        # "v. Chr.", "a. M.", but "5 m. Berlin"
        return _second_before(text, front).isdigit() and not _INITIAL.match(text, at)
    if letter == "I" and rules.language == "en":
        return _second_before(text, front) != "." and not _INITIAL.match(text, at)
    before = text[max(begin, front - _MAX_WORD):front].split()
    return bool(before) and before[-1].lower() in _LETTERED
