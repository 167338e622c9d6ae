"""English verbs: their forms, and other words for them. The table is `english_verbs.tsv`.

What belongs here: from a word to the verb that it is a form of, and from a verb to its forms. What does not:
sentences (`english.py`). A form that the table does not give is made by rule (-ed, -s); a verb that it does
not have is not recognised, for its base could only be guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Literal

Tense = Literal["past", "present"]
_VOWELS = "aeiou"


@dataclass(frozen=True)
class Verb:
    """A verb, perhaps with a particle behind it ("bring out"). others: verbs for the same sentence frame."""

    base: str
    past: str
    participle: str
    is_human: bool = False
    """Whether the one who does it is a person."""
    takes_place: bool = False
    """Whether where it happens may stand behind it."""
    others: tuple[str, ...] = ()

    @property
    def third_person(self) -> str:
        """"He …s"."""
        first, space, rest = self.base.partition(" ")
        if first == "have":
            return f"has{space}{rest}"
        if first.endswith(("s", "x", "ch", "sh", "o")):
            return f"{first}es{space}{rest}"
        return f"{_y_to_i(first)}es{space}{rest}" if _ends_in_y(first) else f"{first}s{space}{rest}"


def _ends_in_y(word: str) -> bool:
    return word.endswith("y") and word[-2:-1] not in _VOWELS


def _y_to_i(word: str) -> str:
    return f"{word[:-1]}i"


def _regular_past(base: str, *, doubles: bool) -> str:
    if doubles:
        return f"{base}{base[-1]}ed"
    if _ends_in_y(base):
        return f"{_y_to_i(base)}ed"
    return f"{base}d" if base.endswith("e") else f"{base}ed"


@lru_cache(maxsize=1)
def _table() -> dict[str, Verb]:
    """Every verb by its base."""
    verbs: dict[str, Verb] = {}
    text = (files(__package__) / "english_verbs.tsv").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        base, past, participle, flags, others = line.split("\t")
        if past in (".", "x"):
            past = participle = _regular_past(base, doubles=past == "x")
        verbs[base] = Verb(base, past, participle, "h" in flags, "p" in flags,
                           () if others == "." else tuple(others.split(",")))
    return verbs


@lru_cache(maxsize=1)
def _by_finite_form() -> dict[str, tuple[Verb, Tense]]:
    forms: dict[str, tuple[Verb, Tense]] = {}
    for verb in _table().values():
        forms.setdefault(verb.third_person, (verb, "present"))
    for verb in _table().values():
        forms[verb.past] = (verb, "past")
    return forms


@lru_cache(maxsize=1)
def _by_participle() -> dict[str, Verb]:
    return {verb.participle: verb for verb in _table().values()}


def finite_verb(word: str) -> tuple[Verb, Tense] | None:
    """The verb of a past form or a third person, with its tense; None for other words."""
    return _by_finite_form().get(word)


def participle_of(word: str) -> Verb | None:
    """The verb of a past participle; None for other words."""
    return _by_participle().get(word)


def base_form(word: str) -> Verb | None:
    """The verb of a base; None for other words."""
    return _table().get(word)


def other_verb(base: str) -> Verb:
    """A verb of the column of other words, with all its forms: `bring out`, `brought out`.

    Raises KeyError when its first word has forms that the table does not tell.
    """
    first, space, particle = base.partition(" ")
    verb = _table().get(first) or _REST[first]
    return Verb(base, f"{verb.past}{space}{particle}", f"{verb.participle}{space}{particle}")


_REST = {base: Verb(base, past, participle) for base, past, participle in (
    ("arise", "arose", "arisen"), ("assault", "assaulted", "assaulted"), ("assist", "assisted", "assisted"),
    ("back", "backed", "backed"), ("come", "came", "come"), ("cut", "cut", "cut"),
    ("decline", "declined", "declined"), ("depart", "departed", "departed"), ("display", "displayed", "displayed"),
    ("do", "did", "done"), ("dwell", "dwelt", "dwelt"), ("finish", "finished", "finished"),
    ("furnish", "furnished", "furnished"), ("govern", "governed", "governed"), ("guard", "guarded", "guarded"),
    ("happen", "happened", "happened"), ("head", "headed", "headed"), ("hurt", "hurt", "hurt"),
    ("lay", "laid", "laid"), ("let", "let", "let"), ("like", "liked", "liked"), ("look", "looked", "looked"),
    ("need", "needed", "needed"), ("outlive", "outlived", "outlived"), ("overrun", "overran", "overrun"),
    ("part", "parted", "parted"), ("pull", "pulled", "pulled"), ("put", "put", "put"),
    ("relocate", "relocated", "relocated"), ("shut", "shut", "shut"), ("slay", "slew", "slain"),
    ("stage", "staged", "staged"), ("step", "stepped", "stepped"), ("talk", "talked", "talked"),
    ("think", "thought", "thought"), ("touch", "touched", "touched"), ("wed", "wed", "wed"),
    ("wreck", "wrecked", "wrecked"),
)}
"""First words of the column of other words that are no verbs of the table themselves."""
