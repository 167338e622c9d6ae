"""Resources give plain objects, read the environment only in a run, and hold the lock for all of it."""

import subprocess
import sys

import dagster as dg
import pytest

from assets.resources import SparkOnDemand, default_resources
from pipelines.build_options import BuildOptions, save_build_options
from pipelines.locking import Holder, lock_holder
from pipelines.settings import DATA_VARIABLE, PROFILE_VARIABLE, DataFolder, Profile


def run(asset: dg.AssetsDefinition) -> dg.ExecuteInProcessResult:
    return dg.materialize([asset], resources=default_resources, raise_on_error=False)


def test_a_run_works_on_the_folder_and_profile_of_the_environment(
        data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA_VARIABLE, data.root)
    monkeypatch.setenv(PROFILE_VARIABLE, "full")
    save_build_options(data, BuildOptions(namespaces=(0, 14)))
    seen: list[object] = []

    @dg.asset
    def probe(data: dg.ResourceParam[DataFolder], profile: dg.ResourceParam[Profile],
              spark: dg.ResourceParam[SparkOnDemand]) -> None:
        """Look at the resources."""
        seen.extend((data, profile.name, profile.namespaces, "session" in vars(spark)))

    assert run(probe).success
    assert seen == [data, "full", (0, 14), False]


def test_without_a_data_folder_the_run_says_which_variable_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DATA_VARIABLE, raising=False)

    @dg.asset
    def probe(data: dg.ResourceParam[DataFolder]) -> None:
        """Need the data folder."""

    with pytest.raises(dg.DagsterError) as caught:
        dg.materialize([probe], resources=default_resources)
    assert DATA_VARIABLE in str(caught.value.__cause__)


def test_the_lock_is_held_from_the_first_step_to_the_last(
        data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA_VARIABLE, data.root)
    seen: list[Holder | None] = []

    @dg.asset
    def writes(data: dg.ResourceParam[DataFolder], lock: dg.ResourceParam[Holder]) -> None:
        """Write under the lock."""
        seen.extend((lock, lock_holder(data)))

    assert run(writes).success
    assert seen[0] is not None
    assert seen[0] == seen[1]
    assert lock_holder(data) is None


def test_a_run_is_refused_while_another_process_builds(data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA_VARIABLE, data.root)
    script = ("import sys; from pipelines.locking import build_lock; from pipelines.settings import DataFolder\n"
              "with build_lock(DataFolder.at(sys.argv[1])): print('held', flush=True); sys.stdin.read()")
    other = subprocess.Popen([sys.executable, "-c", script, data.root], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        other.stdout.readline()

        @dg.asset
        def writes(lock: dg.ResourceParam[Holder]) -> None:
            """Must not run."""
            pytest.fail("two builds at once")

        with pytest.raises(dg.DagsterError) as caught:
            dg.materialize([writes], resources=default_resources)
        assert f"process {other.pid} " in str(caught.value.__cause__)
    finally:
        other.kill()
        other.communicate()
