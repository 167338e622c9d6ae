"""Metrics against numbers worked out by hand; a token is a word (see `evaluation_builders.py`)."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from evaluation_builders import count_words, make_document, make_prediction, make_question

from pipelines.evaluation.metrics import (
    answer_exact_match,
    answer_token_f1,
    answers_in_text,
    is_refusal,
    question_metrics,
    route_counts,
    score_evidence,
    summarise,
)
from pipelines.evaluation.predictions import EvidenceDocument, Prediction

FARM = make_document("w:1", "Farm", {
    "": ["Napoleon is the main villain."],  # node 1, 5 words
    "Humans": ["He is an allegory of Hitler.", "Nothing else is here."],  # section 2; nodes 3 (6), 4 (4)
})


def test_evidence_recall_precision_f1_by_hand() -> None:
    # 2 of 3 quotes; 5 + 3 words of 15 in the context lie inside found quotes.
    question = make_question("q", ("Farm", "NAPOLEON is the 'main' villain"), ("Farm", "allegory of Hitler"),
                             ("Farm", "Snowball"))
    prediction = make_prediction("q", "flat", FARM, [1, 3, 4])
    metrics = question_metrics(question, prediction, count_words)
    assert metrics["evidence_recall"] == pytest.approx(2 / 3)
    assert metrics["evidence_precision"] == pytest.approx(8 / 15)
    assert metrics["evidence_f1"] == pytest.approx(2 * (2 / 3) * (8 / 15) / (2 / 3 + 8 / 15))


def test_overlapping_quotes_count_their_words_once() -> None:
    question = make_question("q", ("Farm", "Napoleon is the main"), ("Farm", "the main villain"))
    score = score_evidence(question.evidence, make_prediction("q", "m", FARM, [1]).evidence, 5, count_words)
    assert score is not None
    assert (score.found, score.tokens_in_quotes) == ((True, True), 5)


def test_a_quote_counts_only_in_the_document_with_its_title() -> None:
    question = make_question("q", ("Other", "Napoleon is the main villain."))
    prediction = make_prediction("q", "m", FARM, [1])
    assert question_metrics(question, prediction, count_words)["evidence_recall"] == 0


def test_a_quote_may_run_across_pieces_of_its_document() -> None:
    question = make_question("q", ("Farm", "main villain. He is an allegory"))
    prediction = make_prediction("q", "m", FARM, [1, 3])
    assert question_metrics(question, prediction, count_words)["evidence_recall"] == 1


def test_documents_that_share_a_title_are_searched_one_by_one() -> None:
    parts = [EvidenceDocument(f"w:{i}", "Farm", text, 1.0, ()) for i, text in enumerate(["alpha", "beta"])]
    question = make_question("q", ("Farm", "beta"), ("Farm", "alpha beta"))
    score = score_evidence(question.evidence, parts, 2, count_words)
    assert score is not None
    assert score.found == (True, False)


def test_empty_context_scores_zero_and_is_a_refusal() -> None:
    prediction = make_prediction("q", "m", FARM, [])
    question = make_question("q", ("Farm", "villain"), answers=(("pig",),))
    metrics = question_metrics(question, prediction, count_words)
    assert (metrics["evidence_recall"], metrics["evidence_precision"], metrics["evidence_f1"]) == (0, 0, 0)
    assert (metrics["refusal_rate_answerable"], metrics["refusal_rate_unanswerable"]) == (1, None)
    unanswerable = question_metrics(make_question("q"), prediction, count_words)
    assert unanswerable["refusal_rate_unanswerable"] == 1
    assert unanswerable["evidence_recall"] is None
    assert unanswerable["answer_in_context"] is None


def test_all_required_answers_must_be_in_the_context() -> None:
    question = make_question("q", answers=(("Napoleon",), ("Adolf Hitler", "Hitler"), ("Stalin",)))
    metrics = question_metrics(question, make_prediction("q", "m", FARM, [1, 3]), count_words)
    assert metrics["answer_in_context"] == 0
    assert metrics["answer_recall_in_context"] == pytest.approx(2 / 3)
    assert answers_in_text(question.answers[:2], "Napoleon, Hitler") == (True, True)


@pytest.mark.parametrize(("answer", "n_evidence", "refused"), [
    (None, 0, True), (None, 1, False), ("cannot answer.", 1, True), ("I cannot answer", 1, False),
    ("Yes", 0, True),
])
def test_refusals(answer: str | None, n_evidence: int, refused: bool) -> None:
    assert is_refusal(answer, n_evidence) is refused


def test_answers_without_reader_are_not_scored() -> None:
    question = make_question("q", answers=(("x",),))
    metrics = question_metrics(question, make_prediction("q", "m", FARM, [1]), count_words)
    assert metrics["answer_em"] is None
    assert metrics["answer_f1"] is None


@pytest.mark.parametrize(("answers", "answer", "exact", "f1"), [
    ((("the Bam Citadel",),), "Bam citadel!", 1.0, 1.0),
    ((("Bam Citadel", "Citadel of Bam"),), "citadel", 0.0, 2 / 3),
    ((("Stalin",), ("Hitler", "Adolf Hitler")), "Stalin, Hitler", 1.0, 1.0),
    ((("Stalin",), ("Hitler",)), "Stalin", 0.5, 2 / 3),
    ((("yes",),), "no", 0.0, 0.0),
])
def test_answer_em_and_f1(answers: tuple[tuple[str, ...], ...], answer: str, exact: float, f1: float) -> None:
    assert answer_exact_match(answers, answer) == pytest.approx(exact)
    assert answer_token_f1(answers, answer) == pytest.approx(f1)


def test_means_leave_out_what_was_not_measured_and_count_the_rest() -> None:
    rows = [{"evidence_recall": 1.0, "latency_s": 0.1}, {"evidence_recall": None, "latency_s": 0.3},
            {"evidence_recall": 0.0, "latency_s": 0.2}]
    means, counts = summarise(rows)
    assert means["evidence_recall"] == 0.5
    assert counts == {"evidence_recall": 2, "latency_p50_s": 3, "latency_p95_s": 3}
    assert means["latency_p50_s"] == pytest.approx(0.2)
    assert means["latency_p95_s"] == pytest.approx(0.29)  # 0.2 + 0.9 · (0.3 - 0.2), linear interpolation


def test_means_do_not_depend_on_the_order() -> None:
    rows = [{"evidence_f1": random.Random(i).random(), "latency_s": i / 7} for i in range(200)]
    shuffled = random.Random(0).sample(rows, len(rows))
    assert summarise(rows) == summarise(shuffled)


def test_what_routing_and_models_did_is_read_from_the_trace() -> None:
    trace = [
        {"step": "search"},
        {"step": "route", "expelled": 2, "unknown": 1, "collapsed": True, "used_fallback": True, "cache_hits": 1,
         "retries": 3},
        {"step": "route", "expelled": 0, "unknown": 0, "collapsed": False, "used_fallback": False},
        {"step": "read", "cache_hits": 1, "retries": 0},
    ]
    counts = {"expelled": 3, "collapsed": 1, "fallbacks": 1, "llm_cache_hits": 2, "llm_retries": 3}
    assert route_counts(trace) == counts
    prediction = replace(make_prediction("q", "m", FARM, [1]), trace=trace)
    metrics = question_metrics(make_question("q"), prediction, count_words)
    assert {name: metrics[name] for name in counts} == counts


def test_a_prediction_costs_what_its_steps_cost() -> None:
    answer = {"method": "m", "release": 1, "context": "", "context_tokens": 0, "evidence": [], "answer": "x",
              "trace": [{"step": "route", "cost_usd": 0.25}, {"step": "pack"}, {"step": "read", "cost_usd": 0.5}],
              "llm_calls": 2, "tokens_in": 5, "tokens_out": 1, "latency_s": 0.1}
    assert Prediction.from_answer("q", answer).cost_usd == 0.75
