"""The corpus of one release, as methods read it: searches, trees, sentences, by id, without Spark.

What belongs here: `ReleasedCorpus`, the implementation of `methods/base.py:RetrievalCorpus` over Delta at
pinned versions and the release's indexes. What does not: what a method makes of it. All is opened when it
is first used, and everything is read by bucket: opening costs one small file, and a question reads the few
documents that it needs, whatever the corpus's size.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pipelines.documents.tree import Document, Node, Sentence, Span, TreeError
from pipelines.errors import RunFailure, UserError, argument
from pipelines.methods.base import Filters, Hit
from pipelines.models.encoder import Encoder, load_encoder
from pipelines.models.tokens import TokenCounter, load_token_counter
from pipelines.releases import Release, current_release, kept_release
from pipelines.retrieval.dense_build import DENSE_FORMAT
from pipelines.retrieval.index_files import Manifest, opened
from pipelines.retrieval.sparse import SPARSE_FORMAT, Match, SparseIndex
from pipelines.retrieval.terms import terms
from pipelines.retrieval.titles import Resolved, resolve_titles
from pipelines.schemas import SOURCES
from pipelines.settings import DataFolder
from pipelines.storage import TableReader

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pipelines.retrieval.dense import DenseIndex

KEPT_DOCUMENTS = 64
KEPT_UNITS = 4096
KEPT_TITLES = 1024
KEPT_VECTORS = 64

Value = TypeVar("Value")

_UNIT_COLUMNS = ("unit_id", "doc_id", "node_ids", "text", "first_sentence_id", "last_sentence_id")
_NODE_COLUMNS = ("doc_id", "node_id", "end_id", "path", "parent_id", "kind", "tag", "level", "text", "spans",
                 "heading_path", "attrs", "source_ref", "begin", "end")
_DOCUMENT_COLUMNS = ("doc_id", "source", "uri", "language", "revision", "parser_version")
_SENTENCE_COLUMNS = ("doc_id", "sentence_id", "node_id", "begin", "end", "text")


class ReleasedCorpus:
    """One release, opened. Instances may be shared between threads."""

    def __init__(self, data: DataFolder, release: Release) -> None:
        self.data, self.release = data, release
        self.reader = TableReader(data, release.tables)
        self._documents: _Recent[Document] = _Recent(KEPT_DOCUMENTS)
        self._sentences: _Recent[list[Sentence]] = _Recent(KEPT_DOCUMENTS)
        self._hits: _Recent[Hit] = _Recent(KEPT_UNITS)
        self._titled: _Recent[Resolved] = _Recent(KEPT_TITLES)
        self._vectors: _Recent[NDArray[np.float32]] = _Recent(KEPT_VECTORS)

    def __repr__(self) -> str:
        return f"<ReleasedCorpus {self.data.root}, release {self.release.number}>"

    @classmethod
    def open(cls, data: DataFolder | str, release: int | None = None) -> ReleasedCorpus:
        """Open a release of a data folder, the served one without a number.

        Raises UserError when there is no such release or clean-up has removed its files, RunFailure when its
        file is damaged. What is missing or damaged of its tables and indexes is met when it is first read,
        as RunFailure.
        """
        folder = data if isinstance(data, DataFolder) else DataFolder.at(data)
        return cls(folder, current_release(folder) if release is None else kept_release(folder, release))

    # --- search

    @cached_property
    def encoder(self) -> Encoder:
        """The release's encoder. Raises RunFailure when it is not exported or gives other dimensions."""
        encoder = load_encoder(self.release.encoder)
        if encoder.dim != self.release.encoder_dim:
            raise RunFailure(f"encoder {encoder.name}", f"vectors of {encoder.dim} dimensions",
                             f"{self.release.encoder_dim}, as release {self.release.number} has",
                             "Build again, or serve a release made with this encoder.")
        return encoder

    @cached_property
    def _dense(self) -> DenseIndex:
        from pipelines.retrieval.dense import DenseIndex

        return DenseIndex(*self._opened("dense", DENSE_FORMAT))

    @cached_property
    def _sparse(self) -> SparseIndex:
        return SparseIndex(self._opened("sparse", SPARSE_FORMAT)[0])

    def _opened(self, name: str, index_format: int) -> tuple[Path, Manifest]:
        step = f"Run `espalier build --data {self.data.root}`."
        if name not in self.release.indexes:
            raise RunFailure(f"release {self.release.number}", f"no {name} index", "one over its units", step)
        folder, manifest = opened(self.data, self.release.indexes[name])
        if manifest.get("format") != index_format:
            raise RunFailure(f"index {folder}", f"format {manifest.get('format')}",
                             f"format {index_format}, which this version of the project reads", step)
        return folder, manifest

    def search_dense(self, question: str, k: int, filters: Filters = Filters()) -> list[Hit]:  # noqa: B008
        """The k units nearest to the question by cosine, best first; ties by unit_id.

        Raises UserError for a source that does not exist.
        """
        return self._read_hits(self._dense.search(self._vector(question), k, **self._restriction(filters)))

    def _vector(self, question: str) -> NDArray[np.float32]:
        return self._vectors.get_many([question], self._encode)[question]

    def _encode(self, questions: list[str]) -> dict[str, NDArray[np.float32]]:
        return dict(zip(questions, self.encoder.encode(questions).vectors, strict=True))

    def search_sparse(self, question: str, k: int, filters: Filters = Filters()) -> list[Hit]:  # noqa: B008
        """The k best units by BM25, best first; ties by unit_id. Raises UserError as `search_dense`."""
        return self._read_hits(self._sparse.search(question, k, **self._restriction(filters)))

    def cosines(self, question: str, hits: Sequence[Hit]) -> dict[str, float]:
        """The cosine of the question with each of these units, by unit_id."""
        if not hits:
            return {}
        matches = self._dense.search(self._vector(question), self._dense.n_vectors,
                                     doc_ids={hit.doc_id for hit in hits})
        cosines = {match.unit_id: match.score for match in matches}
        return {hit.unit_id: cosines[hit.unit_id] for hit in hits if hit.unit_id in cosines}

    def _restriction(self, filters: Filters) -> dict[str, Any]:
        if filters.source is not None and filters.source not in SOURCES:
            raise UserError(f"source {filters.source!r}", "no such kind of corpus",
                            f"one of {', '.join(SOURCES)}", f"Correct {argument('source')} or leave it out.")
        doc_ids = list(filters.doc_ids) or None
        if filters.titles:
            titled = self.doc_ids(filters.titles)
            doc_ids = titled if doc_ids is None else sorted(set(titled) & set(doc_ids))
        return {"source": filters.source, "doc_ids": doc_ids}

    def doc_ids(self, titles: Iterable[str]) -> list[str]:
        """Documents with a tree that these titles mean, redirects followed, by doc_id (`titles.py`).

        The one read of a question that no bucket bounds: titles are looked for in all rows of `documents`.
        """
        found = self._titled.get_many(sorted(set(titles)), self._load_titles)
        return sorted({doc_id for means in found.values() for doc_id in means.doc_ids})

    def why_no_document(self, title: str) -> str | None:
        """The reason (`titles.py`) why a title means no document with a tree; None where it means one."""
        return self._titled.get_many([title], self._load_titles)[title].reason

    def _load_titles(self, titles: list[str]) -> dict[str, Resolved]:
        return resolve_titles(self.reader, titles)

    def unknown_words(self, question: str) -> list[str]:
        """The terms of a question that no unit has in any spelling, each once."""
        return [term for term in dict.fromkeys(terms(question)) if not self._sparse.knows(term)]

    def _read_hits(self, matches: Sequence[Match]) -> list[Hit]:
        """Add nodes and text to what an index found. Raises RunFailure when the table lacks a unit."""
        units = self._hits.get_many([match.unit_id for match in matches], self._load_units)
        missing = [match.unit_id for match in matches if match.unit_id not in units]
        if missing:
            raise RunFailure(f"release {self.release.number}",
                             f"its indexes know {missing[0]}, its table units does not",
                             "indexes built from the pinned tables",
                             f"Run `espalier build --data {self.data.root}`, or serve another release.")
        return [replace(units[match.unit_id], score=match.score) for match in matches]

    def _load_units(self, unit_ids: list[str]) -> dict[str, Hit]:
        return {row["unit_id"]: Hit(row["unit_id"], row["doc_id"], tuple(row["node_ids"]), 0.0, row["text"],
                                    row["first_sentence_id"], row["last_sentence_id"])
                for row in self.reader.rows_of_units("units", _UNIT_COLUMNS, unit_ids)}

    def inverse_document_frequency(self, term: str) -> float:
        """ln(1 + (N - n + 0.5) / (n + 0.5)) over the units, as in BM25; `term` as `terms()` makes it."""
        return self._sparse.inverse_document_frequency(term)

    # --- documents

    def document(self, doc_id: str) -> Document:
        """The tree of a document. Raises KeyError when the release has no tree for it."""
        return self.documents([doc_id])[doc_id]

    def documents(self, doc_ids: Sequence[str]) -> dict[str, Document]:
        """Several trees in one read. Raises KeyError naming those that the release does not have."""
        found = self._documents.get_many(doc_ids, self._load_documents)
        if missing := [doc_id for doc_id in doc_ids if doc_id not in found]:
            raise KeyError(f"release {self.release.number} has no tree for {', '.join(missing)}")
        return found

    def _load_documents(self, doc_ids: list[str]) -> dict[str, Document]:
        about = {row["doc_id"]: row
                 for row in self.reader.rows_of_documents("documents", _DOCUMENT_COLUMNS, doc_ids)}
        nodes: dict[str, list[Node]] = {doc_id: [] for doc_id in about}
        rows = self.reader.rows_of_documents("tree_nodes", _NODE_COLUMNS, about, ("doc_id", "node_id"))
        for row in rows:
            nodes[row.pop("doc_id")].append(_node(row))
        try:
            return {doc_id: Document(doc_id, nodes[doc_id], source=row["source"], uri=row["uri"],
                                     language=row["language"], revision=row["revision"],
                                     parser_version=row["parser_version"])
                    for doc_id, row in about.items() if nodes[doc_id]}
        except TreeError as error:
            raise RunFailure(f"release {self.release.number}", f"a tree contradicts itself ({error})",
                             "trees as the reader made them",
                             f"Serve another release, or build {self.data.root} again.") from error

    def sentences(self, doc_id: str) -> Sequence[Sentence]:
        """The sentences of a document, by sentence_id; none when it has none or does not exist."""
        return self.sentences_of([doc_id])[doc_id]

    def sentences_of(self, doc_ids: Sequence[str]) -> dict[str, Sequence[Sentence]]:
        """The sentences of several documents in one read."""
        return dict(self._sentences.get_many(doc_ids, self._load_sentences))

    def _load_sentences(self, doc_ids: list[str]) -> dict[str, list[Sentence]]:
        found: dict[str, list[Sentence]] = {doc_id: [] for doc_id in doc_ids}
        for row in self.reader.rows_of_documents("sentences", _SENTENCE_COLUMNS, doc_ids,
                                                 ("doc_id", "sentence_id")):
            found[row.pop("doc_id")].append(Sentence(**row))
        return found

    # --- settings of the release

    @cached_property
    def token_counter(self) -> TokenCounter:
        """The release's token counter. Raises RunFailure when it is not exported."""
        return load_token_counter(self.release.token_counter)

    def count_tokens(self, text: str) -> int:
        """Length of a text by the release's token counter."""
        return self.token_counter.count(text)

    def router_thresholds(self) -> Mapping[str, float]:
        """Thresholds of the similarity router that the release stores: `answer` and `expand`."""
        return self.release.router


def _node(row: dict[str, Any]) -> Node:
    row["path"] = tuple(row["path"])
    row["heading_path"] = tuple(row["heading_path"])
    row["spans"] = tuple(Span(**span) for span in row["spans"])
    return Node(**row)


class _Recent(Generic[Value]):
    """The values that were used last, by id, so that one question reads each only once."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get_many(self, ids: Sequence[str], load: Callable[[list[str]], dict[str, Value]]) -> dict[str, Value]:
        """The values of the ids that exist; `load` is asked once for those that are not here."""
        with self._lock:
            found = {}
            for name in ids:
                if name in self._values:
                    self._values.move_to_end(name)
                    found[name] = self._values[name]
        missing = [name for name in dict.fromkeys(ids) if name not in found]
        if missing:
            loaded = load(missing)
            found.update(loaded)
            with self._lock:
                self._values.update(loaded)
                while len(self._values) > self._size:
                    self._values.popitem(last=False)
        return found
