"""Dump files → the tables `pages` and `dump_files`.

What belongs here: which files are new, which of a page's revisions wins, what is deleted by a full snapshot,
and that a damaged file leaves no page behind. What does not: reading dumps (`dumps.py`). All files of a call
are one Spark job. Its rows are staged on Spark's disks first, for only the end of a file says whether it is
whole. `pages` is committed before `dump_files`: a kill in between only makes the next run read again.
"""

from __future__ import annotations

import functools
import itertools
import json
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines import storage
from pipelines.documents.readers.dump import DumpError
from pipelines.documents.readers.dump_end import missing_end
from pipelines.documents.readers.page_xml import is_systematic
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.dump_files import DumpFile, refusals, register_dump_files
from pipelines.errors import EspalierError
from pipelines.schemas import DUMP_FILES, PAGES
from pipelines.settings import DataFolder, Profile
from pipelines.storage import TableReader, table_exists
from spark_jobs.dumps import STAGED_DDL, Split, find_borders, read_splits, splits_at, wiki_of
from spark_jobs.known_pages import KnownPages, read_known_pages
from spark_jobs.revisions import OLDER, change, rank
from spark_jobs.stages import Session, Stage, session_of
from spark_jobs.submit import parser, run
from spark_jobs.tables import (
    CHANGE,
    Reject,
    RowChanges,
    StageResult,
    append_rejects,
    append_rows,
    differences,
    ensure_table,
    is_empty,
    n_buckets,
    read_table,
    rows_of_last_commit,
    write_differences,
)

log = logging.getLogger(__name__)

_PLACE = ["doc_id", "bucket", "split", "position"]
"""A page's keys, and where in the files it stands."""


@dataclass(frozen=True)
class FileOutcome:
    """What became of one dump file. status: read, salvaged, known (read by an earlier run) or failed."""

    key: str
    path: str
    size_bytes: int
    sha256: str
    status: str
    wiki: str | None = None
    n_pages: int = 0
    error: EspalierError | None = None


@dataclass(frozen=True)
class IngestResult:
    """The files of a call, in its order, and what happened to `pages`."""

    stage: StageResult
    files: tuple[FileOutcome, ...] = ()

    @property
    def failures(self) -> dict[str, str]:
        """Path → error text of the files that could not be read."""
        return {file.path: str(file.error) for file in self.files if file.error}


@dataclass
class _Reading:
    """Pending files on their way: how each is split, and what came of it."""

    splits: list[Split] = field(default_factory=list)
    infos: dict[str, SiteInfo] = field(default_factory=dict)
    cuts: dict[str, DumpError] = field(default_factory=dict)
    """Faults of files that salvage takes a part of."""
    errors: dict[str, EspalierError] = field(default_factory=dict)
    taken: list[int] = field(default_factory=list)
    """Numbers of the splits whose pages count."""
    n_pages: dict[str, int] = field(default_factory=dict)
    """Pages of each file that was read; its keys are the good files."""
    rejects: list[Reject] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    """Good files whose checksums are not of their texts: these are taken as they are."""
    n_nameless: int = 0
    """Pages that are not taken and whose id cannot be read: any page of the wiki may be one of them."""
    n_indexes: int = 0
    """Files whose stream index told where to split them."""
    index_faults: list[str] = field(default_factory=list)
    """Why the index of a file was not believed; its streams were searched for then."""


def ingest_dump_files(spark: Session, data: DataFolder, profile: Profile,
                      files: Iterable[str | os.PathLike[str]], *, wiki: str | None = None,
                      full_snapshot: bool = False, salvage: bool = False) -> IngestResult:
    """Read dump files that were not read before into `pages`; of each page the newest revision stays.

    wiki: database name, where the dumps do not say it. full_snapshot: these files are the whole wiki, so
    that pages of the asked namespaces that are in none of them are deleted, if every file was read to its
    end. salvage: take the whole pages before the cut of a damaged file.

    A file that cannot be read commits nothing and is in `IngestResult.failures`. With no new file and no
    snapshot nothing is done and no session is started. Raises UserError for a path that cannot be opened,
    RunFailure for what a table or another writer does.
    """
    given = register_dump_files(data, [os.fspath(path) for path in files])
    stage = Stage.start(data, "pages", (), profile)
    known = _known(data, given, wiki)
    pending = [file for file in given if file.key not in known]
    if not pending and not full_snapshot:
        return IngestResult(stage.idle(), _outcomes(given, known, _Reading()))
    reading = _open(pending, wiki, salvage)
    if not reading.infos and not full_snapshot:
        storage.append_rejects(data, refusals(reading.errors))
        return IngestResult(stage.idle(), _outcomes(given, known, reading))
    session = session_of(spark)
    for table in ("pages", "dump_files"):
        ensure_table(session, data, table, profile)
    wanted = [file for file in pending if file.key in reading.infos]
    known_pages = read_known_pages(data, (str(info.wiki) for info in reading.infos.values()),
                                   sum(file.size_bytes for file in wanted))
    staged = _stage(session, wanted, reading, n_buckets(data, profile), profile, known_pages)
    # All but the texts, kept in the same pass: what is counted and compared must not read these again.
    light = staged.drop("text").persist()
    try:
        _judge(light, reading, salvage)
        snapshot = _snapshot(session, data, given, known, reading, light) if full_snapshot else None
        newest, repeated = _newest(light, reading)
        # Texts are joined only where they must be: most dumps hold every page once.
        pages = _good(staged, reading)
        pages = pages.join(newest.select(*_PLACE), _PLACE, "left_semi") if repeated else pages
        changes, n_older = _write_pages(session, data, pages, newest, snapshot, profile)
        if reading.n_pages:
            _write_dump_files(session, data, light, reading, {file.key: file for file in pending})
    finally:
        light.unpersist()
        staged.unpersist()
    n_rejects = append_rejects(session, data, profile, reading.rejects)
    if reading.errors:
        n_rejects += storage.append_rejects(data, refusals(reading.errors)).n_inserted
    n_pages = sum(reading.n_pages.values())
    details = {"files_read": len(reading.n_pages), "files_known": len(known),
               "files_failed": len(reading.errors), "rejects": n_rejects,
               "older_revisions": n_older, "files_unverified": len(reading.unverified),
               **{f"rejected_{reason}": n for reason, n in Counter(r.reason for r in reading.rejects).items()},
               "stream_indexes_used": reading.n_indexes, "stream_indexes_refused": len(reading.index_faults),
               "size_bytes": sum(file.size_bytes for file in pending if file.key in reading.n_pages)}
    result = stage.finish(changes, n_read=n_pages, n_processed=n_pages, details=details)
    return IngestResult(result, _outcomes(given, known, reading))


def _known(data: DataFolder, given: list[DumpFile], wiki: str | None) -> dict[str, dict[str, Any]]:
    """Key → row of `dump_files` for the files whose bytes were read before, under whatever name."""
    if not table_exists(data, "dump_files"):
        return {}
    rows = TableReader(data).rows("dump_files", ("dump_file", "sha256", "wiki", "complete", "n_pages"))
    by_hash = {row["sha256"]: row for row in rows if wiki is None or row["wiki"] == wiki}
    return {file.key: by_hash[file.sha256] for file in given if file.sha256 in by_hash}


def _open(pending: list[DumpFile], wiki: str | None, salvage: bool) -> _Reading:
    """Look into head and end of every file; what is no dump is an error of that file."""
    reading = _Reading()
    for file in pending:
        try:
            info = wiki_of(file, wiki)
            if cut := missing_end(file.path):
                if not salvage:
                    raise cut
                reading.cuts[file.key] = cut
            reading.infos[file.key] = info
        except EspalierError as error:
            reading.errors[file.key] = error
    return reading


def _stage(spark: SparkSession, wanted: list[DumpFile], reading: _Reading, buckets: int,
           profile: Profile, known: KnownPages | None) -> DataFrame:
    """The rows of all splits, one task a split, kept on disk once they were read."""
    cores = spark.sparkContext.defaultParallelism
    for file in wanted:
        borders = find_borders(file, cores)
        reading.splits += splits_at(file, str(reading.infos[file.key].wiki), borders)
        reading.n_indexes += borders.index_path is not None
        if borders.fault:
            log.warning("%s is read without its stream index, %s", file.path, borders.fault)
            reading.index_faults.append(borders.fault)
    if not reading.splits:
        return spark.createDataFrame([], STAGED_DDL)
    task = functools.partial(read_splits, splits=reading.splits, n_buckets=buckets,
                             batch_rows=profile.arrow_batch_rows,
                             known=None if known is None else spark.sparkContext.broadcast(known))
    numbers = spark.range(0, len(reading.splits), 1, len(reading.splits))
    return numbers.mapInArrow(task, STAGED_DDL).persist(StorageLevel.DISK_ONLY)


def _judge(staged: DataFrame, reading: _Reading, salvage: bool) -> None:
    """Read everything, once, and decide from the reports which files and splits are good."""
    reports = {row["split"]: json.loads(row["report"])
               for row in staged.where("report IS NOT NULL").select("split", "report").collect()}
    for key, group in itertools.groupby(range(len(reading.splits)), lambda n: reading.splits[n].file.key):
        numbers = list(group)
        faulty = next((n for n in numbers if reports[n]["error"]), None)
        if faulty is not None:
            # Pages behind the first fault are not taken: what is missing of a salvaged file is its end.
            numbers = numbers[:numbers.index(faulty) + 1]
            error = DumpError(reading.splits[faulty].file.path, reports[faulty]["offset"],
                              *reports[faulty]["error"])
            if not salvage:
                reading.errors[key] = error
                continue
            reading.cuts[key] = error
        if key in reading.cuts and not any(reports[n]["n_pages"] for n in numbers):
            reading.errors[key] = reading.cuts.pop(key)
            continue
        reading.taken += numbers
        reading.n_pages[key] = sum(reports[n]["n_pages"] for n in numbers)
        reading.rejects += [Reject("pages", *reject) for n in numbers for reject in reports[n]["rejects"]]
        reading.n_nameless += sum(reports[n]["n_nameless"] for n in numbers)
        mismatches = [reject for n in numbers for reject in reports[n]["mismatches"]]
        if is_systematic(len(mismatches), n_checked := sum(reports[n]["n_checked"] for n in numbers)):
            log.warning("%s: the checksums of %d of %d pages are not of their texts, which are taken as they are",
                        reading.splits[numbers[0]].file.path, len(mismatches), n_checked)
            reading.unverified.append(key)
            reading.rejects.append(Reject("pages", key, "checksums_not_believed",
                                          f"{len(mismatches)} of {n_checked} texts differ from their checksum"))
        else:
            reading.rejects += [Reject("pages", *reject) for reject in mismatches]
        if key in reading.cuts:
            cut = reading.cuts[key]
            reading.rejects.append(Reject("pages", f"{key}@{cut.offset}", "dump_cut", cut.found))


def _newest(light: DataFrame, reading: _Reading) -> tuple[DataFrame, bool]:
    """Of the pages of the good splits the newest: keys, where each stands, `rank` to compare revisions by; and
    whether that leaves out any."""
    ranked = _good(light, reading).select(*_PLACE, "verified", rank(F.col("verified")).alias("rank"))
    if not ranked.groupBy("doc_id").count().where("count > 1").limit(1).count():
        return ranked, False
    others = (*_PLACE[1:], "verified", "rank")
    newest = ranked.groupBy("doc_id").agg(F.max(F.struct("rank", *_PLACE[1:], "verified")).alias("newest"))
    return newest.select("doc_id", *(F.col(f"newest.{name}").alias(name) for name in others)), True


def _good(rows: DataFrame, reading: _Reading) -> DataFrame:
    """The pages of the splits that count."""
    believed = F.coalesce("verified", F.lit(True)) | F.col("dump_file").isin(reading.unverified)
    return rows.where(F.col("report").isNull() & F.col("split").isin(reading.taken) & believed)


def _snapshot(spark: SparkSession, data: DataFolder, given: list[DumpFile], known: dict[str, dict[str, Any]],
              reading: _Reading, staged: DataFrame) -> DataFrame | None:
    """The pages (wiki, page_id) of all files of the call; None unless every one was read to its end."""
    all_read = not (reading.errors or reading.cuts or reading.n_nameless)
    if not all_read or not all(row["complete"] for row in known.values()) or not given:
        return None
    keys = [row["dump_file"] for row in known.values()]
    stored = (read_table(spark, data, "dump_files").where(F.col("dump_file").isin(keys))
              .select("wiki", F.explode("page_ids").alias("page_id")))
    read = staged.where("report IS NOT NULL").select("wiki", F.explode("page_ids").alias("page_id"))
    return stored.union(read).distinct()


def _write_pages(spark: SparkSession, data: DataFolder, pages: DataFrame, newest: DataFrame,
                 snapshot: DataFrame | None, profile: Profile) -> tuple[RowChanges, int]:
    """Commit new and newer pages, and the deletions of a snapshot.

    Also returns how many of the pages are older than those of the table.
    """
    if is_empty(data, "pages"):
        append_rows(data, "pages", pages.select(*PAGES.column_names))
        return RowChanges(n_inserted=rows_of_last_commit(data, "pages")), 0

    found: list[DataFrame] = []
    n_older = 0

    def differing() -> DataFrame:
        nonlocal n_older
        table = read_table(spark, data, "pages")
        # Ranks are compared first, without the texts; then the few texts that win are fetched. Counted before they
        # are joined: of what is kept Spark knows the size, and sends a small side to the texts instead of sorting
        # and shuffling all of these.
        old = table.select("doc_id", "bucket", rank().alias("old_rank"))
        winners = (newest.join(old, ["doc_id", "bucket"], "left")
                   .select(*_PLACE, change().alias(CHANGE)).where(F.col(CHANGE).isNotNull())).persist()
        found.append(winners)
        counts = {row[CHANGE]: row["count"] for row in winners.groupBy(CHANGE).count().collect()}
        n_older = counts.get(OLDER, 0)
        # A known page can only win when somebody has removed it since: its text did not come along.
        lost = F.raise_error("pages were removed from the table while a dump with them was read")
        text = F.when(F.col("is_known"), lost).otherwise(F.col("text"))
        rows = (pages.join(winners.where(F.col(CHANGE) != OLDER), _PLACE).withColumn("text", text)
                .select(*PAGES.column_names, CHANGE))
        if snapshot is None:
            return rows
        gone = (table.where(F.col("namespace").isin(list(profile.namespaces)))
                .join(snapshot.select("wiki").distinct(), "wiki", "left_semi")
                .join(snapshot, ["wiki", "page_id"], "left_anti"))
        return rows.union(gone.select(*PAGES.column_names, F.lit("delete").alias(CHANGE)))

    try:
        return write_differences(spark, data, "pages", differing), n_older
    finally:
        for winners in found:
            winners.unpersist()


def _write_dump_files(spark: SparkSession, data: DataFolder, staged: DataFrame, reading: _Reading,
                      files: dict[str, DumpFile]) -> None:
    """Record the good files: from here on their bytes count as read."""
    now = datetime.now(UTC)
    rows = []
    for key in reading.n_pages:
        file, info, cut = files[key], reading.infos[key], key in reading.cuts
        rows.append((key, file.path, file.size_bytes, file.sha256, info.wiki, info.language, info.to_json(),
                     "salvaged" if cut else "read", not cut, reading.n_pages[key], now))
    known = [c for c in DUMP_FILES.columns if c.name != "page_ids"]
    described = spark.createDataFrame(rows, ", ".join(f"`{c.name}` {c.type}" for c in known))
    page_ids = (staged.where(F.col("report").isNotNull() & F.col("split").isin(reading.taken))
                .groupBy("dump_file").agg(F.flatten(F.collect_list("page_ids")).alias("page_ids")))
    complete = described.join(page_ids, "dump_file").select(*DUMP_FILES.column_names).coalesce(1)
    write_differences(spark, data, "dump_files", lambda: differences(
        DUMP_FILES, complete,
        read_table(spark, data, "dump_files").where(F.col("dump_file").isin(list(reading.n_pages)))))


def _outcomes(given: list[DumpFile], known: dict[str, dict[str, Any]],
              reading: _Reading) -> tuple[FileOutcome, ...]:
    outcomes = []
    for file in given:
        common = (file.key, file.path, file.size_bytes, file.sha256)
        if file.key in known:
            row = known[file.key]
            outcomes.append(FileOutcome(*common, "known", row["wiki"], row["n_pages"]))
        elif file.key in reading.n_pages:
            status = "salvaged" if file.key in reading.cuts else "read"
            outcomes.append(FileOutcome(*common, status, reading.infos[file.key].wiki,
                                        reading.n_pages[file.key]))
        else:
            outcomes.append(FileOutcome(*common, "failed", error=reading.errors[file.key]))
    return tuple(outcomes)


def main() -> None:
    """Entry point of `spark-submit spark_jobs/pages.py --data DIR FILE…`."""
    arguments = parser("Read dump files into pages.")
    arguments.add_argument("files", nargs="+", metavar="FILE", help="dump file: .xml, .bz2, .gz or .xz")
    arguments.add_argument("--wiki", help="database name of the wiki, where the dumps do not say it")
    arguments.add_argument("--full-snapshot", action="store_true",
                           help="the files are the whole wiki: delete pages that are in none of them")
    arguments.add_argument("--salvage", action="store_true",
                           help="take the whole pages before the cut of a damaged file")
    chosen = arguments.parse_args()

    def work(spark: SparkSession, data: DataFolder, profile: Profile) -> Iterator[StageResult]:
        result = ingest_dump_files(spark, data, profile, chosen.files, wiki=chosen.wiki,
                                   full_snapshot=chosen.full_snapshot, salvage=chosen.salvage)
        yield result.stage
        for outcome in result.files:
            if outcome.error:
                raise outcome.error

    run(chosen, work)


if __name__ == "__main__":
    main()
