"""Marked inline text → the words that a reader sees, with links, emphasis, code and math as spans.

What belongs here: the last step for every block's own text. Its input holds only text, `''` and the marks
of `wikitext_marks.py`; templates and links have been resolved by the walk.
"""

from __future__ import annotations

import re
from collections import Counter
from html.entities import html5

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.wikitext_prepare import Stashed
from pipelines.documents.tree import Span

_SPECIAL = re.compile("[\x01-\x08\x0b-\x1f\n\xa0\t]|''|  |\\{\\{|\\}\\}|\\[\\[|\\]\\]|~~~")
_PIECE = re.compile(
    "\x02(\\d+)\x03"                                  # 1 stashed piece
    "|\x1b(#?\\w{1,32};)"                             # 2 entity
    "|[\x11\x16\x17]([^\x11-\x13\x16\x17]*)(?=[\x12\x13])\x12?"  # 3 link, its target
    "|(\x1e\\d+\x03|\\{\\{|\\}\\}|\\[\\[|\\]\\]|~~~~?~?)"          # 4 left-over markup
    "|([\x01-\x1f])")                                  # 5 any other mark or a newline
_SPACES = re.compile("[ \t\xa0]{2,}|[\t\xa0]")
_QUOTES = re.compile("(''+)")


def render(raw: str, stash: list[Stashed], counts: Counter[str], keep_lines: bool = False,
           ) -> tuple[str, tuple[Span, ...]]:
    """(visible text, spans) of a block's marked text. keep_lines: newlines and runs of spaces stay."""
    if not _SPECIAL.search(raw):
        return raw.strip(), ()
    if not keep_lines:
        raw = _SPACES.sub(" ", raw)
    if "''" in raw:
        raw = mark_quotes(raw)
    return _Renderer(stash, counts, keep_lines).run(raw)


class _Renderer:
    def __init__(self, stash: list[Stashed], counts: Counter[str], keep_lines: bool) -> None:
        self.stash, self.counts, self.keep_lines = stash, counts, keep_lines
        self.out: list[str] = []
        self.length = 0
        self.after_space = True
        self.spans: list[Span] = []

    def put(self, text: str) -> None:
        if self.after_space and not self.keep_lines:
            text = text.lstrip(" ")
        if text:
            self.out.append(text)
            self.length += len(text)
            self.after_space = text[-1] in " \n"

    def run(self, raw: str) -> tuple[str, tuple[Span, ...]]:
        at = 0
        begins: dict[str, list[int]] = {}
        links: list[tuple[int, str, str]] = []
        for match in _PIECE.finditer(raw):
            if match.start() > at:
                self.put(raw[at:match.start()])
            at = match.end()
            group = match.lastindex
            if group == 5:
                char = match[5]
                if char in mark.SPAN_OF_MARK:
                    kind, opens = mark.SPAN_OF_MARK[char]
                    if opens:
                        begins.setdefault(kind, []).append(self.length)
                    elif begins.get(kind):
                        self.span(begins[kind].pop(), kind, None)
                elif char == mark.LINK_END:
                    if links:
                        self.span(*links.pop())
                elif char == mark.BREAK:
                    self.line_break()
                elif char == "\n":
                    self.put("\n" if self.keep_lines else " ")
                elif char in _LITERAL:
                    self.put(_LITERAL[char])
            elif group == 3:
                target = self.plain(match[3])
                kind = "template" if match[0][0] == mark.TEMPLATE else "link"
                links.append((self.length, kind, target))
                if match[0][-1] != mark.LINK_TEXT and kind == "link":
                    self.put(target.removeprefix(":"))
            elif group == 2:
                self.put(self.entity(match[2]))
            elif group == 1:
                self.stashed(int(match[1]))
            else:
                if match[4][0] == mark.BLOCK:
                    self.put(" ")
                elif match[4][0] != "~":
                    self.counts["unparsed_braces"] += 1
        if at < len(raw):
            self.put(raw[at:])
        for kind, opened in begins.items():
            for begin in opened:
                self.span(begin, kind, None)
        for link in links:
            self.span(*link)
        return self.finish()

    def finish(self) -> tuple[str, tuple[Span, ...]]:
        text = "".join(self.out)
        kept = text.rstrip()
        cut = len(kept)
        start = 0
        if not self.keep_lines:
            start = cut - len(kept.lstrip())
            kept = kept[start:]
        spans = []
        for span in self.spans:
            begin, end = max(span.begin - start, 0), min(span.end, cut) - start
            if begin < end or (span.kind == "template" and begin <= end):
                spans.append(span if (begin, end) == (span.begin, span.end)
                             else Span(begin, end, span.kind, span.target))
        if len(spans) > 1:
            spans.sort(key=_span_order)
        return kept, tuple(spans)

    def span(self, begin: int, kind: str, target: str | None) -> None:
        end = self.length
        self.spans.append(Span(min(begin, end), end, kind, target))

    def line_break(self) -> None:
        while self.out and not self.keep_lines and self.out[-1].endswith(" "):
            last = self.out[-1].rstrip(" ")
            self.length -= len(self.out[-1]) - len(last)
            if last:
                self.out[-1] = last
            else:
                self.out.pop()
        if self.length or self.keep_lines:
            self.out.append("\n")
            self.length += 1
        self.after_space = True

    def stashed(self, number: int) -> None:
        kind, text, _ = self.stash[number]
        begin = self.length
        if kind == "nowiki":
            text = self.decoded(text)
            if not self.keep_lines:
                text = " ".join(text.split("\n"))
        self.out.append(text)
        self.length += len(text)
        self.after_space = text[-1:] in (" ", "\n")
        self.span(begin, kind, None)

    def plain(self, text: str) -> str:
        """A link's target as plain text."""
        if "\x1b" in text:
            text = self.decoded(text.replace("\x1b", "&"))
        return " ".join(_CONTROL.sub("", text).replace("_", " ").split()) if "://" not in text \
            else _CONTROL.sub("", text).strip()

    def decoded(self, text: str) -> str:
        return _ENTITY.sub(lambda m: self.entity(m[1]), text) if "&" in text else text

    def entity(self, name: str) -> str:
        char = decode_entity(name)
        if char is None:
            return "&" + name
        return " " if char == "\xa0" else char


_LITERAL = {mark.AMPERSAND: "&", mark.PIPE: "|", mark.EQUALS: "=", mark.LESS: "<", mark.TABLE_OPEN: ""}
_CONTROL = re.compile("[\x01-\x1f]")
_ENTITY = re.compile(r"&(#?\w{1,32};)")


def _span_order(span: Span) -> tuple[int, int]:
    return span.begin, -span.end


def decode_entity(name: str) -> str | None:
    """The character of `nbsp;`, `#160;` or `#xA0;`; None for a name that HTML does not know."""
    if name[0] != "#":
        return html5.get(name)
    try:
        code = int(name[2:-1], 16) if name[1] in "xX" else int(name[1:-1])
        char = chr(code)
    except (ValueError, OverflowError):
        return None
    return char if code > 31 and not 0xD800 <= code < 0xE000 else " " if code in (9, 10, 13) else None


def mark_quotes(raw: str) -> str:
    """`''` and `'''` of each line as marks, by MediaWiki's rule for runs that do not pair."""
    return "\n".join(_quotes_of_line(line) if "''" in line else line for line in raw.split("\n"))


def _quotes_of_line(line: str) -> str:
    parts = _QUOTES.split(line)
    sizes = [0] * len(parts)
    n_bold = n_italic = 0
    for i in range(1, len(parts), 2):
        size = len(parts[i])
        if size == 4:
            parts[i - 1] += "'"
            size = 3
        elif size > 5:
            parts[i - 1] += "'" * (size - 5)
            size = 5
        sizes[i] = size
        n_italic += size in (2, 5)
        n_bold += size in (3, 5)
    if n_bold % 2 and n_italic % 2:
        best = -1
        for i in range(1, len(parts), 2):
            if sizes[i] != 3:
                continue
            before = parts[i - 1]
            if before[-1:] == " ":
                best = best if best >= 0 else i
            elif before[-2:-1] == " ":
                best = i
                break
            elif best < 0 or parts[best - 1][-1:] == " ":
                best = i
        if best >= 0:
            parts[best - 1] += "'"
            sizes[best] = 2
    bold = italic = False
    for i in range(1, len(parts), 2):
        marks = ""
        if sizes[i] in (2, 5):
            marks = mark.EMPHASIS_OFF if italic else mark.EMPHASIS_ON
            italic = not italic
        if sizes[i] in (3, 5):
            marks += mark.STRONG_OFF if bold else mark.STRONG_ON
            bold = not bold
        parts[i] = marks
    return "".join(parts) + (mark.EMPHASIS_OFF if italic else "") + (mark.STRONG_OFF if bold else "")
