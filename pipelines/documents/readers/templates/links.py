"""Templates that link: to articles of other languages, to addresses, to databases.

What belongs here: one small function a kind of template; a database's template shows the title of the entry
and the name of the database, as `{{YouTube|id|title}}` does, and those are a table of names.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.data import rows
from pipelines.documents.readers.templates.table import Words, positional, words, words_by_pattern


def _to(target: str, shown: str) -> str:
    return mark.link(target, shown) if shown else ""


@words("ill|illm|link-interwiki|red link")
def interlanguage(call: Call) -> str:
    """`{{ill|Como|it|Como|lt=the town}}`: a link whose article another wiki has."""
    target = call.text("1")
    if re.fullmatch(r"[a-z]{2,3}", target) and call.text("3"):
        # Until 2014 the language stood first.
        target = call.text("2")
    return _to(target, call.text("lt", "label", "display", "texte") or target)


@words("ill text second")
def interlanguage_russian(call: Call) -> str:
    """`{{нп5|title|shown|lang|foreign title}}` and `{{仮リンク|shown|lang|foreign}}`."""
    target = call.text("1", "треба", "надо")
    return _to(target, call.text("2", "текст", "нужный текст") or target)


@words("ill language first")
def interlanguage_chinese(call: Call) -> str:
    """`{{tsl|en|foreign title|title|shown}}`."""
    target = call.text("3", "2")
    return _to(target, call.text("4") or target)


@words("ill named")
def interlanguage_named(call: Call) -> str:
    """`{{lien|langue=en|trad=Foreign|fr=Titre|texte=words}}` and its Spanish and Portuguese forms."""
    target = call.text("fr", "es", "pt", "1", "trad", "2")
    return _to(target, call.text("texte", "texto", "text") or target)


@words("sortname")
def sortname(call: Call) -> str:
    name = f"{call.text('1')} {call.text('2')}".strip()
    return name if call.text("nolink") else _to(call.text("3") or name, name)


@words("section link|slink")
def section_link(call: Call) -> str:
    """`{{section link|Article|Part}}` → Article § Part."""
    page, part = call.text("1"), call.text("2")
    shown = (call.text("nopage") and f"§ {part}") or f"{page} § {part}".strip()
    return _to(f"{page}#{part}", shown) if page else shown


@words("url|official website|official|official site|website|homepage|pdflink")
def address(call: Call) -> str:
    target = call.text("1", "url")
    if target[:1] == mark.URL:
        # The tokenizer has made a link of the address already.
        target, _, words_ = target[1:].partition(mark.LINK_TEXT)
        if call.name == "pdflink":
            return f"{mark.URL}{target}{mark.LINK_TEXT}{words_}"
    shown = call.text("2", "name", "mobile") or (target if call.name in ("url", "pdflink") else
                                                 _OFFICIAL.get(call.language, "Official website"))
    if not target:
        return shown if call.name.startswith("official") else ""
    full = target if "://" in target else "http://" + target
    return mark.link(full, shown, mark.URL)


_OFFICIAL = {"vi": "Website chính thức", "hy": "Պաշտոնական կայք", "de": "Offizielle Website",
             "fr": "Site officiel", "es": "Sitio web oficial", "it": "Sito ufficiale",
             "pt": "Sítio oficial", "ru": "Официальный сайт", "uk": "Офіційний сайт"}


@words("dead link with text")
def dead_link(call: Call) -> str:
    """`{{enlace roto|1=words|2=address}}`: the words stay."""
    return call.text("1", "título", "titolo")


@words("isbn|oclc|issn|doi|arxiv|pmid|jstor|pmc|asin|lccn|bibcode|s2cid|isbnt|hdl|ssrn|zbl|mr|ismn|rfc|ol"
       "|ietf rfc|isbn2|isrc|gnd")
def identifier(call: Call) -> str:
    values = positional(call)
    shown = {"arxiv": "arXiv", "bibcode": "Bibcode", "doi": "doi:", "hdl": "hdl:", "isbn2": "ISBN", "isbnt": "",
             "ietf rfc": "RFC", "zbl": "Zbl"}.get(call.name, call.name.upper())
    gap = "" if shown.endswith(":") else " "
    return f"{shown}{gap}{', '.join(values)}".strip() if values else ""


@lru_cache(maxsize=1)
def databases() -> dict[str, tuple[str, str]]:
    """`databases.tsv`: template → (kind of call, words)."""
    return {name: (kind, shown) for name, kind, shown in rows("databases.tsv")}


def database(call: Call) -> str:
    """`{{YouTube|id|Title}}` → Title on YouTube; the page's title where the call names none."""
    kind, shown = databases()[call.name]
    values = [value for value in positional(call) if mark.URL not in value]
    if kind == "verse":
        return " ".join(values[:2])
    if kind == "number":
        return shown.replace("*", call.text("1"))
    if kind == "code":
        is_split = call.name == "icd10" and len(values) > 2
        return f"{values[0]}{values[1]}.{values[2]}" if is_split else "".join(values[-1:])
    named = values[1] if len(values) > 1 and kind != "page" else ""
    title = call.text("title", "name", "cname", "lname") or named
    if not title and values and call.name in ("ws", "wikilivres"):
        title = values[0]
    title = title or call.reader.title
    author = f" by {values[2]}" if call.name in ("sep", "iep", "sep entry") and len(values) > 2 else ""
    if call.language not in ("", "en", "simple"):
        return title
    return f"{title}{author}{', ' if shown.startswith(('The ', 'entry ')) else ' '}{shown}"


@words_by_pattern
def by_database(call: Call) -> Words | None:
    return database if call.name in databases() else None


@words_by_pattern
def by_wiki(call: Call) -> Words | None:
    """`{{link-en|shown|foreign title}}`."""
    return interlanguage if re.fullmatch(r"link-[a-z]{2,3}", call.name) else None
