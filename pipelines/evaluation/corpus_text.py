"""What the evaluation reads of a release: trees by id, and ids by title for gold evidence.

What belongs here: a bounded cache of trees that looks like a mapping, and the look-up of titles. What does
not: searching text (`gold.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from pipelines.documents.tree import Document
from pipelines.evaluation.datasets import Question
from pipelines.evaluation.normalise import normalise_title
from pipelines.releases import Release
from pipelines.settings import DataFolder

KEPT_DOCUMENTS = 2_000
_READ_AT_ONCE = 200


class DocumentReader(Protocol):
    """The part of a corpus that reads trees."""

    def documents(self, doc_ids: Sequence[str]) -> Mapping[str, Document]:
        """Several trees in one read. Raises KeyError for an id without a tree."""


class DocumentCache(Mapping[str, Document]):
    """Trees by doc_id, read when they are needed; the last used ones are kept."""

    def __init__(self, reader: DocumentReader, limit: int = KEPT_DOCUMENTS) -> None:
        self._reader, self._limit = reader, limit
        self._kept: dict[str, Document] = {}

    def load(self, doc_ids: Iterable[str]) -> None:
        """Read many trees in few reads, as far as the cache holds them."""
        missing = [doc_id for doc_id in dict.fromkeys(doc_ids) if doc_id not in self._kept][:self._limit]
        for begin in range(0, len(missing), _READ_AT_ONCE):
            for doc_id, document in self._reader.documents(missing[begin: begin + _READ_AT_ONCE]).items():
                self._keep(doc_id, document)

    def __getitem__(self, doc_id: str) -> Document:
        document = self._kept.pop(doc_id, None)
        if document is None:
            document = self._reader.documents([doc_id])[doc_id]
        self._keep(doc_id, document)
        return document

    def _keep(self, doc_id: str, document: Document) -> None:
        self._kept[doc_id] = document
        if len(self._kept) > self._limit:
            del self._kept[next(iter(self._kept))]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


def ids_by_title(data: DataFolder, release: Release,
                 questions: Iterable[Question]) -> dict[str, list[str]]:
    """doc_ids of the parsed documents with the titles of the gold evidence, by normalised title."""
    from pipelines.storage import TableReader, sql_in

    wanted = {title for question in questions for gold in question.evidence
              for title in (gold.title, normalise_title(gold.title))}
    reader = TableReader(data, release.tables)
    rows = reader.rows("documents", ("doc_id", "title", "n_nodes"), sql_in("title", sorted(wanted)),
                       order_by=("doc_id",))
    found: dict[str, list[str]] = {}
    for row in rows:
        if row["n_nodes"] > 0:
            found.setdefault(normalise_title(row["title"]), []).append(row["doc_id"])
    return found
