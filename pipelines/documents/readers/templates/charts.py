"""Templates for rows of charts and tables: legends, bars, family trees, medals, sorting keys.

What belongs here: one small function a kind of template that stands in a table or a picture's place. What
opens blocks of its own is in `blocks.py`.
"""

from __future__ import annotations

import re
import unicodedata

from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.table import positional, words


@words("sort|hs2|sort2|sortdate|sort key and text")
def sort(call: Call) -> str:
    return call.text("2", "1")


@words("ntsh|hidden key|sort hidden")
def hidden_key(call: Call) -> str:
    """A key by which a table sorts: not shown."""
    call.reader.counts["layout"] += 1
    return ""


@words("hlist|flowlist|cslist|comma separated entries|comma separated values|enum|pagelist")
def joined(call: Call) -> str:
    values = positional(call)
    separator = " · " if call.name in ("hlist", "flowlist") else ", "
    return separator.join(values)


@words("legend|legend-line|legend2|legend inline")
def legend(call: Call) -> str:
    """`{{legend|#f00|words}}` inside a caption or link; elsewhere it is a block (`blocks.py`)."""
    words_ = call.text("2")
    return words_ if call.name in ("legend2", "legend inline") else f" {words_} "


@words("legend-table|legend table")
def legend_table(call: Call) -> str:
    """`{{legend-table|#0a0|A|#00f|B}}`: pairs of a colour and what it means."""
    return f" {', '.join(value for value in call.positional()[1::2] if value)} "


@words("bar percent|bar pixel|bartable|percentage bar|progress bar|composition bar|chset-cell|chset-ctrl"
       "|chset-left|bar")
def bar(call: Call) -> str:
    """A bar of a chart: its label and value."""
    values = positional(call)
    if call.name == "bartable":
        # The value with its unit; the third parameter is the bar's length.
        return "".join(call.positional()[:2])
    if call.name == "progress bar":
        return call.text("text") or (f"{values[0]}%" if values else "")
    if call.name == "composition bar":
        return call.text("1") + (f" / {call.text('2')}" if call.text("2") else "")
    if call.name.startswith("bar p") and len(values) >= 3:
        return f"{values[0]} {values[2]}" + ("%" if "percent" in call.name else "")
    return " ".join(values[:1])


@words("chart|familytree|family tree")
def family_tree(call: Call) -> str:
    """A row of a family tree: its boxes."""
    return " · ".join(words for name, words in ((name, call.text(name)) for name in call.ranges)
                      if words and not name.isdigit() and not name.startswith(("box", "border")))


@words("fossil range|fossilrange|geological range|long fossil range")
def fossil_range(call: Call) -> str:
    """`{{fossil range|5|0}}` → 5–0 Ma; periods by name: Miocene – Recent. What is written behind it stays apart."""
    values = positional(call)[:2]
    if not values or call.text("text"):
        return call.text("text")
    is_age = all(re.fullmatch(r"[\d.]+", value) for value in values)
    return ("–".join(values) + " Ma" if is_age else " – ".join(values)) + " "


@words("medalgold|medalsilver|medalbronze|medalcompetition|medalsport|medalcountry|gold medal|medal")
def medal(call: Call) -> str:
    return " ".join(value for value in call.positional() if value)


@words("dentalformula|dental formula")
def dental_formula(call: Call) -> str:
    return " / ".join(filter(None, (call.text("upper"), call.text("lower"))))


@words("weather column")
def weather_cell(call: Call) -> str:
    """A coloured cell of a weather table: its value."""
    return call.text("1")


@words("unichar")
def unichar(call: Call) -> str:
    """`{{unichar|00E9}}` → U+00E9 é LATIN SMALL LETTER E WITH ACUTE."""
    code = call.text("1").removeprefix("U+")
    try:
        char = chr(int(code, 16))
    except (ValueError, OverflowError):
        return code
    name = call.text("2") or unicodedata.name(char, "")
    return " ".join(filter(None, (f"U+{code.zfill(4)}", char if char.isprintable() else "", name)))


@words("mpl|minor planet")
def minor_planet(call: Call) -> str:
    """`{{mpl|2001 CK|32}}`: the provisional name of a minor planet."""
    return "".join(positional(call))
