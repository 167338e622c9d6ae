"""What does and does not end a sentence, by language: abbreviations, first words, ordinals, marks.

What belongs here: `rules_of`, which joins what is known of a language, and the tables of its marks. A language is
added by lines in `sentence_words.tsv`, beside this module; one without gets the rules of its script. How they are
applied is in `sentences.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

_ORDINALS = "de cs sk da no nn nb fi hu pl sl hr bs sh sr lv ltg lt et is fo tr hsb dsb lb als bar"
_REVERSED_QUOTES = "de da sl hr bs sh sr hu cs sk pl als bar dsb hsb"
_DANDA = "hi bn as or ne sa pa mai bho new awa"
_ELIDING = "fr it ca oc"
_SAME_AS = {"simple": "en", "": "en", "sco": "en", "nn": "no", "nb": "no", "sh": "hr", "bs": "hr", "sl": "hr",
            "sk": "cs", "als": "de", "bar": "de", "lb": "de", "ne": "hi", "sa": "hi", "as": "bn", "hyw": "hy",
            "pnt": "el", "gl": "pt", "fo": "da", "arz": "ar", "lo": "th", "rue": "uk", "af": "nl"}
# The last four letters of a longer Roman number are those of one of these.
_ROMAN = "viii xiii xvii xviii xxii xxiii xxvi xxvii xxviii xxix xxxi xxxii"

_ENGLISH_SAYING = (
    "said|says|asks|asked|replies|replied|answers|answered|cries|cried|shouted|called|wrote|writes|adds|"
    "added|exclaimed|whispered|yelled|screamed|sang|declared|muttered|murmured|mumbled|announced|"
    "demanded|inquired|enquired|insisted|begged|pleaded|roared|bellowed|hissed|growled|snapped|sobbed|"
    "gasped|groaned|moaned|sighed|laughed|chuckled|giggled|shrieked|squealed|barked|protested|repeated|"
    "retorted|remarked|responded|suggested|wondered|warned|urged|chanted|boasted|complained|observed|"
    "joked|interrupted|thundered|wailed|whined|whimpered|snarled|sneered|teased|taunted|stammered|"
    "stuttered|spat|quipped|quoted|recited|recalled|prayed|promised|proclaimed|pronounced|pondered|"
    "offered|objected|noted|nagged|mused|mocked|mentioned|lied|lamented|jeered|invited|informed|"
    "implored|hollered|howled|hailed|grumbled|grunted|grinned|greeted|gloated|explained|echoed|drawled|"
    "croaked|crowed|cooed|continued|conceded|concluded|confessed|confirmed|commented|commanded|claimed|"
    "challenged|cautioned|cheered|chimed|chided|argued|apologized|apologised|admitted|agreed|advised|"
    "affirmed|acknowledged|ordered|swore|thought|told|wept|wheezed|yelped|vowed|uttered|stated|shrilled|"
    "scolded|scoffed|ranted|purred|piped|panted|quoth")
"""Verbs of saying, as they stand behind a quotation."""

_REPORTING = {
    "en": rf"(?:[A-Z]\w+ ){{1,2}}(?:[a-z]+ly )?(?:{_ENGLISH_SAYING})\b",
    "ar": "(?:قال|سأل|أجاب|صاح|هتف|رد)",
    "fa": r"(?:\w+ )?(?:گفت|پرسید|پاسخ|فریاد)",
    "ur": r"(?:\w+ ){0,2}(?:کہا|پوچھا|بولا|بولی)",
    "he": "(?:אמר|שאל|ענה|קרא|צעק)",
    "hi": r"(?:[\w\u0900-\u0963]+ ){0,2}(?:कहा|पूछा|बोला|बोली|बोले)",
    "bn": r"(?:[\w\u0980-\u09e3]+ ){0,2}(?:বলল|বললেন|বলে|জিজ্ঞাসা)",
    "am": "(?:አለ|አለች|ብሎ|ጠየቀ)",
    "th": "(?:เขา|เธอ|ฉัน|ผม)?(?:ถาม|พูด|กล่าว|ตอบ|ตะโกน)",
}
"""Verbs of saying, with what stands before them, where no small letter shows that a quotation goes on."""
_EXTRA_STOPS = {"el": ";\u037e", "hy": ":"}
"""Marks that end sentences in these languages only: the Greek question mark, the colon that Armenians type."""
_PAIRS = (("(", ")"), ('"', '"'), ("”", "”"), ("„", "“”\""), ("“", "”"), ("（", "）"), ("「", "」"), ("『", "』"))


@lru_cache(maxsize=1)
def _words() -> dict[tuple[str, str], str]:
    """Words of the file by language and kind."""
    source = files("pipelines.documents").joinpath("sentence_words.tsv").read_text(encoding="utf-8")
    lines = (line.split("\t") for line in source.splitlines() if not line.startswith("#"))
    return {(language, kind): words for language, kind, words in lines}


def common_words(kind: str, language: str = "*") -> frozenset[str]:
    """Words of a kind that is no field of `Rules`.

    lettered: those whose next word is a letter or number that names one of them, "vitamin C", "Kapitel 3";
    exclaimed: names that end in an exclamation mark; danda: words before a point that is a stop in a language that
    has another one; first (th): words that begin sentences where a space alone parts them.
    """
    return frozenset(_words()[language, kind].split())


@dataclass(frozen=True, eq=False)
class Rules:
    """What decides the unclear places of one language. Words are in small letters, first words as written."""

    language: str
    abbreviations: frozenset[str]
    """Words with a point that may stand at the end: they do before a first word of the language, else not."""
    introducing: frozenset[str]
    """Words with a point that need what follows: titles before a name, `e.g.` before an example."""
    numbered: frozenset[str]
    """Words that are abbreviations only before a number."""
    ending: frozenset[str]
    """Abbreviations that close an enumeration: a capital letter after them begins a sentence."""
    late: frozenset[str]
    """Those of the abbreviations that close a long clause more often than they stand before a name."""
    starters: frozenset[str]
    """First words of sentences: words that, with a capital letter, are rarely a name."""
    listed: frozenset[str]
    """All words with a point."""
    tails: frozenset[str]
    """Last four letters, in each case, of the words that need a closer look: a longer word without is plain."""
    ordinals: bool
    """Writes `3. Oktober`: a number with a point is an ordinal unless a first word follows."""
    elides: bool
    """Joins short words to the next one: "l'art. 5"."""
    danda: bool
    """Ends sentences by a danda: a point behind a short word is one of an abbreviation."""
    reversed_quotes: bool
    """Writes »…«."""
    pairs: tuple[tuple[str, str], ...]
    """Opening marks of quotations and brackets, each with its closing marks."""
    extra_stops: str
    """Marks that end sentences in this language only."""
    reporting: re.Pattern[str] | None
    """Verbs of saying behind a quotation, with what stands before them."""


@lru_cache(maxsize=512)
def rules_of(language: str) -> Rules:
    """Rules of a wiki's language code; an unknown one gets those of its script, none at all those of English."""
    language = language.partition("-")[0]
    language = _SAME_AS.get(language, language)

    def words(kind: str) -> list[str]:
        return _words().get((language, kind), "").split()

    kinds = ("abbreviation", "introducing", "numbered", "ending", "late")
    abbreviations, introducing, numbered, ending, late = (frozenset(" ".join(words(kind)).lower().split())
                                                          for kind in kinds)
    ordinals = language in _ORDINALS.split()
    listed = abbreviations | introducing | numbered
    tails = {form[-4:] for word in (*listed, *(_ROMAN.split() if ordinals else ()))
             for form in (word, word.upper(), word.capitalize(), f" {word}")}
    # "MUDr" and the like are looked for as they are written, too.
    tails.update(word[-4:] for word in words("introducing"))
    reversed_quotes = language in _REVERSED_QUOTES.split()
    return Rules(
        language, abbreviations, introducing, numbered, ending, late, frozenset(words("starter")),
        listed | ending, frozenset(tails), ordinals, language in _ELIDING.split(), language in _DANDA.split(),
        reversed_quotes, (*_PAIRS, ("»", "«") if reversed_quotes else ("«", "»")), _EXTRA_STOPS.get(language, ""),
        re.compile(_REPORTING[language]) if language in _REPORTING else None)
