"""Lists of episodes: `{{Episode table}}` with a row for each `{{Episode list}}` in it.

What belongs here: which parameters are columns, in the order of the page, and their headings. The table's own
parameters of the same names are widths; they only say which columns there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.infoboxes import is_blank
from pipelines.documents.readers.templates.table import block


class _Column(NamedTuple):
    """A column: its key in the table's call, its heading, the keys of an episode's call that fill it."""

    key: str
    heading: str
    parameters: tuple[str, ...]


_COLUMNS = (
    _Column("overall", "No. overall", ("episodenumber",)), _Column("season", "No. in season", ("episodenumber2",)),
    _Column("title", "Title", ("title", "rtitle", "alttitle", "rawtitle", "translittitle", "nativetitle")),
    _Column("aux1", "", ("aux1",)), _Column("director", "Directed by", ("directedby",)),
    _Column("writer", "Written by", ("writtenby", "storyby", "teleplayby")), _Column("aux2", "", ("aux2",)),
    _Column("aux3", "", ("aux3",)), _Column("airdate", "Original air date", ("originalairdate", "releasedate")),
    _Column("altdate", "Other air date", ("altdate",)), _Column("guests", "Guests", ("guests",)),
    _Column("music", "Music", ("musicalguests",)), _Column("prodcode", "Production code", ("prodcode",)),
    _Column("viewers", "Viewers (millions)", ("viewers",)), _Column("aux4", "", ("aux4",)),
)
_SUMMARY = "shortsummary"
_KIND = "episodes "
"""Begins the value of an open table of episodes, before the keys of its columns."""


@block("episode table|episode table/part|episode table/header")
def episode_table(walk: Any, call: Call) -> None:
    """A table with a row of headings; `episodes` holds the rows."""
    blocks = walk.blocks
    blocks.flush()
    columns = [column for column in _COLUMNS if column.key in call.ranges]
    table = blocks.open_table(_KIND + " ".join(column.key for column in columns))
    if call.text("caption"):
        blocks.open_caption()
        blocks.words.append(call.text("caption"))
        blocks.flush()
    for column in columns:
        heading = call.text(f"{column.key}t") or column.heading
        if heading:
            blocks.open_cell("th", {})
            blocks.words.append(heading)
            blocks.flush()
    if "episodes" in call.ranges:
        walk.sub_walk(*call.ranges["episodes"])
    blocks.close_entry(table)


@block("episode list|episode list/sublist")
def episode(walk: Any, call: Call) -> None:
    """A row: one cell a column, the summary last; in no table a table of its own."""
    blocks = walk.blocks
    blocks.flush()
    own = None if blocks.tables else blocks.open_table(_KIND)
    kind = blocks.tables[-1].value
    known = kind.removeprefix(_KIND).split() if kind.startswith(_KIND) else []
    blocks.open_row()
    for column in _COLUMNS:
        names = [name for name in column.parameters
                 if name in call.ranges and not is_blank(walk, call.ranges[name])]
        if names or column.key in known:
            cell = blocks.open_cell("td", {})
            for name in names:
                if cell in blocks.stack:
                    blocks.pop_to(cell)
                    walk.sub_walk(*call.ranges[name])
    if _SUMMARY in call.ranges and not is_blank(walk, call.ranges[_SUMMARY]):
        blocks.open_cell("td", {})
        walk.sub_walk(*call.ranges[_SUMMARY])
    blocks.flush()
    if own is not None:
        blocks.close_entry(own)
