"""The figures of a corpus: pages' audits added up, with the worst pages of each kind.

What belongs here: sums and short lists whose size does not grow with the corpus. What does not: one page
(`page.py`) and how the figures are shown (`report.py`).
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from pipelines.documents.audit.page import PageAudit
from pipelines.documents.audit.rules import RULES
from pipelines.documents.audit.words import Bag

N_WORST = 10
N_WORDS = 12
"""Words that are listed for a cause, or for a page."""
MOST_WORDS = 20_000
"""Different words kept for a cause; the rarest are forgotten when there are more."""
_UNHANDLED = "unhandled_template:"
_LEAST_BYTES = 2048
"""Smaller pages are left out where time is divided by size."""


class Worst:
    """The pages with the highest measure, each with what is to be said about it."""

    def __init__(self, n_pages: int = N_WORST) -> None:
        self._n_pages = n_pages
        self._heap: list[tuple[float, str, dict[str, Any]]] = []

    def add(self, measure: float, page: PageAudit, **facts: Any) -> None:
        """Keep the page if it is among the worst; equal ones by doc_id, so that order does not matter."""
        if measure <= 0:
            return
        entry = {"doc_id": page.doc_id, "title": page.title, "uri": page.uri, **facts}
        if all(kept[1] != page.doc_id for kept in self._heap):
            push = heapq.heappushpop if len(self._heap) >= self._n_pages else heapq.heappush
            push(self._heap, (measure, page.doc_id, entry))

    def pages(self) -> list[dict[str, Any]]:
        """The pages, worst first."""
        return [entry for _, _, entry in sorted(self._heap, key=lambda item: (-item[0], item[1]))]


@dataclass
class Differences:
    """Words lost or invented: bags by cause, and the worst pages."""

    by_cause: dict[str, Bag] = field(default_factory=dict)
    worst: Worst = field(default_factory=Worst)

    def add(self, page: PageAudit, bags: dict[str, Bag]) -> None:
        for cause, bag in bags.items():
            total = self.by_cause.setdefault(cause, Counter())
            total.update(bag)
            if len(total) > MOST_WORDS:
                for word, _ in total.most_common()[MOST_WORDS // 2:]:
                    total["…"] += total.pop(word)
        n = sum(bag.total() for bag in bags.values())
        self.worst.add(n, page, n=n, causes={cause: bag.total() for cause, bag in sorted(bags.items())},
                       words=[word for bag in bags.values() for word in _top(bag, N_WORDS)][:N_WORDS])

    @property
    def n_words(self) -> int:
        return sum(bag.total() for bag in self.by_cause.values())

    def to_json(self, n_all: int) -> dict[str, Any]:
        causes = {cause: {"n": bag.total(), "words": list(_top(bag, N_WORDS))}
                  for cause, bag in sorted(self.by_cause.items(), key=lambda item: (-item[1].total(), item[0]))}
        return {"n": self.n_words, "per_1000": _share(1000 * self.n_words, n_all), "by_cause": causes,
                "pages": self.worst.pages()}


class Figures:
    """What an audit found; `add` takes pages in any order."""

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.not_compared: Counter[str] = Counter()
        self.not_parsed: dict[str, list[dict[str, Any]]] = {}
        self.reasons: dict[str, Counter[str]] = {}
        self.headings: Counter[int] = Counter()
        self.blocks: Counter[str] = Counter()
        self.structure: Counter[str] = Counter()
        self.structure_pages = Worst()
        self.counts: Counter[str] = Counter()
        self.unhandled: Counter[str] = Counter()
        self.unhandled_pages = Worst()
        self.residue: Counter[str] = Counter()
        self.residue_pages: dict[str, Worst] = {}
        self.rule_words: Counter[str] = Counter()
        self.rule_uses: Counter[str] = Counter()
        self.lost, self.invented = Differences(), Differences()
        self.left_out_by: Counter[str] = Counter()
        self.written_by: Counter[str] = Counter()
        self.n_texts = self.n_words = self.n_tree_words = self.n_calls = self.n_bytes = 0
        self.cpu_s = 0.0
        self.slowest, self.slowest_by_size = Worst(), Worst()

    def add(self, page: PageAudit) -> None:
        """Add a page."""
        self.statuses[page.status] += 1
        if page.status not in ("parsed", "disambiguation"):
            reason = page.reason or ""
            self.reasons.setdefault(page.status, Counter())[reason] += 1
            listed = self.not_parsed.setdefault(page.status, [])
            listed.append({"doc_id": page.doc_id, "title": page.title, "uri": page.uri, "reason": reason})
            listed.sort(key=itemgetter("doc_id"))
            del listed[N_WORST:]
        self.headings.update(page.headings)
        self.blocks.update(page.blocks)
        self.structure.update(page.structure)
        self.structure_pages.add(page.structure.total(), page, faults=dict(page.structure))
        self.n_texts += page.n_nodes_with_text
        for kind, places in page.residue.items():
            self.residue[kind] += len(places)
            self.residue_pages.setdefault(kind, Worst(5)).add(len(places), page, n=len(places), sample=places[0])
        self.cpu_s += page.cpu_s
        self.n_bytes += page.size_bytes
        facts = {"size_bytes": page.size_bytes, "cpu_s": page.cpu_s}
        self.slowest.add(page.cpu_s, page, **facts)
        if page.size_bytes >= _LEAST_BYTES:
            self.slowest_by_size.add(page.cpu_s / page.size_bytes, page, **facts)
        n_unhandled = 0
        for name, n in page.counts.items():
            if name.startswith(_UNHANDLED):
                self.unhandled[name[len(_UNHANDLED):]] += n
                n_unhandled += n
            else:
                self.counts[name] += n
        self.unhandled_pages.add(n_unhandled, page, n=n_unhandled)
        if page.not_compared is not None:
            self.not_compared[page.not_compared] += 1
            return
        self.n_words += page.n_words
        self.n_tree_words += page.n_tree_words
        self.n_calls += page.n_calls
        self.rule_words.update(page.exempt)
        self.rule_uses.update(page.n_exempt)
        self.lost.add(page, page.lost)
        self.invented.add(page, page.invented)
        self.left_out_by.update(page.left_out_by)
        self.written_by.update(page.written_by)

    def to_json(self, n_listed: int = 30) -> dict[str, Any]:
        """Everything as plain values. n_listed: entries of the lists of templates."""
        n_unhandled = self.unhandled.total()
        n_residue = self.residue.total()
        return {
            "pages": {"n": self.statuses.total(), "by_status": _top(self.statuses),
                      "n_bytes": self.n_bytes, "not_compared": dict(self.not_compared),
                      "not_parsed": {
                          status: {"reasons": _top(self.reasons[status], N_WORST), "pages": pages}
                          for status, pages in sorted(self.not_parsed.items())}},
            "headings": {str(level): n for level, n in sorted(self.headings.items())},
            "blocks": _top(self.blocks),
            "structure": {"faults": _top(self.structure), "pages": self.structure_pages.pages()},
            "residue": {"n_texts": self.n_texts, "n": n_residue,
                        "one_in": round(self.n_texts / n_residue) if n_residue else None,
                        "kinds": {kind: {"n": n, "pages": self.residue_pages[kind].pages()}
                                  for kind, n in _top(self.residue).items()}},
            "templates": {"n_calls": self.n_calls, "n_unhandled": n_unhandled,
                          "share_unhandled": _share(n_unhandled, self.n_calls),
                          "unhandled": _top(self.unhandled, n_listed),
                          "n_unhandled_names": len(self.unhandled), "pages": self.unhandled_pages.pages()},
            "rules": {rule: {"used": self.rule_uses[rule], "words": self.rule_words[rule]} for rule in RULES},
            "reader_counts": _top(self.counts),
            "words": {"n_expected": self.n_words, "n_tree": self.n_tree_words,
                      "lost": self.lost.to_json(self.n_words),
                      "invented": self.invented.to_json(self.n_tree_words),
                      "left_out_by_template": _top(self.left_out_by, n_listed),
                      "written_by_template": _top(self.written_by, n_listed),
                      "n_written_by_templates": self.written_by.total()},
            "speed": {"slowest": self._with_shares(self.slowest.pages()),
                      "slowest_by_size": self._with_shares(self.slowest_by_size.pages())},
        }

    def _with_shares(self, pages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Pages with their part of all time, and their time by size against that of all pages together."""
        mean = self.cpu_s / self.n_bytes if self.n_bytes else 0.0
        return [{**{name: value for name, value in page.items() if name != "cpu_s"},
                 "share": _share(page["cpu_s"], self.cpu_s),
                 "times_mean": round(_share(page["cpu_s"], page["size_bytes"] * mean), 2)}
                for page in pages]


def _share(part: float, whole: float) -> float:
    return round(part / whole, 6) if whole else 0.0


def _top(counter: Counter[str], n: int | None = None) -> dict[str, int]:
    """The entries by size, equal ones by name, so that the order of pages does not matter."""
    ordered = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    return dict(ordered[:n])
