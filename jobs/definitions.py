"""The code location: everything that Dagster sees, put together in one place.

What belongs here: `build_defs` and the one `defs` that `workspace.yaml` loads. What does not: any asset,
job, schedule, sensor or resource.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from assets.checks import default_checks
from assets.registry import default_assets
from assets.resources import default_resources
from jobs.drop_folder import default_jobs as drop_jobs
from jobs.evaluate import default_jobs as evaluation_jobs
from jobs.refresh import default_jobs as refresh_jobs
from jobs.schedules import default_schedules
from jobs.sensors import default_sensors
from jobs.training import default_jobs as training_jobs


def build_defs(
    *,
    assets: Sequence[Any] | None = None,
    checks: Sequence[dg.AssetChecksDefinition] | None = None,
    jobs: Sequence[Any] | None = None,
    schedules: Sequence[dg.ScheduleDefinition] | None = None,
    sensors: Sequence[dg.SensorDefinition] | None = None,
    resources: Mapping[str, Any] | None = None,
) -> dg.Definitions:
    """The definitions of the project, with some of them replaced.

    `resources` are merged into the defaults by key; every other argument replaces its default list.
    """
    return dg.Definitions(
        assets=default_assets if assets is None else assets,
        asset_checks=default_checks if checks is None else checks,
        jobs=[*refresh_jobs, *drop_jobs, *evaluation_jobs, *training_jobs] if jobs is None else jobs,
        schedules=default_schedules if schedules is None else schedules,
        sensors=default_sensors if sensors is None else sensors,
        resources={**default_resources, **(resources or {})},
        executor=dg.in_process_executor,
    )


defs = build_defs()
