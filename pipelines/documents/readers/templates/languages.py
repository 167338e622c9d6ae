"""What the wikis call languages: `{{lang-de|See}}` shows `German: See` on one, `нем. See` on another.

What belongs here: the look-up. The names stand in `languages.tsv`, whose head says how a line is written.
"""

from __future__ import annotations

from functools import lru_cache

from pipelines.documents.readers.templates.data import rows


@lru_cache(maxsize=1)
def _labels() -> dict[str, dict[str, str]]:
    """Wiki → code → name with what stands behind it."""
    found: dict[str, dict[str, str]] = {}
    for wiki, behind, names in rows("languages.tsv"):
        for code, _, name in (pair.partition(":") for pair in names.split("|")):
            found.setdefault(wiki, {})[code] = name + behind.replace("~", " ")
    return found


def language_label(code: str, wiki: str) -> str:
    """`German: ` for de on an English wiki, `нем. ` on a Russian one; '' where the name is not known."""
    wiki = "en" if wiki in ("", "simple") else wiki
    return _labels().get(wiki, {}).get(code.partition("-")[0].lower(), "")
