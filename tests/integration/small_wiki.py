"""A wiki of a few pages, written as a dump: small enough that a test may build it as often as it likes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from pipelines.documents.readers.dump import Page

PAGES = {
    1: ("Aspen", "'''Aspen''' is a tree of [[birch]] woods. Its leaves tremble in the wind.\n\n"
                 "== Wood ==\nThe wood is soft. Matches are made of it.\n\n* paper\n* boxes\n"),
    2: ("Birch", "The '''birch''' has white bark. It grows in the north.\n\n== Uses ==\n"
                 "{| class=\"wikitable\"\n|+ Products\n! Part !! Use\n|-\n| bark || canoes\n|-\n"
                 "| sap || syrup\n|}\n"),
    3: ("Cedar", "A '''cedar''' smells of resin. Moths avoid it.\n\n== Ships ==\n"
                 "The Phoenicians built ships of cedar. Few cedars are left.\n"),
    4: ("Larch", "#REDIRECT [[Cedar]]"),
}
"""Page id → title and wikitext."""

_HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
<siteinfo><sitename>Trees</sitename><dbname>treewiki</dbname>
<base>https://tree.example.org/wiki/Main_Page</base>
<namespaces><namespace key="0" case="first-letter"/><namespace key="1">Talk</namespace></namespaces></siteinfo>
"""


def write_wiki(path: Path, texts: Mapping[int, str] | None = None, revision: int = 1) -> Path:
    """Write the pages as a dump; `texts` replaces the wikitext of some, or leaves only these when it is
    given with another revision than 1."""
    changed = dict(texts or {})
    chosen = PAGES if revision == 1 else {page_id: PAGES[page_id] for page_id in changed}
    pages = []
    for page_id, (title, text) in chosen.items():
        wikitext = changed.get(page_id, text)
        redirect = '<redirect title="Cedar"/>' if wikitext.startswith("#REDIRECT") else ""
        pages.append(
            f"<page><title>{title}</title><ns>0</ns><id>{page_id}</id>{redirect}<revision>"
            f"<id>{revision * 100 + page_id}</id><timestamp>2026-01-0{revision}T00:00:00Z</timestamp>"
            f'<text xml:space="preserve">{escape(wikitext)}</text></revision></page>\n')
    path.write_text(_HEAD + "".join(pages) + "</mediawiki>\n", encoding="utf-8")
    return path


def write_pages(path: Path, pages: Iterable[Page]) -> Path:
    """Write pages that were read from a dump, changed or not, as a dump of the same wiki."""
    xml = (f"<page><title>{escape(page.title)}</title><ns>{page.namespace}</ns><id>{page.page_id}</id>"
           f"{f'<redirect title={quoteattr(page.redirect_to)}/>' if page.redirect_to else ''}"
           f"<revision><id>{page.revision_id}</id><timestamp>2015-01-01T00:00:00Z</timestamp>"
           f'<text xml:space="preserve">{escape(page.text or "")}</text></revision></page>\n' for page in pages)
    head = _HEAD.replace("treewiki", "enwiki").replace("tree.example", "en.example")
    path.write_text(head + "".join(xml) + "</mediawiki>\n", encoding="utf-8")
    return path
