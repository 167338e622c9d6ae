"""An evaluation in this process: the Dagster jobs `load_questions` and `evaluate_methods`.

What belongs here: the order of the two runs, and where their result lies. What does not: options and output
of the command (`commands/evaluate.py`), the jobs (`evaluate.py`), what they do (`training/evaluate.py`). The
runs are stored in the data folder's instance, so that the UI shows them.
"""

from __future__ import annotations

from typing import Any

from dagster import MultiPartitionKey

from assets.partitions import DATASETS
from assets.stages import Listener, StageEvent, listening
from jobs.build import run_job
from jobs.evaluate import evaluate_methods, load_questions
from jobs.instance import open_instance
from jobs.sensors import range_tags
from pipelines import files
from pipelines.errors import UserError
from pipelines.evaluation.datasets import QuestionSet
from pipelines.methods.registry import make_method, method_names, partition_names
from pipelines.settings import DataFolder
from training.evaluate import EvaluationOptions, result_path

PARTITION_TAG = "dagster/partition"


def run_evaluation(data: DataFolder, questions: QuestionSet, options: EvaluationOptions,
                   listener: Listener) -> dict[str, Any]:
    """Load a question set, ask the methods, and return the result (`pipelines.evaluation.results.compare`).

    Raises UserError for wrong options, RunFailure when a stage cannot finish.
    """
    events: list[StageEvent] = []
    with listening(events.append), listening(listener), open_instance(data) as instance:
        instance.add_dynamic_partitions(str(DATASETS.name), [questions.name])
        run_job(data, instance, load_questions.name, events,
                {"ops": {"questions": {"config": {"path": questions.path}}}},
                {PARTITION_TAG: questions.name})
        names = partition_names()
        wanted = _wanted(names, options)
        config = {
            "methods": wanted, "budget_tokens": options.budget_tokens, "router": options.router,
            "reader": options.reader, "together": options.together,
            "curve_budgets": list(options.curve_budgets), "options": options.set,
            **({} if options.k is None else {"k": options.k}),
            **({} if options.release is None else {"release": options.release}),
        }
        # One run over all methods of the set: a range of partitions, of which the config names some.
        keys = [str(MultiPartitionKey({"dataset": questions.name, "method": name})) for name in names]
        run_job(data, instance, evaluate_methods.name, events,
                {"ops": {"predictions": {"config": config}}}, range_tags(keys))
    result: dict[str, Any] = files.read_json(result_path(data, questions.name))
    return {**result, "n_bad_lines": len(questions.bad_lines)}


def _wanted(names: list[str], options: EvaluationOptions) -> list[str]:
    """The chosen methods among those that have partitions, in their order. Raises UserError for another one."""
    chosen = {make_method(name).name for name in options.methods or method_names()}
    if apart := sorted(chosen - set(names)):
        raise UserError(f"method {apart[0]!r}", "several ablations at once",
                        "one ablation a method, alone or with fill", "Correct --methods.")
    return [name for name in names if name in chosen]
