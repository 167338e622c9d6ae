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
from pipelines.evaluation.datasets import QuestionSet
from pipelines.methods.registry import method_names
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
        names = method_names()
        wanted = [name for name in names if not options.methods or name in options.methods]
        config = {
            "methods": wanted, "budget_tokens": options.budget_tokens, "router": options.router,
            "curve_budgets": list(options.curve_budgets), "options": options.set,
            **({} if options.k is None else {"k": options.k}),
            **({} if options.release is None else {"release": options.release}),
        }
        # One run over all methods of the set: a range of partitions, of which the config names some.
        keys = [str(MultiPartitionKey({"dataset": questions.name, "method": name})) for name in names]
        run_job(data, instance, evaluate_methods.name, events,
                {"ops": {"predictions": {"config": config}}}, range_tags(keys))
    result: dict[str, Any] = files.read_json(result_path(data, questions.name))
    return result
