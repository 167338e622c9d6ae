"""Wikitext → document tree: the reader for Wikipedia pages.

What belongs here: the order of the steps, the work limits and the status of a page. A page goes through
`wikitext_prepare` (comments, footnotes, tags become marks), a token source (`wikitext_tokens`), one walk
(`wikitext_walk`, with its parts for tables, links, templates), and `TreeBuilder`. Builds the trees of RDR²
(section on document structure trees), with the tables, lists and captions that its authors' script drops.
"""

from __future__ import annotations

import gc
from typing import NamedTuple

from pipelines.documents.readers import language_variants
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext_prepare import Prepared, prepare
from pipelines.documents.readers.wikitext_tokens import TokenSource, default_source, linear_tokens
from pipelines.documents.readers.wikitext_walk import Walk
from pipelines.documents.tree import Node
from pipelines.errors import shortened

PARSER_VERSION = 3

MAX_CHARACTERS = 2_500_000
MAX_UNCLOSED = 200
MAX_DEPTH = 40
_UNCLOSED_COUNTS = ("unclosed_references", "unclosed_comments", "unclosed_tags", "unclosed_openings",
                    "stray_closings")


class ReadResult(NamedTuple):
    """A page as a tree.

    status: parsed, degraded (over a work limit: linear token source), disambiguation or empty. reason: which
    limit, or why; None for parsed. counts: what was removed or could not be parsed, by rule.
    """

    nodes: tuple[Node, ...]
    status: str
    reason: str | None
    counts: dict[str, int]

    def __repr__(self) -> str:
        title = shortened(self.nodes[0].text) if self.nodes else ""
        return f"<ReadResult {title!r} {self.status}, {len(self.nodes)} nodes>"


def read_wikitext(title: str, text: str | None, site: SiteInfo, *,
                  source: TokenSource | None = None) -> ReadResult:
    """Read one page. Never raises for what stands in a page; work is linear in its length.

    source: the tokenizer, by default mwparserfromhell's C tokenizer.
    """
    prepared = prepare(text or "", not site.language or site.language in language_variants.LANGUAGES,
                       site.is_file_prefix)
    reason = _over_limit(prepared)
    chosen = linear_tokens if reason else source or default_source()
    walk = Walk(title, prepared, site, chosen)
    # The token list is large and holds no cycles: collecting garbage in the middle of it only costs.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        walk.run(prepared.text)
        nodes = walk.blocks.tree.finish()
    finally:
        if was_enabled:
            gc.enable()
    counts = {name: n for name, n in walk.counts.items() if n}
    if not reason and walk.counts["too_deep"]:
        reason = "blocks nested too deep"
    if reason:
        return ReadResult(nodes, "degraded", reason, counts)
    if len(nodes) == 1:
        reason = "no visible words" if (text or "").strip() else "no text"
        return ReadResult(nodes, "empty", reason, counts)
    if walk.is_disambiguation:
        return ReadResult(nodes, "disambiguation", "disambiguation page", counts)
    return ReadResult(nodes, "parsed", None, counts)


def _over_limit(prepared: Prepared) -> str | None:
    """Which work limit a page is over; None for an ordinary page."""
    if len(prepared.text) > MAX_CHARACTERS:
        return f"{len(prepared.text)} characters, limit {MAX_CHARACTERS}"
    if prepared.depth > MAX_DEPTH:
        return f"markup nested {prepared.depth} deep, limit {MAX_DEPTH}"
    n_unclosed = sum(prepared.counts[name] for name in _UNCLOSED_COUNTS)
    if n_unclosed > MAX_UNCLOSED:
        return f"{n_unclosed} unclosed openings, limit {MAX_UNCLOSED}"
    return None
