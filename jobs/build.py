"""A build in this process: the jobs `ingest_dumps` and `refresh_corpus`, under one holding of the lock.

What belongs here: the order of a build, and the one error that a failed run comes down to. What does not:
options and output of the command (`commands/build.py`), the jobs (`refresh.py`). The runs are stored in the
data folder's instance, so that the UI shows them with their events, checks and logs.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from assets.checks import check_failure
from assets.partitions import DUMP_FILES
from assets.quality.rules import tolerant_rules
from assets.stages import Listener, StageEvent, listening, tell
from assets.wikipedia import reading_failure
from jobs.definitions import defs
from jobs.instance import broken_store, open_instance
from jobs.refresh import BUILD_TAGS, ingest_dumps, refresh_corpus
from jobs.sensors import range_tags
from pipelines.build_options import BuildOptions, load_build_options, save_build_options
from pipelines.damage import damage_in, mend_tables
from pipelines.dump_files import DumpFile, describe_dump_file, refusals, take_dump_files
from pipelines.errors import EspalierError, RunFailure, UserError, argument, causes
from pipelines.full_disk import full_disk, written_folders
from pipelines.locking import build_lock
from pipelines.settings import DataFolder, profile_by_name
from pipelines.storage import TableReader, append_rejects, table_exists

REPOSITORY_TAG = {".dagster/repository": "__repository__@espalier"}
"""With it the UI lists a run under the job of the code location in `workspace.yaml`."""
QUIET_LOGS = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(frozen=True)
class BuildRequest:
    """What one build was asked for. `profile`: None is ESPALIER_PROFILE, else fast. tolerate: rule → share."""

    wikipedia: tuple[str, ...] = ()
    wiki: str | None = None
    full_snapshot: bool = False
    salvage: bool = False
    namespaces: tuple[int, ...] | None = None
    profile: str | None = None
    tolerate: Mapping[str, float] = field(default_factory=dict)


@dataclass
class BuildSummary:
    """What a build did. tables: facts by table (rows, processed, changed, version)."""

    release: int = 0
    published: bool = False
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    stage_seconds: dict[str, float] = field(default_factory=dict)
    run_ids: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def n_changed(self) -> int:
        """Rows that were inserted, updated or deleted, over all tables."""
        return sum(facts["changed"] for facts in self.tables.values())

    def note(self, event: StageEvent) -> None:
        """Take over what a stage says of itself."""
        if event.state == "running":
            return
        self.stage_seconds[event.name] = event.seconds
        if event.name == "release":
            self.release, self.published = event.facts.get("release", 0), event.facts.get("published", False)
        self.tables.update({name: facts for name, facts in event.facts.items() if isinstance(facts, dict)})


def build(data: DataFolder, request: BuildRequest, listener: Listener | None = None) -> BuildSummary:
    """Read the dump files, refresh the corpus, publish a release if anything changed.

    Raises UserError for bad options and files, RunFailure when another build runs, a check fails or a stage
    cannot finish. The served release is unchanged then, and the same command completes the build.
    """
    begin, summary = time.perf_counter(), BuildSummary()
    events: list[StageEvent] = []
    profile = profile_by_name(request.profile)
    with ExitStack() as stack:
        stack.enter_context(build_lock(data))
        for each in (summary.note, events.append, *([listener] if listener else [])):
            stack.enter_context(listening(each))
        for mended in mend_tables(data):
            tell(StageEvent("mended", "done", facts={"mended": str(mended)}))
        files, refused = _taken(data, request)
        keep_options(data, request)
        instance = stack.enter_context(open_instance(data, profile.name))
        close_dead_runs(instance)
        if files:
            summary.run_ids.append(_ingest(data, instance, request, files, refused, events))
        summary.run_ids.append(run_job(data, instance, refresh_corpus.name, events, {}, {}))
    summary.seconds = time.perf_counter() - begin
    return summary


def keep_options(data: DataFolder, request: BuildRequest) -> None:
    """Keep what later builds must do as well. Raises UserError for a rule without tolerance, and no share."""
    for rule, share in request.tolerate.items():
        if rule not in tolerant_rules() or not 0 <= share <= 1:
            raise UserError(f"{argument('tolerate')} {rule}={share:g}", "no such tolerance",
                            f"a share from 0 to 1 of one of {', '.join(tolerant_rules())}",
                            f"Correct {argument('tolerate')}.")
    kept = load_build_options(data)
    chosen = BuildOptions(namespaces=kept.namespaces if request.namespaces is None else request.namespaces,
                          tolerances={**kept.tolerances, **request.tolerate})
    if chosen != kept:
        save_build_options(data, chosen)


def _taken(data: DataFolder, request: BuildRequest) -> tuple[list[DumpFile], list[UserError]]:
    """The dump files to read, and why others cannot be; of the latter each is in the table rejects."""
    if request.full_snapshot and not request.wikipedia:
        raise UserError("--full-snapshot", "no dump file was given", "all files of the wiki's dump",
                        "Name them with --wikipedia FILE….")
    lost = () if table_exists(data, "pages") else _lost_dumps(data, request.wikipedia)
    files, refused = take_dump_files(data, (*request.wikipedia, *lost))
    if refused:
        append_rejects(data, refusals({error.subject.removeprefix("dump "): error for error in refused}))
    if refused and not files:
        raise reading_failure(refused, 0)
    if not files and not table_exists(data, "pages"):
        raise UserError(f"data folder {data.root}", "no pages yet and no dump file was given",
                        "a dump to build from", "Name one with --wikipedia FILE.")
    return files, refused


def _lost_dumps(data: DataFolder, given: Sequence[str]) -> list[str]:
    """The dumps that a table `pages` which is gone was made of, but for those that are given: all are read again.

    Raises UserError for one that is not where it was.
    """
    if not table_exists(data, "dump_files"):
        return []
    known = TableReader(data).rows("dump_files", ("path", "sha256"))
    hashes = {describe_dump_file(path).sha256 for path in given} if known else set()
    lost = [row["path"] for row in known if row["sha256"] not in hashes]
    if gone := [path for path in lost if not os.path.isfile(path)]:
        raise UserError(
            f"dump {gone[0]}", f"it is not there any more, and the table pages, which was made of it "
            f"{f'and {len(gone) - 1} more ' if len(gone) > 1 else ''}too, was removed",
            "every dump of the pages, to read again",
            f"Give it with --wikipedia, or remove {data.table('dump_files')} as well to build without it.")
    return lost


def close_dead_runs(instance: dg.DagsterInstance) -> None:
    """Mark builds that are stored as running but whose process is gone: the lock's holder is the only one."""
    running = dg.RunsFilter(tags=BUILD_TAGS, statuses=[dg.DagsterRunStatus.STARTED])
    for run in instance.get_runs(running):
        instance.report_run_failed(run, "The process of this run ended before the run did.")


def _ingest(data: DataFolder, instance: dg.DagsterInstance, request: BuildRequest,
            files: Sequence[DumpFile], refused: Sequence[UserError], events: list[StageEvent]) -> str:
    """One run over the range of partitions from the first of these files to the last.

    Raises what it failed with, and what the refused files failed with, together.
    """
    partitions = str(DUMP_FILES.name)
    instance.add_dynamic_partitions(partitions, [file.key for file in files])
    given = {file.key for file in files}
    keys = [key for key in instance.get_dynamic_partitions(partitions) if key in given]
    # Pages of a file that was refused are in none of those that are read: they must not count as gone.
    config = {"keys": keys, "full_snapshot": request.full_snapshot and not refused, "salvage": request.salvage,
              **({"wiki": request.wiki} if request.wiki else {})}
    unread: list[EspalierError] = list(refused)
    run_id = ""
    try:
        run_id = run_job(data, instance, ingest_dumps.name, events, {"ops": {"pages": {"config": config}}},
                         range_tags(keys))
    except UserError as error:
        unread += getattr(error, "errors", [error])
    if unread:
        raise reading_failure(unread, len(files) + len(refused) - len(unread))
    return run_id


def run_job(data: DataFolder, instance: dg.DagsterInstance, job: str, events: list[StageEvent],
            run_config: Mapping[str, Any], tags: Mapping[str, str]) -> str:
    """Run a job in this process and return its run id. Raises the EspalierError that it failed with."""
    try:
        result = defs.resolve_job_def(job).execute_in_process(
            instance=instance, run_config={**QUIET_LOGS, **run_config}, tags={**REPOSITORY_TAG, **tags})
    except dg.DagsterExecutionInterruptedError as error:
        raise KeyboardInterrupt from error
    # Whatever a stage raises comes through here, and is raised again as one clear error with its cause.
    except Exception as error:
        raise _clear_error(data, job, events, error) from error
    return str(result.run_id)


def _clear_error(data: DataFolder, job: str, events: list[StageEvent], error: BaseException) -> EspalierError:
    last = events[-1] if events else StageEvent("start")
    if full := full_disk(error, written_folders(data)):
        return full
    if ended := java_end():
        return RunFailure(f"Java in the stage {last.name}", ended, "a Java that runs until the build ends",
                          "Mostly the system ends it for want of memory: free some, or set a smaller "
                          "spark.driver.memory. The same command completes the build.")
    if damaged := damage_in(data, "\n".join(map(str, causes(error)))):
        return damaged
    for cause in causes(error):
        if isinstance(cause, EspalierError):
            return cause
        if isinstance(cause, sqlite3.DatabaseError):
            return broken_store(data, f"{type(cause).__name__}: {cause}")
    if failures := last.facts.get("failures"):
        return check_failure(last.name.removesuffix(" checks"), failures, data)
    root = list(causes(error))[-1]
    found = f"{type(root).__name__}: {_message(root)[:300]}"
    return RunFailure(f"job {job}, stage {last.name}", found,
                      "a stage that ends well",
                      "Run the command again: it goes on where it ended. --debug shows the traceback.")


def java_end() -> str | None:
    """How Java has ended, if a stage started one; a build without Spark does not import it for this."""
    if "pyspark" not in sys.modules:
        return None
    from spark_jobs import session

    return session.java_end()


def _message(error: BaseException) -> str:
    """The line of an error that says why: of one out of Java that is not the first."""
    if type(error).__name__ == "Py4JJavaError":
        from spark_jobs.tables import cause_line

        return cause_line(str(error))
    return (str(error).strip().splitlines() or [""])[0]
