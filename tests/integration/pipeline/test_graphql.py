"""A run that the UI starts: over GraphQL, in processes of its own, on the same data folder."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from built import Built
from small_wiki import write_wiki

from assets.partitions import DUMP_FILES
from jobs.instance import instance_environment, open_instance, place_instance
from jobs.ui import WORKSPACE, commands
from pipelines.dump_files import register_dump_files
from pipelines.releases import current_release
from pipelines.storage import TableReader

LIMIT_S = 420

LAUNCH = """
mutation Launch($job: String!, $tags: [ExecutionTag!]!) {
  launchRun(executionParams: {
    selector: {repositoryLocationName: "espalier", repositoryName: "__repository__", jobName: $job}
    runConfigData: "{}", executionMetadata: {tags: $tags}
  }) { __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
       ... on RunConfigValidationInvalid { errors { message } } }
}"""
RUN = """
query Run($id: ID!) { runOrError(runId: $id) { ... on Run { status jobName
  eventConnection { events { ... on ExecutionStepFailureEvent { stepKey error { message } }
                             ... on RunFailureEvent { message } } } } } }"""


class Ui:
    """A running web server."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}/graphql"

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(self._address, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer
        return dict(answer["data"])

    def run(self, job: str, **tags: str) -> None:
        """Launch a job and wait until it has succeeded."""
        launched = self.ask(LAUNCH, job=job, tags=[{"key": k, "value": v} for k, v in tags.items()])["launchRun"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            run = self.ask(RUN, id=launched["run"]["runId"])["runOrError"]
            if run["status"] in ("SUCCESS", "FAILURE", "CANCELED"):
                assert run["status"] == "SUCCESS", [event for event in run["eventConnection"]["events"] if event]
                return
            time.sleep(1)
        pytest.fail(f"{job} did not end within {LIMIT_S} s")


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
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info", timeout=5).close()
                break
            except (urllib.error.URLError, ConnectionError, TimeoutError):
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
def test_a_dump_is_read_and_released_from_the_ui(small: Built, ui: Ui, tmp_path: Path) -> None:
    update = write_wiki(tmp_path / "update.xml", {2: "The '''birch''' bends in storms.\n"}, revision=2)
    [file] = register_dump_files(small.data, [update])
    with open_instance(small.data) as instance:
        instance.add_dynamic_partitions(str(DUMP_FILES.name), [file.key])
    ui.run("ingest_dumps", **{"dagster/partition": file.key})
    ui.run("refresh_corpus")
    release = current_release(small.data)
    assert release.number == 2
    [document] = TableReader(small.data, release.tables).rows(
        "documents", ("revision",), where_sql="doc_id = 'treewiki:2'")
    assert document["revision"] == "202"
