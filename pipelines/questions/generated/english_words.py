"""Other words for common English words: a question is rarely asked in the words that answer it.

What belongs here: replacing words of a question, each with its own draw, outside names and quotations. What does
not: verbs that a question is built on (`english_questions.py`). The words are in `english_words.tsv`; participles
and infinitives come from `english_verbs.py`. Only small-written words are replaced, and the sense is kept as far as
a table of words can: what a question asks for is not touched.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

from pipelines.questions.generated.draws import Draws
from pipelines.questions.generated.english_verbs import base_form, other_verb, participle_of

REPLACED_SHARE = 0.75
"""Of the words for which there is another one."""
_WORD = re.compile(r"(?<![\w'’.-])[a-z]{3,}(?![\w'’-])")
_PARTICLE = re.compile(r" (?:to|up|out|down|off|in|on|over|into|as)\b")
_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')
_ARTICLE = re.compile(r"\b(a|an) (?=([A-Za-z]))")
_SOUNDS_LIKE_YOU = re.compile(r"\b(?:uni[^nm]|use|usu|euro|one\b|once|ut[ei])", re.IGNORECASE)


@lru_cache(maxsize=1)
def _others() -> dict[str, tuple[str, ...]]:
    """Other words by word, plurals by rule."""
    others: dict[str, tuple[str, ...]] = {}
    for line in (files(__package__) / "english_words.tsv").read_text("utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        kind, word, listed = line.split("\t")
        others[word] = tuple(listed.split(","))
        if kind == "n":
            others.setdefault(_plural(word), tuple(_plural(each) for each in listed.split(",")))
    return others


def _plural(phrase: str) -> str:
    """The plural of a noun, of a phrase that of the noun before its "of", "in" or "on"."""
    match = re.search(r" (?:of|in|on|by|to|for) ", phrase)
    head, rest = (phrase, "") if match is None else (phrase[: match.start()], phrase[match.start():])
    first, space, noun = head.rpartition(" ")
    if noun.endswith(("s", "x", "ch", "sh")):
        noun = noun if noun.endswith("s") and not noun.endswith("ss") else f"{noun}es"
    elif noun.endswith("man"):
        noun = f"{noun[:-2]}en"
    elif noun.endswith("y") and noun[-2] not in "aeiou":
        noun = f"{noun[:-1]}ies"
    elif noun == "child":
        noun = "children"
    else:
        noun = f"{noun}s"
    return f"{first}{space}{noun}{rest}"


def in_other_words(question: str, draws: Draws, share: float = REPLACED_SHARE) -> str:
    """The question with that share of its common words replaced; quotations and words in names are left alone."""
    quoted = [match.span() for match in _QUOTED.finditer(question)]

    def replace(match: re.Match[str]) -> str:
        word = match[0]
        if any(begin <= match.start() < end for begin, end in quoted) or _is_in_name(question, match) \
                or not draws.chance(share, f"word {match.start()}"):
            return word
        choices = _others().get(word, ()) if base_form(word) is None or _is_noun_here(question, match) else ()
        choices = choices or _verb_forms(question, match)
        return draws.pick(choices, f"other {match.start()}") if choices else word

    return _ARTICLE.sub(_fit_article, _WORD.sub(replace, question))


def _is_noun_here(question: str, match: re.Match[str]) -> bool:
    """Whether a word that may be a verb stands behind an article: "the study"."""
    return re.search(r"\b(?:the|a|an|his|her|its|of) \Z", question[: match.start()]) is not None


def _is_in_name(question: str, match: re.Match[str]) -> bool:
    """Whether a word stands right before or between words with capitals, as in "Bank of England"."""
    behind = question[match.end(): match.end() + 2]
    before = question[: match.start()].rsplit(None, 1)[-1:] or [""]
    is_before_name = len(behind) == 2 and behind[0] == " " and behind[1].isupper()
    return before[0][:1].isupper() and len(question[: match.start()].split()) > 1 and is_before_name


def _verb_forms(question: str, match: re.Match[str]) -> tuple[str, ...]:
    """Other verbs in the form of this one: a participle, or the base behind "to"."""
    word = match[0]
    if question[: match.start()].endswith(" to "):
        verb = base_form(word)
        return tuple(other_verb(each).base for each in verb.others) if verb is not None else ()
    verb = participle_of(word)
    # Before a noun it is an adjective: an established science is no "set up science".
    if verb is None or _PARTICLE.match(question, match.end()) is not None \
            or re.search(r"(?:\b(?:the|a|an|some|most|more)|ly) \Z", question[: match.start()]) is not None:
        return ()
    return tuple(other_verb(each).participle for each in verb.others)


def _fit_article(match: re.Match[str]) -> str:
    """`a` or `an`, as the next word's first letter wants it; what may sound otherwise stays as it is."""
    letter = match[2].lower()
    if _SOUNDS_LIKE_YOU.match(match.string, match.end()) or letter in "hu" or match[2].isupper():
        return match[0]
    return "an " if letter in "aeio" else "a "
