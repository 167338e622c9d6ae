"""Passages of about 100 words: consecutive sentences of a document, the unit that flat retrieval embeds.

What belongs here: where a passage begins and ends, and its text. What does not: ids and tokens
(`spark_jobs/units.py`), and splitting sentences (`sentences.py`). A passage runs across blocks and sections,
as those that RDR² retrieves (section 1 of its method); headings are not in it. It knows its nodes and
sentences, so that no passage has to be aligned with its document later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from pipelines.documents.tree import Node, Sentence
from pipelines.documents.words import count_words

CELL_SEPARATOR = " | "
SENTENCE_SEPARATOR = " "
BLOCK_SEPARATOR = "\n"


class Passage(NamedTuple):
    """Consecutive sentences. `text` is without the title; ids are inclusive and ascending."""

    node_ids: tuple[int, ...]
    first_sentence_id: int
    last_sentence_id: int
    text: str


class _Item(NamedTuple):
    """What is never divided: a sentence, or all sentences of a table row."""

    node_ids: tuple[int, ...]
    first_sentence_id: int
    last_sentence_id: int
    text: str
    block: int
    """node_id of the block or row: neighbours of one block are joined by a space, others by a newline."""


def make_passages(nodes: Sequence[Node], sentences: Iterable[Sentence], max_words: int) -> list[Passage]:
    """Join the sentences of a document, in order, to passages of at most `max_words` words.

    nodes: all nodes of the document by node_id; only their relations and tags are read. sentences: by
    sentence_id. A table row counts as one sentence, its cells joined by " | "; rows of a table inside a cell
    are rows of their own. A longer sentence is a passage alone.
    """
    passages: list[Passage] = []
    waiting: list[_Item] = []
    n_words = 0
    for item in _items(nodes, sentences):
        words = count_words(item.text)
        if waiting and n_words + words > max_words:
            passages.append(_passage(waiting))
            waiting, n_words = [], 0
        waiting.append(item)
        n_words += words
    if waiting:
        passages.append(_passage(waiting))
    return passages


def _items(nodes: Sequence[Node], sentences: Iterable[Sentence]) -> Iterator[_Item]:
    rows, cells = _rows_and_cells(nodes)
    row: list[Sentence] = []
    for sentence in sentences:
        row_id = rows[sentence.node_id]
        if row and rows[row[0].node_id] != row_id:
            yield _row_item(row, rows, cells)
            row = []
        if row_id is not None:
            row.append(sentence)
        else:
            yield _Item((sentence.node_id,), sentence.sentence_id, sentence.sentence_id, sentence.text,
                        sentence.node_id)
    if row:
        yield _row_item(row, rows, cells)


def _rows_and_cells(nodes: Sequence[Node]) -> tuple[list[int | None], list[int | None]]:
    """For each node the innermost table row that holds it, and the child of that row above it."""
    rows: list[int | None] = [None] * len(nodes)
    cells: list[int | None] = [None] * len(nodes)
    for node in nodes:
        parent_id = node.parent_id
        if parent_id is not None:
            if nodes[parent_id].tag == "tr":
                rows[node.node_id], cells[node.node_id] = parent_id, node.node_id
            else:
                rows[node.node_id], cells[node.node_id] = rows[parent_id], cells[parent_id]
    return rows, cells


def _row_item(sentences: list[Sentence], rows: list[int | None], cells: list[int | None]) -> _Item:
    parts = [SENTENCE_SEPARATOR.join(sentence.text for sentence in cell)
             for _, cell in groupby(sentences, key=lambda sentence: cells[sentence.node_id])]
    row_id = rows[sentences[0].node_id]
    assert row_id is not None
    return _Item(tuple(sorted({s.node_id for s in sentences})), sentences[0].sentence_id,
                 sentences[-1].sentence_id, CELL_SEPARATOR.join(parts), row_id)


def _passage(items: list[_Item]) -> Passage:
    text = items[0].text
    for before, item in pairwise(items):
        text += (SENTENCE_SEPARATOR if item.block == before.block else BLOCK_SEPARATOR) + item.text
    return Passage(tuple(sorted({node_id for item in items for node_id in item.node_ids})),
                   items[0].first_sentence_id, items[-1].last_sentence_id, text)
