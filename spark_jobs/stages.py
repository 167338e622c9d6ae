"""Watermarks: what a stage's table was last derived from, so that a rebuild does only what is due.

What belongs here: `<data>/stages/<table>.json`, the comparison with the tables as they are, and the
documents that changed since. What does not: writing rows (`tables.py`). A watermark is written after the
commit that it describes; losing one only costs a recomputation, because writes compare rows first.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from pipelines import files
from pipelines.errors import RunFailure
from pipelines.settings import DataFolder, Profile
from pipelines.stage_settings import stage_settings
from pipelines.storage import TableReader
from spark_jobs.tables import RowChanges, StageResult, table_version


class OnDemand(Protocol):
    """Has a session that starts when it is first used: a stage that is up to date starts no JVM."""

    @property
    def session(self) -> SparkSession: ...


Session = SparkSession | OnDemand
"""What a stage takes: a session, or what starts it."""


def session_of(source: Session) -> SparkSession:
    """The session, started now if it was not."""
    return source if isinstance(source, SparkSession) else source.session


@dataclass(frozen=True)
class Stage:
    """One table, the versions that it is derived from now, and what its rows depend on beside them.

    Made at the start of a stage; `upstream` is what the stage reads, so that a commit that comes later is
    seen by the next run. Raises RunFailure when an upstream table does not exist.
    """

    data: DataFolder
    table: str
    upstream: Mapping[str, int]
    settings: Mapping[str, Any]
    began: float

    @classmethod
    def start(cls, data: DataFolder, table: str, upstream: tuple[str, ...],
              profile: Profile) -> Stage:
        """The stage as it begins now."""
        versions = {}
        for name in upstream:
            version = table_version(data, name)
            if version is None:
                raise RunFailure(f"table {table}", f"no table {data.table(name)}", "the table it is made of",
                                 "Run the whole build: espalier build --data DIR --wikipedia FILE.")
            versions[name] = version
        return cls(data, table, versions, stage_settings(table, profile), time.perf_counter())

    @property
    def _path(self) -> str:
        return f"{self.data.stages}/{self.table}.json"

    def watermark(self) -> dict[str, Any] | None:
        """What the table was last derived from; None when unknown, or when its settings were others."""
        try:
            stored = files.read_json(self._path)
        except (FileNotFoundError, ValueError):
            return None
        version = table_version(self.data, self.table)
        # A table that was removed, or restored to an older state, has nothing to do with the file.
        if not isinstance(stored, dict) or version is None or version < stored.get("version", 0):
            return None
        return stored if stored.get("settings") == self.settings else None

    def idle(self, **fields: Any) -> StageResult:
        """The result of a stage that did nothing."""
        version = table_version(self.data, self.table)
        return StageResult(self.table, version=version or 0, seconds=self.seconds, **fields)

    def unchanged(self) -> StageResult | None:
        """The result of a stage that has nothing to do; None when it has."""
        stored = self.watermark()
        if stored is None or stored["upstream"] != dict(self.upstream):
            return None
        # Rows that somebody else wrote are compared again.
        return self.idle() if table_version(self.data, self.table) == stored["version"] else None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def finish(self, changes: RowChanges, **fields: Any) -> StageResult:
        """Write the watermark and return the result; `fields` are further fields of StageResult."""
        version = table_version(self.data, self.table)
        assert version is not None
        files.write_json(self._path, {"upstream": dict(self.upstream), "version": version,
                                      "settings": dict(self.settings)})
        result = StageResult(self.table, n_inserted=changes.n_inserted, n_updated=changes.n_updated,
                             n_deleted=changes.n_deleted, version=version, changed=bool(changes),
                             seconds=self.seconds)
        return replace(result, **fields)

    @contextmanager
    def due_documents(self, spark: SparkSession) -> Iterator[Due]:
        """The documents with a changed row in an upstream table, from Spark's change feed.

        All are due when there is no watermark, and when the feed no longer reaches back that far.
        """
        changed = self._changed_documents(spark)
        if changed is None:
            yield Due(None, TableReader(self.data).row_count("documents", "n_nodes > 0"))
            return
        try:
            yield Due(changed, changed.count())
        finally:
            changed.unpersist()

    def _changed_documents(self, spark: SparkSession) -> DataFrame | None:
        stored = self.watermark()
        if stored is None or set(stored["upstream"]) != set(self.upstream):
            return None
        feeds = []
        for name, version in self.upstream.items():
            since = stored["upstream"][name]
            if since > version:
                return None
            if since < version:
                feed = (spark.read.format("delta").option("readChangeFeed", "true")
                        .option("startingVersion", since + 1).option("endingVersion", version)
                        .load(self.data.table(name)))
                feeds.append(feed.select("doc_id", "bucket"))
        if not feeds:
            # The table itself was changed by somebody else: compare all of it.
            return None
        changed = functools.reduce(DataFrame.union, feeds).distinct().persist()
        try:
            changed.count()
        except (PySparkException, Py4JJavaError):
            # Clean-up removed the files of the feed: the comparison of all rows finds the same changes.
            changed.unpersist()
            return None
        return changed


class Due(NamedTuple):
    """The documents that a stage works on: doc_id and bucket, None for all; and how many they are."""

    documents: DataFrame | None
    n_documents: int
