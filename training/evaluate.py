"""Evaluation: methods × questions → predictions, one comparison, a report, MLflow runs.

What belongs here: running a comparison from a question set to its records. What does not: metrics
(`pipelines/evaluation`), where questions are asked (`answering.py`), MLflow (`tracking.py`).

Also an entry point: `python -m training.evaluate --config FILE`, a JSON or YAML file of `EvaluationConfig`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipelines import files
from pipelines.errors import UserError
from pipelines.evaluation import trec
from pipelines.evaluation.bootstrap import N_RESAMPLES, SEED
from pipelines.evaluation.corpus_text import DocumentCache, ids_by_title
from pipelines.evaluation.datasets import QuestionSet, load_questions
from pipelines.evaluation.plots import latencies, recall_against_budget
from pipelines.evaluation.predictions import Prediction
from pipelines.evaluation.question_table import write_question_set
from pipelines.evaluation.report import render_report
from pipelines.evaluation.results import MethodOutcome, Scorer, Settings, compare
from pipelines.evaluation.version import code_version
from pipelines.methods.reader import LOCAL_READER, check_reader
from pipelines.methods.registry import method_names, options_by_method
from pipelines.methods.routers import LOCAL_ROUTER, check_router
from pipelines.models.load_llm import described
from pipelines.releases import Release, read_release
from pipelines.settings import DataFolder
from training.answering import Answerer, Ask, InProcess, Progress, ray_answerer
from training.command import run_command
from training.config_fields import OutFile
from training.config_file import faults
from training.router_registry import is_reference, pinned_router, resolve_router
from training.tracking import TracedQuery, TrackedRun, Tracker

if TYPE_CHECKING:
    from pipelines.api import Corpus


class EvaluationOptions(BaseModel):
    """What is compared and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    methods: tuple[str, ...] = Field((), description="Methods to compare; none: every method that exists")
    budget_tokens: int = Field(1000, ge=1, description="Budget of every context, in tokens")
    curve_budgets: tuple[int, ...] = Field(
        (250, 500, 2000), description="More budgets for the curve of evidence recall, in tokens")
    k: int | None = Field(None, ge=0, description="Units that a method retrieves; none: its own default")
    router: str = Field("similarity", description="Router of the methods that route, as --router")
    reader: str = Field("none", description="Reader that answers from the context")
    together: int = Field(1, ge=1, le=1000, description=(
        "Questions that are asked at once, for a language model that routes; latencies are then shared equally"))
    set: dict[str, str] = Field(default_factory=dict, description="Options for the methods that have them")
    release: int | None = Field(None, ge=1, description="Release; none: the served one")
    ray: Literal["auto", "never", "always"] = Field("auto", description="Whether to ask on Ray")
    ray_above: int = Field(5_000, ge=0, description="auto: Ray above so many asks (methods × questions)")
    ray_workers: int | None = Field(None, ge=1, description="Workers on Ray; none: one a CPU")
    n_resamples: int = Field(N_RESAMPLES, ge=100, description="Resamples of the paired bootstrap")
    seed: int = Field(SEED, ge=0, description="Seed of the paired bootstrap")
    traced_questions: int = Field(100, ge=0, description="Questions of each method that MLflow traces")


class EvaluationConfig(EvaluationOptions):
    """The file of `python -m training.evaluate --config FILE`."""

    data: str | None = Field(None, description="Data folder; none: ESPALIER_DATA")
    questions: Path = Field(description="Questions file, JSON Lines")
    dataset: str | None = Field(None, description="Name of the question set; none: the file's name")
    out: OutFile | None = Field(None, description="Where to write the result, JSON")


def make_options(**values: Any) -> EvaluationOptions:
    """Checked options. Raises UserError naming every option at fault, also for methods and their options."""
    try:
        options = EvaluationOptions.model_validate(values)
    except ValidationError as error:
        raise UserError("evaluation options", faults(error), "values within their ranges",
                        "Correct them.") from error
    options_by_method(options.methods or method_names(), options.set)
    if not is_reference(options.router):
        check_router(options.router)
    check_reader(options.reader)
    return options


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation made. result: see `pipelines.evaluation.results.compare`."""

    result: dict[str, Any]
    report_path: str
    run_ids: dict[str, str]
    """MLflow run by method."""
    comparison_run_id: str
    """The run above them; the same run where only one method was evaluated."""
    experiment_id: str


def evaluate(data: DataFolder, questions: QuestionSet, options: EvaluationOptions | None = None, *,
             progress: Progress | None = None) -> Evaluation:
    """Compare methods on a question set: predictions, result, report, one MLflow run a method.

    Rows go to the tables `questions` and `predictions`. Raises UserError for an unknown method or option and
    RunFailure for a release that cannot be read; MLflow's runs are then marked FAILED.
    """
    from pipelines.api import Corpus

    options = options or EvaluationOptions()
    names = options.methods or tuple(method_names())
    method_options = options_by_method(names, options.set)
    corpus = Corpus.open(data, release=options.release)
    # An alias may move while this runs, and a result must say what it was made with.
    options = options.model_copy(update={"router": pinned_router(options.router, data)})
    router = resolve_router(options.router, data)
    write_question_set(data, questions)
    with ExitStack() as stack:
        answerer = _answerer(stack, data, corpus, options, len(names) * len(questions.questions))
        release = read_release(data, corpus.release)
        settings = _settings(release, options, answerer)
        cache = DocumentCache(corpus.retrieval)
        scorer = Scorer(questions, cache, ids_by_title(data, release, questions.questions),
                        corpus.retrieval.count_tokens)
        tracker = Tracker(data)
        parent = stack.enter_context(_comparison_run(tracker, questions, settings, names))
        outcomes: dict[str, MethodOutcome] = {}
        runs: dict[str, TrackedRun] = {}
        for name in names:
            ask = Ask(name, options.budget_tokens, options.k, router, options.reader,
                      method_options[name], options.together)
            with _method_run(tracker, questions, name, parent) as run:
                runs[name] = run
                run.log_params(_params(questions, settings, name, method_options[name]))
                outcomes[name] = _run_method(ask, questions, options, answerer, cache, scorer, progress)
                _record(data, run, questions, outcomes[name], scorer, options, name)
        result = compare(scorer, outcomes, settings, n_resamples=options.n_resamples, seed=options.seed)
        report_path = write_report(data, result, questions, outcomes)
        top = parent or next(iter(runs.values()))
        _record_comparison(top, result, files.read_text(report_path))
    return Evaluation(result, report_path, {name: run.run_id for name, run in runs.items()}, top.run_id,
                      top.experiment_id)


def write_report(data: DataFolder, result: Mapping[str, Any], questions: QuestionSet,
                 outcomes: Mapping[str, MethodOutcome]) -> str:
    """Write the HTML report to the data folder, the result as JSON beside it, and return the report's path.

    Those of an older comparison of the set are replaced; MLflow keeps every one.
    """
    page = render_report(result, questions.questions,
                         {name: outcome.predictions for name, outcome in outcomes.items()})
    path = f"{data.reports}/evaluation-{questions.name}.html"
    files.write_json(result_path(data, questions.name), result)
    files.write_text(path, page)
    return path


def result_path(data: DataFolder, dataset: str) -> str:
    """Where the newest result of a question set lies, in the JSON form of `espalier evaluate`."""
    return f"{data.reports}/evaluation-{dataset}.json"


def _answerer(stack: ExitStack, data: DataFolder, corpus: Corpus, options: EvaluationOptions,
              n_asks: int) -> Answerer:
    if options.ray == "always" or (options.ray == "auto" and n_asks > options.ray_above):
        return stack.enter_context(ray_answerer(data, corpus.release, options.ray_workers))
    return InProcess(corpus)


def _settings(release: Release, options: EvaluationOptions, answerer: Answerer) -> Settings:
    return Settings(
        release=release.number, budget_tokens=options.budget_tokens, token_counter=release.token_counter,
        encoder=release.encoder, router=described(options.router, LOCAL_ROUTER),
        reader=described(options.reader, LOCAL_READER), k=options.k,
        options=dict(sorted(options.set.items())), code_version=code_version(),
        executor=answerer.description + (f", {options.together} questions at once" if options.together > 1 else ""))


@contextmanager
def _comparison_run(tracker: Tracker, questions: QuestionSet, settings: Settings,
                    names: Sequence[str]) -> Iterator[TrackedRun | None]:
    """The run above the methods' runs; none for one method, whose run then holds the report."""
    if len(names) == 1:
        yield None
        return
    with tracker.run(questions.name, f"comparison, release {settings.release}",
                     tags={"kind": "comparison"}) as run:
        run.log_params({**_params(questions, settings, ", ".join(names), settings.options)})
        run.log_dataset(questions)
        yield run


@contextmanager
def _method_run(tracker: Tracker, questions: QuestionSet, name: str,
                parent: TrackedRun | None) -> Iterator[TrackedRun]:
    with tracker.run(questions.name, name, parent_run_id=parent.run_id if parent else None,
                     tags={"kind": "method", "method": name}) as run:
        run.log_dataset(questions)
        yield run


def _params(questions: QuestionSet, settings: Settings, method: str,
            method_options: Mapping[str, str]) -> dict[str, Any]:
    return {**settings.to_json(), "options": dict(method_options), "method": method,
            "dataset": questions.name, "questions_digest": questions.digest,
            "n_questions": len(questions.questions)}


def _run_method(ask: Ask, questions: QuestionSet, options: EvaluationOptions, answerer: Answerer,
                cache: DocumentCache, scorer: Scorer, progress: Progress | None) -> MethodOutcome:
    """Ask every question under every budget and score what came back."""
    budgets = [ask.budget_tokens, *sorted({*options.curve_budgets} - {ask.budget_tokens})]
    n_questions = len(questions.questions)
    predictions: dict[int, list[Prediction]] = {}

    def report(method: str, done: int, total: int) -> None:
        if progress is not None:
            progress(method, len(predictions) * n_questions + done, len(budgets) * n_questions)

    for budget_tokens in budgets:
        predictions[budget_tokens] = answerer.answer(
            replace(ask, budget_tokens=budget_tokens), questions.questions, report)
    cache.load(entry.doc_id for rows in predictions.values() for p in rows for entry in p.evidence)
    return scorer.outcome(predictions.pop(ask.budget_tokens), ask.budget_tokens, predictions)


def _record(data: DataFolder, run: TrackedRun, questions: QuestionSet, outcome: MethodOutcome, scorer: Scorer,
            options: EvaluationOptions, name: str) -> None:
    """Keep one method's predictions, metrics, table, run in TREC format and traces."""
    from pipelines.storage import append_rows

    append_rows(data, "predictions", [
        p.table_row(run.run_id, questions.name, row)
        for p, row in zip(outcome.predictions, outcome.rows, strict=True)])
    summary = outcome.summary()
    run.log_metrics({key: value for key, value in summary.items() if key != "n"})
    run.log_metrics({f"n_{key}": float(value) for key, value in summary["n"].items()})
    for point in outcome.curve:
        run.log_metrics({"evidence_recall_at_budget": point["evidence_recall"],
                         "context_tokens_at_budget": point["context_tokens"]}, step=point["budget_tokens"])
    texts = {question.question_id: question for question in questions.questions}
    run.log_table([
        {"id": p.question_id, "type": texts[p.question_id].type, "question": texts[p.question_id].question,
         **row, "documents": ", ".join(entry.title for entry in p.evidence), "context": p.context}
        for p, row in zip(outcome.predictions, outcome.rows, strict=True)], "per_question.json")
    own = {"methods": {name: summary}, "curve": {name: outcome.curve}}
    run.log_text(recall_against_budget(own), "plots/evidence_recall_against_budget.svg")
    run.log_text(latencies(own), "plots/latency.svg")
    run.log_text(trec.run_lines(scorer.rankings(outcome.predictions), name), "trec/run.txt")
    run.log_text(trec.qrels_lines(scorer.relevant), "trec/qrels.txt")
    run.log_traces(_traced(p, texts[p.question_id].question)
                   for p in outcome.predictions[:options.traced_questions])


def _traced(prediction: Prediction, question: str) -> TracedQuery:
    return TracedQuery(
        prediction.method, {"question": question},
        {"context_tokens": prediction.context_tokens,
         "citations": [c.uri for entry in prediction.evidence for c in entry.citations][:50]},
        prediction.trace, {"question_id": prediction.question_id, "method": prediction.method})


def _record_comparison(run: TrackedRun, result: Mapping[str, Any], page: str) -> None:
    run.log_text(page, "report.html")
    run.log_table(result["differences"], "differences.json")
    run.log_text(recall_against_budget(result), "plots/evidence_recall_against_budget.svg")
    run.log_text(latencies(result), "plots/latency.svg")


def run(config: EvaluationConfig) -> str:
    """Evaluate, and say where the report is."""
    options = EvaluationOptions.model_validate(config.model_dump(include=set(EvaluationOptions.model_fields)))
    questions = load_questions(config.questions, config.dataset, skip_bad=True)
    evaluation = evaluate(DataFolder.at(config.data), questions, options)
    n_bad = len(questions.bad_lines)
    if config.out is not None:
        files.write_json(str(config.out.absolute()), {**evaluation.result, "n_bad_lines": n_bad})
    bad = f"questions: {n_bad} lines hold no valid question, see the table rejects\n" if n_bad else ""
    return f"{bad}report: {evaluation.report_path}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an evaluation from a config file; prints where the result and the report are."""
    return run_command("evaluate", "Compare retrieval methods on a question set.", EvaluationConfig, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
