"""Residue: markup that a reader left in text where the article's reader would see none.

What belongs here: the detector and its kinds, with the places that are exempt (math, code, pre, nowiki). It
serves data-quality checks, the audit and the tests; the wikitext reader does not call it.
"""

from __future__ import annotations

import re

from pipelines.documents.tree import Node

_KINDS = {
    "template_braces": r"\{\{|\}\}",
    "link_brackets": r"\[\[|\]\]",
    "table_markup": r"\{\||(?:^|\n)\|[-}+]"
                    r"|(?:^|\n)\|\s*(?:colspan|rowspan|style|align|class|width|bgcolor|valign)\s*=",
    "quote_marks": r"'''|(?<!')''(?!')(?=\w)",
    "tag": r"</?(?:ref|br|div|span|small|big|sub|sup|center|table|tr|td|th|ul|ol|li|dl|dt|dd|gallery|math"
           r"|nowiki|pre|poem|blockquote|source|syntaxhighlight|code|font|includeonly|noinclude"
           r"|onlyinclude|references|timeline|score|imagemap|templatestyles|section|hr|p|b|i|u|s|strong|em|tt|cite|del|ins)\b[^<>]*>"
           r"|<!--",
    "picture_option": r"\|\s*(?:thumb|thumbnail|mini|frame|frameless|left|right|center|upright|\d+px)"
                      r"\s*(?:\||$)"
                      r"|(?:^|\|)\s*thumb\s*\|",
    "magic_word": r"__(?:[A-Z]{4,}|[^\W\d_a-z]{4,})__|\{\{\s*(?:DEFAULTSORT|PAGENAME|#if)",
    "entity": r"&(?:nbsp|amp|lt|gt|quot|ndash|mdash|thinsp|times|minus|deg|prime|#\d{1,7}"
              r"|#[xX][0-9a-fA-F]{1,6});",
    "namespace_link": r"(?:^|\s)(?:Category|File|Image|Kategorie|Datei|Catégorie|Fichier|Категория|Файл)"
                      r":\S+(?=\s*(?:\||$))",
    "signature": r"~~~~",
    "parameter": r"(?:^|\n)[^\S\n]*+\|\s*\w[\w ]{0,30}=\s",
    "control_character": r"[\x00-\x08\x0b-\x1f]",
}
_PATTERN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))
# A title is no wikitext: what stands in it is meant.
_EXEMPT_TAGS = frozenset(("pre", "math", "document"))
_EXEMPT_SPANS = frozenset(("math", "code", "nowiki"))

KINDS = tuple(_KINDS)


def find_residue(text: str) -> list[tuple[str, int, int]]:
    """Left-over markup in a text: (kind, begin, end) in code points, in order, not overlapping."""
    return [(str(match.lastgroup), match.start(), match.end()) for match in _PATTERN.finditer(text)
            if not (match.lastgroup == "entity" and _is_no_character(match[0]))]


def _is_no_character(entity: str) -> bool:
    """Whether a reference names no character, so that MediaWiki too shows it as it is written."""
    if not entity.startswith("&#"):
        return False
    digits = entity[2:-1]
    code = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    return not (code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE
                or 0x10000 <= code <= 0x10FFFF)


def find_node_residue(node: Node) -> list[tuple[str, int, int]]:
    """Left-over markup in a node's own text, without math, code, pre and nowiki."""
    if node.tag in _EXEMPT_TAGS or not node.text:
        return []
    found = find_residue(node.text)
    if not found:
        return found
    exempt = [(span.begin, span.end) for span in node.spans if span.kind in _EXEMPT_SPANS]
    return [piece for piece in found if not any(b < piece[2] and piece[1] < e for b, e in exempt)]
