"""Evaluation: question sets, the predictions of each method, and their comparison.

What belongs here: one asset each, thin. What does not: metrics (`pipelines/evaluation`), asking and MLflow
(`training`). `predictions` is partitioned by question set and method; a run over several methods of a set
compares them at once. `comparison` compares the newest predictions of all methods of a set.
"""

import functools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import dagster as dg
from pydantic import Field

from assets.metadata import markdown_table, table_facts, table_spec
from assets.partitions import DATASETS, EVALUATIONS, dimension_tags, evaluation_of
from assets.stages import StageEvent, stage, tell
from pipelines.errors import UserError
from pipelines.settings import DataFolder
from pipelines.storage import open_table

SHOWN_METRICS = ("evidence_recall", "evidence_precision", "evidence_f1", "context_tokens", "latency_p50_s")


class QuestionsConfig(dg.Config):
    """Where the questions of a set come from."""

    path: str = Field(description="Questions file, JSON Lines: one question a line")


class PredictionsConfig(dg.Config):
    """How the methods are asked."""

    methods: list[str] = Field([], description="Of the partitions, ask only these methods; none: all")
    budget_tokens: int = Field(1000, ge=1, description="Budget of every context, in tokens")
    curve_budgets: list[int] = Field([250, 500, 2000], description="More budgets for the curve of recall")
    k: int | None = Field(None, ge=0, description="Units that a method retrieves; none: its own default")
    router: str = Field("similarity", description="Router of the methods that route: similarity, a scorer's file, "
                                                  "an adapter's folder, models:/NAME@champion, local, or the "
                                                  "URL of an endpoint, with #MODEL")
    reader: str = Field("none", description="Reader of the evidence: none, default, or the URL of an endpoint")
    together: int = Field(1, ge=1, le=1000, description=(
        "Questions that are asked at once, for a language model that routes; latencies are then shared equally"))
    options: dict[str, str] = Field({}, description="Options for the methods that have them")
    release: int | None = Field(None, ge=1, description="Release; none: the served one")


class ComparisonConfig(dg.Config):
    """Which predictions are compared."""

    budget_tokens: int = Field(1000, ge=1, description="Only predictions under this budget, in tokens")


@dg.multi_asset(name="questions", partitions_def=DATASETS, specs=[
    table_spec("questions", [], code_version="1", kinds={"delta"})])
def questions(context: dg.AssetExecutionContext, config: QuestionsConfig,
              data: dg.ResourceParam[DataFolder]) -> dg.MaterializeResult[None]:
    """Load the questions file of a set into the table `questions`."""
    from pipelines.evaluation.datasets import load_questions
    from pipelines.evaluation.question_table import write_question_set

    with stage("questions"):
        loaded = load_questions(config.path, context.partition_key, skip_bad=True)
        written = write_question_set(data, loaded)
        facts = table_facts(data, "questions", written.version)
    return dg.MaterializeResult("questions", metadata={
        **facts, "n_questions": len(loaded.questions), "n_bad_lines": len(loaded.bad_lines),
        "n_inserted": written.n_inserted, "n_updated": written.n_updated, "digest": loaded.digest})


@dg.multi_asset(
    name="predictions", partitions_def=EVALUATIONS, backfill_policy=dg.BackfillPolicy.single_run(),
    specs=[table_spec("predictions", ["questions", "release"], code_version="1", kinds={"mlflow", "delta"},
                      skippable=True)])
def predictions(context: dg.AssetExecutionContext, config: PredictionsConfig,
                data: dg.ResourceParam[DataFolder]) -> Iterator[dg.MaterializeResult[None]]:
    """Ask methods all questions of a set: predictions, metrics, an MLflow run a method."""
    from pipelines.evaluation.question_table import read_question_set
    from training.evaluate import EvaluationOptions, evaluate

    wanted: dict[str, list[str]] = defaultdict(list)
    for key in context.partition_keys:
        dimensions = evaluation_of(key)
        assert dimensions is not None
        if not config.methods or dimensions["method"] in config.methods:
            wanted[dimensions["dataset"]].append(dimensions["method"])
    with stage("predictions"):
        for dataset, methods in wanted.items():
            options = EvaluationOptions(
                methods=tuple(methods), budget_tokens=config.budget_tokens, k=config.k, router=config.router,
                reader=config.reader, together=config.together,
                curve_budgets=tuple(config.curve_budgets), set=config.options, release=config.release)
            asked = read_question_set(data, dataset)
            evaluation = evaluate(data, asked, options, progress=functools.partial(
                _tell_progress, n_questions=len(asked.questions)))
            facts = table_facts(data, "predictions", int(open_table(data, "predictions").version()))
            for method in methods:
                key = dg.MultiPartitionKey({"dataset": dataset, "method": method})
                context.log_event(dg.AssetMaterialization(
                    "predictions", partition=key, tags=dimension_tags(key),
                    metadata={**facts, **_metrics(evaluation.result["methods"][method]),
                              "release": evaluation.result["settings"]["release"],
                              "budget_tokens": config.budget_tokens,
                              "mlflow_run_id": evaluation.run_ids[method],
                              "report": dg.MetadataValue.path(evaluation.report_path)}))
    yield from ()


def _tell_progress(method: str, done: int, total: int, *, n_questions: int) -> None:
    """Tell the listeners how far a method is: of `total` asks, the questions under each budget in turn."""
    tell(StageEvent(method, "done" if done == total else "running",
                    facts={"asked": done, "of": total, "questions": n_questions}))


@dg.asset(deps=["predictions"], partitions_def=DATASETS, kinds={"python"}, code_version="1",
          description="The newest predictions of all methods of a question set, compared: paired bootstrap "
                      "intervals, plots and a report.")
def comparison(context: dg.AssetExecutionContext, config: ComparisonConfig,
               data: dg.ResourceParam[DataFolder]) -> dg.MaterializeResult[None]:
    """Compare what is stored, without asking a method again."""
    from training.comparison import compare_stored

    dataset = context.partition_key
    with stage("comparison"):
        run_ids = _newest_runs(context.instance, dataset, config.budget_tokens)
        if not run_ids:
            raise UserError(f"comparison of {dataset!r}",
                            f"no predictions under {config.budget_tokens} tokens",
                            "methods that were evaluated", "Materialize predictions of this set first.")
        result, report = compare_stored(data, dataset, run_ids, config.budget_tokens)
    methods: dict[str, dict[str, Any]] = result["methods"]
    return dg.MaterializeResult(metadata={
        "methods": dg.MetadataValue.md(markdown_table(
            ("method", *SHOWN_METRICS),
            [(name, *(values[metric] for metric in SHOWN_METRICS)) for name, values in methods.items()])),
        "n_questions": result["n_questions"], "report": dg.MetadataValue.path(report)})


def _newest_runs(instance: dg.DagsterInstance, dataset: str, budget_tokens: int) -> dict[str, str]:
    """Method → MLflow run of its newest predictions of a set under a budget, as Dagster recorded them."""
    newest: dict[str, str] = {}
    cursor: str | None = None
    while True:
        page = instance.fetch_materializations(dg.AssetKey("predictions"), limit=1000, cursor=cursor)
        for record in page.records:
            event = record.asset_materialization
            keys = event and evaluation_of(event.partition)
            if event is None or keys is None:
                continue
            if keys["dataset"] != dataset or not {"budget_tokens", "mlflow_run_id"} <= set(event.metadata):
                # Of another set, or reported by hand.
                continue
            if event.metadata["budget_tokens"].value == budget_tokens:
                newest.setdefault(keys["method"], str(event.metadata["mlflow_run_id"].value))
        if not page.has_more:
            return newest
        cursor = page.cursor


def _metrics(values: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
