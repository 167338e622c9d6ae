"""The order and the errors of a build, as far as they need no Spark."""

from pathlib import Path

import dagster as dg
import pytest
import yaml

from assets.stages import StageEvent
from jobs.build import BuildRequest, BuildSummary, build, close_dead_runs
from jobs.instance import HOME_VARIABLE, open_instance, place_instance
from jobs.refresh import BUILD_TAGS
from pipelines.build_options import BuildOptions, load_build_options, save_build_options
from pipelines.errors import RunFailure, UserError, causes
from pipelines.settings import DataFolder, Profile


def test_a_build_of_nothing_says_what_is_missing(data: DataFolder) -> None:
    with pytest.raises(UserError, match="no pages yet and no dump file was given"):
        build(data, BuildRequest())
    with pytest.raises(UserError, match="no dump file was given"):
        build(data, BuildRequest(full_snapshot=True))


def test_a_missing_dump_is_named_before_anything_runs(data: DataFolder, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"missing\.bz2"):
        build(data, BuildRequest(wikipedia=(str(tmp_path / "missing.bz2"),)))
    assert not data.dagster_home.exists()


def test_an_unknown_profile_is_refused(data: DataFolder) -> None:
    with pytest.raises(UserError, match="profile"):
        build(data, BuildRequest(profile="huge"))


def test_the_instance_keeps_what_its_owner_wrote_and_the_environment_as_it_was(
        data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    home = place_instance(data)
    settings = yaml.safe_load((home / "dagster.yaml").read_text())
    assert settings["telemetry"] == {"enabled": False}
    assert settings["concurrency"]["runs"]["tag_concurrency_limits"][0]["key"] in BUILD_TAGS
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    place_instance(data)
    assert (home / "dagster.yaml").read_text() == "telemetry:\n  enabled: false\n"
    with open_instance(data) as instance:
        assert Path(instance.root_directory) == home
    import os

    assert HOME_VARIABLE not in os.environ


def test_the_postgres_file_differs_in_its_storage_alone() -> None:
    root = Path(__file__).parents[3]
    sqlite, postgres = (yaml.safe_load((root / name).read_text(encoding="utf-8"))
                        for name in ("dagster.yaml", "deploy/dagster-postgres.yaml"))
    assert sqlite.pop("storage").keys() == {"sqlite"}
    assert postgres.pop("storage").keys() == {"postgres"}
    assert sqlite == postgres


def test_a_build_whose_process_died_is_no_longer_shown_as_running() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        @dg.job(tags=BUILD_TAGS)
        def dead() -> None:
            """A job that never ends."""

        run = instance.create_run_for_job(dead, tags=BUILD_TAGS, status=dg.DagsterRunStatus.STARTED)
        close_dead_runs(instance)
        assert instance.get_run_by_id(run.run_id).status == dg.DagsterRunStatus.FAILURE


def test_the_cause_of_an_error_is_found_below_what_dagster_wraps_around_it() -> None:
    root = RunFailure("table x", "gone", "a table", "Build.")
    wrapped = dg.Failure("wrapped")
    wrapped.__cause__ = root
    assert list(causes(wrapped)) == [wrapped, root]
    root.__cause__ = wrapped
    assert list(causes(wrapped)) == [wrapped, root]


def test_the_summary_adds_up_what_stages_said() -> None:
    summary = BuildSummary()
    summary.note(StageEvent("units"))
    summary.note(StageEvent("units", "done", 2.0, {"units": {"rows": 5, "changed": 2}}))
    summary.note(StageEvent("release", "done", 1.0, {"release": 3, "published": True}))
    assert (summary.n_changed, summary.release, summary.published) == (2, 3, True)
    assert summary.stage_seconds == {"units": 2.0, "release": 1.0}


def test_asked_namespaces_stay_asked(data: DataFolder, profile: Profile) -> None:
    assert load_build_options(data).apply(profile) == profile
    save_build_options(data, BuildOptions(namespaces=(0, 14)))
    assert load_build_options(data).apply(profile).namespaces == (0, 14)
    Path(data.root, "build_options.json").write_text("{")
    with pytest.raises(RunFailure, match="build options"):
        load_build_options(data)
