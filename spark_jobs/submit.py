"""The command line of a stage, for `spark-submit spark_jobs/STAGE.py --data DIR --profile full`.

What belongs here: arguments, the session and one line of JSON a table. What does not: a stage's work, and
the order of stages, which is the orchestrator's.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from pipelines.errors import EspalierError
from pipelines.locking import build_lock
from pipelines.settings import DataFolder, Profile, profile_by_name
from spark_jobs.session import get_spark
from spark_jobs.tables import StageResult

Refresh = Callable[..., StageResult | tuple[StageResult, ...]]


def parser(description: str) -> argparse.ArgumentParser:
    """The arguments that every stage takes."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--data", help="data folder or object-store address; default: ESPALIER_DATA")
    arguments.add_argument("--profile", help="fast or full; default: ESPALIER_PROFILE, else fast")
    return arguments


def run(arguments: argparse.Namespace,
        work: Callable[[Any, DataFolder, Profile], Iterable[StageResult]]) -> None:
    """Do the work under the build lock, print a line a table; exit with the error's code."""
    try:
        profile = profile_by_name(arguments.profile)
        data = DataFolder.at(arguments.data)
        with build_lock(data):
            for result in work(get_spark(profile, data), data, profile):
                print(json.dumps(asdict(result)), flush=True)
    except EspalierError as error:
        print(f"espalier: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def run_stage(description: str, refresh: Refresh) -> None:
    """The `main` of a stage that takes no arguments of its own."""

    def work(spark: Any, data: DataFolder, profile: Profile) -> Iterable[StageResult]:
        result = refresh(spark, data, profile)
        return (result,) if isinstance(result, StageResult) else result

    run(parser(description).parse_args(), work)
