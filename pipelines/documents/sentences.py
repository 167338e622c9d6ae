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
_UNSPACED = "。！？｡．"
"""Stops of scripts that put no space behind them: they end a sentence wherever they stand."""
_STOPS = ".!?…։।॥؟۔።፧᠃។៕᙮" + _UNSPACED
# One set in front, so that the search skips from stop to stop; only the first stop of a run may begin a match.
_CANDIDATE = re.compile(
    f"[\\n{_STOPS}](?<![{_STOPS}][{_STOPS}])(?:"
    "(?<=\\n)(?P<line>\\s*+)"
    f"|(?<=[{_UNSPACED}])[{_UNSPACED}]*+(?:[{_CLOSERS}]+(?![とっ、，のでをがはも]))?"
    f"(?=\\s*[^\\s{_CLOSERS}{_UNSPACED}])(?P<free>)"
    f"|(?<!\\n)(?P<more>[{_STOPS}]*+(?:\\s[.…!?]+){{0,4}})[{_CLOSERS}]*+(?P<gap>\\s++)(?P<next>\\S))")
_ANY_STOP = re.compile(f"[{_STOPS}\\n]")
_OPENERS = re.compile(r"[\"'“‘«(\[„‚「『《〈—–-]*")
_WORD_BEFORE = re.compile(r"[^\s(\[{\"“„«»”’‘—–/]*$")
_NAME_BEFORE = re.compile(r"(?:^|[.!?\s(])(?:[A-Z][\w.'’-]*|and|&|de|von|van|by) ?$")
_INITIALS = re.compile(r"(?:[^\W\d_](?:\.-?|-))*[^\W\d_]")
_ROMAN = re.compile(r"[IVXLC]+$")
_MAX_WORD = 40


def split_text(text: str, language: str) -> list[tuple[int, int]]:
    """Sentences of a text as (begin, end) in code points, without the space between them.

    language: code of the wiki (en, uk, hy …); an unknown one gets the rules of its script, none at all
    those of English.
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
    if language in ("", "simple"):
        language = "en"
    abbreviations = ABBREVIATIONS.get(language, _NONE)
    cuts: list[int] = []
    unclear: list[tuple[int, int]] = []
    at, end = 0, len(text.rstrip())
    while True:
        match = _CANDIDATE.search(text, at, end)
        if match is None:
            break
        at = match.end()
        kind = match.lastgroup
        if kind != "next":
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
    begin, place = match.start(), match.end("gap")
    following = match["next"]
    stop = text[begin:match.end("more")]
    opener = _OPENERS.match(text, place)
    assert opener is not None
    first = text[opener.end():opener.end() + 1] or following
    if first.islower() and language not in STARTS_LOWER:
        return False
    if stop[0] != "." or len(stop) > 1:
        return bool(stop.strip(".… ")) or not first.islower()
    found = _WORD_BEFORE.search(text, max(begin - _MAX_WORD, 0), begin)
    word = found[0] if found else ""
    if not word:
        return True
    low = word.lower()
    if language == "en":
        return _english_verdict(text, begin - len(word), word, low, abbreviations)
    if low in abbreviations or "." in word:
        return False
    if word[-1].isdigit():
        return not (language in ORDINAL_LANGUAGES and word.isdigit() and len(word) <= 2)
    if word[0].isupper() and _INITIALS.fullmatch(word):
        return False
    return not (language in ORDINAL_LANGUAGES and _ROMAN.fullmatch(word))


def _english_verdict(text: str, begin: int, word: str, low: str, abbreviations: frozenset[str]) -> bool | None:
    """As `_verdict` for a point behind the word at `begin`: sure for plain words and for initials of names."""
    if len(word) == 1 and word.isupper() and word != "I":
        # "J. R. Smith", "by A. Smith", but "vitamin C. It".
        return False if _NAME_BEFORE.search(text, max(begin - _MAX_WORD, 0), begin) else None
    if low in abbreviations or "." in word:
        return None
    # The model's own list has long words too, learnt from words that happened to end sentences.
    return None if len(word) <= 5 and low in _model().parameters.abbrev_types else True


def _decide(text: str, cuts: list[int], unclear: list[tuple[int, int]], language: str) -> list[int]:
    """Ask the trained model about unclear places, each within the sure boundaries around it."""
    decided: list[int] = list(cuts)
    by_window: dict[int, list[int]] = {}
    for index, place in unclear:
        by_window.setdefault(index, []).append(place)
    for index, places in by_window.items():
        begin = cuts[index - 1] if index else 0
        end = cuts[index] if index < len(cuts) else len(text)
        borders = {begin + span_end for _, span_end in _spans(text[begin:end])}
        for place in places:
            # The model's spans may end before or behind the space; both mean this place.
            at = place
            while at > begin and at not in borders and text[at - 1].isspace():
                at -= 1
            if at in borders:
                decided.append(place)
    decided.sort()
    return decided


def _spans(text: str) -> list[tuple[int, int]]:
    return [span for _, span in _model().tokenize_with_spans(text)]


@lru_cache(maxsize=1)
def _model() -> Any:
    """nupunkt's English model, loaded with the first unclear place."""
    import nupunkt

    return nupunkt.load_default_model()
