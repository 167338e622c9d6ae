"""What the rows of each derived table depend on beside their upstream tables: settings and versions of code.

What belongs here: one small dict a table, compared with the one that its last refresh wrote down. What does
not: the refresh (the engine's), and settings that change speed alone. A table whose dict differs is due.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.settings import Profile

PASSAGE_VERSION = 1
"""Raised when `make_passages` cuts otherwise: all passages are then made again."""

Settings = Mapping[str, Any]


def stage_settings(table: str, profile: Profile) -> dict[str, Any]:
    """The settings of a derived table, as plain JSON values. Empty for one that depends on none."""
    from pipelines.documents.readers.wikitext import PARSER_VERSION

    if table in ("tree_nodes", "documents"):
        return {"parser_version": PARSER_VERSION, "namespaces": sorted(profile.namespaces),
                "token_counter": profile.token_counter}
    if table == "sentences":
        return {"parser_version": PARSER_VERSION}
    if table == "units":
        return {"passage_version": PASSAGE_VERSION, "passage_words": profile.passage_words,
                "token_counter": profile.token_counter}
    if table == "embeddings":
        return {"encoder": profile.encoder, "max_tokens": profile.encoder_max_tokens}
    return {}


def difference(stored: Settings | None, now: Settings) -> str | None:
    """How settings differ from those that a table was made with, in words; None where they are equal."""
    if stored is None:
        return "it is not known what it was made with"
    changed = [f"{name} is {now.get(name)}, it was made with {stored.get(name)}"
               for name in sorted({*now, *stored}) if stored.get(name) != now.get(name)]
    return "; ".join(changed) or None
