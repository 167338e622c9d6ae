"""What the UI starts: every job, and what every sensor and schedule asks for, over GraphQL on one data folder."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from built import Built
from small_wiki import write_wiki

from assets.partitions import DATASETS, DUMP_FILES
from jobs.instance import instance_environment, open_instance, place_instance
from jobs.runs import read_history
from jobs.sensors import refresh_after_reading
from jobs.ui import WORKSPACE, answers, commands
from pipelines.releases import current_release
from pipelines.storage import TableReader

LIMIT_S = 420
LOCATION = {"repositoryLocationName": "espalier", "repositoryName": "__repository__"}

LAUNCH = """
mutation Launch($job: String!, $config: RunConfigData!, $tags: [ExecutionTag!]!) {
  launchRun(executionParams: {
    selector: {repositoryLocationName: "espalier", repositoryName: "__repository__", jobName: $job}
    runConfigData: $config, executionMetadata: {tags: $tags}
  }) { __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
       ... on RunConfigValidationInvalid { errors { message } } }
}"""
RUN = """
query Run($id: ID!) { runOrError(runId: $id) { ... on Run { status jobName
  eventConnection { events { ... on ExecutionStepFailureEvent { stepKey error { message } }
                             ... on RunFailureEvent { message } } } } } }"""
DEFINED = """
query Defined($where: RepositorySelector!) { repositoryOrError(repositorySelector: $where) { ... on Repository {
  jobs { name } sensors { name } schedules { name } } } }"""
TICK = """evaluationResult { cursor error { message } skipReason dynamicPartitionsRequests { partitionKeys }
  runRequests { jobName runConfigYaml tags { key value } } }"""
SENSOR = f"""
mutation Tick($where: SensorSelector!, $cursor: String) {{ sensorDryRun(selectorData: $where, cursor: $cursor) {{
  __typename ... on DryRunInstigationTick {{ {TICK} }} }} }}"""
SCHEDULE = f"""
mutation Tick($where: ScheduleSelector!, $now: Float!) {{
  scheduleDryRun(selectorData: $where, timestamp: $now) {{
  __typename ... on DryRunInstigationTick {{ {TICK} }} }} }}"""
PLAN = {"dataset": "trees", "turns": 1, "promote_first": True,
        "scorer": {"epochs": 2, "hidden": [4], "networks": 1},
        "curves": {"ks": [2], "turn_counts": [0], "ablations": []}}
QUESTIONS = (
    ("train", "What are made of the soft wood?", "Aspen", "Matches are made of it.", "matches"),
    ("train", "What trembles in the wind?", "Aspen", "Its leaves tremble in the wind.", "leaves"),
    ("dev", "Which tree grows in storms of the north?", "Birch", "The birch bends in storms.", "birch"),
    ("test", "Who built ships?", "Cedar", "The Phoenicians built ships of cedar.", "Phoenicians"),
)


class Ui:
    """A running web server."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}/graphql"
        self.launched: set[str] = set()
        self.ticked: set[str] = set()

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(self._address, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer
        return dict(answer["data"])

    def run(self, job: str, config: dict[str, Any] | str = "{}", **tags: str) -> str:
        """Launch a job, wait until it has succeeded, and return its run id."""
        launched = self.ask(LAUNCH, job=job, config=config, tags=[
            {"key": key, "value": value} for key, value in tags.items()])["launchRun"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            run = self.ask(RUN, id=launched["run"]["runId"])["runOrError"]
            if run["status"] in ("SUCCESS", "FAILURE", "CANCELED"):
                assert run["status"] == "SUCCESS", [event for event in run["eventConnection"]["events"] if event]
                self.launched.add(job)
                return str(launched["run"]["runId"])
            time.sleep(1)
        pytest.fail(f"{job} did not end within {LIMIT_S} s")

    def tick(self, query: str, name: str, **variables: Any) -> dict[str, Any]:
        """Look once as a sensor or schedule would now."""
        kind = "sensor" if query is SENSOR else "schedule"
        answer = self.ask(query, where={**LOCATION, f"{kind}Name": name}, **variables)
        result: dict[str, Any] = answer[f"{kind}DryRun"]["evaluationResult"]
        assert result["error"] is None, result
        self.ticked.add(name)
        return result

    def run_requests(self, result: dict[str, Any], job: str = "") -> list[str]:
        """Launch what a tick asks for; return the run ids. job: a schedule's own, which its requests leave out."""
        return [self.run(request["jobName"] or job, request["runConfigYaml"],
                         **{tag["key"]: tag["value"] for tag in request["tags"]})
                for request in result["runRequests"] or []]


@pytest.fixture
def ui(small: Built) -> Iterator[Ui]:
    """Web server and daemon as `make ui` starts them, over the small wiki."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place_instance(small.data)
    environment = os.environ | instance_environment(small.data, "fast")
    services = [
        subprocess.Popen(command, env=environment, cwd=WORKSPACE.parent, start_new_session=True,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name, command in commands(small.data, port, 0).items() if name.startswith("Dagster")]
    try:
        deadline = time.monotonic() + LIMIT_S
        while not answers(f"http://127.0.0.1:{port}/server_info"):
            assert time.monotonic() < deadline, "the web server did not start"
            time.sleep(0.5)
        yield Ui(port)
    finally:
        for service in services:
            if service.poll() is None:
                os.killpg(service.pid, signal.SIGTERM)
        for service in services:
            try:
                service.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(service.pid, signal.SIGKILL)
                service.wait()


@pytest.mark.timeout(1200)
def test_every_job_sensor_and_schedule_of_the_definitions(small: Built, ui: Ui, tmp_path: Path) -> None:
    """A dump from the drop folder to a release, its evaluation, trained routers and their curves.

    What the definitions have and nothing here starts is named: a new job is given its run here.
    """
    _read_and_release(small, ui)
    _evaluate(small, ui, tmp_path)
    plan = {"resources": {"router_plan": {"config": PLAN}}}
    ui.run("train_routers", plan)
    ui.run("draw_router_curves", plan)

    defined = ui.ask(DEFINED, where=LOCATION)["repositoryOrError"]
    jobs, sensors, schedules = ({one["name"] for one in defined[kind] if not one["name"].startswith("__")}
                                for kind in ("jobs", "sensors", "schedules"))
    assert ui.launched == jobs
    assert ui.ticked == sensors | schedules
    newest = read_history(small.data).runs[0]
    assert (newest.job, newest.result, newest.error) == ("draw_router_curves", "success", None)


def _read_and_release(small: Built, ui: Ui) -> None:
    """The looks of the drop folder's sensor one after the other, then what follows a reading, by the clock too."""
    (Path(small.data.root) / "drop").mkdir()
    write_wiki(Path(small.data.root) / "drop" / "update of 2026.xml",
               {2: "The '''birch''' bends in storms.\n"}, revision=2)
    cursor, asked, read = None, [], []
    for _ in range(4):
        result = ui.tick(SENSOR, "drop_folder", cursor=cursor)
        cursor = result["cursor"]
        for added in result["dynamicPartitionsRequests"] or []:
            with open_instance(small.data) as instance:
                instance.add_dynamic_partitions(str(DUMP_FILES.name), added["partitionKeys"])
        asked.append([request["jobName"] for request in result["runRequests"] or []])
        read += ui.run_requests(result)
    assert asked == [[], ["register_dump"], ["ingest_dumps"], []]
    with open_instance(small.data) as instance:
        [success] = instance.all_logs(read[-1], of_type=dg.DagsterEventType.RUN_SUCCESS)
        context = dg.build_run_status_sensor_context(
            refresh_after_reading.name, success.dagster_event, instance, instance.get_run_by_id(read[-1]))
        request = refresh_after_reading(context)
    ui.ticked.add(refresh_after_reading.name)
    assert (refresh_after_reading.job_name, request.run_config) == ("refresh_corpus", {})
    assert len(ui.run_requests(ui.tick(SCHEDULE, "monthly_refresh", now=time.time()),
                               "refresh_corpus")) == 1
    release = current_release(small.data)
    assert release.number == 2
    [document] = TableReader(small.data, release.tables).rows(
        "documents", ("revision",), where_sql="doc_id = 'treewiki:2'")
    assert document["revision"] == "202"


def _evaluate(small: Built, ui: Ui, folder: Path) -> None:
    """A set is loaded, two methods are asked, and what Dagster recorded of them is compared."""
    questions = folder / "trees.jsonl"
    questions.write_text("".join(json.dumps({
        "id": f"q{number}", "question": question, "answers": [answer], "split": split,
        "evidence": [{"title": title, "quote": quote}]}) + "\n"
        for number, (split, question, title, quote, answer) in enumerate(QUESTIONS)), encoding="utf-8")
    with open_instance(small.data) as instance:
        instance.add_dynamic_partitions(str(DATASETS.name), ["trees"])
    of_set = {"dagster/partition": "trees"}
    ui.run("load_questions", {"ops": {"questions": {"config": {"path": str(questions)}}}}, **of_set)
    for method in ("flat", "rdr2"):
        ui.run("evaluate_methods", **{
            "dagster/partition": f"trees|{method}", "dagster/partition/dataset": "trees",
            "dagster/partition/method": method})
    compared = ui.run("compare_methods", **of_set)
    with open_instance(small.data) as instance:
        [event] = instance.all_logs(compared, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
        assert event.asset_materialization is not None
        table = str(event.asset_materialization.metadata["methods"].value)
    assert {line.split(" | ")[0].strip("| ") for line in table.splitlines()[2:]} == {"flat", "rdr2"}
