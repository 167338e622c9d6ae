"""The drop folder: dump files that are put into `<data>/drop` are read. Off until someone switches it on.

What belongs here: which files wait, and the two runs that each of them asks for: one that hashes it, since a
sensor's look has a minute and a dump may have 25 GB, then one that reads it. What does not: reading files
(`refresh.py`), and telling which are dumps (`pipelines/drop_files.py`). While another process builds no run is
asked for: it would fail on the build lock, and none is asked for twice.
"""

import json

import dagster as dg

from assets.partitions import DUMP_FILES
from jobs.refresh import ingest_dumps
from pipelines.drop_files import States, drop_folder_of, look
from pipelines.dump_files import known_dump_file, register_dump_files
from pipelines.locking import lock_holder
from pipelines.settings import DataFolder

INTERVAL_S = 120


class RegisterConfig(dg.Config):
    """Which file is hashed."""

    path: str


@dg.op(description="Hash a dump file and remember it under its key.")
def hash_dump(config: RegisterConfig, data: dg.ResourceParam[DataFolder]) -> None:
    """Raises UserError for a file that cannot be read."""
    register_dump_files(data, [config.path])


@dg.job(description="Hashes a file of the drop folder: the next look of its sensor asks for a run that reads it.",
        executor_def=dg.in_process_executor)
def register_dump() -> None:
    """One op: it is no asset, for it makes nothing that anybody asks for."""
    hash_dump()


@dg.sensor(jobs=[register_dump, ingest_dumps], minimum_interval_seconds=INTERVAL_S,
           default_status=dg.DefaultSensorStatus.STOPPED,
           description="Reads dump files that were put into the folder drop of the data folder.")
def drop_folder(context: dg.SensorEvaluationContext, data: dg.ResourceParam[DataFolder]) -> dg.SensorResult:
    """Ask for the next run of each complete file: the one that hashes it, then the one that reads it."""
    folder = drop_folder_of(data)
    before: States = json.loads(context.cursor) if context.cursor else {}
    now, refused = look(folder)
    for name, why in refused.items():
        context.log.warning(f"{folder / name} is not read: {why}")
    seen = set(context.instance.get_dynamic_partitions(str(DUMP_FILES.name)))
    requests, keys = [], []
    for name, state in now.items():
        if before.get(name) != state:
            continue
        file = known_dump_file(data, folder / name)
        if file is None:
            requests.append(dg.RunRequest(
                run_key=f"{name}:{state[0]}:{state[1]}", job_name=register_dump.name,
                run_config=dg.RunConfig({hash_dump.name: RegisterConfig(path=str(folder / name))})))
        elif file.key not in seen and lock_holder(data) is None:
            keys.append(file.key)
            requests.append(dg.RunRequest(run_key=file.key, job_name=ingest_dumps.name, partition_key=file.key))
    added = [DUMP_FILES.build_add_request(keys)] if keys else []
    return dg.SensorResult(run_requests=requests, dynamic_partitions_requests=added, cursor=json.dumps(now))


default_jobs = [register_dump]
