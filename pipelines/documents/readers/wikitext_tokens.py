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


_MARKUP = re.compile(r"(?<!\{)\{\{\{(?=(?:\{\{)?(?!\{))|\{\{|\}\}\}?|\[\[|\]\]|\||(?:^|(?<=\n))"
                     r"(?:-{4,}|={1,6}[^\n]+=[ \t]*(?=\n|$))|=")

_MARKS = {
    "{{": (mw.TemplateOpen, mw.TemplateParamSeparator, mw.TemplateClose),
    "{{{": (mw.ArgumentOpen, mw.ArgumentSeparator, mw.ArgumentClose),
    "[[": (mw.WikilinkOpen, mw.WikilinkSeparator, mw.WikilinkClose),
}
"""Tokens of an opening, its separator and its closing."""
_OPENER_OF = {"}}": "{{", "}}}": "{{{", "]]": "[["}
MAX_NESTED = 40
"""Templates and links in one another that the linear source reads as such; the marks of deeper ones go."""


def linear_tokens(text: str) -> Tokens:
    """Tokens in one pass without look-ahead, for pages over a limit; `text` must be balanced.

    Knows templates, their arguments, links, headings and rules; external links stay text, and so does
    what is never closed.
    """
    out: Tokens = []
    stack: list[str] = []
    openers: list[int] = []
    too_deep: list[str] = []
    has_key: list[bool] = []
    at = 0

    def flush(end: int) -> None:
        if end > at:
            out.append(mw.Text(text=text[at:end]))

    seen = 0
    while (match := _MARKUP.search(text, seen)) is not None:
        begin, found = match.start(), match[0]
        seen = match.end()
        first = found[0]
        if found == "}}}" and (too_deep or stack)[-1:] != ["{{{"]:
            found, seen = "}}", seen - 1
        if found == "|":
            if not stack:
                continue
            flush(begin)
            if too_deep:
                out.append(mw.Text(text=" "))
            elif stack[-1] == "{{":
                out.append(mw.TemplateParamSeparator())
                has_key[-1] = False
            elif not has_key[-1]:
                out.append(_MARKS[stack[-1]][1]())
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
        elif found in _MARKS:
            flush(begin)
            if len(stack) >= MAX_NESTED:
                too_deep.append(found)
            else:
                openers.append(len(out))
                out.append(_MARKS[found][0]())
                stack.append(found)
                has_key.append(False)
        elif found in _OPENER_OF:
            flush(begin)
            opener = _OPENER_OF[found]
            if too_deep:
                if too_deep[-1] == opener:
                    too_deep.pop()
            elif stack and stack[-1] == opener:
                out.append(_MARKS[opener][2]())
                stack.pop()
                openers.pop()
                has_key.pop()
        elif stack:
            # No heading, rule or item in there; what follows on the line may end the template.
            seen = begin + 1
            continue
        elif first == "=":
            flush(begin)
            line = found.rstrip(" \t")
            level = min(len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("=")), 6,
                        (len(line) - 1) // 2)
            out.append(mw.HeadingStart(level=level))
            out.append(mw.Text(text=_LINKS_OFF.sub("", line[level:-level])))
            out.append(mw.HeadingEnd())
        else:
            flush(begin)
            out.append(mw.TagOpenOpen(wiki_markup=found))
            out.extend((mw.Text(text="hr"), mw.TagCloseSelfclose()))
        at = seen
    flush(len(text))
    for place in openers:
        out[place] = mw.Text(text="")
    return out


_LINKS_OFF = re.compile(r"\{\{|\}\}|\[\[|\]\]")
