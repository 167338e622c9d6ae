"""Families of hostile and extreme wikitext by name: each a text of any size that carries numbered words.

What belongs here: the families. How one is read and measured is in `wikitext_fuzz.py`. A family's unit is
repeated until the text has its size. In it `%w` becomes a word that the tree must show once, `%h` a word that
MediaWiki shows nowhere (an attribute, a footnote) and that may not stand in the tree.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

_SLOT = re.compile("%[wh]")


class Family(NamedTuple):
    """A kind of page. unit, mirror: what is repeated, and what then closes it as often; before, after: once.

    unit may be a function of the repetition's number. keeps: whether every `%w` must be shown; False only for
    mixes in which nobody can say. note: where MediaWiki shows less than the tree, what the tree does.
    """

    name: str
    unit: str | Callable[[int], str]
    mirror: str = ""
    before: str = ""
    after: str = ""
    keeps: bool = True
    note: str = ""

    def text(self, n_bytes: int) -> str:
        """A text of about `n_bytes` UTF-8 bytes, its words numbered in order."""
        left = n_bytes - _size(self.before + self.after)
        if isinstance(self.unit, str):
            # Even, for a quote that is left open takes another way through the reader: times would not compare.
            n_pieces = left // _size(self.unit + self.mirror) & ~1
            body = self.unit * n_pieces
        else:
            pieces = []
            while left > 0:
                pieces.append(self.unit(len(pieces)))
                left -= _size(pieces[-1] + self.mirror)
            n_pieces, body = len(pieces), "".join(pieces)
        text = self.before + body + self.mirror * n_pieces + self.after
        numbers = count()
        return _SLOT.sub(lambda slot: f"{slot[0][1]}{next(numbers):06}", text)


def _size(piece: str) -> int:
    """UTF-8 bytes of a piece with its words, which have seven letters."""
    return len(piece.encode("utf-8", "surrogatepass")) + 5 * len(_SLOT.findall(piece))


def mixed(seed: int, pieces: tuple[str, ...]) -> Callable[[int], str]:
    """The pieces in random order, always the same for a seed; the order begins again after 9,973."""
    order = random.Random(seed).choices(pieces, k=9973)
    return lambda number: order[number % 9973]


_MILD = (
    "%w ", "%w ", "\n", "\n\n", "''", "'''", "''%w''", "\n== %w ==\n", "\n* %w", "\n#: %w", "\n; %w : %w\n", "<b>",
    "</b>", "<div>", "</div>", "<sup>%w</sup>", "[http://a.example %w] ", "{{nowrap|%w}} ", "[[A|%w]] ", "&nbsp;",
    "<br>", "\n----\n", "<blockquote>", "</blockquote>", "<li>%w", "<p>", "\n\n<poem>%w\n%w</poem>\n",
    "\n{|\n|-\n| %w\n|}\n", "&lt;", "<nowiki/>", "<span>%w</span> ", "{{lang|fr|%w}} ", "<!-- %h -->", "\t", "\xa0",
    "<ref>%h</ref>", "«%w». ", "U.S. %w. ", "\n\n")
_WILD = (
    *_MILD, "{{", "}}", "[[", "]]", "{|", "|}", "\n{|", "\n|}", "\n|-", "\n| ", "\n! ", "||", "!!", "|", "=", "==",
    "===", "{{{", "}}}", "[http://", "]", "<ref>", "</ref>", "<ref name=", "<!--", "-->", "<math>", "</math>",
    "<nowiki>", "</nowiki>", "<pre>", "</pre>", "<gallery>", "</gallery>", "<table>", "<tr>", "<td>", "</table>",
    "{{!}}", "{{infobox|", "[[File:a.jpg|thumb|", "[[Category:", "[[de:", "__TOC__", "~~~~", "-{", "}-", "&", ";",
    "\n;", "\n:", "*", "#", "\r", "\x00", "\x01", "\ud800", "\u0301", "\u202e", "{{#if:", "{{url|", "<h2>", "</h2>",
    "<", ">", "/>", "'", '"', "\n ")

FAMILIES = [
    # Never closed
    Family("templates", "{{a|b %w "),
    Family("template names", "{{%w "),
    Family("links", "[[%w "),
    Family("labelled links", "[[a|%w "),
    Family("pictures", "[[File:a.jpg|thumb|%w "),
    Family("arguments", "{{{a|%w "),
    Family("tables", "{|\n| %w\n"),
    Family("table attributes", "{| class=a\n|-\n| %w\n"),
    Family("addresses", "[http://a.example %w "),
    Family("addresses by line", "[http://a.example %w\n"),
    Family("variants", "-{%w "),
    Family("nowiki", "<nowiki>%w "),
    Family("math", "<math>%w "),
    Family("pre", "<pre>%w\n"),
    Family("galleries", "<gallery>\nFile:a.jpg|%w\n"),
    Family("poems", "<poem>\n%w\n"),
    Family("comments", "<!-- %w ", note="MediaWiki hides all behind an unclosed comment; the words stay here"),
    Family("footnotes", "A.<ref>%w {{cite|x}} ",
           note="MediaWiki shows the mark and the words; they stay here where many are unclosed"),
    Family("named footnotes", '<ref name="a">%w\n', note="as footnotes"),
    Family("footnotes, one closed", "<ref>%w ",
           after="<ref>%h</ref>",
           note="MediaWiki hides all up to the one closing mark; the words stay here"),
    Family("footnotes, false closings", "<ref>%w ", "</refx ",
           after="<ref>%h</ref>",
           note="as footnotes, one closed"),
    Family("footnotes around headings", "<ref>%w\n== %w ==\n",
           after="<ref>%h</ref>",
           note="as footnotes, one closed"),
    Family("divisions", "<div>%w "),
    Family("spans", "<span>%w "),
    Family("quotations", "<blockquote>%w "),
    Family("html tables", "<table><tr><td>%w "),
    Family("html lists", "<ul><li>%w "),
    Family("html items", "<li>%w "),
    Family("html cells", "<td>%w "),
    Family("html headings", "<h2>%w "),
    Family("code", "<code>%w "),
    Family("italics", "''%w "),
    Family("bold italics", "''%w '''%w "),
    Family("five quotes", "'''''%w ''%w '''%w\n"),
    Family("tag in tag", "<div <b <i %w "),
    Family("open attribute", '<ref name="%w ', note="no tag without >: MediaWiki shows all of it as text"),
    Family("comment in tag", "<div <!-- %h --> "),
    Family("mixed openings", "{{a|[[b|%w {|\n"),
    Family("crossed", "{{a|[[b|%w}} ]] ", keeps=False),
    # Closings without openings
    Family("closings", "}}]] %w |} "),
    Family("closing tags", "</div></b></ref>%w "),
    Family("closed tables", "%w\n|}\n"),
    # Nested and closed
    Family("deep templates", "{{small|", "}}", after=" %w"),
    Family("deep links", "[[a|%w ", "]]"),
    Family("deep pictures", "[[File:a.jpg|thumb|%w ", "]]"),
    Family("deep arguments", "{{{a|%w ", "}}}"),
    Family("deep tables", "{|\n| %w\n", "|}\n"),
    Family("deep html tables", "<table><tr><td>%w ", "</td></tr></table>"),
    Family("deep quotations", "<blockquote>%w ", "</blockquote>"),
    Family("deep divisions", "<div>%w ", "</div>"),
    Family("deep conditions", "{{#if:a|%w ", "}}", keeps=False, note="what a condition shows is not known"),
    Family("deep templates with words", "{{small|%w ", "}}"),
    Family("braces in braces", "{", "}", after="%w"),
    Family("nests of 30 templates", "{{small|" * 30 + "%w" + "}}" * 30 + " "),
    Family("nests of 30 infoboxes", "{{infobox|a=%w|b=" * 30 + "%w" + "}}" * 30 + "\n"),
    Family("nests of 30 addresses", "{{url|a.example/" * 30 + "b" + "}}" * 30 + " %w "),
    Family("nests of 30 ships", "{{uss|a " * 30 + "b" + "}}" * 30 + " %w "),
    Family("nests of 30 sorted names", "{{sortname|a|" * 30 + "b" + "}}" * 30 + " %w "),
    Family("nests of 30 pipe tricks", "[[a{{small|" * 30 + "b" + "}}|]]" * 30 + " %w "),
    Family("nests of 30 labelled links", "{{ill|{{small|" * 15 + "b" + "}}}}" * 15 + " %w "),
    Family("nests of 15 pictures", "[[File:a.jpg|thumb|%w " * 15 + "]]" * 15 + "\n"),
    Family("nests of 10 tables", "{|\n| %w\n" * 10 + "|}\n" * 10),
    Family("nests of 12 lists", lambda i: "*" * (i % 12 + 1) + " %w\n"),
    # Well formed, and many
    Family("items", "* %w\n"),
    Family("items at any depth", lambda i: "*#:;"[i % 4] * (i * 7 % 25 + 1) + " %w\n"),
    Family("mixed marks", lambda i: "".join("*#:"[i >> n & 1] for n in range(i % 9 + 1)) + "%w\n"),
    Family("terms", "; %w : %w\n"),
    Family("terms in one line", ";%w:%w"),
    Family("indents", ":::::%w\n"),
    Family("list marks in one line", "*", after=" %w"),
    Family("rules", "----\n%w\n"),
    Family("dashes", "-", after=" %w"),
    Family("headings", "== %w ==\n"),
    Family("headings of every level", lambda i: "=" * (i % 6 + 1) + "%w" + "=" * (i % 6 + 1) + "\n"),
    Family("open headings", "== %w\n"),
    Family("equals", "=%w"),
    Family("equals behind words", "%w ="),
    Family("equals alone", "=", after="%w"),
    Family("spaced equals", "\n= %w = = = "),
    Family("rows", "|-\n| %w || %w\n! %w !! %w\n", before="{|\n", after="|}\n"),
    Family("cells in one line", "|| %w ", before="{|\n| a ", after="\n|}\n"),
    Family("cell attributes", '| style="a" colspan=2 | %w\n', before="{|\n|-\n", after="|}\n"),
    Family("attributes of one cell", "a", before="{|\n| b=c ", after=" | %w\n|}\n"),
    Family("sentences in one cell", "%w. %w. ", before="{|\n| ", after="\n|}\n"),
    Family("pipes", "|", after="%w"),
    Family("pipes by line", "| %w\n"),
    Family("pipe templates", "{{!}}", after=" %w"),
    Family("tables of pipe templates", "{{{!}}\n{{!}}-\n{{!}} %w\n{{!}}}\n"),
    Family("captions", "{|\n|+ %w\n|}\n"),
    Family("html rows", "<tr><td>%w</td></tr>", before="<table>", after="</table>"),
    Family("templates with words", "{{nowrap|%w}} "),
    Family("unknown templates", "{{a}} %w "),
    Family("conversions", "{{convert|5|km|mi}} %w "),
    Family("parameters", "|a%w=b", before="{{infobox|", after="}}", keeps=False),
    Family("unnamed parameters", "|%w", before="{{hlist", after="}}"),
    Family("listed parameters", "|%w", before="{{ubl", after="}}"),
    Family("keys of many digits", "1", before="{{small|", after="=b}} %w"),
    Family("superscript keys", "{{small|²=b|%w}} "),
    Family("dates of many digits", "{{date|1|1|" + "1" * 5000 + "}} %w "),
    Family("numbers of many digits", "{{formatnum:" + "1" * 5000 + "}} %w "),
    Family("lines in names", "{{%w\nx|a}} %w "),
    Family("plain links", "[[%w]] "),
    Family("links with text", "[[a|%w]] "),
    Family("links to sections", "[[a#b|%w]] "),
    Family("links with pipes", "[[a|b|%w]] "),
    Family("categories", "[[Category:%h]]\n%w\n"),
    Family("language links", "[[de:%h]]\n%w\n"),
    Family("closed pictures", "[[File:a.jpg|thumb|%w]]\n"),
    Family("picture options", "|thumb", before="[[File:a.jpg", after="|%w]]"),
    Family("closed addresses", "[http://a.example %w] "),
    Family("bare addresses", "http://a.example/%w "),
    Family("addresses in addresses", "http://a.example/?", after=" %w"),
    Family("mail", "mailto:a@b.example %w "),
    Family("brackets", "[%w] "),
    Family("three brackets", "[[[%w]]] "),
    Family("brackets alone", "[", after=" %w"),
    Family("closed galleries", "<gallery>\nFile:a.jpg|%w\n</gallery>\n"),
    Family("gallery of many", "File:a.jpg|%w\n", before="<gallery>\n", after="</gallery>"),
    Family("poem of many lines", "%w\n", before="<poem>\n", after="</poem>"),
    Family("formulas", "<math>%w</math> "),
    Family("formula of many lines", "%w\n", before="<math>", after="</math>"),
    Family("closed nowiki", "<nowiki>%w</nowiki> "),
    Family("preformatted lines", " %w\n"),
    Family("code of many lines", "%w\n", before="<pre>", after="</pre>"),
    Family("closed footnotes", "%w<ref>%h</ref> "),
    Family("named marks", '%w<ref name="a"/> '),
    Family("closed comments", "%w<!-- %h --> "),
    Family("comments on lines", "%w\n  <!-- %h -->  \n"),
    Family("comments in a row", "<!-- %h -->  ", after="%w"),
    Family("breaks", "<br>", after="%w"),
    Family("broken lines", "%w<br>\n"),
    Family("html attributes", '<div class="%h" id=\'a\' b=c>%w</div>'),
    Family("one long attribute", "a", before="<div b=c ", after=">%w</div>"),
    Family("superscripts", "x<sup>%w</sup> "),
    Family("html items, closed", "<li>%w</li>", before="<ul>", after="</ul>"),
    Family("magic words", "__TOC__ %w "),
    Family("underscores", "_", after=" %w"),
    Family("signatures", "~~~~ %w "),
    # Characters
    Family("quotes alone", "'", after=" %w"),
    Family("quotes by line", "'''%w''\n"),
    Family("quotes in one line", "%w'' '''"),
    Family("entities", "&nbsp;%w "),
    Family("unknown entities", "&nonsense;%w &"),
    Family("escaped entities", "&amp;amp;amp;%w "),
    Family("numbers of characters", "&#65;&#x41;&#0;&#1114112;&#xD800;%w "),
    Family("ampersands", "&", after=" %w"),
    Family("less", "<", after=" %w"),
    Family("greater", ">", after=" %w"),
    Family("one line", "%w "),
    Family("one word", "a", after=" %w"),
    Family("short lines", "%w\n"),
    Family("paragraphs", "%w\n\n"),
    Family("blank lines", "\n", after="%w"),
    Family("spaces", " ", after="%w"),
    Family("spaces between", "%w" + " " * 200),
    Family("tabs and marks", "\t:\t%w\n"),
    Family("carriage returns", "%w\r"),
    Family("two line ends", "%w\r\n"),
    Family("nul", "%w\x00 "),
    Family("control characters", "%w \x01\x02\x03\x08\x0b\x0c\x11\x12\x13\x1b\x1e\x1f"),
    Family("noncharacters", "%w \ufffe\uffff\ufeff"),
    Family("lone surrogates", "%w \ud800 \udfff"),
    Family("right to left", "كلمة %w، عربية. \u200f\u202e"),
    Family("chinese", "词语%w。汉字，『%w』。"),
    Family("thai", "คำ%wไทย"),
    Family("combining marks", "%w \u0301\u0302\u0303\u0304"),
    Family("combining marks alone", "\u0301", after=" %w"),
    Family("beyond the first plane", "%w 𝔸🙂👩‍👩‍👧"),
    Family("letters that grow", "İ</REF>%w ", note="lower case has another length"),
    # Sentences
    Family("sentences", "The word is %w. "),
    Family("stops", ". %w "),
    Family("stops alone", ".", after=" %w"),
    Family("spaced stops", ". ", after="%w"),
    Family("initials", "A. %w "),
    Family("initials alone", "A. ", after="%w"),
    Family("abbreviations", "Dr. %w vs. "),
    Family("abbreviations in one word", "e.g.", after=" %w"),
    Family("closing quotes", '."', after=" %w"),
    Family("closers", ".»", after=" %w"),
    Family("opening quotes", ". “", after=" %w"),
    Family("ideographic stops", "。", after="%w"),
    Family("ideographic closers", "。」", after="%w"),
    Family("ellipses", "… %w ... "),
    Family("numbers", "1.5 %w 2. "),
    # Random
    Family("mild mix 1", mixed(1, _MILD)),
    Family("mild mix 2", mixed(2, _MILD)),
    *(Family(f"wild mix {seed}", mixed(seed, _WILD), keeps=False) for seed in range(3, 9)),
]
BY_NAME = {family.name: family for family in FAMILIES}
