"""Fine-tuning from the curated actions of the small wiki to a registered router that is asked, by the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from built import Built
from small_language_model import write_small_model
from test_curate_actions import QUESTIONS

from pipelines.evaluation.datasets import QuestionSet
from pipelines.evaluation.question_table import write_question_set
from pipelines.models.adapter import is_adapter, read_card
from pipelines.settings import DataFolder
from training import evaluate_router, finetune_router
from training.curate_actions import CurateConfig, curate_actions
from training.router_registry import RouterRegistry
from training.tracking import Tracker

# The question of the split test leaks: it asks of an article that another trains on.
TRAINED = tuple(question for question in QUESTIONS if question.split != "test")


@pytest.fixture
def data(small: Built) -> DataFolder:
    write_question_set(small.data, QuestionSet("trees", TRAINED))
    curate_actions(small.data, CurateConfig(dataset="trees", ray=False))
    return small.data


def run(command: Any, config: Path, **fields: Any) -> int:
    config.write_text(json.dumps(fields))
    return int(command.main(["--config", str(config)]))


def test_from_actions_to_a_registered_router(data: DataFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
                                             ) -> None:
    base = write_small_model(tmp_path / "base", dtype="float32")
    fields = {"data": data.root, "dataset": "trees", "base": str(base), "out": str(tmp_path / "adapter"),
              "max_steps": 4, "batch_states": 2, "learning_rate": 0.01, "eval_every": 2, "name": "trees",
              "max_tokens": 1500, "ray": False}
    assert run(finetune_router, tmp_path / "finetune.json", **fields) == 0
    said = capsys.readouterr().out
    assert "train states (ANSWER" in said
    assert "step 4: loss" in said
    assert "models:/trees/1" in said
    assert not list(tmp_path.glob("adapter.checkpoint*")), "a run that is done leaves none"
    card = read_card(tmp_path / "adapter")
    assert is_adapter(str(tmp_path / "adapter"))
    assert card.trained["before"]["step"] == 0

    registry = RouterRegistry(data)
    version = registry.version("models:/trees/1")
    tracker = Tracker(data)
    params = tracker.params(version.run_id)
    assert (params["base_title"], params["rank"], params["learning_rate"]) == ("base", "8", "0.01")
    for split in ("train", "dev"):
        assert int(params[f"n_{split}_states"]) == _states(said, split)
    assert list(tracker.metric_by_step(version.run_id, "train_loss")) == [1, 2, 3, 4]
    assert list(tracker.metric_by_step(version.run_id, "dev_ans_f1_by_step")) == [0, 2, 4]
    fetched = registry.fetch("models:/trees/1")
    assert read_card(fetched) == card

    assert run(evaluate_router, tmp_path / "evaluate.json", data=data.root, dataset="trees",
               routers=["similarity", str(tmp_path / "adapter"), "models:/trees/1"],
               score_thresholds={"models:/trees/1": 100.0}, out=str(tmp_path / "result.json")) == 0
    figures = json.loads((tmp_path / "result.json").read_text())["routers"]
    assert figures["models:/trees/1"]["ref_acc"] == 1.0, "no line reaches that threshold"
    assert figures[str(tmp_path / "adapter")]["col_rate"] == 0.0


def _states(said: str, split: str) -> int:
    """How many it said to have taken."""
    return int(next(line for line in said.splitlines() if f"{split} states (" in line).split()[0])


def test_what_is_wrong_is_named(data: DataFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = str(write_small_model(tmp_path / "base", dtype="float32"))

    def said(**fields: Any) -> tuple[int, str]:
        code = run(finetune_router, tmp_path / "config.json", **{
            "data": data.root, "dataset": "trees", "base": base, "out": str(tmp_path / "adapter"), "ray": False,
            **fields})
        return code, capsys.readouterr().err

    assert said(dataset="flowers")[0] == 2
    write_question_set(data, QuestionSet("leaking", QUESTIONS))
    assert "allow_leakage" in said(dataset="leaking")[1]
    assert "no train state of at most 64 tokens" in said(max_tokens=64)[1]
    assert said(base=str(tmp_path / "none")) == (2, (
        f"finetune_router: language model {tmp_path / 'none'}: no such name or folder; expected one of "
        "SmolLM2-135M-Instruct, or a folder with config.json, tokenizer.json and *.safetensors. Correct the name "
        "or the path.\n"))
    assert "no routing actions of SmolLM2" in said(teacher="local")[1]
    assert "rank: Input should be greater" in said(rank=0)[1]
    assert "largest shares" in said(at_most={"ANSWER": 0.1, "REFUSE": 0.1, "EXPAND": 0.1}, max_tokens=4000)[1]
