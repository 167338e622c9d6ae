"""Whether a cluster's workers can do the work: the driver's code, Python, models and data folder on each.

What belongs here: one small job at the start of a session on a cluster, and one error that names what which
worker lacks. Without it a worker with older code would write other rows, and one that does not see the data
folder would write files that nobody finds. What does not: the session itself (`session.py`).
"""

from __future__ import annotations

import os
import platform
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipelines.errors import RunFailure
from pipelines.evaluation.version import code_version
from pipelines.files import is_remote
from pipelines.models.export import encoder_folder, token_counter_file
from pipelines.settings import DataFolder, Profile
from spark_jobs.tables import cause_line

TASKS_PER_CORE = 2
"""So that every worker that is there gets one."""
_MOST_FAULTS = 5


def check_workers(spark: SparkSession, profile: Profile, data: DataFolder | None) -> list[str]:
    """Look at every worker from inside a task; return the names of their machines.

    data: None leaves the look at the data folder out. Raises RunFailure naming each worker and what it lacks.
    """
    context = spark.sparkContext
    encoder, counter = profile.encoder, profile.token_counter
    with _mark(data) as mark:

        def look(_: int) -> dict[str, str]:
            # A function inside another travels as code: it also runs where the package is missing.
            import socket

            try:
                from spark_jobs.workers import worker_facts
            except ImportError as error:
                return {"host": socket.gethostname(), "fault": str(error)}
            return worker_facts(encoder, counter, mark)

        n_tasks = context.defaultParallelism * TASKS_PER_CORE
        try:
            found: list[dict[str, str]] = context.parallelize(range(n_tasks), n_tasks).map(look).collect()
        except (PySparkException, Py4JJavaError) as error:
            raise _failure(str(context.master), [cause_line(str(error))]) from error
    faults = {f"{facts['host']}: {fault}" for facts in found for fault in _faults(facts)}
    if faults:
        raise _failure(str(context.master), sorted(faults))
    return sorted({facts["host"] for facts in found})


def worker_facts(encoder: str, token_counter: str, mark: str) -> dict[str, str]:
    """What a worker has, as texts. mark: a file that the driver has put into the data folder, or nothing."""
    missing = [str(path) for path in (encoder_folder(encoder) / "config.json", token_counter_file(token_counter))
               if not path.is_file()]
    folder = os.path.dirname(mark)
    if mark and not os.path.exists(mark):
        missing.append(f"{folder} (another folder of that name, or none)")
    elif mark and not os.access(folder, os.W_OK):
        missing.append(f"permission to write to {folder}")
    return {"host": socket.gethostname(), "code": code_version(), "python": platform.python_version(),
            "missing": ", ".join(missing)}


def _faults(facts: dict[str, str]) -> Iterator[str]:
    if "fault" in facts:
        yield facts["fault"]
        return
    if facts["code"] != code_version():
        yield f"code {facts['code']}, here {code_version()}"
    if facts["missing"]:
        yield f"no {facts['missing']}"


def _failure(master: str, faults: list[str]) -> RunFailure:
    more = f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
    return RunFailure(
        f"workers of Spark master {master}", "; ".join(faults[:_MOST_FAULTS]) + more,
        "this code, its models and the data folder on every worker, under the paths that they have here",
        "Install the same package for the workers' Python (PYSPARK_PYTHON), run `python -m jobs.setup` there, "
        "and share the data folder.")


@contextmanager
def _mark(data: DataFolder | None) -> Iterator[str]:
    """A file in a local data folder by which a worker knows it; nothing for an object store."""
    if data is None or is_remote(data.root):
        yield ""
        return
    path = Path(data.root) / f".worker-check-{uuid.uuid4().hex}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    try:
        yield str(path)
    finally:
        path.unlink()
