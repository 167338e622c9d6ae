"""What a config says is judged before any work: places, names, thresholds, and the file itself."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import UserError
from training.command import run_command
from training.config_file import load_config
from training.evaluate_router import EvaluateRouterConfig
from training.finetune_config import FinetuneConfig
from training.promote_router import PromoteConfig
from training.router_curves import CurvesConfig
from training.train_scorer import TrainScorerConfig

OUT = {EvaluateRouterConfig: "out.json", CurvesConfig: "out.json", TrainScorerConfig: "scorer.safetensors",
       FinetuneConfig: "adapter"}


def told(model: Any, path: Path, text: str) -> str:
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        load_config(path, model)
    return str(caught.value)


@pytest.mark.parametrize("model", OUT)
def test_a_place_that_cannot_be_written_is_told_before_the_work(model: Any, tmp_path: Path) -> None:
    config, name = tmp_path / "config.yaml", OUT[model]
    (tmp_path / "file").write_text("")
    for place in (f"{tmp_path}/file/{name}", f"/proc/{name}", f"/{'x' * 300}/{name}", f"/{'x' * 300}{name}"):
        assert "cannot be written: " in told(model, config, f"dataset: d\nout: {place}")
    for place in (f"s3://bucket/{name}", f"file:///{name}"):
        assert "is an address" in told(model, config, f"dataset: d\nout: {place}")
    assert "is no path" in told(model, config, f'dataset: d\nout: "a\\0{name}"')
    taken = tmp_path / "there" / name
    (taken / "x").mkdir(parents=True)
    if model is FinetuneConfig:
        taken = tmp_path / "file"
    assert ": out: " in told(model, config, f"dataset: d\nout: {taken}")
    if model is not FinetuneConfig and model is not TrainScorerConfig:
        assert "is no regular file" in told(model, config, "dataset: d\nout: /dev/null")
    good = tmp_path / "new" / "deep" / name
    config.write_text(f"dataset: d\nout: {good}")
    assert load_config(config, model).out == good
    assert not good.parent.exists(), "a check writes nothing"


def test_a_folder_without_permission_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    # Root, as whom tests may run, has every permission.
    def refuse(dir: Path) -> None:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(dir))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    text = f"dataset: d\nout: {tmp_path}/locked/a.json"
    assert "cannot be written" in told(CurvesConfig, tmp_path / "c.yaml", text)


@pytest.mark.parametrize("name", ["a/b", "", "it's", "a b", "-x", "models:/x"])
@pytest.mark.parametrize(("model", "more"), [
    (PromoteConfig, ""), (TrainScorerConfig, "\nout: s.safetensors"), (FinetuneConfig, "\nout: adapter")])
def test_a_name_that_the_registry_does_not_take_is_refused(model: Any, more: str, name: str,
                                                           tmp_path: Path) -> None:
    assert "is no name of a router" in told(model, tmp_path / "c.yaml", f'dataset: d\nname: "{name}"{more}')


@pytest.mark.parametrize(("text", "expected"), [
    ("", "no fields; expected lines as NAME: VALUE"), ("[1]", "a list"), ("7", "a int"),
    ("a: b: c", "cannot be read"), ("\t- {", "cannot be read")])
def test_a_file_without_fields_is_one_line(text: str, expected: str, tmp_path: Path) -> None:
    message = told(PromoteConfig, tmp_path / "c.yaml", text)
    assert expected in message
    assert "\n" not in message


@pytest.mark.parametrize(("thresholds", "expected"), [
    ("{locl: 1.0}", "'locl' is none of routers"), ("{local: .nan}", "finite"), ("{local: .inf}", "finite")])
def test_a_threshold_is_a_number_for_a_router_that_is_there(thresholds: str, expected: str, tmp_path: Path) -> None:
    assert expected in told(EvaluateRouterConfig, tmp_path / "c.yaml",
                            f"dataset: d\nrouters: [local]\nscore_thresholds: {thresholds}")


@pytest.mark.parametrize("shares", ["{FOO: .5}", "{ANSWER: .nan}", "{ANSWER: 0}", "{ANSWER: 1.5}",
                                    "{ANSWER: .2, EXPAND: .2, REFUSE: .2}"])
def test_shares_that_cannot_be_met_are_told(shares: str, tmp_path: Path) -> None:
    text = f"dataset: d\nout: s.safetensors\nat_most: {shares}"
    assert ": at_most: " in told(TrainScorerConfig, tmp_path / "c.yaml", text)


def test_a_router_that_is_named_twice_is_told(tmp_path: Path) -> None:
    text = "dataset: d\nrouters: [similarity, similarity]"
    assert "named twice" in told(EvaluateRouterConfig, tmp_path / "c.yaml", text)


def test_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "c.yaml").write_text("dataset: d\nout: ~/a.json")
    assert load_config(tmp_path / "c.yaml", CurvesConfig).out == tmp_path / "a.json"


def test_a_disk_that_is_full_at_the_end_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("dataset: d\nname: owl")

    def work(_: PromoteConfig) -> str:
        with open("/dev/full", "w") as full:
            full.write("x" * 100_000)
        return ""

    assert run_command("promote_router", "", PromoteConfig, work, ["--config", str(config)]) == 1
    assert capsys.readouterr().err == (
        "promote_router: output: No space left on device; expected a place that can be written, with room. "
        "Free space, mend its permissions, or choose another place.\n")


def test_an_error_that_is_no_matter_of_places_is_not_hidden(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("dataset: d\nname: owl")

    def work(_: PromoteConfig) -> str:
        raise ConnectionResetError(104, "reset")

    with pytest.raises(ConnectionResetError):
        run_command("promote_router", "", PromoteConfig, work, ["--config", str(config)])
