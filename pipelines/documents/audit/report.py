"""The audit's figures as a page of Markdown, readable as it is.

What belongs here: sections and tables. What does not: the figures (`figures.py`) and where it is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipelines.documents.audit.rules import RULES
from pipelines.markdown import markdown_text

Json = Mapping[str, Any]
_N_NAMES = 15
_PIPE = re.compile(r"(?<!\\)\|")
"""One that no escape stands before yet."""


def to_markdown(source: Json, figures: Json) -> str:
    """The report. source: what was audited, a line each; figures: `Figures.to_json()`."""
    words = figures["words"]
    lines = [f"{name}: {value}  " for name, value in source.items()]
    lines += _pages(figures["pages"])
    lines += ["", "Headings and blocks", ""]
    lines += _table(("level", "headings"), figures["headings"].items())
    lines += ["", *_table(("block", "count"), figures["blocks"].items())]
    lines += _structure(figures["structure"])
    lines += _residue(figures["residue"]) + _templates(figures["templates"])
    lines += ["", "Words by rule", ""]
    lines += _table(("rule", "used", "words", "what goes by it"), (
        (rule, entry["used"], entry["words"], RULES[rule]) for rule, entry in figures["rules"].items()))
    lines += _words("lost", words["lost"], words["n_expected"], "words that the page shows")
    lines += _words("invented", words["invented"], words["n_tree"], "words of the trees")
    left_out = _names(words["left_out_by_template"])
    lines += ["", f"Words of parameters that known templates do not show: {left_out}.", "",
              f"Words that template handlers write themselves: {words['n_written_by_templates']:,}; "
              f"{_names(words['written_by_template'])}."]
    lines += _speed(figures["speed"])
    return "\n".join(lines) + "\n"


def _pages(pages: Json) -> list[str]:
    statuses = ", ".join(f"{n:,} {status}" for status, n in pages["by_status"].items())
    lines = ["", f"Pages: {pages['n']:,} ({statuses}), {pages['n_bytes']:,} bytes of wikitext."]
    if pages["not_compared"]:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in sorted(pages["not_compared"].items()))
        lines.append(f"Words not compared: {reasons}.")
    for status, entry in pages["not_parsed"].items():
        lines += ["", f"{status.capitalize()} pages", ""]
        lines += _table(("reason", "pages"), entry["reasons"].items())
        lines += ["", *_table(("page", "title", "reason"), (
            (_link(page), markdown_text(page["title"]), markdown_text(page["reason"])) for page in entry["pages"]))]
    return lines


def _structure(structure: Json) -> list[str]:
    faults = ", ".join(f"{name} {n:,}" for name, n in structure["faults"].items()) or "none"
    return ["", f"Faults of structure: {faults}.", "", *_table(("page", "title", "faults"), (
        (_link(page), page["title"], ", ".join(f"{name} {n}" for name, n in page["faults"].items()))
        for page in structure["pages"]))]


def _residue(residue: Json) -> list[str]:
    rate = f", one in {residue['one_in']:,}" if residue["one_in"] else ""
    lines = ["", f"Residue: {residue['n']:,} pieces in {residue['n_texts']:,} blocks with text{rate}.", ""]
    rows = [(kind, entry["n"], _link(page), markdown_text(page["title"]), f"`{_code(page['sample'])}`")
            for kind, entry in residue["kinds"].items() for page in entry["pages"]]
    return lines + _table(("kind", "pieces", "page", "title", "sample"), rows)


def _templates(templates: Json) -> list[str]:
    lines = ["", f"Template calls: {templates['n_calls']:,}. Without a handler in a sentence: "
                 f"{templates['n_unhandled']:,} ({100 * templates['share_unhandled']:.2f} %), of "
                 f"{templates['n_unhandled_names']:,} names: {_names(templates['unhandled'])}.", ""]
    return lines + _table(("page", "title", "without a handler"), (
        (_link(page), markdown_text(page["title"]), page["n"]) for page in templates["pages"]))


def _words(name: str, entry: Json, n_all: int, meaning: str) -> list[str]:
    lines = ["", f"Words {name}: {entry['n']:,} of {n_all:,} {meaning}, {entry['per_1000']:.3f} in 1,000.", ""]
    lines += _table(("cause", "words", "most frequent"), (
        (cause, found["n"], markdown_text(" ".join(found["words"]))) for cause, found in entry["by_cause"].items()))
    return [*lines, "", *_table(("page", "title", name, "by cause", "words"), (
        (_link(page), markdown_text(page["title"]), page["n"],
         ", ".join(f"{cause} {n}" for cause, n in page["causes"].items()), markdown_text(" ".join(page["words"])))
        for page in entry["pages"]))]


def _speed(speed: Json) -> list[str]:
    lines = ["", "Slowest pages, by their part of the time of all pages", ""]
    header = ("page", "title", "KiB", "part of all time", "time by size, all pages = 1")
    for name in ("slowest", "slowest_by_size"):
        if name == "slowest_by_size":
            lines += ["", "Slowest pages for their size", ""]
        lines += _table(header, (
            (_link(page), markdown_text(page["title"]), f"{page['size_bytes'] / 1024:.1f}",
             f"{100 * page['share']:.2f} %", f"{page['times_mean']:.2f}") for page in speed[name]))
    return lines


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = [_row(row) for row in rows]
    return [_row(header), "|" + "---|" * len(header), *lines] if lines else ["none"]


def _row(cells: Sequence[Any]) -> str:
    shown = (f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells)
    return "| " + " | ".join(_PIPE.sub(r"\|", cell).replace("\n", " ") for cell in shown) + " |"


def _names(counts: Json) -> str:
    listed = [f"{_code(name)} {n:,}" for name, n in list(counts.items())[:_N_NAMES]]
    return ", ".join(listed) or "none"


def _link(page: Json) -> str:
    return f"`{page['uri']}`"


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").split())
