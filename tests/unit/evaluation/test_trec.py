"""Ranking metrics against numbers by hand, and the TREC files against their format."""

from __future__ import annotations

import math

import pytest

from pipelines.evaluation.trec import qrels_lines, ranking_metrics, run_lines


def test_metrics_by_hand() -> None:
    # Relevant: b, d. Ranked: a, b, c, d. Second and fourth place.
    values = ranking_metrics({"q": ["a", "b", "c", "d"]}, {"q": {"b", "d"}})["q"]
    gain = 1 / math.log2(3) + 1 / math.log2(5)
    ideal = 1 / math.log2(2) + 1 / math.log2(3)
    assert values["mrr"] == pytest.approx(1 / 2)
    assert values["recall_at_1"] == 0
    assert values["recall_at_5"] == 1
    assert values["ndcg_at_5"] == pytest.approx(gain / ideal)
    assert values["ndcg_at_10"] == pytest.approx(gain / ideal)


def test_a_relevant_section_that_is_never_shown_lowers_recall() -> None:
    values = ranking_metrics({"q": ["a"]}, {"q": {"a", "not-in-corpus#1"}})["q"]
    assert values["recall_at_20"] == pytest.approx(1 / 2)
    assert values["ndcg_at_5"] == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_an_empty_ranking_is_zero_and_a_question_without_gold_is_not_judged() -> None:
    values = ranking_metrics({"q": [], "r": ["a"]}, {"q": {"a"}, "r": set(), "s": {"x"}})
    assert set(values) == {"q", "s"}
    assert set(values["q"].values()) == set(values["s"].values()) == {0.0}
    assert ranking_metrics({}, {}) == {}


def test_the_order_is_the_methods_not_that_of_ids() -> None:
    sections = [f"w:{i}#/{i}" for i in range(30)]
    values = ranking_metrics({"q": sections[::-1]}, {"q": {sections[0]}})["q"]
    assert values["mrr"] == pytest.approx(1 / 30)


def test_files_in_trec_format() -> None:
    rankings = {"q 2": ["w:1#/", "w:2#/0/1"], "q1": ["w:1#/"]}
    assert run_lines(rankings, "rdr2+fill") == (
        "q%202 Q0 w:1#/ 1 2 rdr2+fill\nq%202 Q0 w:2#/0/1 2 1 rdr2+fill\nq1 Q0 w:1#/ 1 1 rdr2+fill\n")
    assert qrels_lines({"q 2": {"w:2#/", "w:1#/"}, "q1": set()}) == "q%202 0 w:1#/ 1\nq%202 0 w:2#/ 1\n"


def test_files_give_the_same_metrics_when_read_back() -> None:
    import ir_measures

    rankings = {"q1": ["w:1#/", "w:2#/0/1"], "q2": ["w:3#/"]}
    relevant = {"q1": {"w:2#/0/1"}, "q2": {"w:9#/"}}
    run = list(ir_measures.read_trec_run(run_lines(rankings, "m")))
    qrels = list(ir_measures.read_trec_qrels(qrels_lines(relevant)))
    mean = ir_measures.calc_aggregate([ir_measures.RR], qrels, run)[ir_measures.RR]
    ours = ranking_metrics(rankings, relevant)
    assert mean == pytest.approx(sum(row["mrr"] for row in ours.values()) / 2) == pytest.approx(0.25)
