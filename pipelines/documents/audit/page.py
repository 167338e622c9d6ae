"""The audit of one page: its tree's words against the independent route's, by cause.

What belongs here: the comparison and the figures of one page. What does not: the route (`plain_text.py`), the
calls (`calls.py`), adding pages up (`figures.py`). `audit_page` is a pure function of a page and runs in
worker processes.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from pipelines.documents.audit.calls import CallReader
from pipelines.documents.audit.plain_source import Source
from pipelines.documents.audit.plain_text import PlainText
from pipelines.documents.audit.structure import faults_of_sections
from pipelines.documents.audit.words import Bag, bag_of, find_words, glued
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import ReadResult, read_wikitext
from pipelines.documents.residue import find_node_residue

MAX_CHARACTERS = 1_000_000
MAX_OPEN_LINKS = 200
_OPEN_LINK = re.compile(r"\[(?:https?:)?//[^\]\n]*$", re.MULTILINE)
_MANY_EQUALS = re.compile(r"^=[^\n]*(?:=[^=\n]+){40}", re.MULTILINE)


class RawPage(NamedTuple):
    """A page as it is stored. uri: its address without a path, which `espalier show` reads."""

    doc_id: str
    uri: str
    title: str
    text: str | None
    site: SiteInfo


@dataclass
class PageAudit:
    """The figures of one page; the bags are by cause."""

    doc_id: str
    uri: str
    title: str
    status: str
    reason: str | None = None
    cpu_s: float = 0.0
    size_bytes: int = 0
    n_nodes_with_text: int = 0
    headings: Counter[int] = field(default_factory=Counter)
    blocks: Counter[str] = field(default_factory=Counter)
    structure: Counter[str] = field(default_factory=Counter)
    """What is wrong with the sections: heading lines without one, sections in cells, tables never closed."""
    residue: dict[str, list[str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    not_compared: str | None = "failed"
    """Why its words were not compared; None if they were."""
    n_words: int = 0
    n_tree_words: int = 0
    n_calls: int = 0
    lost: dict[str, Bag] = field(default_factory=dict)
    invented: dict[str, Bag] = field(default_factory=dict)
    exempt: dict[str, int] = field(default_factory=dict)
    n_exempt: Counter[str] = field(default_factory=Counter)
    left_out_by: Counter[str] = field(default_factory=Counter)
    written_by: Counter[str] = field(default_factory=Counter)


def audit_page(page: RawPage) -> PageAudit:
    """Parse a page, time it, and compare its words. Never raises for what stands in a page."""
    found = PageAudit(page.doc_id, page.uri, page.title, "failed")
    text = page.text or ""
    found.size_bytes = len(text.encode("utf-8", "surrogatepass"))
    try:
        result, found.cpu_s = _timed(page, text)
    except Exception as error:  # noqa: BLE001 - a page that fails is what the audit reports
        found.reason = f"{type(error).__name__}: {error}"[:300]
        return found
    found.status, found.reason, found.counts = result.status, result.reason, result.counts
    for node in result.nodes[1:]:
        if node.is_structure:
            found.headings[node.level or 0] += 1
        found.blocks[node.tag] += 1
        found.n_nodes_with_text += bool(node.text)
        for kind, first, last in find_node_residue(node):
            around = node.text[max(first - 30, 0):last + 30].replace("\n", " ")
            found.residue.setdefault(kind, []).append(around)
    found.structure = faults_of_sections(text, result)
    found.not_compared = _not_compared(text, result)
    if found.not_compared is None:
        try:
            compare_words(page, result, found)
        except Exception as error:  # noqa: BLE001 - counted in the report; one page must not end the audit
            found.not_compared = f"the comparison failed ({type(error).__name__})"
    return found


def _timed(page: RawPage, text: str) -> tuple[ReadResult, float]:
    """The page's tree, and the CPU seconds of the faster of two readings: the first of a process fills caches."""
    times = []
    for _ in range(2):
        begin = time.process_time()
        result = read_wikitext(page.title, text, page.site)
        times.append(time.process_time() - begin)
    return result, min(times)


def _not_compared(text: str, result: ReadResult) -> str | None:
    """Why a page's words are not compared: what the reader reads by its linear route the parser may not end."""
    if result.status == "degraded":
        return "degraded"
    if len(text) > MAX_CHARACTERS:
        return f"over {MAX_CHARACTERS} characters"
    if len(_OPEN_LINK.findall(text)) > MAX_OPEN_LINKS or _MANY_EQUALS.search(text):
        return "markup that the parser reads in quadratic time"
    return None


def compare_words(page: RawPage, result: ReadResult, found: PageAudit) -> None:
    """Fill in the words: how many, lost, invented, exempt."""
    source = Source(page.text or "")
    calls = CallReader(page.title, page.site, source)
    plain = PlainText(page.site, calls).read(source)
    sequence = list(plain.words())
    tree_words = "\n".join(node.text for node in result.nodes[1:] if node.text)
    expected, shown = Counter(word for word, _ in sequence), bag_of(tree_words)
    missing, extra = expected - shown, shown - expected
    n_expected = len(sequence) + calls.settle(missing, extra)
    calls.finish()
    lost: dict[str, Bag] = {}
    invented: dict[str, Bag] = {}
    for pair in glued([word for word, _ in sequence], missing, extra):
        lost.setdefault("run together", Counter()).update(pair)
        invented.setdefault("run together", Counter())["".join(pair)] += 1
    for pair in glued([word for _, word in find_words(tree_words)], extra, missing):
        invented.setdefault("torn apart", Counter()).update(pair)
        lost.setdefault("torn apart", Counter())["".join(pair)] += 1
    places: dict[str, Counter[str]] = {}
    for word, place in sequence:
        if word in missing:
            places.setdefault(word, Counter())[place] += 1
    for word, n in missing.items():
        # Of a word that stands in several places the rarest is taken for the one where it was lost.
        place = min(places[word], key=lambda name: (places[word][name], name))
        lost.setdefault(place.partition(":")[0], Counter())[word] += n
    if extra:
        invented["other"] = extra
    for report in calls.reports:
        n_left_out = report.left_out.total()
        if report.kind == "unhandled":
            if report.left_out:
                lost.setdefault("unhandled template", Counter()).update(report.left_out)
        else:
            rule = "template_parameters" if report.kind == "handled" else report.kind
            found.exempt[rule] = found.exempt.get(rule, 0) + n_left_out
            found.n_exempt[rule] += 1
            if rule == "template_parameters" and n_left_out:
                found.left_out_by[report.name] += n_left_out
            if report.written:
                found.written_by[report.name] += report.written.total()
    for read in (plain, calls):
        for rule, bag in read.exempt.items():
            found.exempt[rule] = found.exempt.get(rule, 0) + bag.total()
        found.n_exempt.update(read.n_exempt)
    found.lost, found.invented = lost, invented
    found.n_words = n_expected + lost.get("unhandled template", Counter()).total()
    found.n_tree_words = shown.total()
    found.n_calls = calls.n_calls

