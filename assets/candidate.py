"""The candidate: what the next release would pin, and whether it would differ from the served one.

What belongs here: gathering table versions and settings into a `Release`. What does not: building indexes
(`indexes.py`), publishing (`release.py`), the rules of releases (`pipelines/releases.py`).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from pipelines.deletion_vectors import live_rows
from pipelines.documents.readers.wikitext import PARSER_VERSION
from pipelines.releases import Release, candidate, usable_release
from pipelines.schemas import RELEASED_TABLES
from pipelines.settings import DataFolder, Profile
from pipelines.storage import TableReader, open_table, sql_text

RELEASE_SETTINGS = ("namespaces", "passage_words", "encoder", "encoder_max_tokens", "token_counter",
                    "dense_flat_below", "router_answer_threshold", "router_expand_threshold",
                    "router_score_threshold")
"""The settings that decide what a reader of a release gets. Others change speed alone."""


@dataclass(frozen=True)
class Candidate:
    """The next release, without its indexes, and the served one.

    is_due: whether anything but the number would differ. The indexes are those of the served release as
    long as `reuses_indexes`: what they are built over is the same.
    """

    release: Release
    served: Release | None

    @property
    def is_due(self) -> bool:
        return self.served is None or not self.release.is_same_corpus(self.served)

    @property
    def reuses_indexes(self) -> bool:
        return self.served is not None and _indexed(self.release) == _indexed(self.served)


def index_formats() -> dict[str, int]:
    """Formats of the indexes: a new one makes a release due, since the old indexes cannot be opened."""
    from pipelines.retrieval.dense_build import DENSE_FORMAT
    from pipelines.retrieval.sparse import SPARSE_FORMAT

    return {"dense_format": DENSE_FORMAT, "sparse_format": SPARSE_FORMAT}


def _indexed(release: Release) -> tuple[Any, ...]:
    """What indexes are built over: units with the titles of their documents, vectors, settings."""
    return (*(release.tables[name] for name in ("documents", "units", "embeddings")),
            release.encoder, release.settings_sha256)


def next_candidate(data: DataFolder, profile: Profile) -> Candidate:
    """The candidate over the newest versions of all tables of the corpus.

    Raises RunFailure when a table is missing or damaged.
    """
    reader = TableReader(data)
    release = candidate(
        data,
        tables={name: reader.version(name) for name in RELEASED_TABLES},
        n_buckets=reader.n_buckets("pages") or profile.n_buckets,
        encoder=profile.encoder, encoder_dim=_dimension(reader, profile.encoder),
        parser_version=PARSER_VERSION, token_counter=profile.token_counter,
        router={"answer": profile.router_answer_threshold, "expand": profile.router_expand_threshold,
                "score": profile.router_score_threshold},
        settings_sha256=settings_sha256(profile),
        counts={name: rows_in_log(data, name) for name in RELEASED_TABLES})
    # A served release whose file or index is damaged counts as none: the build publishes a whole one.
    return Candidate(release, usable_release(data))


def rows_in_log(data: DataFolder, name: str, version: int | None = None) -> int:
    """Rows of a table by the statistics in its log, without reading a data file."""
    return live_rows(open_table(data, name, version), data.table(name))


def settings_sha256(profile: Profile) -> str:
    """Digest of the settings that a release depends on."""
    chosen = profile.model_dump(mode="json", include=set(RELEASE_SETTINGS)) | index_formats()
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()


def _dimension(reader: TableReader, encoder: str) -> int:
    """The dimension of the encoder's vectors, from the first that is stored; 1 when there is none."""
    for batch in reader.batches("embeddings", ["dim"], f"model = {sql_text(encoder)}"):
        for dim in batch.column("dim").to_pylist():
            return int(dim)
    return 1
