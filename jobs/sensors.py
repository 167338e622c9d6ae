"""Sensors. Off until someone switches them on in the UI.

What belongs here: what starts a job besides people and the clock; the drop folder has a module of its own
(`drop_folder.py`). What does not: reading files (the jobs).
"""

import dagster as dg

from jobs.drop_folder import INTERVAL_S, drop_folder
from jobs.refresh import ingest_dumps, refresh_corpus

RANGE_START_TAG, RANGE_END_TAG = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


def range_tags(keys: list[str]) -> dict[str, str]:
    """Tags of a run over the partitions from the first key to the last, in the order of registration."""
    return {RANGE_START_TAG: keys[0], RANGE_END_TAG: keys[-1]}


@dg.run_status_sensor(run_status=dg.DagsterRunStatus.SUCCESS, monitored_jobs=[ingest_dumps],
                      request_job=refresh_corpus, minimum_interval_seconds=INTERVAL_S,
                      default_status=dg.DefaultSensorStatus.STOPPED,
                      description="Refreshes the corpus after dump files were read.")
def refresh_after_reading(context: dg.RunStatusSensorContext) -> dg.RunRequest:
    """Ask for one refresh after each reading that succeeded."""
    return dg.RunRequest(run_key=context.dagster_run.run_id)


default_sensors = [drop_folder, refresh_after_reading]
