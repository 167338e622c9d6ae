"""Titles of other files, and the documents of a release that they mean.

What belongs here: the forms in which a title is looked up, and following redirects. What does not: titles
that are compared in a table (`normalise.py`).
"""

from __future__ import annotations

import difflib
import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pipelines.evaluation.normalise import normalise_title
from pipelines.storage import TableReader, sql_in, sql_text

MOST_REDIRECTS = 5
"""Redirects that are followed one after the other; a longer chain, or a circle, leads nowhere."""
_COLUMNS = ("doc_id", "title", "n_nodes", "status", "reason")


@dataclass(frozen=True)
class Resolved:
    """The documents with a tree that a title means, by doc_id: more than one where wikis share a title.

    redirected: a redirect was followed. reason: why there is none (`no_such_title`, `no_tree`,
    `no_redirect_target`); None where there is one.
    """

    doc_ids: tuple[str, ...]
    redirected: bool
    reason: str | None


def title_forms(title: str) -> list[str]:
    """The forms of a title in the order in which they are tried, each once.

    Underscores are spaces, composed accents, single spaces; then with the first letter as a capital, as wikis
    write titles; then with HTML's entities read.
    """
    forms = []
    for text in (title, html.unescape(title)):
        plain = normalise_title(text).strip()
        forms += [plain, plain[:1].upper() + plain[1:]]
    return [form for form in dict.fromkeys(forms) if form]


def resolve_titles(reader: TableReader, titles: Iterable[str]) -> dict[str, Resolved]:
    """What each title means. One read of the table `documents` for all, and one for each step of redirects.

    A redirect leads to a page of its own wiki.
    """
    forms = {title: title_forms(title) for title in dict.fromkeys(titles)}
    rows = _rows(reader, (form for tried in forms.values() for form in tried))
    found: dict[str, list[dict[str, Any]]] = {}
    for title, tried in forms.items():
        found[title] = next((rows[form] for form in tried if form in rows), [])
    redirected: set[str] = set()
    for _ in range(MOST_REDIRECTS):
        targets = {title: [(row["doc_id"], _target(row)) for row in known if row["status"] == "redirect"]
                   for title, known in found.items()}
        if not any(targets.values()):
            break
        rows = _rows(reader, (form for pairs in targets.values() for _, target in pairs
                              for form in title_forms(target)))
        for title, pairs in targets.items():
            if not pairs:
                continue
            redirected.add(title)
            known = [row for row in found[title] if row["status"] != "redirect"]
            for doc_id, target in pairs:
                known += next((here for form in title_forms(target)
                               if (here := [row for row in rows.get(form, ())
                                            if _wiki(row["doc_id"]) == _wiki(doc_id)])), [])
            found[title] = known
    return {title: _resolved(known, title in redirected) for title, known in found.items()}


def near_titles(reader: TableReader, title: str, n: int = 3) -> list[str]:
    """Titles that resemble one that no document has, the nearest first, redirects among them.

    Only titles that begin with the same letter are compared.
    """
    forms = title_forms(title)
    if not forms:
        return []
    begin = forms[-1][:1]
    rows = reader.rows("documents", ("title",), f'starts_with("title", {sql_text(begin)})')
    return difflib.get_close_matches(forms[0], sorted({row["title"] for row in rows}), n, 0.7)


def other_titles(reader: TableReader) -> dict[tuple[str, str], list[str]]:
    """The titles that redirect to each title, sorted, by wiki and title; through several redirects too."""
    targets = {(_wiki(row["doc_id"]), row["title"]): _capital(_target(row))
               for row in reader.rows("documents", ("doc_id", "title", "reason"), "status = 'redirect'")}
    found: dict[tuple[str, str], list[str]] = {}
    for wiki, title in sorted(targets):
        end = title
        for _ in range(MOST_REDIRECTS):
            if (wiki, end) not in targets:
                break
            end = targets[wiki, end]
        if (wiki, end) not in targets:
            found.setdefault((wiki, end), []).append(title)
    return found


def _capital(title: str) -> str:
    """A title as its page has it: the last of the forms."""
    return (title_forms(title) or [""])[-1]


def _rows(reader: TableReader, titles: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    by_title: dict[str, list[dict[str, Any]]] = {}
    wanted = sorted(set(titles))
    if wanted:
        for row in reader.rows("documents", _COLUMNS, sql_in("title", wanted), order_by=("doc_id",)):
            by_title.setdefault(row["title"], []).append(row)
    return by_title


def _target(redirect: dict[str, Any]) -> str:
    """The title that a redirect leads to, without the section."""
    return str(redirect["reason"] or "").partition("#")[0]


def _wiki(doc_id: str) -> str:
    return doc_id.partition(":")[0]


def _resolved(rows: list[dict[str, Any]], redirected: bool) -> Resolved:
    doc_ids = tuple(sorted({row["doc_id"] for row in rows if row["n_nodes"] > 0}))
    if doc_ids:
        return Resolved(doc_ids, redirected, None)
    if any(row["status"] != "redirect" for row in rows):
        return Resolved((), redirected, "no_tree")
    return Resolved((), redirected, "no_redirect_target" if redirected else "no_such_title")
