"""Corpora of any size without a build: the rows of the sample's articles, and copies of them with ids of their own.

What belongs here: tables, indexes and a release for benchmarks of the query path. Rows are made once, by the very
functions that Spark's workers run; a copy differs in doc_id and title, and in what follows from those (a unit's
text, hash and id, the root's words, lengths). Vectors are encoded once: that of a copy's passage is that of the
passage that it is a copy of. Where an article's text states the page's name, its copies state it without a number.
Each file holds what Spark's writer would put into it: some documents of one bucket, from all over it, in order of
the key. What does not: dumps (`sample_copies.py`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.sample_copies import sample_articles
from pipelines.documents.readers.dump import Page, read_site_info, sample_dump_path
from pipelines.documents.readers.wikitext import PARSER_VERSION
from pipelines.models.encoder import load_encoder
from pipelines.models.tokens import load_token_counter
from pipelines.releases import Release, publish
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder, Profile
from pipelines.storage import bucket_of, create_table, open_table
from spark_jobs.nodes import PageTask, page_address, parse_pages
from spark_jobs.sentences import split_documents
from spark_jobs.units import make_units
from training.build_index import build_indexes

if TYPE_CHECKING:
    import pyarrow as pa

QUERY_TABLES = ("documents", "tree_nodes", "sentences", "units", "embeddings")
"""What a question reads; `pages` is left out."""
FILE_DOCUMENTS = 1250
"""Documents of a file at most: Spark splits a bucket where its shuffle exceeds 64 MiB."""
ID_STRIDE = 1000
"""Between the page ids of an article and of its next copy; those of the sample are smaller."""
_DUMP = "sample"


@dataclass(frozen=True)
class Copy:
    """One document of the corpus: which article it copies, its id and title."""

    place: int
    doc_id: str
    title: str
    bucket: int


class SampleRows:
    """The rows of the sample's articles by table, in order of article; `begins` says where each one's begin."""

    def __init__(self, articles: Sequence[Page], profile: Profile) -> None:
        self.articles, self.profile = list(articles), profile
        self.site = read_site_info(sample_dump_path())
        self.counter = load_token_counter(profile.token_counter)
        self.tables = self._made()
        places = {f"{self.site.wiki}:{page.page_id}": place for place, page in enumerate(self.articles)}
        self.begins = {name: self._begins(table, places) for name, table in self.tables.items()}

    def _made(self) -> dict[str, pa.Table]:
        import pyarrow as pa
        import pyarrow.compute as pc

        pages = [{"doc_id": f"{self.site.wiki}:{page.page_id}", "bucket": 0, "source": "wikipedia",
                  "title": page.title, "redirect_to": page.redirect_to, "revision_id": page.revision_id,
                  "dump_file": _DUMP, "text": page.text,
                  "content_sha256": hashlib.sha256((page.text or "").encode()).hexdigest()}
                 for page in self.articles]
        task = PageTask({_DUMP: self.site.to_json()}, self.profile.token_counter)
        batches = [pa.RecordBatch.from_pylist([page]) for page in pages]
        staged = pa.Table.from_batches(list(parse_pages(batches, task)))
        nodes = staged.filter(pc.field("node_id").is_valid())
        texts = nodes.filter((pc.field("kind") == "content") & (pc.field("text") != ""))
        sentences = pa.Table.from_batches(list(split_documents(
            texts.to_batches(), {str(self.site.wiki): self.site.language})))
        units = pa.Table.from_batches(list(make_units(
            self._parts(nodes, sentences), self.profile.passage_words, self.profile.token_counter)))
        made = {"documents": staged.filter(pc.field("status").is_valid()), "tree_nodes": nodes,
                "sentences": sentences, "units": units}
        return {name: _as_table(name, table) for name, table in made.items()}

    @staticmethod
    def _parts(nodes: pa.Table, sentences: pa.Table) -> Iterator[pa.RecordBatch]:
        """What `refresh_units` gives its workers: of each document the nodes, then the sentences."""
        import pyarrow as pa

        by_document: dict[str, list[dict[str, Any]]] = {}
        for row in nodes.select(["doc_id", "bucket", "node_id", "parent_id", "tag", "text"]).to_pylist():
            text = row["text"] if row["node_id"] == 0 else None
            by_document.setdefault(row["doc_id"], []).append(
                {**row, "is_sentence": False, "id": row["node_id"], "text": text})
        for row in sentences.select(["doc_id", "bucket", "sentence_id", "node_id", "text"]).to_pylist():
            by_document[row["doc_id"]].append(
                {**row, "is_sentence": True, "id": row["sentence_id"], "parent_id": None, "tag": None})
        for rows in by_document.values():
            yield pa.RecordBatch.from_pylist(rows)

    def _begins(self, table: pa.Table, places: Mapping[str, int]) -> list[int]:
        numbers = np.asarray([places[doc_id] for doc_id in table.column("doc_id").to_pylist()])
        if (np.diff(numbers) < 0).any():
            raise ValueError("rows are not in order of article")
        return [int(begin) for begin in np.searchsorted(numbers, np.arange(len(self.articles) + 1))]

    def encode(self) -> None:
        """Add the table `embeddings`: a vector for each unit, by the profile's encoder."""
        import pyarrow as pa

        encoder = load_encoder(self.profile.encoder, self.profile.encoder_max_tokens, precision="auto")
        units = self.tables["units"]
        encoded = encoder.encode(units.column("text").to_pylist(), self.profile.encoder_batch_tokens)
        n, dim = encoded.vectors.shape
        vectors = pa.ListArray.from_arrays(np.arange(0, (n + 1) * dim, dim, dtype=np.int32),
                                           encoded.vectors.reshape(-1))
        columns = {name: units.column(name)
                   for name in ("unit_id", "doc_id", "bucket", "source", "rendered_sha256")}
        self.tables["embeddings"] = _as_table("embeddings", pa.table({
            **columns, "model": [self.profile.encoder] * n, "vector": vectors, "dim": np.full(n, dim, np.int32),
            "n_tokens": encoded.n_tokens, "truncated": encoded.truncated}))
        self.begins["embeddings"] = self.begins["units"]

    def copies(self, n_documents: int, n_buckets: int) -> list[Copy]:
        """The documents of a corpus of that size: the articles as they are, then copies with numbers."""
        found = []
        for number in range(n_documents):
            copy, place = divmod(number, len(self.articles))
            page = self.articles[place]
            doc_id = f"{self.site.wiki}:{copy * ID_STRIDE + page.page_id}"
            found.append(Copy(place, doc_id, page.title + _suffix(copy), bucket_of(doc_id, n_buckets)))
        return found

    def rows(self, copies: Sequence[Copy]) -> dict[str, pa.Table]:
        """The rows of these documents by table, in their order; without `embeddings` before `encode`."""
        found = {name: self._taken(name, copies) for name in self.tables}
        titles = [self.articles[copy.place].title for copy in copies]
        grown = np.asarray([len(copy.title) - len(title) for copy, title in zip(copies, titles, strict=True)])
        tokens = np.asarray([self.counter.count(copy.title[len(title):]) if copy.title != title else 0
                             for copy, title in zip(copies, titles, strict=True)])
        found["documents"] = self._documents(found["documents"], copies, tokens)
        found["tree_nodes"] = self._nodes(found["tree_nodes"], copies, grown)
        found["units"] = self._units(found["units"], copies, titles, tokens)
        if "embeddings" in found:
            for name in ("unit_id", "rendered_sha256"):
                found["embeddings"] = _replaced(found["embeddings"], name, found["units"].column(name))
        return found

    def _counts(self, name: str, copies: Sequence[Copy]) -> np.ndarray[Any, Any]:
        begins = self.begins[name]
        return np.asarray([begins[copy.place + 1] - begins[copy.place] for copy in copies])

    def _taken(self, name: str, copies: Sequence[Copy]) -> pa.Table:
        import pyarrow as pa

        begins = self.begins[name]
        rows = np.concatenate([np.arange(begins[copy.place], begins[copy.place + 1]) for copy in copies])
        table = self.tables[name].take(rows)
        counts = self._counts(name, copies)
        ids = pa.array([copy.doc_id for copy in copies]).take(pa.array(np.repeat(np.arange(len(copies)), counts)))
        table = _replaced(table, "doc_id", ids)
        return _replaced(table, "bucket", np.repeat([copy.bucket for copy in copies], counts))

    def _documents(self, table: pa.Table, copies: Sequence[Copy], tokens: np.ndarray[Any, Any]) -> pa.Table:
        table = _replaced(table, "title", [copy.title for copy in copies])
        table = _replaced(table, "uri", [page_address(self.site, copy.title, copy.doc_id) for copy in copies])
        return _replaced(table, "n_tokens", table.column("n_tokens").to_numpy() + tokens)

    def _nodes(self, table: pa.Table, copies: Sequence[Copy], grown: np.ndarray[Any, Any]) -> pa.Table:
        """The root's text is the title: with its length all other nodes move."""
        import pyarrow as pa
        import pyarrow.compute as pc

        is_root = pc.equal(table.column("node_id"), 0)
        titles = pa.array([copy.title for copy in copies])
        texts = pc.replace_with_mask(table.column("text").combine_chunks(), is_root.combine_chunks(), titles)
        shift = np.repeat(grown, self._counts("tree_nodes", copies))
        begins = table.column("begin").to_numpy() + np.where(is_root.to_numpy(), 0, shift)
        table = _replaced(_replaced(table, "text", texts), "begin", begins)
        return _replaced(table, "end", table.column("end").to_numpy() + shift)

    def _units(self, table: pa.Table, copies: Sequence[Copy], titles: Sequence[str],
               tokens: np.ndarray[Any, Any]) -> pa.Table:
        numbers = np.repeat(np.arange(len(copies)), self._counts("units", copies))
        texts, digests, unit_ids = [], [], []
        old = (table.column(name).to_pylist() for name in ("text", "unit_id", "kind"))
        for number, text, unit_id, kind in zip(numbers, *old, strict=True):
            text = copies[number].title + text[len(titles[number]):]
            digest = hashlib.sha256(text.encode()).hexdigest()
            texts.append(text)
            digests.append(digest)
            unit_ids.append(f"{copies[number].doc_id}#{kind}/{digest[:16]}/{unit_id.rpartition('/')[2]}")
        for name, values in (("text", texts), ("rendered_sha256", digests), ("unit_id", unit_ids),
                             ("n_tokens", table.column("n_tokens").to_numpy() + tokens[numbers])):
            table = _replaced(table, name, values)
        return table


def _suffix(copy: int) -> str:
    return f" ({copy})" if copy else ""


def _as_table(name: str, table: pa.Table) -> pa.Table:
    """The columns of that table of the project, in its order and with its types."""
    import pyarrow as pa

    schema = TABLES[name].arrow_schema()
    return pa.Table.from_arrays([table.column(field.name).combine_chunks().cast(field.type) for field in schema],
                                schema=schema)


def _replaced(table: pa.Table, name: str, values: Any) -> pa.Table:
    import pyarrow as pa

    place = table.schema.get_field_index(name)
    field = table.schema.field(place)
    values = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values, field.type)
    return table.set_column(place, field, values)


def write_corpus(data: DataFolder, sample: SampleRows, n_documents: int, n_buckets: int) -> Release:
    """Write tables and indexes of a corpus of that many documents, and publish it as release 1.

    `sample` must be encoded. Some 1,250 documents are in memory at a time.
    """
    from deltalake import WriterProperties, write_deltalake

    data.prepare_state()
    for name in QUERY_TABLES:
        create_table(data, name, n_buckets)
    properties = WriterProperties(compression="ZSTD")
    counts = dict.fromkeys(QUERY_TABLES, 0)
    for copies in _in_files(sample.copies(n_documents, n_buckets)):
        for name, table in sample.rows(copies).items():
            ordered = table.sort_by([("bucket", "ascending"), *((key, "ascending") for key in TABLES[name].key)])
            write_deltalake(data.table(name), ordered, mode="append", writer_properties=properties)
            counts[name] += len(table)
    return _publish(data, sample.profile, n_buckets, counts)


def _in_files(copies: Sequence[Copy]) -> Iterator[list[Copy]]:
    """The documents that are written together: one file of each of their buckets.

    The documents of a bucket are dealt out to its files in turn, so that each file has some from all over it: so
    does Spark, which splits a bucket by the tasks that its rows come from.
    """
    by_bucket: dict[int, list[Copy]] = {}
    for copy in copies:
        by_bucket.setdefault(copy.bucket, []).append(copy)
    waiting: list[Copy] = []
    for _, members in sorted(by_bucket.items()):
        n_files = math.ceil(len(members) / FILE_DOCUMENTS)
        for number in range(n_files):
            hand = members[number::n_files]
            if waiting and (n_files > 1 or len(waiting) + len(hand) > FILE_DOCUMENTS):
                yield waiting
                waiting = []
            waiting = [*waiting, *hand]
    if waiting:
        yield waiting


def _publish(data: DataFolder, profile: Profile, n_buckets: int, counts: Mapping[str, int]) -> Release:
    versions = {name: int(open_table(data, name).version()) for name in QUERY_TABLES}
    # In this process: a Ray cluster would add nothing on one machine.
    here = profile.model_copy(update={"dense_ray_above": 1 << 40})
    indexes = build_indexes(data, here, versions, 1)
    return publish(data, Release(
        number=1, created_at=datetime.now(UTC), tables=versions, n_buckets=n_buckets, encoder=profile.encoder,
        encoder_dim=load_encoder(profile.encoder).dim, parser_version=PARSER_VERSION,
        token_counter=profile.token_counter, indexes=indexes,
        router={"answer": profile.router_answer_threshold, "expand": profile.router_expand_threshold,
                "score": profile.router_score_threshold},
        counts=dict(counts), settings_sha256="0" * 64))


def sample_rows(profile: Profile) -> SampleRows:
    """The sample's rows with vectors: some minutes of encoding."""
    sample = SampleRows(sample_articles(), profile)
    sample.encode()
    return sample
