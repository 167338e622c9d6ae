"""From predictions to one comparison: the JSON form of `evaluate` (docs/evaluation.md).

What belongs here: scoring all predictions of a question set, means with their n, every difference between
two methods with its paired interval, the breakdown by question type, recall against budget, and the list of
what was not measured. What does not: running methods (`training/evaluate.py`), drawing (`report.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from pipelines.documents.tree import Document
from pipelines.evaluation import diagnostics, trec
from pipelines.evaluation.bootstrap import LEVEL, N_RESAMPLES, SEED, paired_difference
from pipelines.evaluation.datasets import Question, QuestionSet
from pipelines.evaluation.gold import (
    MISSING_PREFIX,
    GoldLocator,
    LocatedQuote,
    ranked_sections,
    relevant_sections,
    shown_sections,
)
from pipelines.evaluation.metrics import question_metrics, score_evidence, summarise
from pipelines.evaluation.predictions import Prediction

COMPARED_METRICS = (
    "evidence_recall", "evidence_precision", "evidence_f1", "answer_in_context", "answer_em", "answer_f1",
    "recall_at_5", "ndcg_at_10", "mrr", "section_entropy", "eace", "context_tokens", "latency_s",
    "refusal_rate_unanswerable",
)
"""Metrics whose differences between methods are given, each with its interval."""
RESULT_METRICS = (
    "evidence_recall", "evidence_precision", "evidence_f1", "answer_in_context", "answer_em", "answer_f1",
    "refusal_rate_unanswerable", "section_entropy", "eace", "context_tokens", "llm_calls", "tokens_in",
    "tokens_out", "latency_p50_s", "latency_p95_s",
)
"""Keys that every method's entry has first, in this order."""
ALL_PAIRS_UP_TO = 8
BASELINE = "flat"


@dataclass(frozen=True)
class Settings:
    """What a comparison was made with: everything that its figures depend on."""

    release: int
    budget_tokens: int
    token_counter: str
    encoder: str
    router: str
    reader: str
    k: int | None
    options: Mapping[str, str]
    code_version: str
    executor: str
    """`in process`, or how many workers asked at the same time: latencies depend on it."""

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "options": dict(self.options)}


@dataclass(frozen=True)
class MethodOutcome:
    """All of one method: a prediction a question, its metrics in the same order, recall by budget.

    curve: `{budget_tokens, n, evidence_recall, context_tokens}`, ascending by budget.
    """

    predictions: Sequence[Prediction]
    rows: Sequence[Mapping[str, float | None]]
    curve: Sequence[Mapping[str, Any]]

    def summary(self) -> dict[str, Any]:
        """Means by metric, the documented keys first, and under `n` the questions that each is over."""
        means, counts = summarise(self.rows)
        first = {name: means.get(name) for name in RESULT_METRICS}
        return {**first, **{name: value for name, value in means.items() if name not in first}, "n": counts}


class Scorer:
    """Scores predictions of one question set against one corpus.

    documents: trees by doc_id, of all documents that evidence names. ids_by_title: see `GoldLocator`.
    """

    def __init__(self, questions: QuestionSet, documents: Mapping[str, Document],
                 ids_by_title: Mapping[str, Sequence[str]], count_tokens: Callable[[str], int]) -> None:
        self.questions = questions
        self._documents = documents
        self._count_tokens = count_tokens
        self._by_id = {question.question_id: question for question in questions.questions}
        locator = GoldLocator(ids_by_title, documents, count_tokens)
        self.located: dict[str, tuple[LocatedQuote, ...]] = {
            question.question_id: locator.locate(question) for question in questions.questions}
        self.relevant = {question_id: relevant_sections(quotes)
                         for question_id, quotes in self.located.items()}

    def outcome(self, predictions: Sequence[Prediction], budget_tokens: int,
                other_budgets: Mapping[int, Sequence[Prediction]]) -> MethodOutcome:
        """Score one method; other_budgets: its predictions for the same questions under other budgets."""
        rows = self.score(predictions)
        scored = {budget_tokens: rows}
        scored |= {budget: self.score(others) for budget, others in other_budgets.items()}
        return MethodOutcome(predictions, rows, [_curve_point(b, scored[b]) for b in sorted(scored)])

    def rankings(self, predictions: Sequence[Prediction]) -> dict[str, list[str]]:
        """The sections of each prediction's evidence in its order, by question."""
        return {p.question_id: ranked_sections(p, self._documents) for p in predictions}

    def score(self, predictions: Sequence[Prediction]) -> list[dict[str, float | None]]:
        """Metrics of each prediction of one method, in their order."""
        ranked = trec.ranking_metrics(self.rankings(predictions), {
            p.question_id: self.relevant[p.question_id] for p in predictions})
        no_ranking = dict.fromkeys(trec.metric_names())
        return [
            {**question_metrics(self._by_id[p.question_id], p, self._count_tokens), **self._diagnose(p),
             **ranked.get(p.question_id, no_ranking)}
            for p in predictions
        ]

    def found(self, question: Question, prediction: Prediction) -> list[bool]:
        """Which of the gold quotes the evidence holds."""
        score = score_evidence(question.evidence, prediction.evidence, prediction.context_tokens,
                               self._count_tokens)
        return list(score.found) if score else []

    def _diagnose(self, prediction: Prediction) -> dict[str, float | None]:
        located = self.located[prediction.question_id]
        if not located:
            return {"section_entropy": None, "eace": None}
        gold: dict[str, float] = {}
        for number, quote in enumerate(located):
            for section, tokens in quote.tokens_by_section.items():
                gold[section] = gold.get(section, 0.0) + tokens
            if quote.problem:
                gold[f"{MISSING_PREFIX}#{number}"] = float(max(1, self._count_tokens(quote.gold.quote)))
        retrieved = diagnostics.retrieved_weights(
            (section, self._count_tokens(words), score)
            for section, words, score in shown_sections(prediction, self._documents))
        return {
            "section_entropy": diagnostics.section_entropy(retrieved, gold),
            "eace": diagnostics.evidence_alignment_cross_entropy(retrieved, gold),
        }


def _curve_point(budget_tokens: int, rows: Sequence[Mapping[str, float | None]]) -> dict[str, Any]:
    means, counts = summarise(rows)
    return {"budget_tokens": budget_tokens, "n": counts.get("evidence_recall", 0),
            "evidence_recall": means.get("evidence_recall"), "context_tokens": means.get("context_tokens")}


def compare(scorer: Scorer, outcomes: Mapping[str, MethodOutcome], settings: Settings, *,
            n_resamples: int = N_RESAMPLES, seed: int = SEED) -> dict[str, Any]:
    """The result of an evaluation as JSON values: `{n_questions, methods, per_question, …}`."""
    methods = {method: outcome.summary() for method, outcome in outcomes.items()}
    by_question = {
        method: {p.question_id: row for p, row in zip(outcome.predictions, outcome.rows, strict=True)}
        for method, outcome in outcomes.items()}
    quotes = [quote for located in scorer.located.values() for quote in located]
    questions = scorer.questions
    return {
        "dataset": questions.name, "questions_digest": questions.digest,
        "n_questions": len(questions.questions),
        "n_without_evidence": sum(not q.evidence for q in questions.questions),
        "n_unanswerable": sum(q.is_unanswerable for q in questions.questions),
        "settings": settings.to_json(),
        "methods": methods,
        "differences": _differences(by_question, n_resamples, seed),
        "bootstrap": {"kind": "paired percentile", "level": LEVEL, "n_resamples": n_resamples, "seed": seed},
        "by_type": _by_type(questions.questions, by_question),
        "curve": {method: [dict(point) for point in outcome.curve] for method, outcome in outcomes.items()},
        "gold": {
            "n_quotes": len(quotes),
            "not_in_corpus": [
                {"id": question_id, "title": quote.gold.title, "quote": quote.gold.quote,
                 "problem": quote.problem}
                for question_id, located in scorer.located.items() for quote in located if quote.problem],
        },
        "not_measured": _not_measured(questions, methods),
        "notes": [diagnostics.STATEMENT],
        "per_question": _per_question(scorer, outcomes, by_question),
    }


def _differences(by_question: Mapping[str, Mapping[str, Mapping[str, float | None]]], n_resamples: int,
                 seed: int) -> list[dict[str, Any]]:
    """All pairs of methods while there are few, else each method against the baseline."""
    names = sorted(by_question, key=lambda name: (name != BASELINE, list(by_question).index(name)))
    pairs = list(combinations(names, 2))
    if len(names) > ALL_PAIRS_UP_TO:
        pairs = [(names[0], name) for name in names[1:]]
    rows = []
    for baseline, method in pairs:
        for metric in COMPARED_METRICS:
            difference = paired_difference(
                metric, method, baseline,
                {question_id: row.get(metric) for question_id, row in by_question[method].items()},
                {question_id: row.get(metric) for question_id, row in by_question[baseline].items()},
                n_resamples=n_resamples, seed=seed)
            if difference.n:
                rows.append(difference.to_json())
    return rows


def _by_type(questions: Sequence[Question],
             by_question: Mapping[str, Mapping[str, Mapping[str, float | None]]]) -> list[dict[str, Any]]:
    rows = []
    for kind in dict.fromkeys(question.type for question in questions):
        ids = [question.question_id for question in questions if question.type == kind]
        methods = {}
        for method, values in by_question.items():
            means, counts = summarise([values[question_id] for question_id in ids if question_id in values])
            methods[method] = {**means, "n": counts}
        rows.append({"type": kind, "n_questions": len(ids), "methods": methods})
    return rows


def _not_measured(questions: QuestionSet, methods: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What a reader of the figures might miss, in words."""
    lines = []
    if all(values["answer_em"] is None for values in methods.values()):
        lines.append("Answers (answer_em, answer_f1): no reader was used, so no answer was written.")
    if not any(question.is_unanswerable for question in questions.questions):
        lines.append("Refusals of unanswerable questions: the set has none.")
    if without := sum(not question.evidence for question in questions.questions):
        lines.append(f"Evidence metrics of {without} of {len(questions.questions)} questions, which have no "
                     "gold evidence: they are left out of those means.")
    if any(values.get("llm_cache_hits") for values in methods.values()):
        lines.append("Latency of language models: some of their answers came from the cache (llm_cache_hits), "
                     "while calls, tokens and cost count them in full.")
    lines.append("Ranks beyond the budget: Recall@k, nDCG@k and MRR rank the sections of the context only.")
    lines.append("Cost of building trees, vectors and indexes: only the queries are timed.")
    if questions.unknown_fields:
        fields = ", ".join(f"{name} ({n} lines)" for name, n in sorted(questions.unknown_fields.items()))
        lines.append(f"Fields of the questions file that the format does not have, not used: {fields}.")
    return lines


def _per_question(scorer: Scorer, outcomes: Mapping[str, MethodOutcome],
                  by_question: Mapping[str, Mapping[str, Mapping[str, float | None]]]
                  ) -> list[dict[str, Any]]:
    """One row a question and method: metrics, which quotes were found, what was cited."""
    of_method = {method: {p.question_id: p for p in outcome.predictions}
                 for method, outcome in outcomes.items()}
    rows: list[dict[str, Any]] = []
    for question in scorer.questions.questions:
        for method, by_id in of_method.items():
            prediction = by_id.get(question.question_id)
            if prediction is None:
                continue
            rows.append({
                "id": question.question_id, "method": method, "type": question.type,
                "question": question.question, **by_question[method][question.question_id],
                "quotes_found": scorer.found(question, prediction), "answer": prediction.answer,
                "citations": [c.uri for entry in prediction.evidence for c in entry.citations]})
    return rows
