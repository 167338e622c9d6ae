"""The rules by which words of a page are no words of its tree: the fixed list that `docs/audit.md` explains.

What belongs here: the names of the rules and what each means. What does not: applying them. A word that is
missing in a tree and stands in none of these is lost.
"""

from __future__ import annotations

EXTENSIONS: dict[str, str] = {
    "ref": "references", "references": "references", "timeline": "graphics", "score": "graphics",
    "graph": "graphics", "mapframe": "graphics", "maplink": "graphics", "chart": "graphics",
    "hiero": "graphics", "phonos": "graphics", "templatestyles": "magic_words", "templatedata": "magic_words",
    "indicator": "magic_words", "section": "magic_words", "style": "magic_words", "script": "magic_words",
    "categorytree": "navigation", "inputbox": "navigation", "rss": "navigation",
    "charinsert": "navigation", "dynamicpagelist": "navigation", "includeonly": "includeonly",
}
"""Extension tag → the rule by which it goes with what is in it."""

RULES: dict[str, str] = {
    "comments": "hidden comments",
    "references": "footnotes, and templates that make footnotes, lists of them or anchors",
    "maintenance": "templates that speak to editors: notices, stubs, protection, dates' format",
    "navigation": "templates and tags that lead to other pages: hatnotes, boxes, sister projects, portals",
    "layout": "templates that only lay out: columns, clearing, icons, sort keys",
    "disambiguation": "the template that marks a disambiguation page",
    "categories": "category links",
    "language_links": "links to the same article in another language",
    "pictures": "pictures' file names and options; captions stay",
    "magic_words": "behaviour switches and tags for the software",
    "graphics": "what is drawn from a description: timelines, scores, charts, maps",
    "includeonly": "what shows only where the page is included",
    "bare_addresses": "addresses in brackets without words, which show as a number",
    "parser_functions": "parser functions and variables: what a condition shows is decided when a page is shown",
    "template_arguments": "names of template parameters in an article; their defaults stay",
    "template_parameters": "parameters that a known template does not show: sizes, dates' parts, options",
}
"""Rule → what goes by it."""

TEMPLATE_RULES = ("references", "maintenance", "navigation", "layout", "disambiguation")
"""The rules that templates go by, as the reader counts them."""
