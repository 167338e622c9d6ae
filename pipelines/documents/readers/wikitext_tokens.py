"""Token sources of the wikitext reader: the flat stream that the walk reads.

What belongs here: mwparserfromhell's C tokenizer (a private call, so the version is pinned and a test
guards it), its Python twin where the extension is missing, and a linear source for pages whose markup
is over the work limits. All three speak mwparserfromhell's token types.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mwparserfromhell.parser import tokens as mw
from mwparserfromhell.parser.tokenizer import Tokenizer

Tokens = list[Any]
TokenSource = Callable[[str], Tokens]

try:
    from mwparserfromhell.parser._tokenizer import CTokenizer
except ImportError:
    CTokenizer = None


def python_tokens(text: str) -> Tokens:
    """The tokens by mwparserfromhell's pure-Python tokenizer: equal to the C tokenizer's, much slower."""
    return list(Tokenizer().tokenize(text, 0, True))


def c_tokens(text: str) -> Tokens:
    """The tokens by mwparserfromhell's C tokenizer. Style tags are skipped: an unclosed '' hides nothing."""
    return list(CTokenizer().tokenize(text, 0, True))


def default_source() -> TokenSource:
    """The C tokenizer, or its Python twin where the compiled extension is missing."""
    return c_tokens if CTokenizer is not None else python_tokens


_MARKUP = re.compile(r"\{\{|\}\}|\[\[|\]\]|\||(?:^|(?<=\n))"
                     r"(?:[*#:;]+|-{4,}|={1,6}[^\n]+=[ \t]*(?=\n|$))|=")

MAX_NESTED = 40
"""Templates and links in one another that the linear source reads as such; the marks of deeper ones go."""


def linear_tokens(text: str) -> Tokens:
    """Tokens in one pass without look-ahead, for pages over a limit; `text` must be balanced.

    Knows templates, links, headings and list marks; external links stay text.
    """
    out: Tokens = []
    stack: list[str] = []
    too_deep: list[str] = []
    has_key: list[bool] = []
    at = 0

    def flush(end: int) -> None:
        if end > at:
            out.append(mw.Text(text=text[at:end]))

    for match in _MARKUP.finditer(text):
        begin, found = match.start(), match[0]
        if begin < at:
            continue
        first = found[0]
        if found == "|":
            if not stack or too_deep:
                continue
            flush(begin)
            if stack[-1] == "{{":
                out.append(mw.TemplateParamSeparator())
                has_key[-1] = False
            elif not has_key[-1]:
                out.append(mw.WikilinkSeparator())
                has_key[-1] = True
            else:
                out.append(mw.Text(text="|"))
        elif found == "=":
            if not stack or too_deep or stack[-1] != "{{" or has_key[-1]:
                continue
            if mw.TemplateParamSeparator not in map(type, out[-2:]):
                continue
            flush(begin)
            out.append(mw.TemplateParamEquals())
            has_key[-1] = True
        elif found in ("{{", "[["):
            flush(begin)
            if len(stack) >= MAX_NESTED:
                too_deep.append(found)
                at = match.end()
                continue
            out.append(mw.TemplateOpen() if found == "{{" else mw.WikilinkOpen())
            stack.append(found)
            has_key.append(False)
        elif found in ("}}", "]]"):
            opener = "{{" if found == "}}" else "[["
            if too_deep and too_deep[-1] == opener:
                too_deep.pop()
                flush(begin)
                at = match.end()
                continue
            if not stack or stack[-1] != opener:
                flush(begin)
                at = match.end()
                continue
            flush(begin)
            out.append(mw.TemplateClose() if found == "}}" else mw.WikilinkClose())
            stack.pop()
            has_key.pop()
        elif stack:
            continue
        elif first == "=":
            flush(begin)
            line = found.rstrip(" \t")
            level = min(len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("=")), 6)
            if len(line) <= 2 * level:
                continue
            out.append(mw.HeadingStart(level=level))
            out.append(mw.Text(text=_LINKS_OFF.sub("", line[level:-level])))
            out.append(mw.HeadingEnd())
        elif first == "-":
            flush(begin)
            out.append(mw.TagOpenOpen(wiki_markup=found))
            out.extend((mw.Text(text="hr"), mw.TagCloseSelfclose()))
        else:
            flush(begin)
            for char in found:
                out.append(mw.TagOpenOpen(wiki_markup=char))
                out.extend((mw.Text(text="li"), mw.TagCloseSelfclose()))
        at = match.end()
    flush(len(text))
    return out


_LINKS_OFF = re.compile(r"\{\{|\}\}|\[\[|\]\]")
