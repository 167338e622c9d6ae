"""`espalier status` after runs that failed: at a check, with an error, from the drop folder's point of view."""

from __future__ import annotations

import json

import dagster as dg
import pytest

from assets.checks import check_failure, failing_rows
from assets.quality.validation import RuleResult
from assets.stages import stage
from jobs.cli import main
from jobs.instance import open_instance
from jobs.runs import read_history
from pipelines.drop_files import drop_folder_of
from pipelines.errors import RunFailure
from pipelines.settings import DataFolder

RESULT = RuleResult("no_markup_residue", False, 31, 30,
                    [{"doc_id": "treewiki:1", "node_id": 4, "no_markup_residue": "link"}], 0.0005)


def failed_runs(data: DataFolder) -> None:
    """A run that a check stopped, then one whose stage raised."""
    @dg.asset_check(asset="tree_nodes", name=RESULT.rule, blocking=True)
    def check() -> dg.AssetCheckResult:
        told = check_failure("tree_nodes", [RESULT], data)
        return dg.AssetCheckResult(passed=False, metadata=failing_rows(RESULT), description=str(told))

    @dg.op
    def read() -> None:
        with stage("pages"):
            raise RunFailure("dump a.xml", "cut\nin two", "a whole file", "Fetch it again.")

    @dg.job
    def ingest_dumps() -> None:
        read()

    checking = dg.define_asset_job("refresh_corpus", selection=dg.AssetSelection.all_asset_checks())
    defs = dg.Definitions(assets=[dg.AssetSpec("tree_nodes")], asset_checks=[check], jobs=[checking, ingest_dumps])
    with open_instance(data) as instance:
        for job in ("refresh_corpus", "ingest_dumps"):
            defs.resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=False)


def test_status_tells_the_last_runs_their_failed_checks_and_the_drop_folder(
        data: DataFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert read_history(data).runs == []
    failed_runs(data)
    drop_folder_of(data).mkdir(parents=True)
    (drop_folder_of(data) / "a\nb.xml").write_bytes(b"<mediawiki/>")
    (drop_folder_of(data) / "notes.zip").write_bytes(b"x")
    capsys.readouterr()
    assert main(["status", "--data", data.root]) == 0
    lines = capsys.readouterr().out.splitlines()
    [ingest] = [number for number, line in enumerate(lines) if line.startswith("run      ingest_dumps failure")]
    assert lines[ingest + 1].strip() == "dump a.xml: cut in two; expected a whole file. Fetch it again."
    [refresh] = [number for number, line in enumerate(lines) if line.startswith("run      refresh_corpus")]
    assert lines[refresh + 1].strip().startswith(
        "check tree_nodes: table tree_nodes: rule no_markup_residue: 30 of 31 rows fail, a share of 0.0005 may "
        "(doc_id=treewiki:1, node_id=4")
    assert "--tolerate no_markup_residue=" in lines[refresh + 1]
    assert any(line.endswith("a\\nb.xml waits: the sensor drop_folder is off: switch it on in make ui, or name the "
                             "file to espalier build --wikipedia") for line in lines)
    assert any("notes.zip refused: its name ends with none of" in line for line in lines)
    assert main(["status", "--data", data.root, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    [check] = [check for run in told["runs"] for check in run["failed_checks"]]
    assert (check["rule"], check["tolerance"], check["failing_rows"]) == ("no_markup_residue", 0.0005, 30)
    assert check["first_rows"] == RESULT.rows
    assert {file["state"] for file in told["drop"]} == {"waits", "refused"}
    assert [run["seconds"] is not None for run in told["runs"]] == [True, True]
