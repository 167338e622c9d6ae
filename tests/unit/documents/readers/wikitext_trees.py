"""Helpers of the wikitext tests: a tree written as indented lines, so that a test shows what it expects."""

from __future__ import annotations

from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import ReadResult, read_wikitext
from pipelines.documents.tree import check_tree

ENGLISH = SiteInfo.unknown("en")


def read(text: str, site: SiteInfo = ENGLISH) -> ReadResult:
    """Read a page titled T and prove its tree."""
    result = read_wikitext("T", text, site)
    check_tree("T", result.nodes)
    return result


def tree(text: str, site: SiteInfo = ENGLISH) -> list[str]:
    """The nodes below the root, one a line: two spaces a level, tag with a section's level, own text."""
    return [f"{'  ' * (len(node.path) - 1)}{node.tag}{node.level or ''} {node.text}".rstrip()
            for node in read(text, site).nodes[1:]]


def words(text: str, site: SiteInfo = ENGLISH) -> str:
    """The text of a page that is one block."""
    [only] = read(text, site).nodes[1:]
    return only.text


def spans(text: str) -> list[tuple[str, str, str | None]]:
    """(kind, covered words, target) of the spans of a page that is one block."""
    [only] = read(text).nodes[1:]
    return [(span.kind, only.text[span.begin:span.end], span.target) for span in only.spans]
