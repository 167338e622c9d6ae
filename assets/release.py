"""The release: the last act of a refresh.

What belongs here: publishing the candidate when it differs from the served release, then Data Docs and
clean-up. What does not: the order of writes that makes a publish safe (`pipelines/releases.py`).
"""

from pathlib import Path
from typing import Any

import dagster as dg

from assets.candidate import next_candidate
from assets.indexes import NAMES
from assets.metadata import markdown_table
from assets.quality.validation import build_data_docs
from assets.stages import stage
from pipelines import releases
from pipelines.cleanup import clean_up
from pipelines.locking import Holder
from pipelines.schemas import RELEASED_TABLES
from pipelines.settings import DataFolder, Profile


@dg.asset(deps=[*RELEASED_TABLES, *NAMES], kinds={"json"}, code_version="1",
          description="One number for the versions of all tables and the indexes over them: what `ask`, "
                      "`show` and `evaluate` read. Published last, and only when something differs.")
def release(data: dg.ResourceParam[DataFolder], profile: dg.ResourceParam[Profile],
            lock: dg.ResourceParam[Holder]) -> dg.MaterializeResult[None]:
    """Publish the candidate unless it equals the served release."""
    with stage("release") as event:
        candidate = next_candidate(data, profile)
        due = candidate.is_due
        if due:
            published = releases.publish(data, candidate.release.model_copy(
                update={"indexes": _indexes(data, candidate.release, candidate.served,
                                            candidate.reuses_indexes)}))
        else:
            assert candidate.served is not None
            published = candidate.served
        docs = build_data_docs(data)
        removed = clean_up(data, profile) if due else None
        event.facts.update(release=published.number, published=due)
    return dg.MaterializeResult(metadata={
        "release": published.number, "published": due,
        "tables": dg.MetadataValue.md(markdown_table(
            ("table", "version", "rows"),
            [(name, version, published.counts.get(name)) for name, version in published.tables.items()])),
        "data_docs": dg.MetadataValue.url(Path(docs).as_uri()),
        "removed_files": removed.n_files if removed else 0,
        "seconds": round(event.seconds, 2)})


def _indexes(data: DataFolder, release: releases.Release, served: releases.Release | None,
             reuses: bool) -> dict[str, str]:
    """Folders of the indexes, relative to the data folder: the served release's, or this one's."""
    if reuses and served is not None:
        return served.indexes
    root: Any = data.index(release.number).removeprefix(f"{data.root}/")
    return {name: f"{root}/{name}" for name in NAMES.values()}
