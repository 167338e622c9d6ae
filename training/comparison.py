"""A comparison of methods that were evaluated one by one: their stored predictions, scored again together.

What belongs here: from MLflow runs and rows of `predictions` to one result and report. What does not: asking
methods (`evaluate.py`). Runs of different releases, budgets or questions are no comparison and are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.errors import UserError
from pipelines.evaluation.corpus_text import DocumentCache, ids_by_title
from pipelines.evaluation.predictions import Prediction
from pipelines.evaluation.question_table import read_question_set
from pipelines.evaluation.results import MethodOutcome, Scorer, Settings, compare
from pipelines.evaluation.version import code_version
from pipelines.releases import read_release
from pipelines.settings import DataFolder
from pipelines.storage import TableReader, sql_in
from training.evaluate import write_report
from training.tracking import Tracker

SAME = ("release", "budget_tokens", "questions_digest", "reader", "router", "k")
"""Parameters that all compared runs must share."""


def compare_stored(data: DataFolder, dataset: str, run_ids: Mapping[str, str],
                   budget_tokens: int) -> tuple[dict[str, Any], str]:
    """Compare the runs of a question set (method → run id); return the result and the report's path.

    Raises UserError when the runs were made with different releases, budgets or questions, when the set has
    changed since, or a run has no stored predictions.
    """
    from pipelines.api import Corpus

    questions = read_question_set(data, dataset)
    tracker = Tracker(data)
    params = {method: tracker.params(run_id) for method, run_id in run_ids.items()}
    shared = _shared(dataset, params)
    if (shared["questions_digest"], shared["budget_tokens"]) != (questions.digest, str(budget_tokens)):
        raise UserError(f"comparison of {dataset!r}", "runs over other questions or under another budget",
                        f"questions {questions.digest} and {budget_tokens} tokens",
                        "Evaluate the methods again.")
    rows = TableReader(data).rows("predictions", where_sql=sql_in("run_id", run_ids.values()),
                                  order_by=("question_id",))
    predictions = {method: [Prediction.from_table_row(row) for row in rows if row["run_id"] == run_id]
                   for method, run_id in run_ids.items()}
    if missing := [method for method, found in predictions.items() if not found]:
        raise UserError(f"comparison of {dataset!r}", f"no stored predictions of {', '.join(missing)}",
                        "rows in the table predictions", "Evaluate the methods again.")
    number = int(shared["release"])
    corpus, release = Corpus.open(data, release=number), read_release(data, number)
    cache = DocumentCache(corpus.retrieval)
    cache.load(entry.doc_id for found in predictions.values() for p in found for entry in p.evidence)
    scorer = Scorer(questions, cache, ids_by_title(data, release, questions.questions),
                    corpus.retrieval.count_tokens)
    outcomes = {
        method: MethodOutcome(found, scorer.score(found), _curve(tracker, run_ids[method], scorer))
        for method, found in predictions.items()}
    result = compare(scorer, outcomes, _settings(params))
    return result, write_report(data, result, questions, outcomes)


def _shared(dataset: str, params: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The parameters of `SAME`. Raises UserError when the runs differ in one."""
    shared: dict[str, str] = {}
    for name in SAME:
        values = {method: run[name] for method, run in params.items()}
        if len(set(values.values())) > 1:
            found = ", ".join(f"{method}: {value}" for method, value in values.items())
            raise UserError(f"comparison of {dataset!r}", f"runs that differ in {name} ({found})",
                            f"the same {name}", "Evaluate the methods again, all on the served release.")
        shared[name] = next(iter(values.values()))
    return shared


def _settings(params: Mapping[str, Mapping[str, str]]) -> Settings:
    first = next(iter(params.values()))
    options = {f"{method}.{key}": value for method, run in params.items()
               for key, value in json.loads(run["options"]).items()}
    return Settings(
        release=int(first["release"]), budget_tokens=int(first["budget_tokens"]),
        token_counter=first["token_counter"], encoder=first["encoder"], router=first["router"],
        reader=first["reader"], k=json.loads(first["k"]), options=options, code_version=code_version(),
        executor=", ".join(dict.fromkeys(run["executor"] for run in params.values())))


def _curve(tracker: Tracker, run_id: str, scorer: Scorer) -> Sequence[Mapping[str, Any]]:
    """Recall by budget, as the run logged it."""
    recalls = tracker.metric_by_step(run_id, "evidence_recall_at_budget")
    tokens = tracker.metric_by_step(run_id, "context_tokens_at_budget")
    n = sum(bool(question.evidence) for question in scorer.questions.questions)
    return [{"budget_tokens": budget, "n": n, "evidence_recall": recalls.get(budget),
             "context_tokens": tokens[budget]} for budget in sorted(tokens)]
