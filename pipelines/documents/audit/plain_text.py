"""The independent route: what a page shows, read off mwparserfromhell's parse tree and nothing of the reader.

What belongs here: which nodes of `mwparserfromhell.parse` show words, where words end, and which go by a
rule (`rules.py`), with the words that went. It is mwparserfromhell's `strip_code` with three differences: it sets
borders where blocks, cells and line breaks are, it counts what it leaves out, and it names the place of
each word. Of the reader it shares only the names of namespaces. Templates are handed to a callback.
"""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import mwparserfromhell
from mwparserfromhell import nodes as mw

from pipelines.documents.audit.plain_source import (
    ENTITY,
    FIGURE,
    RAW,
    UNREAD,
    Source,
    joined,
    picture_parts,
    template_name,
    unescape,
    without_markup,
    without_tags,
)
from pipelines.documents.audit.raised import RAISED_MARK, raised
from pipelines.documents.audit.rules import EXTENSIONS
from pipelines.documents.audit.words import bag_of, find_words
from pipelines.documents.readers.namespaces import CATEGORY, FILE, is_file_prefix
from pipelines.documents.readers.siteinfo import SiteInfo

CallText = Callable[[Any, bool], str]
"""(template node, whether it stands on a line of its own) → the words that it shows."""

class PlainText:
    """The words that a page shows, with the place of each, and the words that went by rule.

    `text` is complete after `read`. call_text: what a template shows; without it all words of a call's
    parameters count, unless `rule_of` names the rule by which it goes. exempt: rule → bag of words; n_exempt:
    rule → how often it was used.
    """

    def __init__(self, site: SiteInfo, call_text: CallText | None = None,
                 rule_of: Callable[[Any], str | None] | None = None) -> None:
        self.site, self.call_text, self.rule_of = site, call_text, rule_of
        self.parameter_names: Counter[str] = Counter()
        self.exempt: dict[str, Counter[str]] = {}
        self.n_exempt: Counter[str] = Counter()
        self._aside: list[tuple[str, list[tuple[int, str]]]] = []
        """Captions, which follow the text, with their places."""
        self._parts: list[str] = []
        self._length = 0
        self._places: list[tuple[int, str]] = [(0, "text")]
        self._place = "text"
        self._raised = ""
        """The mark of the superscript or subscript that is open."""

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def read(self, source: Source) -> PlainText:
        """Read a whole page."""
        for comment in source.comments:
            self.exempt_words("comments", comment)
        self._nodes(mwparserfromhell.parse(source.text, skip_style_tags=True))
        self._end()
        return self

    def _end(self) -> None:
        """Captions behind the text."""
        for text, places in self._aside:
            self._put("\n")
            self._places += [(self._length + begin, place) for begin, place in places]
            self._put(text)
        self._aside.clear()

    def parameters(self, node: Any) -> PlainText:
        """Read all parameters of a call, those of the calls in them included: what it may show at most."""
        name = str(node.name)
        self._put(" " + name.partition(":")[2])
        for parameter in node.params:
            self._put(" \n ")
            self._nodes(parameter.value)
            if parameter.showkey:
                self.parameter_names.update(bag_of(str(parameter.name).lower()))
        self._put(" \n ")
        self._end()
        return self

    def words(self) -> Iterator[tuple[str, str]]:
        """(word, place) in order; the place of a word is that of its first character."""
        starts = [start for start, _ in self._places]
        for offset, word in find_words(self.text):
            yield word, self._places[bisect.bisect_right(starts, offset) - 1][1]

    # What was read so far

    def _put(self, text: str) -> None:
        if self._raised or RAISED_MARK.search(text):
            text, self._raised = raised(text, self._raised)
        self._parts.append(text)
        self._length += len(text)

    def _at(self, place: str) -> str:
        """What follows stands at this place; returns the place before."""
        before, self._place = self._place, place
        self._places.append((self._length, place))
        return before

    def _is_apart(self) -> bool:
        """Whether a line starts here that continues no paragraph."""
        tail = ""
        for part in reversed(self._parts):
            tail = part + tail
            if tail.count("\n") > 2:
                break
        lines = tail.split("\n")
        if lines[-1].strip():
            return False
        before = lines[-2] if len(lines) > 1 else ""
        return not any(map(str.isalnum, before)) or before.lstrip()[:1] in tuple("*#:;")

    def _leave_out(self, rule: str, node: Any) -> None:
        inner = PlainText(self.site)
        inner._nodes(node)
        inner._end()
        self.exempt_words(rule, inner.text)
        self._add_exempt(inner)

    def _add_exempt(self, inner: PlainText) -> None:
        for name, bag in inner.exempt.items():
            self.exempt.setdefault(name, Counter()).update(bag)
        self.n_exempt.update(inner.n_exempt)

    def exempt_words(self, rule: str, text: str) -> None:
        """These words go by the rule."""
        self.n_exempt[rule] += 1
        self.exempt.setdefault(rule, Counter()).update(bag_of(text))

    # The nodes of the parse tree

    def _nodes(self, code: Any) -> None:
        for node in joined(code.nodes):
            kind = type(node)
            if kind is mw.Text:
                self._text(str(node))
            elif kind is mw.Wikilink:
                self._link(node)
            elif kind is mw.Template:
                self._template(node)
            elif kind is mw.Tag:
                self._tag(node)
            elif kind is mw.Heading:
                before = self._at("heading")
                self._put("\n\n")
                self._nodes(node.title)
                self._put("\n\n")
                self._at(before)
            elif kind is mw.HTMLEntity:
                self._put(unescape(str(node)))
            elif kind is mw.ExternalLink:
                self._address(node)
            elif kind is mw.Comment:
                self.exempt_words("comments", str(node.contents))
            elif kind is mw.Argument:
                self.n_exempt["template_arguments"] += 1
                if node.default is not None:
                    self._nodes(node.default)

    def _template(self, node: Any) -> None:
        if self.call_text is not None:
            before = self._at(f"template:{template_name(node)}")
            self._put(self.call_text(node, self._is_apart()))
            self._at(before)
            return
        rule = self.rule_of(node) if self.rule_of else None
        if rule is None:
            self.parameters(node)
            return
        inner = PlainText(self.site).parameters(node)
        self.exempt_words(rule, inner.text)
        self._add_exempt(inner)

    def _text(self, text: str) -> None:
        """Text, without the markup that the parser left in it because its partner is missing."""
        if UNREAD.search(text):
            # The parser gave up on something around it; by itself it can be read.
            self._parsed_again(text)
            return
        text, words = without_markup(text)
        for word in words:
            self.exempt_words("magic_words", word)
        if self._parts and self._parts[-1] == "&" and ENTITY.match("&" + text):
            # Escaped twice, so that its name shows: what it stands for is what was meant.
            self._parts.pop()
            self._length -= 1
            text = "&" + text
        self._put(unescape(re.sub("''+", "''", text)))

    def _parsed_again(self, text: str) -> None:
        nodes = mwparserfromhell.parse(text, skip_style_tags=True)
        if all(type(node) is mw.Text for node in nodes.nodes):
            self._text(UNREAD.sub(lambda match: match[0].replace("[[", "").replace("{{", ""), text))
        else:
            self._nodes(nodes)

    def _link(self, node: Any) -> None:
        title = unescape(without_tags(str(node.title))).strip()
        prefix, colon, rest = title.partition(":")
        if colon and prefix:
            number, _ = self.site.namespace_of(title)
            if number == FILE or (number == 0 and "." in rest[-6:] and is_file_prefix(prefix.strip())):
                self._picture(node)
                return
            if number == CATEGORY:
                self.exempt_words("categories", rest)
                return
            if self.site.is_language_prefix(prefix):
                self.exempt_words("language_links", rest)
                return
        before = self._at("link") if self._place == "text" else self._place
        if node.text is None:
            self._nodes(node.title)
        elif str(node.text).strip():
            self._nodes(node.text)
        else:
            self._put(re.sub(r" *\([^()]*\)$|,.*$", "", (rest if colon else "") or title))
        if before != self._place:
            self._at(before)

    def _picture(self, node: Any) -> None:
        """The last part that is no option is the caption."""
        self.n_exempt["pictures"] += 1
        caption, left_out = picture_parts(node)
        self.exempt.setdefault("pictures", Counter()).update(bag_of(left_out))
        self._caption(caption)

    def _caption(self, code: Any) -> None:
        # The figure stands beside the line that its link is written in: a sign that is no word keeps the place.
        self._put(FIGURE)
        kept = self._parts, self._length, self._places, self._place
        self._parts, self._length, self._places, self._place = [], 0, [], "caption"
        self._places.append((0, "caption"))
        self._nodes(code)
        self._aside.append((self.text, self._places))
        self._parts, self._length, self._places, self._place = kept

    def _address(self, node: Any) -> None:
        if not node.brackets:
            self._nodes(node.url)
        elif node.title is None or not str(node.title).strip():
            self.exempt_words("bare_addresses", str(node.url))
        else:
            self._nodes(node.title)

    def _tag(self, node: Any) -> None:
        name = str(node.tag).strip().lower()
        if node.wiki_markup is not None and name in ("li", "dd", "dt", "hr"):
            self._put("\n" if name == "hr" else str(node.wiki_markup))
            return
        contents = node.contents
        if name in EXTENSIONS:
            if contents is None or node.self_closing:
                self.n_exempt[EXTENSIONS[name]] += 1
            else:
                self._leave_out(EXTENSIONS[name], contents)
            if name in ("ref", "references"):
                self._put(" ")
        elif name in RAW:
            attributes = " ".join(map(str, node.attributes))
            is_block = "block" in attributes if name in ("math", "chem", "ce") else "inline" not in attributes
            self._raw(name, str(contents), is_block)
        elif name in ("gallery", "imagemap"):
            for attribute in node.attributes:
                if str(attribute.name).strip().lower() == "caption" and attribute.value is not None:
                    self._put("\n")
                    self._nodes(attribute.value)
            self._gallery(str(contents), name == "imagemap")
        elif name in ("table", "tr", "td", "th"):
            self._table(name, node)
        else:
            self._put(f"<{node.tag}>")
            if contents is not None:
                self._nodes(contents)
                self._put(f"</{node.tag}>")

    def _raw(self, name: str, text: str, is_block: bool) -> None:
        """What is no wikitext: formulas, code and what `nowiki` protects."""
        if name == "nowiki":
            self._put(unescape(text))
            return
        is_formula = name in ("math", "chem", "ce")
        before = self._at("formula" if is_formula else "code")
        border = "\n" if is_block else ""
        if name in ("chem", "ce"):
            # A formula of chemistry is TeX too, of the package mhchem.
            text = "\\ce{" + text + "}"
        elif not is_formula:
            text = unescape(re.sub("</?nowiki>", "", text))
        self._put(border + text + border)
        self._at(before)

    def _table(self, name: str, node: Any) -> None:
        before = self._at("table")
        # A cell's first line is no line start: the mark of the cell stands there.
        self._put("\n| " if name in ("td", "th") else "\n")
        if node.contents is not None:
            self._nodes(node.contents)
            self._put("\n")
        self._at(before)

    def _gallery(self, text: str, is_imagemap: bool) -> None:
        """`File|options|caption` lines; of an image map the first line is a picture, the rest its areas."""
        lines = [line.strip() for line in text.strip().split("\n")]
        for line in lines[:1] if is_imagemap else lines:
            name, _, rest = line.partition("|")
            if not name:
                continue
            self._put("\n")
            prefix = "" if ":" in name else "File:"
            link = mwparserfromhell.parse(f"[[{prefix}{name}|{rest}]]", skip_style_tags=True).nodes[0]
            if type(link) is mw.Wikilink:
                self._picture(link)
            self._put("\n")
        if is_imagemap:
            self.exempt_words("pictures", " ".join(lines[1:]))
