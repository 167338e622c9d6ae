"""Words and forms of English questions that are data: `english_phrases.tsv`.

What belongs here: reading the file. What does not: verbs (`english_verbs.py`), other words (`english_words.py`).
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files


@lru_cache(maxsize=1)
def _lines() -> tuple[tuple[str, str, str], ...]:
    text = (files(__package__) / "english_phrases.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return tuple((kind, name, values) for kind, name, values in rows)


def words(name: str) -> frozenset[str]:
    """The words of a set; `_` stands for a space. Raises KeyError for a set that the file does not have."""
    for kind, each, values in _lines():
        if (kind, each) == ("set", name):
            return frozenset(word.replace("_", " ") for word in values.split())
    raise KeyError(f"no set {name}")


@lru_cache(maxsize=2)
def forms(kind: str) -> dict[str, tuple[str, ...]]:
    """The forms of a kind, `key` or `heading`, by name; `{name}` stands for the subject."""
    return {name: tuple(values.split("|")) for each, name, values in _lines() if each == kind}
