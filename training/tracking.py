"""MLflow's tracking store: experiments, runs, datasets, metrics, artifacts, traces.

What belongs here: turning plain values into MLflow's records. What does not: computing any of them; methods
and evaluation hand over numbers, texts and timed steps; and models (`router_registry.py`, with this the only
module that imports MLflow). The store is SQLite in the data folder's state, its artifacts lie in the data
folder; nothing is sent anywhere.

A run that ends with an exception is marked FAILED with the error as a tag.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.evaluation.datasets import QuestionSet
from pipelines.settings import DataFolder
from training.moved_store import artifacts_uri, follow_move, store_failure

EXPERIMENT_PREFIX = "evaluation"
PARAM_LIMIT = 5_000
"""Longer parameters are cut here, with a mark: MLflow cuts at 6,000 characters without one."""
_BATCH = 100


@dataclass(frozen=True)
class TracedQuery:
    """One query for MLflow's traces: what went in and out, and its timed steps.

    steps: dicts with `step`, `started_at_s` (seconds since the epoch), `duration_s`; the rest are attributes.
    """

    name: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    steps: Sequence[Mapping[str, Any]]
    tags: Mapping[str, str]


class Tracker:
    """The MLflow store of one data folder. prefix: of the names of its experiments, as `evaluation/NAME`."""

    def __init__(self, data: DataFolder, prefix: str = EXPERIMENT_PREFIX) -> None:
        self._client = open_client(data)
        self._data, self._prefix = data, prefix

    def experiment_id(self, dataset: str) -> str:
        """Id of the experiment of that name, created when it is new. Raises MlflowException."""
        name = f"{self._prefix}/{dataset}"
        experiment = self._client.get_experiment_by_name(name)
        if experiment is not None:
            return str(experiment.experiment_id)
        location = artifacts_uri(self._data)
        folder = dataset if self._prefix == EXPERIMENT_PREFIX else name
        return str(self._client.create_experiment(name, artifact_location=f"{location}/{folder}"))

    def params(self, run_id: str) -> dict[str, str]:
        """Parameters of a run as logged: texts, or JSON. Raises MlflowException for an unknown run."""
        return dict(self._client.get_run(run_id).data.params)

    def metric_by_step(self, run_id: str, metric: str) -> dict[int, float]:
        """The newest value of a metric at each of its steps."""
        return {entry.step: entry.value for entry in self._client.get_metric_history(run_id, metric)}

    @contextmanager
    def run(self, dataset: str, name: str, *, parent_run_id: str | None = None,
            tags: Mapping[str, str] | None = None) -> Iterator[TrackedRun]:
        """A run, finished when the block ends and FAILED when it raises.

        Raises RunFailure where the store cannot be written, also in the block.
        """
        with _store_failures(self._data), self._run(dataset, name, parent_run_id, tags) as run:
            yield run

    @contextmanager
    def _run(self, dataset: str, name: str, parent_run_id: str | None,
             tags: Mapping[str, str] | None) -> Iterator[TrackedRun]:
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        run_tags = {**(tags or {}), "mlflow.source.name": f"espalier {self._prefix}"}
        if parent_run_id is not None:
            run_tags["mlflow.parentRunId"] = parent_run_id
        experiment_id = self.experiment_id(dataset)
        info = self._client.create_run(experiment_id, run_name=name, tags=run_tags).info
        run = TrackedRun(self._client, experiment_id, str(info.run_id))
        try:
            yield run
        except BaseException as error:
            # Where the store itself is what failed, the first error says why.
            with suppress(MlflowException, SQLAlchemyError):
                self._client.set_tag(run.run_id, "error", f"{type(error).__name__}: {error}"[:PARAM_LIMIT])
                self._client.set_terminated(run.run_id, status="FAILED")
            raise
        self._client.set_terminated(run.run_id, status="FINISHED")


class TrackedRun:
    """One run: everything that is logged to it."""

    def __init__(self, client: Any, experiment_id: str, run_id: str) -> None:
        self._client = client
        self.experiment_id, self.run_id = experiment_id, run_id
        self._tables: list[str] = []

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Parameters; values that are no strings are written as JSON."""
        from mlflow.entities import Param

        rows = [Param(key, _param_text(value)) for key, value in params.items()]
        for begin in range(0, len(rows), _BATCH):
            self._client.log_batch(self.run_id, params=rows[begin: begin + _BATCH])

    def log_metrics(self, metrics: Mapping[str, float | None], *, step: int = 0) -> None:
        """Metrics that are finite numbers. The others are left out: MLflow would store inf as 1.8e308."""
        import time

        from mlflow.entities import Metric

        now_ms = int(time.time() * 1000)
        rows = [Metric(key, float(value), now_ms, step) for key, value in metrics.items()
                if value is not None and math.isfinite(value)]
        for begin in range(0, len(rows), _BATCH):
            self._client.log_batch(self.run_id, metrics=rows[begin: begin + _BATCH])

    def log_curves(self, curves: Mapping[str, Sequence[tuple[int, float]]]) -> None:
        """Metrics by step: name → (step, value) pairs, those that are finite."""
        import time

        from mlflow.entities import Metric

        now_ms = int(time.time() * 1000)
        rows = [Metric(key, float(value), now_ms, step) for key, points in curves.items()
                for step, value in points if math.isfinite(value)]
        for begin in range(0, len(rows), _BATCH):
            self._client.log_batch(self.run_id, metrics=rows[begin: begin + _BATCH])

    def log_dataset(self, questions: QuestionSet) -> None:
        """The question set as the run's input: name, digest, number of questions, profile."""
        self.log_input(questions.name, questions.digest, "evaluation", "questions", questions.path,
                       {"num_rows": len(questions.questions)})

    def log_input(self, name: str, digest: str, context: str, schema: str, source: str = "",
                  profile: Mapping[str, Any] | None = None) -> None:
        """Rows as the run's input. context: what they were for, as evaluation. schema: what a row is."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        # MLflow takes 36 characters.
        dataset = Dataset(name=name, digest=digest[:32], source_type="local", source=json.dumps({"uri": source}),
                          schema=json.dumps({"espalier": schema}), profile=json.dumps(profile or {}))
        self._client.log_inputs(self.run_id, [DatasetInput(dataset, [InputTag("mlflow.data.context", context)])])

    def log_table(self, rows: Sequence[Mapping[str, Any]], artifact_file: str) -> None:
        """Rows as a table that MLflow's UI shows; a column that a row lacks is null there."""
        columns = list(dict.fromkeys(key for row in rows for key in row))
        table = {"columns": columns, "data": [[row.get(key) for key in columns] for row in rows]}
        self.log_text(json.dumps(table, ensure_ascii=False), artifact_file)
        # The tag lists all tables of the run: MLflow neither shows nor loads another one.
        self._tables.append(artifact_file)
        self._client.set_tag(self.run_id, "mlflow.loggedArtifacts",
                             json.dumps([{"path": path, "type": "table"} for path in self._tables]))

    def log_text(self, text: str, artifact_file: str) -> None:
        """A text file as artifact."""
        self.log_bytes(text.encode(), artifact_file)

    def log_bytes(self, content: bytes, artifact_file: str) -> None:
        """A file as artifact."""
        folder, _, name = artifact_file.rpartition("/")
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / name
            path.write_bytes(content)
            self._client.log_artifact(self.run_id, str(path), folder or None)

    def log_traces(self, queries: Iterable[TracedQuery]) -> int:
        """Traces with the times that were measured, linked to this run. Returns how many."""
        import mlflow

        n_traces = 0
        for query in queries:
            steps = [step for step in query.steps if "started_at_s" in step]
            begin_ns = min((_nanoseconds(step["started_at_s"]) for step in steps), default=0)
            end_ns = max((_end_nanoseconds(step) for step in steps), default=begin_ns)
            if not steps:
                continue
            root = mlflow.start_span_no_context(
                query.name, span_type="RETRIEVER", inputs=dict(query.inputs), tags=dict(query.tags),
                metadata={"mlflow.sourceRun": self.run_id}, experiment_id=self.experiment_id,
                start_time_ns=begin_ns)
            for step in steps:
                attributes = {key: value for key, value in step.items()
                              if key not in ("step", "started_at_s", "duration_s")}
                child = mlflow.start_span_no_context(
                    str(step["step"]), parent_span=root, attributes=attributes,
                    start_time_ns=_nanoseconds(step["started_at_s"]))
                child.end(end_time_ns=_end_nanoseconds(step))
            root.end(outputs=dict(query.outputs), end_time_ns=end_ns)
            n_traces += 1
        return n_traces


def quiet_environment() -> None:
    """Switch MLflow's telemetry and background threads off; must happen before its first import."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("DO_NOT_TRACK", "true")
    os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "false"


def open_client(data: DataFolder) -> Any:
    """A client of the data folder's store, which becomes the process's; it is made when it is not there yet."""
    quiet_environment()
    import logging

    import mlflow

    data.state.mkdir(parents=True, exist_ok=True)
    for name in ("mlflow", "alembic"):  # Their progress at first start would mix with the command's.
        logging.getLogger(name).setLevel(logging.WARNING)
    # What the store cannot do is raised too, and told in a line; logged, it is a traceback of a hundred.
    logging.getLogger("mlflow.store").setLevel(logging.CRITICAL)
    # Traces go through a module-wide exporter, which follows the module-wide address.
    mlflow.set_tracking_uri(data.mlflow_uri)
    with _store_failures(data):
        follow_move(data)
        # Read when a store is first opened: the place of its default experiment, else ./mlruns.
        os.environ["_MLFLOW_SERVER_ARTIFACT_ROOT"] = artifacts_uri(data)
        return mlflow.MlflowClient(data.mlflow_uri)


@contextmanager
def _store_failures(data: DataFolder) -> Iterator[None]:
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, SQLAlchemyError) as error:
        raise store_failure(data, error) from error


def _param_text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= PARAM_LIMIT else f"{text[:PARAM_LIMIT]} … ({len(text)} characters)"


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


def _end_nanoseconds(step: Mapping[str, Any]) -> int:
    return _nanoseconds(step["started_at_s"] + step.get("duration_s", 0.0))
