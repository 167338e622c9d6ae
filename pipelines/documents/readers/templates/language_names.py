"""Which language a template is called after: `{{arabe}}` on a French wiki, `{{kor}}` or `{{нем}}` on any.

What belongs here: the look-up from a template's name to a language, by CLDR's names in the wiki's language and in
English, ISO 639's codes, and the abbreviations of `languages.tsv`; and what the wiki writes in front of the word.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from babel import Locale
from babel.core import UnknownLocaleError, get_global

from pipelines.documents.readers.templates.data import rows
from pipelines.documents.readers.templates.languages import language_label

_IN = {"fr": "en {} : ", "es": "en {}: ", "pt": "em {}: ", "ca": "en {}: ", "gl": "en {}: ", "it": "in {}: ",
       "zh": "{}：", "ja": "{}: ", "de": "{} ", "nl": "{}: "}
"""What stands in front of a word in another language, with the language's name."""
_SHORTEST = 4
"""Letters at least of a language's name: shorter names of languages are names of much else."""


def _names(wiki: str) -> dict[str, str]:
    """Code → name of each language, as the wiki's language writes them; empty where CLDR does not know it."""
    try:
        return dict(Locale.parse(wiki.replace("-", "_")).languages) if wiki else {}
    except (UnknownLocaleError, ValueError):
        return {}


@lru_cache(maxsize=64)
def _codes(wiki: str) -> dict[str, str]:
    """Name of a template in lower case → code of the language that it is called after."""
    codes: dict[str, str] = {}
    for table in (_names(wiki), _names("en")):
        for code, name in table.items():
            if "_" not in code and len(name) >= _SHORTEST:
                codes.setdefault(name.lower(), code)
    for language, _, labels in rows("languages.tsv"):
        if language == wiki:
            for code, _, label in (pair.partition(":") for pair in labels.split("|")):
                codes.setdefault(label.rstrip(".").lower(), code)
    for old, code in get_global("language_aliases").items():
        if len(old) == 3 and old.isascii() and len(code) == 2:
            codes.setdefault(old, code)
    return codes


def language_of(name: str, wiki: str) -> str:
    """The code of the language that a template is called after; "" if it is called after none."""
    return _codes(wiki).get(name, "")


def label_of(code: str, wiki: str) -> str:
    """What stands in front of a word in a language on a wiki, as `en arabe : `."""
    label = language_label(code, wiki)
    if not label and (name := _names(wiki).get(code)):
        label = _IN.get(wiki, "{}: ").format(name)
    return label


@lru_cache(maxsize=4096)
def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]


def script_of(text: str) -> str:
    """The script of a text's first letter, as `LATIN`; "" without one."""
    return next((_script(char) for char in text if char.isalpha()), "")
