"""Aligning a stream of foreign passages with the documents of a release.

What belongs here: titles to documents batch by batch, one record for each passage with its nodes and
citations or the reason why it has none, and the summary. What does not: the alignment itself (`align.py`)
and files (`foreign_passages.py`). Memory is that of a batch of passages and of a few trees; a tree is read
once for all passages of its title in a batch, and batches end between titles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pipelines.documents.citation import Address
from pipelines.documents.tree import Document
from pipelines.retrieval.align import MIN_SCORE, Aligner, Alignment
from pipelines.retrieval.foreign_passages import BadLine, ForeignPassage
from pipelines.retrieval.titles import Resolved, resolve_titles
from pipelines.storage import TableReader

BATCH_ROWS = 8_192
"""A batch closes with the first new title after this many lines, at the latest after four times as many."""
DOCUMENTS_AT_ONCE = 32

Record = dict[str, Any]
REASONS = {
    "no_such_title": "no document has the title",
    "no_redirect_target": "a redirect has the title and leads to no document",
    "no_tree": "the page has the title and no tree",
    "empty_passage": "the passage has no letter or digit",
    "below_threshold": "no place of the page is similar enough",
    "only_headings": "it stands in the page's title or headings alone",
    "ambiguous": "several documents have the title and hold the passage equally well",
}


class TreeReader(Protocol):
    """What is needed of a released corpus."""

    @property
    def reader(self) -> TableReader:
        """The tables at the release's versions."""

    def documents(self, doc_ids: Sequence[str]) -> Mapping[str, Document]:
        """Several trees in one read."""


@dataclass
class Summary:
    """Counts of a run. `unaligned`: passages by reason; `bad_lines`: lines without a passage, by reason."""

    n_passages: int = 0
    n_aligned: int = 0
    n_redirected: int = 0
    """Aligned ones whose title is a redirect."""
    unaligned: Counter[str] = field(default_factory=Counter)
    bad_lines: Counter[str] = field(default_factory=Counter)

    def count(self, record: Record) -> None:
        """Add a record."""
        if "line" in record:
            self.bad_lines[record["reason"]] += 1
            return
        self.n_passages += 1
        if record["reason"]:
            self.unaligned[record["reason"]] += 1
        else:
            self.n_aligned += 1
            self.n_redirected += record["redirected"]


def align_passages(corpus: TreeReader, rows: Iterable[ForeignPassage | BadLine], min_score: float = MIN_SCORE,
                   batch_rows: int = BATCH_ROWS) -> Iterator[Record]:
    """One record for each row, in their order.

    Of a passage: `{id, title, doc_id, node_ids, paths, citations, score, n_places, redirected, reason}`;
    node_ids, paths and citations (addresses with a range) go together, one for each piece of a node; reason
    is None or a key of REASONS, and then there are no nodes. Of a bad line: `{line, reason, sample}`.
    """
    for batch in _batches(rows, batch_rows):
        yield from _align_batch(corpus, batch, min_score)


def _batches(rows: Iterable[ForeignPassage | BadLine], batch_rows: int
             ) -> Iterator[list[ForeignPassage | BadLine]]:
    batch: list[ForeignPassage | BadLine] = []
    last_title: str | None = None
    for row in rows:
        title = row.title if isinstance(row, ForeignPassage) else last_title
        if len(batch) >= batch_rows and (title != last_title or len(batch) >= 4 * batch_rows):
            yield batch
            batch = []
        batch.append(row)
        last_title = title
    if batch:
        yield batch


def _align_batch(corpus: TreeReader, batch: Sequence[ForeignPassage | BadLine], min_score: float
                 ) -> list[Record]:
    records: dict[int, Record] = {}
    by_title: dict[str, list[tuple[int, ForeignPassage]]] = {}
    for place, row in enumerate(batch):
        if isinstance(row, BadLine):
            records[place] = {"line": row.number, "reason": row.reason, "sample": row.sample}
        else:
            by_title.setdefault(row.title, []).append((place, row))
    resolved = resolve_titles(corpus.reader, by_title)
    for titles in _in_chunks(resolved):
        documents = corpus.documents([doc_id for title in titles for doc_id in resolved[title].doc_ids])
        for title in titles:
            means = resolved[title]
            aligners = [Aligner(documents[doc_id]) for doc_id in means.doc_ids]
            after = dict.fromkeys(means.doc_ids, 0)
            for place, passage in by_title[title]:
                records[place] = _align(passage, aligners, means, after, min_score)
    return [records[place] for place in range(len(batch))]


def _in_chunks(resolved: Mapping[str, Resolved]) -> Iterator[list[str]]:
    """Titles whose documents are read together."""
    chunk: list[str] = []
    n_documents = 0
    for title, means in resolved.items():
        chunk.append(title)
        n_documents += len(means.doc_ids)
        if n_documents >= DOCUMENTS_AT_ONCE:
            yield chunk
            chunk, n_documents = [], 0
    if chunk:
        yield chunk


def _align(passage: ForeignPassage, aligners: Sequence[Aligner], means: Resolved, after: dict[str, int],
           min_score: float) -> Record:
    record: Record = {"id": passage.passage_id, "title": passage.title, "doc_id": None, "node_ids": [],
                      "paths": [], "citations": [], "score": None, "n_places": 0,
                      "redirected": means.redirected, "reason": means.reason}
    if not any(map(str.isalnum, passage.text)):
        return {**record, "reason": "empty_passage"}
    if not aligners:
        return record
    found = [(aligner.document, aligner.align(passage.text, min_score, after[aligner.document.doc_id]))
             for aligner in aligners]
    document, best = max(found, key=lambda pair: pair[1].score)
    record["score"] = round(best.score, 4)
    if not best.ranges:
        return {**record, "reason": "below_threshold"}
    if sum(other.score == best.score for _, other in found) > 1:
        return {**record, "reason": "ambiguous"}
    after[document.doc_id] = best.ranges[0][1]
    record |= {"doc_id": document.doc_id, "n_places": best.n_places}
    if not best.pieces:
        return {**record, "reason": "only_headings"}
    return {**record, **_nodes(document, best)}


def _nodes(document: Document, alignment: Alignment) -> Record:
    nodes = [(document[node_id], (begin, end)) for node_id, begin, end in alignment.pieces]
    return {
        "node_ids": [node.node_id for node, _ in nodes],
        "paths": [list(node.path) for node, _ in nodes],
        "citations": [str(Address(document.doc_id, document.revision, document.parser_version, node.path,
                                  characters)) for node, characters in nodes],
    }
