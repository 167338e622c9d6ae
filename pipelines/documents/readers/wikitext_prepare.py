"""First step of the wikitext reader: what MediaWiki takes out before it reads markup, in one linear pass.

What belongs here: comments, footnotes, nowiki, math, pre and HTML tags become marks or go; galleries and
poems become plain wikitext; unbalanced braces and brackets are taken out, so that the tokenizer never
has to try again; simple links become marks. Nothing is tokenized here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from typing import Any, NamedTuple

from pipelines.documents.readers import wikitext_marks as mark

Stashed = tuple[str, str, dict[str, str]]
"""A piece that was put aside: (kind, text or tag name, attributes)."""

_TAG = re.compile(r"<(?:!--|(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[\s/][^<>]*)?)>)")
_ATTRIBUTE = re.compile(r"([\w:-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>|]+))")
_HEADING_LINE = re.compile(r"\n={1,6}[^\n]+=[ \t]*(?=\n|$)")
_FOOTNOTE_LIMIT = 200

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
_TRANSPARENT = frozenset("""
span small big u s del ins strike font abbr bdi bdo mark q rb rp rt rtc ruby time data wbr onlyinclude noinclude
translate tvar languages blink nobr acronym label a img
""".split())
_BLOCK = frozenset("""
div center p hr blockquote ul ol dl li dt dd table caption tr th td thead tbody tfoot h1 h2 h3 h4 h5 h6 section
article aside nav header footer main address figure figcaption details summary colgroup col
""".split())


class Prepared(NamedTuple):
    """Wikitext ready for the tokenizer, with what was put aside and how its lines map to the source."""

    text: str
    stash: list[Stashed]
    counts: Counter[str]
    lines: LineMap
    n_unclosed: int
    depth: int


class LineMap:
    """Line numbers of the prepared text → byte spans of the wikitext."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._cut_lines: list[int] = []
        self._extra: list[int] = []
        self._starts: list[int] | None = None

    def cut(self, line: int, n_newlines: int) -> None:
        """Note that behind the prepared line `line` the source has `n_newlines` more than it."""
        self._cut_lines.append(line)
        self._extra.append((self._extra[-1] if self._extra else 0) + n_newlines)

    def span(self, first: int, last: int) -> str:
        """`begin-end` in UTF-8 bytes of the source: from line `first` to the end of line `last`."""
        starts = self._starts
        if starts is None:
            starts, at = [0], 0
            is_ascii = self.source.isascii()
            for line in self.source.split("\n"):
                at += (len(line) if is_ascii else len(line.encode("utf-8", "replace"))) + 1
                starts.append(at)
            self._starts = starts
        cuts = self._cut_lines
        if cuts:
            # A block starts behind the cuts of the lines in front of it, and ends behind its own.
            index = bisect_right(cuts, first - 1)
            begin = first + (self._extra[index - 1] if index else 0)
            index = bisect_right(cuts, last)
            end = last + (self._extra[index - 1] if index else 0)
        else:
            begin, end = first, last
        top = len(starts) - 1
        return f"{starts[min(begin, top - 1)]}-{starts[min(end + 1, top)] - 1}"


def attributes(text: str) -> dict[str, str]:
    """The attributes of an HTML tag or a table cell, names in lower case."""
    if "=" not in text:
        return {}
    return {m[1].lower(): m[2] or m[3] or m[4] or "" for m in _ATTRIBUTE.finditer(text)}


_NEEDS_CLEANING = re.compile("[\x00-\x08\x0b-\x1f]|\ufeff")


def prepare(text: str) -> Prepared:
    """Take out what is no readable text, mark what is; linear in the length of the text."""
    counts: Counter[str] = Counter()
    source = text
    if _NEEDS_CLEANING.search(text):
        if n := text.count("\x00"):
            counts["nul_characters"] = n
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        text, n_removed = _NEEDS_CLEANING.subn("", text)
        if n_removed > n:
            counts["control_characters"] = n_removed - n
    lines = LineMap(source if "\r" not in source or source.count("\r") == source.count("\r\n") else text)
    stash: list[Stashed] = []
    text = _Cutter(text, stash, counts, lines).run() if "<" in text else text
    text = text.replace("<", mark.LESS).replace("&", mark.AMPERSAND)
    text = _magic_words(text, counts)
    text = _simple_links(text)
    text = _TABLE.sub(r"\1" + mark.TABLE_OPEN, text)
    text, n_unclosed, depth = balance(text, counts)
    return Prepared(text, stash, counts, lines, n_unclosed, depth)


_TABLE = re.compile(r"(?m)^([ \t:;*#\x01]*)\{\|(?!\|?\})")
_LINK = re.compile(r"\[\[([^\[\]{}|\n:=\x1f\x02]+)\|([^\[\]{}|\n:=]+)\]\]")
_BARE_LINK = re.compile(r"\[\[([^\[\]{}|\n:=\x1f\x02]+)\]\]")
_DOUBLE_UNDERSCORE = re.compile(r"__[^\W\d_a-z]{3,}__")
_PIPES = {"!": mark.PIPE, "!!": mark.PIPE * 2, "(!": "{" + mark.PIPE, "!)": mark.PIPE + "}", "!-": mark.PIPE + "-",
          "!+": mark.PIPE + "+", "=": mark.EQUALS, "pipe": mark.PIPE}
_PIPE = re.compile(r"\{\{\s*(!!?|\(!|![)+-]|=)\s*\}\}")


def _magic_words(text: str, counts: Counter[str]) -> str:
    if "__" in text:
        text, n = _DOUBLE_UNDERSCORE.subn(mark.NOTHING, text)
        if n:
            counts["magic_words"] += n
    if "{{!" in text or "{{=" in text or "{{(!" in text:
        text = _PIPE.sub(lambda match: _PIPES[match[1]], text)
        text = text.replace("{" + mark.PIPE, mark.TABLE_OPEN)
    return text


def _simple_links(text: str) -> str:
    text = _LINK.sub(f"{mark.LINK}\\1{mark.LINK_TEXT}\\2{mark.LINK_END}", text)
    return _BARE_LINK.sub(f"{mark.LINK}\\1{mark.LINK_END}", text)


_BRACES = re.compile(r"\{\{+|\}\}+|\[\[+|\]\]+")


def balance(text: str, counts: Counter[str]) -> tuple[str, int, int]:
    """Take out braces and brackets without a partner: (text, how many openings, greatest depth)."""
    stack: list[tuple[int, int]] = []
    holes: list[tuple[int, int]] = []
    depth = n_open = 0
    for match in _BRACES.finditer(text):
        run, begin = match[0], match.start()
        size = len(run)
        char = run[0]
        if char == "{":
            while size >= 2:
                take = 3 if size == 3 or size == 5 else 2
                stack.append((begin, take))
                begin, size = begin + take, size - take
            depth = max(depth, len(stack))
        elif char == "[":
            # Of more than two brackets the innermost two open the link, as MediaWiki reads it.
            stack.append((begin + size - 2, -2))
            depth = max(depth, len(stack))
        elif char == "}":
            while size >= 2:
                while stack and stack[-1][1] < 0:
                    holes.append((stack.pop()[0], 2))
                    n_open += 1
                if not stack:
                    holes.append((begin, size))
                    counts["stray_closings"] += 1
                    break
                opened, take = stack[-1]
                if take > size:
                    stack.pop()
                    holes.append((opened, 1))
                    take = 2
                else:
                    stack.pop()
                begin, size = begin + take, size - take
        elif stack and stack[-1][1] < 0:
            stack.pop()
            while size >= 4 and stack and stack[-1][1] < 0:
                stack.pop()
                size -= 2
        else:
            holes.append((begin, 2))
            counts["stray_closings"] += 1
    holes.extend((begin, abs(take)) for begin, take in stack)
    n_open += len(stack)
    if not holes:
        return text, n_open, depth
    if n_open:
        counts["unclosed_openings"] += n_open
    holes.sort()
    pieces, at = [], 0
    for begin, size in holes:
        pieces.append(text[at:begin])
        pieces.append(mark.NOTHING)
        at = begin + size
    pieces.append(text[at:])
    return "".join(pieces), n_open, depth


class _Cutter:
    """The pass over `<`: comments, extension tags, HTML tags."""

    def __init__(self, text: str, stash: list[Stashed], counts: Counter[str], lines: LineMap) -> None:
        self.text, self.stash, self.counts, self.lines = text, stash, counts, lines
        self.out: list[str] = []
        self.at = 0
        self.line = 0
        self.lower: str | None = None
        self.no_closer: set[str] = set()
        self.n_unclosed_notes = 0

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
            if name in mark.INLINE_TAGS:
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
        """Begin and end of the next `</name>`, (-1, -1) if there is none: found out once for each name."""
        if name in self.no_closer:
            return -1, -1
        if self.lower is None:
            lower = self.text.lower()
            # A few characters change their length in lower case; then only the usual spelling is found.
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
        elif name == "gallery":
            by = _gallery(inner)
        elif name == "imagemap":
            by = _imagemap(inner)
        else:
            by = self._poem(inner)
        self._replace(begin, close_end, by)

    def _footnote(self, begin: int, end: int) -> None:
        self.counts["references"] += 1
        close_begin, close_end = self._find_closer("ref", end)
        if close_begin >= 0:
            inner = self.text[end:close_begin]
            opens = _NESTED_NOTE.search(inner)
            heading = _HEADING_LINE.search(inner)
            if not opens and not heading:
                self._replace(begin, close_end, mark.NOTHING)
                return
        # Without an end of its own a footnote ends with its line. On a page full of such marks they are
        # noise rather than footnotes, and the words stay.
        self.counts["unclosed_references"] += 1
        self.n_unclosed_notes += 1
        line_end = self.text.find("\n", end)
        if self.n_unclosed_notes > 3 or line_end - end > _FOOTNOTE_LIMIT * 5:
            self._replace(begin, end, mark.NOTHING)
            return
        line_end = len(self.text) if line_end < 0 else line_end
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
        text = inner.strip("\n")
        at = 0
        for heading in _HEADING_LINE.finditer("\n" + text):
            begin, end = max(heading.start() - 1, 0), heading.end() - 1
            pieces.append(text[at:begin].replace("\n", mark.BREAK))
            pieces.append("\n" + text[begin:end].strip("\n") + "\n")
            at = end + 1
        pieces.append(text[at:].replace("\n", mark.BREAK))
        pieces.append(self._put(mark.BLOCK, ("close", "poem", {})))
        return "".join(pieces)


_NESTED_NOTE = re.compile(r"<ref(?:\s[^<>]*[^/<>])?>", re.IGNORECASE)


def _gallery(inner: str) -> str:
    """`File|caption` lines as thumbnails: one route for all pictures."""
    out = []
    for line in inner.split("\n"):
        name, _, caption = line.strip().partition("|")
        out.append(f"[[{name if ':' in name else 'File:' + name}|thumb|{caption}]]" if name and caption else "")
    return "\n".join(out)


def _imagemap(inner: str) -> str:
    lines = [line.strip() for line in inner.strip().split("\n")]
    return f"[[{lines[0]}]]" if lines and ":" in lines[0] else mark.NOTHING
