"""Sections of a tree against the heading lines of its page: what a word count cannot see.

What belongs here: headings that a link, table or template took into itself. Words of such a heading stay, so that
no bag of words is smaller.
"""

from __future__ import annotations

import re
from collections import Counter

from pipelines.documents.audit.plain_source import Source, without_tags
from pipelines.documents.readers.wikitext import ReadResult

_RAW = re.compile(r"(?is)<(nowiki|pre|math|chem|ce|source|syntaxhighlight|includeonly|ref)\b[^<>]*(?<!/)>"
                  r".*?</\1\s*>")
_HEADING = re.compile(r"(?m)^(={2,6})(?!=)[^\n]*?[^\s=][^\n]*?(?<!=)\1[ \t]*$")
_CELLS = frozenset(("td", "th", "caption"))


def faults_of_sections(text: str, result: ReadResult) -> Counter[str]:
    """How many heading lines of a page have no section, sections stand in cells, tables were never closed."""
    lines = without_tags(_RAW.sub("", Source(text).text)) if "\n==" in text or text[:2] == "==" else ""
    expected = Counter(len(match[1]) for match in _HEADING.finditer(lines))
    found: Counter[int] = Counter()
    faults: Counter[str] = Counter()
    for node in result.nodes[1:]:
        if node.is_structure:
            found[node.level or 0] += 1
            parent = result.nodes[node.parent_id or 0]
            while parent.parent_id is not None and parent.tag not in _CELLS:
                parent = result.nodes[parent.parent_id]
            faults["sections in cells"] += parent.tag in _CELLS
    n_missing = (expected - found).total() - result.counts.get("empty_headings", 0)
    faults["headings without a section"] = max(n_missing, 0)
    faults["tables never closed"] = result.counts.get("unclosed_tables", 0)
    return +faults
