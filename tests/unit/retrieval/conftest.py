"""A data folder with real words of the sample dump, written by delta-rs: tables, indexes, one release.

The trees are simple (a section for every three paragraphs): here they are what storage and indexes carry,
not what is tested. Text comes from lines of the dump that hold no markup.
"""

from __future__ import annotations

import bz2
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pipelines import storage
from pipelines.documents.passages import make_passages
from pipelines.documents.tree import Document, Sentence, TreeBuilder
from pipelines.models.encoder import load_encoder
from pipelines.models.export import export_encoder, export_token_counter
from pipelines.models.tokens import load_token_counter
from pipelines.releases import Release, candidate, publish
from pipelines.schemas import TABLES
from pipelines.settings import ENCODER_NAME, TOKEN_COUNTER_NAME, DataFolder, Profile, profile_by_name
from training.build_index import build_indexes

N_BUCKETS = 4
CORPUS_TABLES = ("documents", "tree_nodes", "sentences", "units", "embeddings")

Rows = dict[str, list[dict[str, Any]]]


def write_table(data: DataFolder, name: str, rows: Sequence[Mapping[str, Any]], mode: str = "append") -> int:
    """Write rows as Spark would have; returns the table's version."""
    import pyarrow as pa
    from deltalake import write_deltalake

    storage.create_table(data, name, N_BUCKETS)
    full = [{**row, "bucket": storage.bucket_of(row["doc_id"], N_BUCKETS)} for row in rows]
    arrow = pa.Table.from_pylist(full, schema=TABLES[name].arrow_schema())
    write_deltalake(data.table(name), arrow, mode=mode)
    return int(storage.open_table(data, name).version())


def sample_articles(n: int) -> list[tuple[int, str, list[str]]]:
    """The first articles of the sample dump: page id, title, paragraphs without markup."""
    spec = find_spec("gensim")
    assert spec is not None
    assert spec.origin is not None
    dump = Path(spec.origin).parent / "test/test_data"
    text = bz2.decompress(next(dump.glob("enwiki-latest-pages-articles1*.bz2")).read_bytes()).decode()
    articles = []
    for page in re.findall(r"<page>.*?</page>", text, re.DOTALL):
        lines = [line for line in page.splitlines() if re.match(r"[A-Z][^<>{}\[\]|&'=]{150,800}$", line)]
        title, page_id = re.search(r"<title>(.*?)</title>.*?<id>(\d+)</id>", page, re.DOTALL).groups()
        if len(lines) >= 3 and ":" not in title:
            articles.append((int(page_id), title, lines[:9]))
        if len(articles) == n:
            break
    return articles


def article(page_id: int, title: str, paragraphs: Sequence[str]) -> tuple[Document, list[Sentence]]:
    """A tree with a section for every three paragraphs, and its sentences."""
    builder = TreeBuilder(title)
    for place, paragraph in enumerate(paragraphs):
        if place % 3 == 0:
            builder.close_to(0)
            builder.open("section", text=f"Part {place // 3 + 1}", level=2)
        builder.add("p", text=paragraph, attrs={"place": str(place)})
    document = Document(f"enwiki:{page_id}", builder.finish(), uri=f"https://en.wikipedia.org/wiki/{title}",
                        language="en", revision="1", parser_version=1)
    found: list[Sentence] = []
    for node in document:
        if node.tag == "p":
            for match in re.finditer(r"\S.*?(?:\.(?=\s|$)|$)", node.text):
                found.append(Sentence(len(found), node.node_id, match.start(), match.end(), match[0]))
    return document, found


def corpus_rows(articles: Sequence[tuple[int, str, list[str]]]) -> Rows:
    """Rows of the five corpus tables."""
    counter, encoder = load_token_counter(TOKEN_COUNTER_NAME), load_encoder(ENCODER_NAME)
    rows: Rows = {name: [] for name in CORPUS_TABLES}
    for page_id, title, paragraphs in articles:
        document, sentences = article(page_id, title, paragraphs)
        doc_id = document.doc_id
        rows["documents"].append({
            "doc_id": doc_id, "source": "wikipedia", "title": title, "uri": document.uri, "language": "en",
            "revision": "1", "content_sha256": hashlib.sha256("".join(paragraphs).encode()).hexdigest(),
            "parser_version": 1, "n_nodes": len(document), "n_sentences": len(sentences),
            "n_tokens": counter.count(document.visible_text()), "depth": 2, "status": "parsed",
            "reason": None, "counts": {"lines": len(paragraphs)}})
        rows["tree_nodes"] += [{**node._asdict(), "doc_id": doc_id, "spans": []} for node in document]
        rows["sentences"] += [
            {**sentence._asdict(), "doc_id": doc_id, "path": document[sentence.node_id].path}
            for sentence in sentences]
        occurrences: dict[str, int] = {}
        for passage in make_passages(document.nodes, sentences, 60):
            text = f"{title}\n{passage.text}"
            digest = hashlib.sha256(text.encode()).hexdigest()
            occurrence = occurrences.setdefault(digest, 0)
            occurrences[digest] += 1
            rows["units"].append({
                "unit_id": f"{doc_id}#passage/{digest[:16]}/{occurrence}", "doc_id": doc_id,
                "source": "wikipedia", "kind": "passage", "node_ids": list(passage.node_ids),
                "first_sentence_id": passage.first_sentence_id, "last_sentence_id": passage.last_sentence_id,
                "text": text, "n_tokens": counter.count(text), "rendered_sha256": digest})
    encoded = encoder.encode([unit["text"] for unit in rows["units"]])
    rows["embeddings"] = [
        {"unit_id": unit["unit_id"], "model": ENCODER_NAME, "doc_id": unit["doc_id"], "source": "wikipedia",
         "vector": vector.tolist(), "dim": encoder.dim, "n_tokens": int(n_tokens),
         "truncated": bool(truncated), "rendered_sha256": unit["rendered_sha256"]}
        for unit, vector, n_tokens, truncated
        in zip(rows["units"], encoded.vectors, encoded.n_tokens, encoded.truncated, strict=True)]
    return rows


def publish_release(data: DataFolder, versions: dict[str, int], profile: Profile) -> Release:
    """Build the indexes over the versions and publish them."""
    release = candidate(
        data, tables=versions, n_buckets=N_BUCKETS, encoder=ENCODER_NAME, encoder_dim=384, parser_version=1,
        token_counter=TOKEN_COUNTER_NAME, router={"answer": 0.3, "expand": 0.4}, settings_sha256="0" * 64,
        counts={"units": 1})
    indexes = build_indexes(data, profile, versions, release.number)
    return publish(data, release.model_copy(update={"indexes": indexes}))


@pytest.fixture(scope="session")
def sample_rows() -> Rows:
    export_encoder(ENCODER_NAME)
    export_token_counter(TOKEN_COUNTER_NAME)
    return corpus_rows(sample_articles(12))


@pytest.fixture(scope="session")
def build_data(sample_rows: Rows) -> Callable[[Path | str], tuple[DataFolder, Release]]:
    """A function that builds the sample corpus, with one release, in a folder."""

    def build(root: Path | str) -> tuple[DataFolder, Release]:
        data = DataFolder.at(root)
        versions = {name: write_table(data, name, sample_rows[name]) for name in CORPUS_TABLES}
        return data, publish_release(data, versions, profile_by_name("fast"))

    return build


@pytest.fixture(scope="session")
def shared_data(build_data: Callable[[Path | str], tuple[DataFolder, Release]],
                tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """A built folder that tests only read."""
    return build_data(tmp_path_factory.mktemp("corpus") / "data")[0]
