"""Tuning finds the pair that answers, on a corpus small enough to know it beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import UserError
from pipelines.evaluation.datasets import GoldEvidence, Question
from training.tune_router import Trial, TuneRouterConfig, choose, describe, load_config, tune

QUESTIONS = (
    Question("1", "barn owl wingspan", (("95 cm",),),
             (GoldEvidence("Owl", ("Range",), "Barn owl | 95 cm | 140"),)),
    Question("2", "largest heronry nests", (("two hundred",),),
             (GoldEvidence("Heron", ("Nesting", "Colonies"), "two hundred nests"),)),
    Question("3", "price of bread", (), ()),
)


def config(**values: Any) -> TuneRouterConfig:
    return TuneRouterConfig(questions=Path("q.jsonl"), **{"answer_thresholds": (0.0, 0.4, 1.0),
                                                          "expand_thresholds": (0.2, 1.0), **values})


def test_the_best_pair_finds_the_evidence_and_refuses_the_rest(bird_corpus: Any) -> None:
    trials = tune(bird_corpus, 1, QUESTIONS, config(metric="evidence_f1"))
    assert len(trials) == 6
    assert trials[0].answer == 0.4
    assert trials[0].means["evidence_recall"] == 1.0
    assert trials[0].means["refusal_rate_unanswerable"] == 1.0
    assert trials[-1].means["evidence_recall"] == 0.0
    assert "answer=0.400 expand=1.000 evidence_recall=1.000" in describe(trials[0])


def test_equal_pairs_are_ordered_by_the_higher_thresholds(bird_corpus: Any) -> None:
    trials = tune(bird_corpus, 1, QUESTIONS, config(answer_thresholds=(1.0, 0.9), metric="evidence_recall"))
    pairs = [(trial.answer, trial.expand) for trial in trials]
    assert pairs == [(1.0, 1.0), (1.0, 0.2), (0.9, 1.0), (0.9, 0.2)]


def test_questions_without_gold_evidence_cannot_tune(bird_corpus: Any) -> None:
    with pytest.raises(UserError, match="evidence_f1"):
        tune(bird_corpus, 1, QUESTIONS[2:], config(metric="evidence_f1"))


def test_a_config_file_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "tune.yaml"
    file.write_text("questions: dev.jsonl\nbudget_tokens: 500\n", encoding="utf-8")
    assert load_config(file).budget_tokens == 500
    file.write_text("questions: dev.jsonl\nbudgets: 500\n", encoding="utf-8")
    with pytest.raises(UserError, match="budgets"):
        load_config(file)
    with pytest.raises(UserError, match="cannot be read"):
        load_config(tmp_path / "none.yaml")


def test_the_chosen_pair_is_the_most_selective_within_one_standard_error() -> None:
    trials = [Trial(0.2, 0.1, {"evidence_recall": 0.80}, 0.05), Trial(0.3, 0.1, {"evidence_recall": 0.76}, 0.05),
              Trial(0.3, 0.2, {"evidence_recall": 0.75}, 0.05), Trial(0.4, 0.2, {"evidence_recall": 0.74}, 0.05)]
    assert choose(trials, "evidence_recall") == trials[2]
