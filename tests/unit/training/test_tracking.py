"""What is said to MLflow about a run, without a store."""

from __future__ import annotations

import json

from training.tracking import TrackedRun


class Recording:
    """Keeps the tags of a run; artifacts go nowhere."""

    def __init__(self) -> None:
        self.tags: dict[str, str] = {}

    def log_artifact(self, run_id: str, path: str, folder: str | None) -> None:
        pass

    def set_tag(self, run_id: str, name: str, value: str) -> None:
        self.tags[name] = value


def test_every_table_of_a_run_is_announced() -> None:
    client = Recording()
    run = TrackedRun(client, "1", "r")
    run.log_table([{"id": "q1"}], "per_question.json")
    run.log_table([], "differences.json")
    announced = json.loads(client.tags["mlflow.loggedArtifacts"])
    assert announced == [{"path": name, "type": "table"} for name in ("per_question.json", "differences.json")]
