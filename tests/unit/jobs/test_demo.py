"""The demo's command lines: settings for its own data folder are the examples', and each fits its model."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from jobs.cli import build_parser
from jobs.demo import EXAMPLES, commands, settings
from training.config_file import load_config
from training.curate_actions import CurateConfig
from training.evaluate_router import EvaluateRouterConfig
from training.train_scorer import TrainScorerConfig

MODELS: dict[str, type[BaseModel]] = {
    "curate_demo": CurateConfig, "curate_actions": CurateConfig, "train_scorer": TrainScorerConfig,
    "evaluate_router": EvaluateRouterConfig}


@pytest.mark.parametrize("name", MODELS)
def test_settings_are_the_examples_in_another_folder(name: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "with space")
    copy = settings(folder, name)
    assert copy.parent == Path(folder)
    load_config(copy, MODELS[name])
    moved: dict[str, Any] = yaml.safe_load(copy.read_text(encoding="utf-8"))
    example: dict[str, Any] = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8"))
    assert moved["data"] == folder
    assert list(moved) == list(example)
    # The texts themselves, not those of the file: YAML breaks long ones.
    back = json.dumps(moved).replace(folder, "data/demo").replace(f"{EXAMPLES}/", "examples/")
    assert json.loads(back) == example


def test_the_examples_themselves_serve_their_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    assert settings("data/demo", "train_scorer") == Path("examples/train_scorer.yaml")


def test_every_command_is_one_that_a_user_can_type(tmp_path: Path) -> None:
    lines = commands(str(tmp_path), tmp_path / "result.json")
    for line in lines:
        if line[0] == "espalier":
            build_parser(line[1]).parse_args(line[1:])
        else:
            assert line[:2] == ["python", "-m"]
            assert callable(importlib.import_module(line[2]).main)
            assert Path(line[4]).exists()
    # What is generated is curated under the name that training asks for, before training does.
    names = [line[2] for line in lines if line[0] == "python"]
    assert names == ["training.curate_actions"] * 2 + ["training.train_scorer", "training.evaluate_router"]
    generate = next(line for line in lines if line[1:3] == ["questions", "generate"])
    curated = yaml.safe_load((tmp_path / "curate_actions.yaml").read_text(encoding="utf-8"))
    assert generate[generate.index("--out") + 1] == curated["questions"]
    assert generate[generate.index("--exclude-quoted") + 1] == str(EXAMPLES / "questions.jsonl")
