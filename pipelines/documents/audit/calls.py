"""Template calls, one at a time: what the reader makes of a call alone, against the words of its parameters.

What belongs here: reading a call out of its page and sorting it: gone by a rule, shown by a handler, without
a handler. What does not: which handler a template gets (`readers/wikitext_templates.py`). Where a page's prose is
compared with its tree, a call stands for the words found here, so that neither side's templates hide what
happened to the prose.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from mwparserfromhell.wikicode import Wikicode

from pipelines.documents.audit.plain_source import Source, template_name
from pipelines.documents.audit.plain_text import PlainText
from pipelines.documents.audit.rules import TEMPLATE_RULES
from pipelines.documents.audit.words import Bag, bag_of
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.tree import Node

_OPEN, _CLOSE = "ꙮ", "ꚙ"
"""Letters that hardly any page has: they stand around a call that is read inside a line."""
MAX_NESTED = 3
"""Calls in calls that are looked at one by one, where a handler met one that has none."""


class CallReport(NamedTuple):
    """One call. kind: a rule of TEMPLATE_RULES, `parser_functions`, `handled` or `unhandled`.

    left_out: words of its parameters that it does not show. written: words it shows that stand in no
    parameter's value or name.
    """

    name: str
    kind: str
    left_out: Bag
    written: Bag


class _Use:
    """A call where it stands, and which of its two forms the page shows."""

    __slots__ = ("is_apart", "node")

    def __init__(self, node: Any, is_apart: bool) -> None:
        self.node, self.is_apart = node, is_apart


class CallReader:
    """Reads the calls of one page. `reports` has an entry for each, in order, after `finish`."""

    def __init__(self, title: str, site: SiteInfo, source: Source) -> None:
        self.title, self.site, self.source = title, site, source
        self.reports: list[CallReport] = []
        self.n_calls = 0
        self.exempt: dict[str, Counter[str]] = {}
        self.n_exempt: Counter[str] = Counter()
        self._uses: list[_Use] = []
        self._known: dict[tuple[str, bool], tuple[str, CallReport, PlainText]] = {}

    def __call__(self, node: Any, is_apart: bool) -> str:
        """The words that the reader shows for the call."""
        self._uses.append(_Use(node, is_apart))
        return self._read(node, is_apart, 0)[0]

    def settle(self, missing: Bag, extra: Bag) -> int:
        """Choose for each call the form that the page has: a block or words in a line; how many words that adds.

        missing: expected words that the tree lacks; extra: words of the tree beyond them. Whether a call
        stands alone is the walk's to say; here the tree's own words say it. A call that the tree shows in
        neither form keeps both bags as they are.
        """
        n_added = 0
        for use in self._uses:
            now, other = (bag_of(self._read(use.node, form, 0)[0]) for form in (use.is_apart, not use.is_apart))
            gain, loss = other - now, now - other
            if (gain or loss) and gain <= extra and loss <= missing:
                extra -= gain
                missing -= loss
                use.is_apart = not use.is_apart
                n_added += gain.total() - loss.total()
        return n_added

    def finish(self) -> None:
        """Fill in the reports and what their parameters exempt."""
        for use in self._uses:
            _, report, parameters = self._read(use.node, use.is_apart, 0)
            self.reports.append(report)
            self.n_calls += sum(1 for _ in Wikicode([use.node]).ifilter_templates())
            for rule, bag in parameters.exempt.items():
                self.exempt.setdefault(rule, Counter()).update(bag)
            self.n_exempt.update(parameters.n_exempt)

    def _read(self, node: Any, is_apart: bool, depth: int) -> tuple[str, CallReport, PlainText]:
        source = self.source.restore(str(node))
        key = source, is_apart
        if key in self._known:
            return self._known[key]
        result = read_wikitext(self.title, source if is_apart else f"{_OPEN}{source}{_CLOSE}", self.site)
        shown = _shown(result.nodes)
        parameters = PlainText(self.site, rule_of=self._rule_of).parameters(node)
        could, does = bag_of(parameters.text), bag_of(shown)
        left_out, written = could - does, does - could - parameters.parameter_names
        kind = "handled"
        if ":" in template_name(node):
            kind = "references" if template_name(node).startswith("#tag:ref") else "parser_functions"
        elif not does and (rule := next((name for name in TEMPLATE_RULES if result.counts.get(name)), None)):
            kind = rule
        elif any(name.startswith("unhandled_template:") for name in result.counts):
            holes = {span.target for entry in result.nodes for span in entry.spans if span.kind == "template"}
            if _is_hole(result.nodes, template_name(node)):
                kind = "unhandled"
            elif depth < MAX_NESTED:
                for inner in Wikicode([node]).ifilter_templates():
                    if inner is not node and " ".join(str(inner.name).replace("_", " ").split()) in holes:
                        self._read_nested(inner, depth)
        found = shown, CallReport(template_name(node).partition(":")[0], kind, left_out, written), parameters
        self._known[key] = found
        return found

    def _rule_of(self, node: Any) -> str | None:
        kind = self._read(node, False, MAX_NESTED)[1].kind
        return kind if kind in TEMPLATE_RULES else None

    def _read_nested(self, node: Any, depth: int) -> None:
        report = self._read(node, False, depth + 1)[1]
        if report.kind == "unhandled":
            self.reports.append(report)


def _shown(nodes: tuple[Node, ...]) -> str:
    """The text of a call's nodes; of one that stays in its line without borders around it."""
    texts = [node.text for node in nodes[1:] if node.text]
    whole = "\n".join(texts)
    if whole.startswith(_OPEN) and whole.endswith(_CLOSE) and len(texts) == 1:
        return whole[1:-1]
    if not whole.strip(_OPEN + _CLOSE + " \n"):
        return ""
    return f"\n{whole.replace(_OPEN, '').replace(_CLOSE, '')}\n"


def _is_hole(nodes: tuple[Node, ...], name: str) -> bool:
    """Whether all that is shown is one template without a handler."""
    shown = [node for node in nodes[1:] if node.text]
    if len(shown) != 1:
        return False
    text = shown[0].text
    spans = [span for span in shown[0].spans if span.kind == "template"]
    return any(text[:span.begin].strip(" " + _OPEN) == "" and text[span.end:].strip(" " + _CLOSE) == ""
               and " ".join((span.target or "").replace("_", " ").split()).lower()[:60] == name
               for span in spans)
