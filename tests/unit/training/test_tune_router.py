"""Tuning finds the pair that answers, on a corpus small enough to know it beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from language_model_server import Asked, Sent, as_json, served

from pipelines.errors import UserError
from pipelines.evaluation.datasets import GoldEvidence, Question
from pipelines.settings import cache_folder
from training.config_file import load_config
from training.tune_router import Trial, TuneRouterConfig, choose, describe, tune

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
    assert dict(trials[0].point)["answer"] == 0.4
    assert trials[0].means["evidence_recall"] == 1.0
    assert trials[0].means["refusal_rate_unanswerable"] == 1.0
    assert trials[-1].means["evidence_recall"] == 0.0
    assert "answer=0.400 expand=1.000 evidence_recall=1.000" in describe(trials[0])


def test_a_models_score_threshold_is_tuned_on_one_score_a_state(
        bird_corpus: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The model gives the two lines that answer -3 against -1 of refusing, every other line -9, as it gives
    all lines where the price of bread is asked for."""
    right = {"Cannot answer": -1.0, "[ANSWER] 18: Barn owl | 95 cm": -3.0,
             "[ANSWER] 4: Grey herons nest in colonies": -3.0}

    def scored(asked: Asked) -> Sent:
        choices = []
        for index, prompt in enumerate(asked.body["prompt"]):
            line = prompt.rpartition("\n")[2]
            is_known = line == "Cannot answer" or "bread" not in prompt
            choices.append({"index": index, "logprobs": {
                "text_offset": [len(prompt) - len(line)],
                "token_logprobs": [right.get(line, -9.0) if is_known else -9.0]}})
        return as_json({"choices": choices})

    monkeypatch.setenv("ESPALIER_LLM_CACHE", "on")
    kept = cache_folder() / "tokenizers"
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path))
    (tmp_path / "tokenizers").symlink_to(kept)
    with served(scored) as server:
        trials = tune(bird_corpus, 1, QUESTIONS, config(
            router=f"{server.url}#m", score_thresholds=(-9.0, -3.0, -2.0, 0.0), metric="evidence_f1",
            set={"expand_iterations": "0"}))
        asked = [request.body["prompt"] for request in server.requests]
    assert [dict(trial.point)["score"] for trial in trials] == [-2.0, -3.0, -9.0, 0.0]
    assert trials[0].means["evidence_recall"] == 1.0
    assert trials[0].means["refusal_rate_unanswerable"] == 1.0
    assert trials[-1].means["evidence_recall"] == 0.0
    assert describe(trials[0]).startswith("score=-2.000 evidence_recall=1.000")
    assert len(asked) == len(set(map(tuple, asked))), "other thresholds are answered from the cache"


def test_equal_pairs_are_ordered_by_the_higher_thresholds(bird_corpus: Any) -> None:
    trials = tune(bird_corpus, 1, QUESTIONS, config(answer_thresholds=(1.0, 0.9), metric="evidence_recall"))
    assert [trial.values for trial in trials] == [(1.0, 1.0), (1.0, 0.2), (0.9, 1.0), (0.9, 0.2)]


def test_questions_without_gold_evidence_cannot_tune(bird_corpus: Any) -> None:
    with pytest.raises(UserError, match="evidence_f1"):
        tune(bird_corpus, 1, QUESTIONS[2:], config(metric="evidence_f1"))


def test_a_config_file_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "tune.yaml"
    file.write_text("questions: dev.jsonl\nbudget_tokens: 500\n", encoding="utf-8")
    assert load_config(file, TuneRouterConfig).budget_tokens == 500
    file.write_text("questions: dev.jsonl\nbudgets: 500\n", encoding="utf-8")
    with pytest.raises(UserError, match="budgets"):
        load_config(file, TuneRouterConfig)
    with pytest.raises(UserError, match="cannot be read"):
        load_config(tmp_path / "none.yaml", TuneRouterConfig)


def test_the_chosen_pair_is_the_most_selective_within_one_standard_error() -> None:
    means = {(0.2, 0.1): 0.80, (0.3, 0.1): 0.76, (0.3, 0.2): 0.75, (0.4, 0.2): 0.74}
    trials = [Trial((("answer", answer), ("expand", expand)), {"evidence_recall": recall}, 0.05)
              for (answer, expand), recall in means.items()]
    assert choose(trials, "evidence_recall") == trials[2]
