"""The source of everything: `pages`, read from the dump files of Wikipedia.

What belongs here: which dump files a run reads, and one materialization for each good file. What does not:
the reading (`spark_jobs/pages.py`). All files of a run are one Spark job (`BackfillPolicy.single_run`). The
asset yields no output of its own: a partition counts as materialized only by the event of its own file,
so that a file that could not be read stays unmaterialized beside good ones.
"""

from collections.abc import Iterator, Sequence

import dagster as dg
from pydantic import Field

from assets.metadata import stage_facts, stage_metadata, table_spec
from assets.partitions import DUMP_FILES
from assets.resources import SparkOnDemand
from assets.stages import stage
from pipelines.dump_files import registered_dump_files
from pipelines.errors import EspalierError, UserError, UserErrors, argument
from pipelines.locking import Holder
from pipelines.settings import DataFolder, Profile


class PagesConfig(dg.Config):
    """Options of one reading of dump files."""

    keys: list[str] = Field(
        default_factory=list, description="Only these partitions of the run's range; none: all of them")
    wiki: str | None = Field(None, description="Database name of the wiki; without it that in the dump")
    full_snapshot: bool = Field(
        False, description="The files are the whole wiki: delete pages that are in none of them")
    salvage: bool = Field(False, description="Take the whole pages before the cut of a damaged file")


@dg.multi_asset(
    specs=[table_spec("pages", deps=[], code_version="1", kinds={"spark", "delta", "wikipedia"},
                      skippable=True)],
    name="pages", partitions_def=DUMP_FILES, backfill_policy=dg.BackfillPolicy.single_run())
def pages(context: dg.AssetExecutionContext, config: PagesConfig, data: dg.ResourceParam[DataFolder],
          profile: dg.ResourceParam[Profile], spark: dg.ResourceParam[SparkOnDemand],
          lock: dg.ResourceParam[Holder]) -> Iterator[dg.MaterializeResult[None]]:
    """Read dump files into the table `pages`."""
    from spark_jobs.pages import ingest_dump_files

    with stage("pages") as event:
        paths = _paths(data, [key for key in context.partition_keys if not config.keys or key in config.keys])
        result = ingest_dump_files(spark, data, profile, paths, wiki=config.wiki,
                                   full_snapshot=config.full_snapshot, salvage=config.salvage)
        good = [file for file in result.files if file.error is None]
        failed = [file for file in result.files if file.error is not None]
        facts = stage_metadata(data, result.stage) if good else {}
        event.facts["pages"] = stage_facts(result.stage, facts)
        for file in good:
            context.log_event(dg.AssetMaterialization("pages", partition=file.key, metadata={
                **facts, "file": file.path, "file_status": file.status, "file_pages": file.n_pages,
                "file_size_bytes": file.size_bytes, "file_sha256": file.sha256}))
        for file in failed:
            context.log.error(str(file.error))
        if failed:
            raise reading_failure([file.error for file in failed if file.error], len(good))
    yield from ()


def reading_failure(errors: Sequence[EspalierError], n_good: int) -> EspalierError:
    """The error of a run in which files could not be read: that of the one file, or one that names all."""
    if len(errors) == 1:
        return errors[0]
    read = f"The other {n_good} are in the table pages. Run" if n_good else "Run"
    return UserErrors("dump files", errors, f"{read} again without these files, or with "
                                            f"{argument('salvage')} to take the whole pages before a cut.")


def _paths(data: DataFolder, keys: list[str]) -> list[str]:
    """Where the files of these keys lie. Raises UserError for a key that was never registered here."""
    known = registered_dump_files(data)
    if missing := [key for key in keys if key not in known]:
        raise UserError(f"dump file {missing[0]}", "no path is known for it", "a file that was handed in here",
                        "Run espalier build --wikipedia FILE with it.")
    return [known[key].path for key in keys]
