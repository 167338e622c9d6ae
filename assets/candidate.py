"""The candidate: what the next release would pin, and whether it would differ from the served one.

What belongs here: gathering table versions and settings into a `Release`. What does not: building indexes
(`indexes.py`), publishing (`release.py`), the rules of releases (`pipelines/releases.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.deletion_vectors import live_rows
from pipelines.documents.readers.wikitext import PARSER_VERSION
from pipelines.release_settings import router_thresholds, settings_sha256
from pipelines.releases import Release, candidate, usable_release
from pipelines.schemas import RELEASED_TABLES
from pipelines.settings import DataFolder, Profile
from pipelines.storage import TableReader, open_table, sql_text


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
        router=router_thresholds(profile), settings_sha256=settings_sha256(profile),
        counts={name: rows_in_log(data, name) for name in RELEASED_TABLES})
    # A served release whose file or index is damaged counts as none: the build publishes a whole one.
    return Candidate(release, usable_release(data))


def rows_in_log(data: DataFolder, name: str, version: int | None = None) -> int:
    """Rows of a table by the statistics in its log, without reading a data file."""
    return live_rows(open_table(data, name, version), data.table(name))


def _dimension(reader: TableReader, encoder: str) -> int:
    """The dimension of the encoder's vectors, from the first that is stored; 1 when there is none."""
    for batch in reader.batches("embeddings", ["dim"], f"model = {sql_text(encoder)}"):
        for dim in batch.column("dim").to_pylist():
            return int(dim)
    return 1
