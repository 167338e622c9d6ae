"""The code location at a glance: a change of assets, checks, jobs or timers must be meant.

`ESPALIER_REGENERATE=1 pytest tests/unit/jobs/test_snapshot.py` writes the fixture again, and fails, so that
nobody leaves the flag on.
"""

import json
import os
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from jobs.definitions import build_defs, defs
from pipelines.schemas import RELEASED_TABLES, TABLES

SNAPSHOT = Path(__file__).parents[2] / "fixtures" / "definitions.json"


def describe(definitions: dg.Definitions) -> dict[str, Any]:
    repository = definitions.get_repository_def()
    specs = {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}
    jobs = {job.name: job for job in repository.get_all_jobs() if not job.name.startswith("__")}
    checks = [spec for judge in (*repository.asset_checks_defs_by_key.values(),
                                 *repository.assets_defs_by_key.values()) for spec in judge.check_specs]
    return {
        "assets": {name: {
            "group": spec.group_name, "owners": list(spec.owners), "kinds": sorted(spec.kinds),
            "deps": sorted(dep.asset_key.to_user_string() for dep in spec.deps),
            "partitions": type(spec.partitions_def).__name__ if spec.partitions_def else None,
        } for name, spec in sorted(specs.items())},
        "checks": sorted({f"{spec.asset_key.to_user_string()}:{spec.name}"
                          f"{'' if spec.blocking else ' (warns)'}" for spec in checks}),
        "jobs": {name: sorted(node.name for node in job.nodes) for name, job in sorted(jobs.items())},
        "schedules": {schedule.name: f"{schedule.cron_schedule}, {schedule.default_status.value}"
                      for schedule in repository.schedule_defs},
        "sensors": {sensor.name: sensor.default_status.value for sensor in repository.sensor_defs},
        "resources": sorted(repository.get_top_level_resources()),
    }


def test_the_code_location_is_the_one_in_the_snapshot() -> None:
    found = describe(defs)
    if os.environ.get("ESPALIER_REGENERATE"):
        SNAPSHOT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        pytest.fail(f"{SNAPSHOT.name} was written: look at the difference, then run without the flag")
    assert found == json.loads(SNAPSHOT.read_text(encoding="utf-8"))


def test_every_asset_is_described_owned_grouped_and_versioned() -> None:
    for spec in defs.resolve_all_asset_specs():
        name = spec.key.to_user_string()
        assert spec.description, name
        assert spec.owners, name
        assert spec.kinds, name
        assert spec.code_version, name
        assert spec.group_name not in (None, "default"), name
        if name in TABLES:
            columns = [column.name for column in spec.metadata["dagster/column_schema"].columns]
            assert columns == list(TABLES[name].column_names)


def test_every_released_table_has_blocking_checks_and_nothing_starts_by_itself() -> None:
    found = describe(defs)
    for table in RELEASED_TABLES:
        assert f"{table}:has_rows" in found["checks"]
        assert f"{table}:key_is_unique" in found["checks"]
    assert not [check for check in found["checks"] if check.endswith("(warns)")]
    assert set(found["sensors"].values()) == {"STOPPED"}
    assert all(schedule.endswith("STOPPED") for schedule in found["schedules"].values())


def test_overrides_merge_resources_and_replace_the_rest() -> None:
    @dg.asset
    def only() -> None:
        """The one asset."""

    @dg.resource
    def fake(context: dg.InitResourceContext) -> str:
        return "fake"

    changed = build_defs(
        assets=[only], checks=[], jobs=[], schedules=[], sensors=[], resources={"data": fake})
    assert [spec.key.to_user_string() for spec in changed.resolve_all_asset_specs()] == ["only"]
    assert set(changed.resources or {}) == {"data", "profile", "spark", "lock", "router_plan"}
    assert (changed.resources or {})["data"] is fake
    assert (defs.resources or {})["data"] is not fake
