"""Sentence sentinels: where the sentences of a block begin and end, in every script.

What belongs here: the splitter and its rules. A boundary is a stop mark with its closing quotes, followed by
space (or by nothing, for marks that need none) and by something that can begin a sentence; abbreviations,
initials and ordinals of the language are in `sentence_rules.py`. For English the unclear places are decided
by nupunkt's trained model. Offsets are code points of the text: every non-space character lies in exactly one
sentence. Implements the sentence sentinels of SPIRE (sections on sentences) and the units of DISRetrieval.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from pipelines.documents.sentence_rules import ABBREVIATIONS, ORDINAL_LANGUAGES, STARTS_LOWER
from pipelines.documents.tree import Node, Sentence

_CLOSERS = "\"'”’»)\\]）」』】〉》›“＂"
_STOPS = ".!?…։。．！？｡।॥؟۔።፧።᠃။៕᙮"
# A stop, its closing marks, then space and a character that is no small letter; marks of scripts without
# spaces end a sentence wherever they stand.
_CANDIDATE = re.compile(
    f"(?P<free>[。！？｡．]+(?:[{_CLOSERS}]+(?![とっ、，のでをがはも]))?)(?=\\s*[^\\s{_CLOSERS}。！？｡．])"
    f"|(?P<stop>[{_STOPS}]+(?:\\s[.…!?]+){{0,4}})[{_CLOSERS}]*(?P<gap>\\s+)(?P<next>[^\\s])"
    f"|(?P<line>\\n\\s*)(?=\\S)")
_ANY_STOP = re.compile(f"[{_STOPS}\\n]")
_OPENERS = re.compile(r"[\"'“‘«(\[„‚「『《〈—–-]*")
_WORD_BEFORE = re.compile(r"[^\s(\[{\"“„«»”’‘—–/]*$")
_INITIALS = re.compile(r"(?:[^\W\d_](?:\.-?|-))*[^\W\d_]")
_ROMAN = re.compile(r"[IVXLC]+$")
_MAX_WORD = 40


def split_text(text: str, language: str) -> list[tuple[int, int]]:
    """Sentences of a text as (begin, end) in code points, without the space between them.

    language: code of the wiki (en, uk, hy …); an unknown one gets the rules of its script.
    """
    if not _ANY_STOP.search(text, 0, max(len(text) - 1, 0)):
        begin = len(text) - len(text.lstrip())
        end = len(text.rstrip())
        return [(begin, end)] if begin < end else []
    spans: list[tuple[int, int]] = []
    begin = 0
    for cut in _cuts(text, language):
        _append(spans, text, begin, cut)
        begin = cut
    _append(spans, text, begin, len(text))
    return spans


def split_nodes(nodes: Iterable[Node], language: str) -> list[Sentence]:
    """The sentences of a tree in document order, numbered from 0. Headings and the title are none."""
    sentences: list[Sentence] = []
    for node in nodes:
        text = node.text
        if not text or node.kind != "content":
            continue
        spans = [(0, len(text))] if node.tag == "math" else split_text(text, language)
        for begin, end in spans:
            sentences.append(Sentence(len(sentences), node.node_id, begin, end, text[begin:end]))
    return sentences


def _append(spans: list[tuple[int, int]], text: str, begin: int, end: int) -> None:
    piece = text[begin:end]
    bare = piece.strip()
    if bare:
        begin += len(piece) - len(piece.lstrip())
        spans.append((begin, begin + len(bare)))


def _cuts(text: str, language: str) -> list[int]:
    """Offsets at which a new sentence begins, ascending."""
    language = language.partition("-")[0]
    abbreviations = ABBREVIATIONS.get(language, _NONE)
    cuts: list[int] = []
    unclear: list[tuple[int, int]] = []
    at = 0
    while True:
        match = _CANDIDATE.search(text, at)
        if match is None:
            break
        at = match.end()
        kind = match.lastgroup
        if kind == "free" or kind == "line":
            cuts.append(match.end())
            continue
        at -= 1
        verdict = _verdict(text, match, language, abbreviations)
        if verdict is None:
            unclear.append((len(cuts), match.end("gap")))
        elif verdict:
            cuts.append(match.end("gap"))
    if unclear:
        cuts = _decide(text, cuts, unclear, language)
    return cuts


_NONE: frozenset[str] = frozenset()


def _verdict(text: str, match: re.Match[str], language: str, abbreviations: frozenset[str]) -> bool | None:
    """Whether a stop ends a sentence; None where only a trained model can tell."""
    stop, following = match["stop"], match["next"]
    place = match.end("gap")
    opener = _OPENERS.match(text, place)
    assert opener is not None
    first = text[opener.end():opener.end() + 1] or following
    if first.islower() and language not in STARTS_LOWER:
        return False
    if stop[0] != "." or len(stop) > 1:
        return bool(stop.strip(".… ")) or not first.islower()
    begin = match.start()
    found = _WORD_BEFORE.search(text, max(begin - _MAX_WORD, 0), begin)
    word = found[0] if found else ""
    if not word:
        return True
    low = word.lower()
    if low in abbreviations:
        return None if language == "en" else False
    if word[-1].isdigit():
        return not (language in ORDINAL_LANGUAGES and word.isdigit() and len(word) <= 2)
    if word[0].isupper() and _INITIALS.fullmatch(word):
        if language == "en":
            return None
        return False
    if "." in word:
        return None if language == "en" else False
    if language in ORDINAL_LANGUAGES and _ROMAN.fullmatch(word):
        return False
    if language == "en" and len(word) <= 4 and word[0].isupper():
        return None
    return True


def _decide(text: str, cuts: list[int], unclear: list[tuple[int, int]], language: str) -> list[int]:
    """Ask the trained model about unclear places, each within the sure boundaries around it."""
    decided: list[int] = list(cuts)
    by_window: dict[int, list[int]] = {}
    for index, place in unclear:
        by_window.setdefault(index, []).append(place)
    for index, places in by_window.items():
        begin = cuts[index - 1] if index else 0
        end = cuts[index] if index < len(cuts) else len(text)
        borders = {begin + span_end for _, span_end in _model().sent_spans(text[begin:end])}
        for place in places:
            # The model's spans may end before or behind the space; both mean this place.
            at = place
            while at > begin and at not in borders and text[at - 1].isspace():
                at -= 1
            if at in borders:
                decided.append(place)
    decided.sort()
    return decided


@lru_cache(maxsize=1)
def _model() -> Any:
    import nupunkt

    return nupunkt
