"""The last runs of a data folder, as its Dagster instance keeps them: result, time, failed checks with their rows.

What belongs here: reading runs for people who have no web page open. What does not: the state of the tables
(`pipelines/status.py`), and making runs. A data folder without an instance has had no runs, and none is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jobs.instance import open_instance
from pipelines.errors import one_line
from pipelines.settings import DataFolder

SHOWN_RUNS = 3


@dataclass(frozen=True)
class FailedCheck:
    """A rule that a table broke. tolerance: share of its rows that may; first_rows: some of those that do."""

    table: str
    rule: str
    tolerance: float
    rows: int
    failing_rows: int
    first_rows: list[dict[str, Any]]
    told: str


@dataclass(frozen=True)
class LastRun:
    """A run. result: success, failure, canceled, started, queued …; started_at in UTC, ISO 8601; None: not yet."""

    run_id: str
    job: str
    result: str
    started_at: str | None
    seconds: float | None
    error: str | None
    failed_checks: list[FailedCheck]


@dataclass(frozen=True)
class History:
    """The newest runs, newest first. sensor_is_on: whether the drop folder is read by itself."""

    runs: list[LastRun]
    sensor_is_on: bool


def read_history(data: DataFolder, most: int = SHOWN_RUNS) -> History:
    """The last runs. Raises nothing of its own: a folder without an instance has none."""
    if not (data.dagster_home / "dagster.yaml").exists():
        return History([], False)
    from dagster._core.scheduler.instigation import InstigatorStatus

    with open_instance(data) as instance:
        records = instance.get_run_records(limit=most)
        sensors = instance.all_instigator_state(instigator_statuses={InstigatorStatus.RUNNING})
        return History([_last_run(instance, record) for record in records],
                       any(state.instigator_name == "drop_folder" for state in sensors))


def _last_run(instance: Any, record: Any) -> LastRun:
    run, begin, end = record.dagster_run, record.start_time, record.end_time
    failed = run.is_failure
    return LastRun(
        run.run_id, run.job_name, run.status.value.lower(),
        None if begin is None else datetime.fromtimestamp(begin, UTC).isoformat(timespec="seconds"),
        None if begin is None or end is None else round(end - begin, 1),
        _error(instance, run.run_id) if failed else None,
        _failed_checks(instance, run.run_id))


def _error(instance: Any, run_id: str) -> str | None:
    """Why a run failed: what the step that failed said, else what is told of the run."""
    from dagster import DagsterEventType

    told: str | None = None
    for kind in (DagsterEventType.RUN_FAILURE, DagsterEventType.STEP_FAILURE):
        for entry in instance.all_logs(run_id, of_type=kind):
            event = entry.dagster_event
            told = (event.message or told) if event is not None else told
            if event is not None and event.is_step_failure:
                failure = event.step_failure_data
                if failure.user_failure_data is not None and failure.user_failure_data.description:
                    return one_line(failure.user_failure_data.description)
                if failure.error is not None:
                    root = failure.error
                    while root.cause is not None:
                        root = root.cause
                    return one_line(root.message)
    return None if told is None else one_line(told)


def _failed_checks(instance: Any, run_id: str) -> list[FailedCheck]:
    from dagster import DagsterEventType

    found = []
    for entry in instance.all_logs(run_id, of_type=DagsterEventType.ASSET_CHECK_EVALUATION):
        check = entry.dagster_event.asset_check_evaluation_data
        if not check.passed:
            facts = {name: value.value for name, value in check.metadata.items()}
            found.append(FailedCheck(
                check.asset_key.to_user_string(), check.check_name, float(facts.get("tolerance", 0.0)),
                int(facts.get("rows", 0)), int(facts.get("failing_rows", 0)), facts.get("first_rows", []),
                one_line(check.description or "")))
    return found
