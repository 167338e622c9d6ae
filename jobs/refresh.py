"""The jobs of a build: read dump files, then refresh everything that follows from `pages`.

What belongs here: which assets and checks a job selects and how it runs. What does not: schedules and
sensors. They are two jobs because `pages` is partitioned by dump file and nothing else is: one job over
both would refresh the corpus again for each file. Both run in one process, whatever the profile: it holds
the build lock, and its Spark session starts once (the work of a large build is Spark's own, elsewhere).
"""

from __future__ import annotations

import dagster as dg

BUILD_TAGS = {"espalier/build": "true"}
"""Runs with this tag build; `dagster.yaml` lets one of them run at a time and queues the others."""

_CORPUS = dg.AssetSelection.groups("corpus", "indexes", "release")

ingest_dumps = dg.define_asset_job(
    "ingest_dumps", selection=dg.AssetSelection.assets("pages").without_checks(),
    executor_def=dg.in_process_executor, tags=BUILD_TAGS,
    description="Read dump files into the table pages: one run, and one Spark job, for a range of files.")

refresh_corpus = dg.define_asset_job(
    "refresh_corpus", selection=dg.AssetSelection.checks_for_assets("pages") | _CORPUS,
    executor_def=dg.in_process_executor, tags=BUILD_TAGS,
    description="Check pages, refresh what follows from them, each table gated by its checks, then build "
                "indexes and publish a release. Does nothing where nothing changed.")

default_jobs = [ingest_dumps, refresh_corpus]
