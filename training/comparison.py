"""A comparison of methods that were evaluated one by one: their stored predictions, scored again together.

What belongs here: from MLflow runs and rows of `predictions` to one result and report. What does not: asking
methods (`evaluate.py`). Runs of different releases or budgets are no comparison and are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.errors import UserError
from pipelines.evaluation.corpus_text import DocumentCache, ids_by_title
from pipelines.evaluation.predictions import Prediction
from pipelines.evaluation.question_table import read_question_set
from pipelines.evaluation.results import Scorer, Settings, compare
from pipelines.evaluation.version import code_version
from pipelines.releases import read_release
from pipelines.settings import DataFolder
from pipelines.storage import TableReader, sql_in
from training.evaluate import write_report


def compare_stored(data: DataFolder, dataset: str, run_ids: Mapping[str, str],
                   budget_tokens: int) -> tuple[dict[str, Any], str]:
    """Compare the runs of a question set (method → run id); return the result and the report's path.

    Raises UserError when the runs read different releases or have no stored predictions.
    """
    from pipelines.api import Corpus

    questions = read_question_set(data, dataset)
    rows = TableReader(data).rows("predictions", where_sql=sql_in("run_id", run_ids.values()),
                                  order_by=("question_id",))
    releases = {row["release"] for row in rows}
    if len(releases) != 1:
        raise UserError(f"comparison of {dataset!r}", f"predictions of the releases {sorted(releases)}",
                        "predictions of one release", "Evaluate the methods again on the served release.")
    number = releases.pop()
    corpus, release = Corpus.open(data, release=number), read_release(data, number)
    cache = DocumentCache(corpus.retrieval)
    predictions = {method: [Prediction.from_table_row(row) for row in rows if row["run_id"] == run_id]
                   for method, run_id in run_ids.items()}
    cache.load(entry.doc_id for found in predictions.values() for p in found for entry in p.evidence)
    scorer = Scorer(questions, cache, ids_by_title(data, release, questions.questions),
                    corpus.retrieval.count_tokens)
    outcomes = {method: scorer.outcome(found, budget_tokens, {}) for method, found in predictions.items()}
    settings = Settings(
        release=number, budget_tokens=budget_tokens, token_counter=release.token_counter,
        encoder=release.encoder, router="similarity", reader="none", k=None, options={},
        code_version=code_version(), executor="stored predictions")
    result = compare(scorer, outcomes, settings)
    return result, write_report(data, result, questions, outcomes)
