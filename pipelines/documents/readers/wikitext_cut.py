"""Cutting: what MediaWiki takes out of a page before it reads markup, in one pass over its `<`.

What belongs here: comments, footnotes, extension tags and HTML tags. They go by rule, or become marks, or
plain wikitext (galleries, poems). Braces, links and magic words are `wikitext_prepare.py`'s.
"""

from __future__ import annotations

import re
from collections import Counter

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.namespaces import name_set
from pipelines.documents.readers.source_lines import LineMap

Stashed = tuple[str, str, dict[str, str]]
"""A piece that was put aside: (kind, text or tag name, attributes)."""

_TAG = re.compile(r"<(?:!--|(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[\s/;][^<>]*(?:<!--[^<>]*-->[^<>]*)*)?)>)")
_ATTRIBUTE = re.compile(r"(?<![\w:-])([\w:-]++)\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>|]+))")
_HEADING_LINE = re.compile(r"\n={1,6}[^\n]+=[ \t]*(?=\n|$)")
_FOOTNOTE_LIMIT = 1000
"""Characters that an unclosed footnote may take with it, at most to the end of its line."""
_UNCLOSED_NOTES = 3
"""A page with more unclosed footnotes keeps their words."""

_CUT = {
    "ref": "references", "references": "references", "timeline": "graphics", "score": "graphics",
    "graph": "graphics", "mapframe": "graphics", "maplink": "graphics", "chart": "graphics",
    "templatestyles": "magic_words", "templatedata": "magic_words", "indicator": "magic_words",
    "categorytree": "navigation", "inputbox": "navigation", "section": "magic_words",
    "rss": "navigation", "includeonly": "includeonly", "hiero": "graphics", "charinsert": "navigation",
    "phonos": "graphics", "style": "magic_words", "script": "magic_words", "dynamicpagelist": "navigation",
}
_RAW = {"nowiki", "pre", "math", "chem", "ce", "syntaxhighlight", "source"}
_REWRITTEN = {"gallery", "imagemap", "poem"}
_TRANSPARENT = name_set("""
span small big u s del ins strike font abbr bdi bdo mark q rb rp rt rtc ruby time data wbr onlyinclude
noinclude translate tvar languages blink nobr acronym label a img
""")
_BLOCK = name_set("""
div center p hr blockquote ul ol dl li dt dd table caption tr th td thead tbody tfoot h1 h2 h3 h4 h5 h6
section article aside nav header footer main address figure figcaption details summary colgroup col
""")


def attributes(text: str) -> dict[str, str]:
    """The attributes of an HTML tag or a table cell, names in lower case."""
    if "=" not in text:
        return {}
    return {m[1].lower(): m[2] or m[3] or m[4] or "" for m in _ATTRIBUTE.finditer(text)}


class Cutter:
    """The pass over `<`: comments, extension tags, HTML tags."""

    def __init__(self, text: str, stash: list[Stashed], counts: Counter[str], lines: LineMap) -> None:
        self.text, self.stash, self.counts, self.lines = text, stash, counts, lines
        self.out: list[str] = []
        self.at = 0
        self.line = 0
        self.lower: str | None = None
        self.no_closer: set[str] = set()
        self.next_closer: dict[str, tuple[int, int]] = {}
        self.keeps_notes: bool | None = None

    def run(self) -> str:
        for match in _TAG.finditer(self.text):
            begin = match.start()
            if begin < self.at:
                continue
            name = match[2]
            if name is None:
                self._comment(begin)
                continue
            name = name.lower()
            closing, rest = match[1], match[3]
            if name == "ref":
                self._extension(match, name, bool(closing), rest)
            elif name in mark.INLINE_TAGS:
                self._replace(begin, match.end(), mark.INLINE_TAGS[name][1 if closing else 0])
            elif name == "br":
                self._replace(begin, match.end(), mark.BREAK)
            elif name in _TRANSPARENT:
                if name in ("onlyinclude", "noinclude"):
                    self._replace(begin, match.end(), "")
                else:
                    self._replace(begin, match.end(), mark.NOTHING)
            elif name in _BLOCK:
                kind = "close" if closing else "open"
                values = attributes(rest) if rest and not closing else {}
                self._replace(begin, match.end(), self._put(mark.BLOCK, (kind, name, values)))
            elif name in _CUT or name in _RAW or name in _REWRITTEN:
                self._extension(match, name, bool(closing), rest)
        self.out.append(self.text[self.at:])
        return "".join(self.out)

    def _put(self, opener: str, piece: Stashed) -> str:
        self.stash.append(piece)
        return f"{opener}{len(self.stash) - 1}{mark.STASH_END}"

    def _replace(self, begin: int, end: int, by: str) -> None:
        before = self.text[self.at:begin]
        self.out.append(before)
        self.out.append(by)
        self.line += before.count("\n")
        if end - begin > 1:
            n = self.text.count("\n", begin, end) - by.count("\n")
            if n:
                self.lines.cut(self.line, n)
                self.line += by.count("\n")
        self.at = end

    def _comment(self, begin: int) -> None:
        text = self.text
        end = -1 if "-->" in self.no_closer else text.find("-->", begin + 4)
        if end < 0:
            self.no_closer.add("-->")
            self.counts["unclosed_comments"] += 1
            self._replace(begin, begin + 4, mark.NOTHING)
            return
        end += 3
        self.counts["comments"] += 1
        # A comment alone on its line goes with the line, as in MediaWiki.
        first = begin
        while first > self.at and text[first - 1] in " \t":
            first -= 1
        last = end
        while last < len(text) and text[last] in " \t":
            last += 1
        if ((first == 0 or text[first - 1] == "\n") and (first > self.at or not self.out or first == 0
                                                          or self.out[-1].endswith("\n") or first == self.at)
                and text[last:last + 1] == "\n"):
            self._replace(first, last + 1, "")
        else:
            self._replace(begin, end, "")

    def _find_closer(self, name: str, begin: int) -> tuple[int, int]:
        """Begin and end of the next `</name>`, (-1, -1) if there is none: each is looked for once."""
        if name in self.no_closer:
            return -1, -1
        found = self.next_closer.get(name)
        if found is not None and found[0] >= begin:
            return found
        if self.lower is None:
            self.lower = self.text
            if _CAPITAL_CLOSER.search(self.text):
                # A few characters change their length in lower case; then only the usual spelling is found.
                lower = self.text.lower()
                self.lower = lower if len(lower) == len(self.text) else self.text
        at = begin
        while True:
            at = self.lower.find("</" + name, at)
            if at < 0:
                self.no_closer.add(name)
                return -1, -1
            end = at + 2 + len(name)
            while end < len(self.lower) and self.lower[end].isspace():
                end += 1
            if self.lower[end:end + 1] == ">":
                self.next_closer[name] = at, end + 1
                return at, end + 1
            at += 2

    def _extension(self, match: re.Match[str], name: str, closing: bool, rest: str) -> None:
        begin, end = match.span()
        rule = _CUT.get(name)
        if closing:
            self._replace(begin, end, mark.NOTHING)
            self.counts["stray_tags"] += 1
            return
        if rest.rstrip().endswith("/"):
            if rule:
                self.counts[rule] += 1
            self._replace(begin, end, mark.NOTHING)
            return
        if name == "ref":
            self._footnote(begin, end)
            return
        if name == "section":
            self._replace(begin, end, mark.NOTHING)
            return
        close_begin, close_end = self._find_closer(name, end)
        if close_begin < 0:
            self.counts["unclosed_tags"] += 1
            self._replace(begin, end, mark.NOTHING)
            return
        inner = self.text[end:close_begin]
        if rule:
            self.counts[rule] += 1
            by = "" if name == "includeonly" else mark.NOTHING
        elif name in _RAW:
            by = self._raw(name, inner, attributes(rest) if rest else {}, rest)
        else:
            # Their contents are wikitext: tags, comments and footnotes in them go first.
            inner = Cutter(inner, self.stash, self.counts, LineMap("")).run() if "<" in inner else inner
            by = {"gallery": _gallery, "imagemap": _imagemap, "poem": self._poem}[name](inner)
            caption = attributes(rest).get("caption") if name == "gallery" else None
            if caption:
                tags = [self._put(mark.BLOCK, (kind, "p", {})) for kind in ("open", "close")]
                by = f"{tags[0]}{caption}{tags[1]}{by}"
        self._replace(begin, close_end, by)

    def _footnote(self, begin: int, end: int) -> None:
        self.counts["references"] += 1
        # Most notes hold no tag.
        next_tag = self.text.find("<", end)
        if self.text.startswith("</ref>", next_tag) and self.text.find("\n=", end, next_tag) < 0:
            self._replace(begin, next_tag + 6, mark.NOTHING)
            return
        close_begin, close_end = self._find_closer("ref", end)
        if close_begin >= 0:
            opens = _NESTED_NOTE.search(self.text, end, close_begin)
            if not opens and not _HEADING_LINE.search(self.text, end, close_begin):
                self._replace(begin, close_end, mark.NOTHING)
                return
        # Without an end of its own a footnote ends with its line. On a page full of such marks they are
        # noise rather than footnotes, and the words stay.
        self.counts["unclosed_references"] += 1
        if self.keeps_notes is None:
            n_open = sum(1 for _ in _NESTED_NOTE.finditer(self.text))
            self.keeps_notes = n_open - len(_NOTE_END.findall(self.text)) > _UNCLOSED_NOTES
        last = min(end + _FOOTNOTE_LIMIT, len(self.text))
        line_end = self.text.find("\n", end, last + 1)
        if self.keeps_notes or (line_end < 0 and last < len(self.text)):
            self._replace(begin, end, mark.NOTHING)
            return
        line_end = last if line_end < 0 else line_end
        nested = self.text.find("<", end, line_end)
        self._replace(begin, nested if nested >= 0 else line_end, mark.NOTHING)

    def _raw(self, name: str, inner: str, values: dict[str, str], rest: str) -> str:
        if name == "nowiki":
            return self._put(mark.STASH, ("nowiki", inner, {})) if inner else mark.NOTHING
        if name in ("math", "chem", "ce"):
            tex = " ".join(inner.split())
            if name != "math":
                tex = f"\\ce{{{tex}}}"
            if not inner.strip():
                return mark.NOTHING
            if values.get("display") == "block":
                return self._put(mark.BLOCK, ("math", tex, {}))
            return self._put(mark.STASH, ("math", tex, {}))
        if name != "pre" and ("inline" in rest or values.get("enclose") == "none"):
            return self._put(mark.STASH, ("code", inner.strip(), values))
        kept = {"lang": values["lang"]} if "lang" in values else {}
        if name == "pre":
            inner = inner.replace("<nowiki>", "").replace("</nowiki>", "")
        return self._put(mark.BLOCK, ("pre", inner.strip("\n").rstrip(), kept))

    def _poem(self, inner: str) -> str:
        """Lines become line breaks, so that a poem stays one block; headings keep their lines."""
        pieces = [self._put(mark.BLOCK, ("open", "poem", {}))]
        # Colons at the start of a line indent it: they are no words.
        text = _POEM_INDENT.sub(lambda colons: " " * len(colons[0]), inner.strip("\n"))
        at = 0
        for heading in _HEADING_LINE.finditer("\n" + text):
            begin, end = max(heading.start() - 1, 0), heading.end() - 1
            pieces.append(text[at:begin].replace("\n", mark.BREAK))
            pieces.append("\n" + text[begin:end].strip("\n") + "\n")
            at = end + 1
        pieces.append(text[at:].replace("\n", mark.BREAK))
        pieces.append(self._put(mark.BLOCK, ("close", "poem", {})))
        return "".join(pieces)


_POEM_INDENT = re.compile(r"(?m)^:+")
_CAPITAL_CLOSER = re.compile(r"</[a-z]*[A-Z]")
_NOTE_END = re.compile(r"</ref\s*>", re.IGNORECASE)
_NESTED_NOTE = re.compile(r"<ref(?:[\s/;][^<>]*)?(?<!/)>", re.IGNORECASE)


def _gallery(inner: str) -> str:
    """`File|caption` lines as thumbnails: one route for all pictures."""
    out = []
    for line in inner.split("\n"):
        name, _, caption = line.strip().partition("|")
        if name and ":" not in name:
            name = "File:" + name
        out.append(f"[[{name}|thumb|{caption}]]" if name and caption else "")
    return "\n".join(out)


def _imagemap(inner: str) -> str:
    lines = [line.strip() for line in inner.strip().split("\n")]
    return f"[[{lines[0]}]]" if lines and ":" in lines[0] else mark.NOTHING
