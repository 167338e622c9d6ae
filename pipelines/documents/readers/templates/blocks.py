"""Templates that make blocks: quotations, poems, lists, cladograms, wrappers of blocks.

What belongs here: one function a kind of template, entered in the table by `@block(names)`. A handler gets
the walk and the `Call`; it opens nodes through `walk.blocks` and reads a parameter as blocks with
`walk.sub_walk(*call.ranges[name])`. Infoboxes and pictures are in `infoboxes.py`.
"""

from __future__ import annotations

from typing import Any

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.templates import names
from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.formats import grouped
from pipelines.documents.readers.templates.table import block


@block("quote|quote frame")
def quotation(walk: Any, call: Call) -> None:
    """A block quotation; who said it is its last paragraph."""
    blocks = walk.blocks
    blocks.flush()
    blocks.place()
    quote = blocks.push("quote", "blockquote")
    names = ("text", "quote", "1", "content", "цитата", "nội dung")
    name = next((key for key in names if call.text(key)), None)
    if name is not None:
        walk.sub_walk(*call.ranges[name])
    said = [call.text("author", "sign", "by", "cite", "4", "2"), call.text("source", "title", "3")]
    said = [words for words in said if words and not words.rstrip("%pxem").isdigit()]
    if quote in blocks.stack:
        blocks.pop_to(quote)
        if said:
            blocks.words_line = blocks.line
            blocks.words.append("— " + ", ".join(said))
            blocks.flush()
        blocks.pop()


@block("poem quote|poem block")
def poem(walk: Any, call: Call) -> None:
    """Verses: the lines stay."""
    blocks = walk.blocks
    blocks.flush()
    text = call.text("text", "1")
    if text:
        blocks.words_line = blocks.line
        blocks.words.append(text.replace("\n", mark.BREAK))
        blocks.form = "poem"
        blocks.flush()
        blocks.form = "p"
    said = call.text("sign", "author", "2", "source")
    if said:
        blocks.words.append("— " + said)
        blocks.flush()


@block("plainlist|hidden|collapse|hidden text|aligned table|noprint|tree list|block indent|bi|grid list"
       "|col-list")
def content(walk: Any, call: Call) -> None:
    """A wrapper: its parameters are read as blocks in its place."""
    walk.blocks.flush()
    for name in call.ranges:
        if name.isdigit() or name in ("content", "text", "title", "header", "list"):
            walk.sub_walk(*call.ranges[name])
            walk.blocks.close_lists()


@block(names.TABLE_START)
def table_start(walk: Any, call: Call) -> None:
    """A table that goes as a whole, as a succession box does: its end closes no other."""
    walk.blocks.flush()
    walk.n_hidden_tables += 1


@block(names.TABLE_END)
def table_end(walk: Any, call: Call) -> None:
    """`|}` from a template: it closes the table that the page opened with `{|`."""
    walk.blocks.flush()
    if walk.n_hidden_tables:
        walk.n_hidden_tables -= 1
    elif walk.in_wiki_table():
        walk.table_line("|}")
    else:
        walk.counts["layout"] += 1


@block("unbulleted list|collapsible list|ordered list|numbered list")
def list_of_items(walk: Any, call: Call) -> None:
    """Each unnamed parameter is an item."""
    blocks = walk.blocks
    blocks.flush()
    title = call.text("title", "expand")
    if title and call.name == "collapsible list":
        blocks.words_line = blocks.line
        blocks.words.append(title)
        blocks.flush()
    kind = "ol" if call.name.startswith(("ordered", "numbered")) else "ul"
    blocks.place()
    entry = blocks.push("hlist", kind, value=kind)
    for name, span in call.ranges.items():
        if (name.isdigit() or name == "list") and call.text(name):
            blocks.pop_to(entry)
            item = blocks.push("hitem", "li", owns=True)
            walk.sub_walk(*span)
            if item not in blocks.stack:
                break
    blocks.close_entry(entry)


@block("clade|cladex|tree chart")
def clade(walk: Any, call: Call) -> None:
    """A cladogram as nested lists: a label, and below it what it branches into."""
    blocks = walk.blocks
    blocks.flush()
    blocks.place()
    entry = blocks.push("hlist", "ul", value="ul")
    for number in [name for name in call.ranges if name.isdigit()]:
        label = call.text(f"label{number}")
        if not label and not call.text(number):
            continue
        if entry not in blocks.stack:
            break
        blocks.pop_to(entry)
        blocks.push("hitem", "li", owns=True)
        if label:
            blocks.words.append(label)
            blocks.flush()
        walk.sub_walk(*call.ranges[number])
    blocks.close_entry(entry)


@block("bar box|cladogram|barbox|bar chart|brick chart")
def titled_box(walk: Any, call: Call) -> None:
    """A box with a title, rows and a caption."""
    blocks = walk.blocks
    blocks.flush()
    for name in ("title", "left1", "bars", "1", "2", "clades", "cladogram", "caption"):
        if call.text(name):
            walk.sub_walk(*call.ranges[name])
            blocks.close_lists()
            blocks.flush()


@block("legend|legend-line")
def legend(walk: Any, call: Call) -> None:
    """`{{legend|#f00|words}}`: a line of its own."""
    walk.blocks.flush()
    if call.text("2"):
        walk.blocks.words_line = walk.blocks.line
        walk.blocks.words.append(call.text("2"))
        walk.blocks.flush()


@block("pie chart")
def pie_chart(walk: Any, call: Call) -> None:
    """A chart's caption and a table of its labels and values."""
    numbers = [name.removeprefix("label") for name in call.ranges if name.startswith("label")]
    rows = [(call.text(f"label{number}"), f"{call.text(f'value{number}')}%") for number in numbers
            if call.text(f"label{number}")]
    _chart_table(walk, call.text("caption", "title"), rows)


@block("historical populations")
def populations(walk: Any, call: Call) -> None:
    """Years and inhabitants: `{{Historical populations|1901|73022|…}}` or `|1901=73022`; shares of growth,
    which the wiki computes, are left out. Without a title the template's name says what the numbers are."""
    values = [call.text(name) for name in call.ranges if name.isdigit() and len(name) < 4]
    rows = [(values[at], values[at + 1]) for at in range(0, len(values) - 1, 2) if values[at]]
    rows += [(name, call.text(name)) for name in call.ranges if len(name) == 4 and name.isdigit()]
    language = call.language
    name = " ".join(call.shown_name.split())
    title = call.text("title") or name[:1].upper() + name[1:]
    _chart_table(walk, title, [(year, grouped(number, language)) for year, number in rows if number])
    for name in ("footnote", "source"):
        if call.text(name):
            walk.blocks.words.append(call.text(name))
            walk.blocks.flush()


def _chart_table(walk: Any, caption: str, rows: list[tuple[str, str]]) -> None:
    """A table with a caption, th label and td value in each row."""
    blocks = walk.blocks
    blocks.flush()
    if not rows:
        return
    table = blocks.open_table("box", {"template": "chart"})
    if caption:
        blocks.open_caption()
        blocks.words.append(caption)
        blocks.flush()
    for label, value in rows:
        blocks.open_row()
        for tag, shown in (("th", label), ("td", value)):
            blocks.open_cell(tag, {})
            blocks.words.append(shown)
            blocks.flush()
    blocks.close_entry(table)
