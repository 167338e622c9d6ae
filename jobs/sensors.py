"""Sensors. Off until someone switches them on in the UI.

What belongs here: what starts a job besides people and the clock. What does not: reading files (the jobs).
Dump files put into `<data>/drop` are read, and a finished reading refreshes the corpus.
"""

import time
from pathlib import Path

import dagster as dg

from assets.partitions import DUMP_FILES
from jobs.refresh import ingest_dumps, refresh_corpus
from pipelines.dump_files import register_dump_files
from pipelines.settings import DataFolder

DUMP_ENDINGS = (".xml", ".bz2", ".gz", ".xz")
QUIET_S = 60
"""A file that was written to within this time may still be copied: it waits for the next look."""
INTERVAL_S = 120
RANGE_START_TAG, RANGE_END_TAG = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


def range_tags(keys: list[str]) -> dict[str, str]:
    """Tags of a run over the partitions from the first key to the last, in the order of registration."""
    return {RANGE_START_TAG: keys[0], RANGE_END_TAG: keys[-1]}


def waiting_files(folder: Path, now_s: float) -> list[Path]:
    """Dump files in a drop folder that nobody writes to any more, by name; none when there is no folder."""
    if not folder.is_dir():
        return []
    dumps = (path for path in folder.iterdir() if path.is_file() and path.suffix in DUMP_ENDINGS)
    return sorted(path for path in dumps if now_s - path.stat().st_mtime > QUIET_S)


@dg.sensor(job=ingest_dumps, minimum_interval_seconds=INTERVAL_S,
           default_status=dg.DefaultSensorStatus.STOPPED,
           description="Reads dump files that were put into the folder drop of the data folder.")
def drop_folder(context: dg.SensorEvaluationContext, data: dg.ResourceParam[DataFolder],
                ) -> dg.SensorResult | dg.SkipReason:
    """Register the first new file of the drop folder as a partition and ask for a run that reads it.

    One file a look: its bytes are hashed first, and a look has a minute.
    """
    folder = Path(data.root) / "drop"
    seen = set(context.instance.get_dynamic_partitions(str(DUMP_FILES.name)))
    for path in waiting_files(folder, time.time()):
        [file] = register_dump_files(data, [path])
        if file.key not in seen:
            return dg.SensorResult(
                run_requests=[dg.RunRequest(run_key=file.key, partition_key=file.key)],
                dynamic_partitions_requests=[DUMP_FILES.build_add_request([file.key])])
    return dg.SkipReason(f"no new dump file in {folder}")


@dg.run_status_sensor(run_status=dg.DagsterRunStatus.SUCCESS, monitored_jobs=[ingest_dumps],
                      request_job=refresh_corpus, minimum_interval_seconds=INTERVAL_S,
                      default_status=dg.DefaultSensorStatus.STOPPED,
                      description="Refreshes the corpus after dump files were read.")
def refresh_after_reading(context: dg.RunStatusSensorContext) -> dg.RunRequest:
    """Ask for one refresh after each reading that succeeded."""
    return dg.RunRequest(run_key=context.dagster_run.run_id)


default_sensors = [drop_folder, refresh_after_reading]
