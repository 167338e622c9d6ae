"""The two tables of template handlers, and how a function is entered in them.

What belongs here: the tables and the look-up. A handler of words returns the marked words that a call shows
in a sentence; a handler of blocks opens nodes. The functions stand in the modules that `HANDLER_MODULES`
names, one a kind; other names of a template, in English and in other languages, stand in `names.tsv`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.names import names_of

HANDLER_MODULES = ("words", "signs", "functions", "numbers", "measures", "dates", "places", "charts", "links",
                   "citations", "blocks", "infoboxes", "episodes", "date_names")
"""Modules of this package that enter handlers: a new one is named here."""

Words = Callable[[Call], str]
Block = Callable[[Any, Call], None]
WORDS: dict[str, Words] = {}
BLOCKS: dict[str, Block] = {}
"""Handlers by template name in lower case; a name of `names.tsv` leads to one of these."""
_PATTERNS: list[Callable[[Call], Words | None]] = []
_BLOCK_PATTERNS: list[Callable[[Call], Block | None]] = []


def _split(names: str) -> list[str]:
    return [" ".join(name.split()) for name in names.split("|")]


def words(names: str) -> Callable[[Words], Words]:
    """Enter a handler of words under all these names, which are separated by `|`."""
    def enter(handler: Words) -> Words:
        WORDS.update(dict.fromkeys(_split(names), handler))
        return handler
    return enter


def block(names: str) -> Callable[[Block], Block]:
    """Enter a handler of blocks under all these names, which are separated by `|`.

    It gets the walk and the call, opens nodes through `walk.blocks`, and reads a parameter as blocks with
    `walk.sub_walk(*call.ranges[name])`.
    """
    def enter(handler: Block) -> Block:
        BLOCKS.update(dict.fromkeys(_split(names), handler))
        return handler
    return enter


def words_by_pattern(rule: Callable[[Call], Words | None]) -> Callable[[Call], Words | None]:
    """Enter a rule for names that no table can list, as `lang-xx`; it is asked where the table has none."""
    _PATTERNS.append(rule)
    return rule


def blocks_by_pattern(rule: Callable[[Call], Block | None]) -> Callable[[Call], Block | None]:
    """Enter a rule for names of block templates, as `Infobox …`."""
    _BLOCK_PATTERNS.append(rule)
    return rule


def find_words(call: Call) -> Words | None:
    """The handler of words for a call, None if there is none."""
    handler = WORDS.get(call.name)
    if handler is None:
        for rule in _PATTERNS:
            handler = rule(call)
            if handler is not None:
                break
    return handler


def find_block(call: Call) -> Block | None:
    """The handler of blocks for a call, None if there is none."""
    handler = BLOCKS.get(call.name)
    if handler is None and call.name not in WORDS:
        for rule in _BLOCK_PATTERNS:
            handler = rule(call)
            if handler is not None:
                break
    return handler


@lru_cache(maxsize=64)
def _names(language: str) -> tuple[dict[str, str], dict[str, str]]:
    """(name → meaning, folded name → meaning) on the wikis of a language."""
    names = names_of(language)
    folded: dict[str, set[str]] = {}
    for name, meaning in [*names.items(), *((name, name) for name in (*WORDS, *BLOCKS))]:
        folded.setdefault(_fold(name), set()).add(meaning)
    return names, {fold: meanings.pop() for fold, meanings in folded.items()
                   if len(meanings) == 1 and len(fold) >= _SHORTEST_FOLD}


def _fold(name: str) -> str:
    return _BETWEEN.sub("", name)


_BETWEEN = re.compile(r"[ _-]")
_SHORTEST_FOLD = 4


@lru_cache(maxsize=50_000)
def meaning_of(name: str, language: str) -> str:
    """What a template's name in lower case leads to: a handler's name, a rule in parentheses, else itself.

    A name that differs from a known one in spaces and hyphens alone is taken for it: it redirects there.
    """
    names, folded = _names(language)
    known = names.get(name)
    if known is not None or name in WORDS or name in BLOCKS:
        return known or name
    return folded.get(_fold(name), name)


def positional(call: Call) -> list[str]:
    """The unnamed parameters that have words, in order."""
    return [value for value in call.positional() if value]


def load_handlers() -> None:
    """Import the modules of handlers, which enter them in the tables."""
    for name in HANDLER_MODULES:
        importlib.import_module(f"pipelines.documents.readers.templates.{name}")
