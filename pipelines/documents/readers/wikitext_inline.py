"""Marked inline text → the words that a reader sees, with links, emphasis, code and math as spans.

What belongs here: the last step for every block's own text. Its input holds only text, `''` and the marks
of `wikitext_marks.py`; templates and links have been resolved by the walk.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from html.entities import html5
from typing import Any

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.superscripts import with_superscripts
from pipelines.documents.readers.wikitext_cut import Stashed
from pipelines.documents.tree import Span

_PIECES = re.compile(
    # One set of characters in front, so that the search skips from mark to mark.
    "([\x01-\x1f])(?:"
    "(?<=\x11)([^\x01-\x1f]*)(?:\x12([^\x01-\x1f]+))?\x13"         # a link of plain words: target, words
    "|((?<=[\x11\x16\x17])[^\x11-\x13\x16\x17]*\x12?"             # any other link: its target
    "|(?<=[\x02\x1e])\\d+\x03"                                     # a stashed piece, a left-over block
    "|(?<=\x1b)#?\\w{1,32};))?").split                             # an entity
_Split = Callable[[str], list[Any]]
_LINKS: _Split = re.compile("\x11([^\x01-\x1f]*)(?:\x12([^\x01-\x1f]+))?\x13(\x00)?").split
_LINKS_AND_QUOTES: _Split = re.compile("\x11([^\x01-\x1f]*)(?:\x12([^\x01-\x1f]+))?\x13|(''+)").split
"""Words, then by turns: a link's target and words, or quotes (never in the first), and words."""
_new_span = partial(tuple.__new__, Span)
"""A span from a tuple: twice as fast as the class's own call."""
_LEFT_OVERS = re.compile(r"\{\{+|\}\}+|\[\[+|\]\]+|~~~~?~?")
_SPACES = re.compile("[ \t\xa0]{2,}|[\t\xa0]")
_QUOTES = re.compile("(''+)")


def render(raw: str, stash: list[Stashed], counts: Counter[str], keep_lines: bool = False,
           ) -> tuple[str, tuple[Span, ...]]:
    """(visible text, spans) of a block's marked text. keep_lines: newlines and runs of spaces stay."""
    # A look for one character is far cheaper than for two.
    if "[" in raw or "]" in raw or "{" in raw or "}" in raw or "~" in raw:
        raw, n = _LEFT_OVERS.subn("", raw)
        if n:
            counts["unparsed_braces"] += n
    if mark.NOTHING in raw:
        raw = raw.replace(mark.NOTHING, "")
    if _NO_WORDS in raw and mark.TEMPLATE in raw:
        raw = _around_holes(raw)
    if not keep_lines:
        raw = raw.strip(" \n")
    if "'" in raw and "''" in raw:
        if not keep_lines and "\n" not in raw:
            simple = _simple(raw, _LINKS_AND_QUOTES)
            if simple is not None:
                return simple
        raw = mark_quotes(raw)
    elif raw.isprintable() and "  " not in raw:
        return (raw.rstrip(" ") if keep_lines else raw), ()
    elif not keep_lines:
        simple = _simple(raw.replace("\n", " "), _LINKS)
        if simple is not None:
            return simple
    if not keep_lines:
        if "\n" in raw:
            raw = raw.replace("\n", " ")
        if "  " in raw or "\xa0" in raw or "\t" in raw:
            raw = _SPACES.sub(" ", raw)
    return _run(raw, stash, keep_lines)


_NO_WORDS = mark.LINK_TEXT + mark.LINK_END
_HOLE = f"{mark.TEMPLATE}[^{mark.LINK_TEXT}{mark.LINK_END}]*{_NO_WORDS}"
_IN_BRACKETS = re.compile(f"[ \xa0]?[(（][\\s,;:，、；]*((?:{_HOLE}[\\s,;:，、；]*)+)[)）]")
_BEFORE_COMMA = re.compile(f"([(（])[\\s]*({_HOLE})[\\s]*[,;，、；][\\s]*")
_FIRST_IN_BRACKETS = re.compile(f"([(（][^\\w()（）\x01-\x1f]{{0,3}}{_HOLE[:-1]}){mark.LINK_END}(?=[ \xa0]\\w)")
_AFTER_SPACE = re.compile(f" ({_HOLE})(?=[,.;)，、；）])")


def _around_holes(raw: str) -> str:
    """Take out what a template without words leaves around its place: empty brackets, a space before a comma.

    Where words follow in the brackets, as in `({{age|…}} years ago)`, an ellipsis stands for it.
    """
    raw = _IN_BRACKETS.sub(lambda match: "".join(re.findall(_HOLE, match[1])), raw)
    raw = _AFTER_SPACE.sub(r"\1", _BEFORE_COMMA.sub(r"\1\2", raw))
    return _FIRST_IN_BRACKETS.sub(rf"\1…{mark.LINK_END}", raw)


def _simple(raw: str, pieces: _Split) -> tuple[str, tuple[Span, ...]] | None:
    """`_run` for words with links of plain words and quotes that pair, as most blocks are; None for all others."""
    parts = pieces(raw)
    length = len(parts[0])
    out = [parts[0]]
    spans: list[Span] = []
    emphasis = strong = -1
    """Where one began, -1 outside."""
    for target, words, quotes, rest in zip(parts[1::4], parts[2::4], parts[3::4], parts[4::4], strict=True):
        if quotes is None:
            if "''" in target:
                return None
            shown = words or target.removeprefix(":").replace("_", " ")
            begin = length
            length += len(shown)
            spans.append(_new_span((begin, length, "link", plain(target))))
            out.append(shown)
        elif quotes == "''":
            if 0 <= emphasis < length:
                spans.append(_new_span((emphasis, length, "emphasis", None)))
            emphasis = length if emphasis < 0 else -1
        elif quotes == "'''":
            if 0 <= strong < length:
                spans.append(_new_span((strong, length, "strong", None)))
            strong = length if strong < 0 else -1
        else:
            return None
        length += len(rest)
        out.append(rest)
    text = "".join(out)
    if (emphasis >= 0 or strong >= 0 or not text.isprintable() or "  " in text or "''" in text
            or text[:1] == " " or text[-1:] == " "):
        return None
    if pieces is _LINKS_AND_QUOTES:
        spans.sort(key=_span_order)
    return text, tuple(spans)


def _run(raw: str, stash: list[Stashed], keep_lines: bool) -> tuple[str, tuple[Span, ...]]:
    """Go through the pieces once; `out` holds the words so far, `length` their sum."""
    parts = _PIECES(raw)
    out: list[str] = []
    spans: list[Span] = []
    begins: dict[str, list[int]] = {}
    raised: list[Span] = []
    """Superscripts and subscripts that were closed: one left open must not raise the rest of the block."""
    links: list[tuple[int, str, str]] = []
    length = 0
    # A space would be the second in a row, or the first of the block.
    after_space = squeeze = not keep_lines
    first = parts[0].lstrip(" ") if squeeze else parts[0]
    if first:
        out.append(first)
        length = len(first)
        after_space = squeeze and first[-1] == " "
    pieces = zip(parts[1::5], parts[2::5], parts[3::5], parts[4::5], parts[5::5], strict=True)
    for char, target, words, other, text in pieces:
        shown = ""
        if target is not None:
            # A link of plain words: most pieces are.
            shown = words or target.removeprefix(":").replace("_", " ")
            if after_space and shown[:1] == " ":
                shown = shown.lstrip(" ")
            if shown:
                spans.append(_new_span((length, length + len(shown), "link", plain(target))))
        elif char == "\n":
            shown = char if keep_lines else " "
        elif char in mark.SPAN_OF_MARK:
            kind, opens = mark.SPAN_OF_MARK[char]
            if opens:
                begins.setdefault(kind, []).append(length)
            elif begins.get(kind):
                begin = begins[kind].pop()
                if begin < length:
                    spans.append(_new_span((begin, length, kind, None)))
                    if kind == "sup" or kind == "sub":
                        raised.append(spans[-1])
        elif char == mark.LINK_END:
            if links:
                begin, kind, address = links.pop()
                if begin < length or kind == "template":
                    spans.append(Span(min(begin, length), length, kind, address))
        elif char == mark.BREAK:
            if squeeze:
                length = _strip_end(out, length)
            shown = "\n" if length or keep_lines else ""
        elif char in mark.WITH_TARGET and other is not None:
            kind = "template" if char == mark.TEMPLATE else "link"
            address = plain(other.removesuffix(mark.LINK_TEXT))
            links.append((length, kind, address))
            if char == mark.LINK and not other.endswith(mark.LINK_TEXT):
                shown = address.removeprefix(":")
        elif char == mark.AMPERSAND and other:
            shown = entity_words(other)
            if shown in _MARKUP:
                # Written as an entity so that the page shows it: no left-over of markup.
                spans.append(_new_span((length, length + 1, "nowiki", None)))
        elif char == mark.STASH and other:
            kind, shown = _stashed(stash[int(other[:-1])], keep_lines)
            shown = shown.lstrip(" ") if after_space else shown
            if kind and shown:
                spans.append(Span(length, length + len(shown), kind, None))
        elif char == mark.BLOCK and other:
            kind, shown = _block_words(stash[int(other[:-1])])
            shown = shown.lstrip(" ") if after_space else shown
            if kind and shown.strip():
                spans.append(Span(length + (shown[0] == " "), length + len(shown) - 1, kind, None))
        elif char in _LITERAL:
            shown = _LITERAL[char]
        if shown:
            if after_space and shown[0] == " ":
                shown = shown.lstrip(" ")
            if shown:
                out.append(shown)
                length += len(shown)
                after_space = squeeze and shown[-1] in " \n"
        if text:
            if after_space and text[0] == " ":
                text = text.lstrip(" ")
            if text:
                out.append(text)
                length += len(text)
                after_space = squeeze and text[-1] == " "
    for kind, opened in begins.items():
        spans.extend(Span(begin, length, kind, None) for begin in opened if begin < length)
    spans.extend(Span(begin, length, kind, address) for begin, kind, address in links if begin < length)
    words_ = "".join(out)
    return _finish(with_superscripts(words_, raised) if raised else words_, spans, keep_lines)


def _finish(text: str, spans: list[Span], keep_lines: bool) -> tuple[str, tuple[Span, ...]]:
    """Take the space off both ends, and spans with it; one that shows nothing goes, but for a hole."""
    kept = text.rstrip()
    start, cut = 0, len(kept)
    if not keep_lines:
        kept = kept.lstrip()
        start = cut - len(kept)
    if not spans:
        return kept, ()
    if len(spans) > 1:
        spans.sort(key=_span_order)
    if start or cut < len(text):
        size = len(kept)
        spans = [Span(min(max(begin - start, 0), size), min(max(end - start, 0), size), kind, target)
                 for begin, end, kind, target in spans]
        spans = [span for span in spans if span.begin < span.end or span.kind == "template"]
    return kept, tuple(spans)


def _strip_end(out: list[str], length: int) -> int:
    """Take the spaces off the end of the words so far; returns their new length."""
    while out and out[-1].endswith(" "):
        last = out[-1].rstrip(" ")
        length -= len(out[-1]) - len(last)
        if last:
            out[-1] = last
        else:
            out.pop()
    return length


def _stashed(piece: Stashed, keep_lines: bool) -> tuple[str, str]:
    """(span kind or '', words) of math, code or nowiki that was put aside."""
    kind, text, _ = piece
    if kind == "nowiki":
        text = decoded(text)
        if not keep_lines:
            text = " ".join(text.split("\n"))
        return ("nowiki" if _MARKUP_LIKE.search(text) else ""), text
    return kind, text


def _block_words(piece: Stashed) -> tuple[str, str]:
    """(span kind or '', words) of a block where only a line can be, as in a caption."""
    kind, text, _ = piece
    if kind not in ("pre", "math"):
        return "", " "
    words = " ".join((decoded(text) if kind == "pre" else text).split())
    return "code" if kind == "pre" else kind, f" {words} "


def plain(target: str) -> str:
    """A link's target as plain text."""
    if target.isprintable() and "_" not in target:
        return target.strip()
    if mark.AMPERSAND in target:
        target = decoded(target.replace(mark.AMPERSAND, "&"))
    target = _CONTROL.sub("", target)
    return target.strip() if "://" in target else " ".join(target.replace("_", " ").split())


def decoded(text: str) -> str:
    """Text with its HTML entities as characters."""
    return _ENTITY.sub(lambda match: entity_words(match[1]), text) if "&" in text else text


def entity_words(name: str) -> str:
    """What an entity (`nbsp;`) shows; a no-break space becomes a space, an unknown name stays as it is."""
    char = decode_entity(name)
    if char is None:
        return "&" + name
    return " " if char == "\xa0" else char


_MARKUP = frozenset("<>{}[]|'=_~")
_MARKUP_LIKE = re.compile(r"[\[\]{}<>|&_~]|''|\n[*#:;=]")
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
