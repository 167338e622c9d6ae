"""The adapter's folder: what it makes of its base, and everything that it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from small_language_model import labelled, make_config, make_task, write_small_model

from pipelines.errors import UserError
from pipelines.methods.llm_router import LlmRouter, LlmRouterSettings
from pipelines.methods.routers import check_router, make_router
from pipelines.methods.routing import PROMPT_FORMAT, REFUSAL
from pipelines.models import adapter
from pipelines.models.adapter import BASE_VARIABLE, is_adapter, load_adapter, read_card
from pipelines.models.base_weights import find_base, load_base, weights_sha256
from pipelines.models.local_llm import LocalModel
from training.finetune_dev import line_odds
from training.finetune_loop import train
from training.finetune_result import Facts, write_adapter
from training.finetune_samples import text_state
from training.workers import Workers


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `base` and with `router`, which some steps have trained."""
    import torch

    folder = tmp_path_factory.mktemp("adapter")
    base = find_base(str(write_small_model(folder / "base", dtype="float32")))
    config = make_config(base.folder, folder / "router", precision="float32")
    task = make_task(config)
    state = train(config, task, Workers(torch.device("cpu")), lambda _: None)
    write_adapter(config, Facts(base, weights_sha256(base.folder), "digest", 12, 4), state)
    return folder


@pytest.fixture
def own(made: Path, tmp_path: Path) -> Path:
    """A copy of the router's folder that a test may change."""
    return Path(shutil.copytree(made / "router", tmp_path / "router"))


def test_the_folder_holds_three_files_and_no_path_but_the_bases(made: Path) -> None:
    folder = made / "router"
    assert {path.name for path in folder.iterdir()} == {adapter.WEIGHTS, adapter.CONFIG, adapter.CARD}
    config = json.loads((folder / adapter.CONFIG).read_text())
    assert (config["r"], config["lora_alpha"], config["peft_type"]) == (8, 16, "LORA")
    assert sorted(config["target_modules"]) == [f"self_attn.{name}_proj" for name in "koqv"]
    card = read_card(folder)
    assert (card.prompt_format, card.base_name) == (PROMPT_FORMAT, str(made / "base"))
    assert card.base_sha256 == weights_sha256(made / "base")
    assert card.trained["data_digest"] == "digest"
    assert "out" not in card.trained["config"]


def test_the_loaded_model_decides_as_the_trained_one_did(made: Path) -> None:
    """Against peft's own way of laying an adapter over a model, unmerged."""
    from peft import PeftModel

    base = find_base(str(made / "base"))
    model, tokenizer = load_base(base)
    apart = PeftModel.from_pretrained(model, str(made / "router")).get_base_model()
    unmerged, plain = LocalModel("a", apart, tokenizer, None), LocalModel("b", *load_base(base), None)
    loaded = load_adapter(made / "router")
    assert loaded is load_adapter(made / "router"), "once a process"
    assert loaded.name.startswith("base + LoRA ")
    for number in range(4):
        state = text_state(labelled(number))
        odds = line_odds(loaded, state)
        assert odds == pytest.approx(line_odds(unmerged, state), abs=1e-3)
        assert max(abs(a - b) for a, b in zip(odds, line_odds(plain, state), strict=True)) > 0.1


def test_routing_takes_the_adapters_threshold(own: Path) -> None:
    """The release has one for another model; an option is stronger than either."""
    class Corpus:
        def router_thresholds(self) -> dict[str, float]:
            return {"score": -1e9, "answer": 0.3, "expand": 0.4}

    options: dict[str, Any] = {
        "decode": "score", "answer_threshold": None, "expand_threshold": None, "score_threshold": None,
        "router_output_tokens": 64, "most_actions": 10, "router_fallback": False}
    state = labelled(0)[1]
    odds = line_odds(load_adapter(own), text_state(labelled(0)))
    corpus: Any = Corpus()
    for threshold, expected in ((max(odds) + 1, REFUSAL), (min(odds), "\n".join(state.legal_lines()))):
        card = json.loads((own / adapter.CARD).read_text())
        (own / adapter.CARD).write_text(json.dumps({**card, "score_threshold": threshold}))
        router = make_router(str(own), corpus, options)
        assert isinstance(router, LlmRouter)
        assert (router.name, router.route(state).text) == (str(own), expected)
    told = make_router(str(own), corpus, {**options, "score_threshold": max(odds) + 1})
    assert told.route(state).text == REFUSAL
    free = LlmRouter("x", load_adapter(own), LlmRouterSettings("free"), None).route(state)
    assert free.usage.calls == 1


def test_an_adapter_of_another_prompt_is_refused(own: Path) -> None:
    card = json.loads((own / adapter.CARD).read_text())
    (own / adapter.CARD).write_text(json.dumps({**card, "prompt_format": "rdr2-tag/0"}))
    message = (f"adapter {own}: trained for the prompt format rdr2-tag/0; expected the prompt format "
               f"{PROMPT_FORMAT}. Train it again: python -m training.finetune_router --config FILE.")
    for refuse in (load_adapter, lambda path: check_router(str(path))):
        with pytest.raises(UserError) as raised:
            refuse(own)
        assert str(raised.value) == message


def test_other_base_weights_are_refused(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = write_small_model(tmp_path / "other", dtype="float32", seed=1)
    monkeypatch.setenv(BASE_VARIABLE, str(other))
    with pytest.raises(UserError, match=r"holds other weights \(SHA-256 .*expected the weights of .*base \("):
        load_adapter(own)


def test_base_weights_may_lie_elsewhere(made: Path, own: Path, tmp_path: Path,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    card = json.loads((own / adapter.CARD).read_text())
    moved = {**card, "base": {**card["base"], "name": str(tmp_path / "gone")}}
    (own / adapter.CARD).write_text(json.dumps(moved))
    with pytest.raises(UserError, match=f"Set {BASE_VARIABLE} to that folder"):
        load_adapter(own)
    monkeypatch.setenv(BASE_VARIABLE, str(made / "base"))
    assert load_adapter(own).score(text_state(labelled(1)).messages, ["a"]).n_tokens == (1,)


@pytest.mark.parametrize("name", [adapter.CARD, adapter.WEIGHTS, adapter.CONFIG])
def test_a_folder_that_lacks_a_file_is_refused(own: Path, name: str) -> None:
    (own / name).unlink()
    assert is_adapter(str(own)), "half of one is still meant as one"
    with pytest.raises(UserError, match="as training writes it"):
        check_router(str(own))


def test_damaged_files_are_refused(own: Path) -> None:
    (own / adapter.WEIGHTS).write_bytes(b"\x02\x00\x00\x00\x00\x00\x00\x00{}")
    with pytest.raises(UserError, match="does not fit its base"):
        load_adapter(own)
    (own / adapter.CARD).write_text("{")
    with pytest.raises(UserError, match=r"espalier\.json cannot be read"):
        load_adapter(own)
    assert not is_adapter("http://127.0.0.1:8000/v1")
    assert not is_adapter("similarity")


@pytest.mark.parametrize("threshold", ["NaN", "Infinity", "-1e999", '"high"', "null", "[]"])
def test_a_threshold_that_is_no_number_is_refused(own: Path, threshold: str) -> None:
    card = (own / adapter.CARD).read_text()
    found = json.dumps(json.loads(card)["score_threshold"])
    (own / adapter.CARD).write_text(card.replace(found, threshold))
    with pytest.raises(UserError, match=r"espalier\.json cannot be read"):
        check_router(str(own))


@pytest.mark.parametrize("damage", [
    {"r": 4}, {"r": 0}, {"r": "eight"}, {"peft_type": "IA3"}, {"peft_type": "PROMPT_TUNING"}, {"peft_type": "OWL"},
    {"peft_type": None}, {"target_modules": ["no_proj"]}, {"target_modules": None}, {"lora_alpha": "x"},
    {"use_dora": True}, {"modules_to_save": ["lm_head"]}])
def test_a_config_of_another_adapter_is_refused(own: Path, damage: dict[str, Any]) -> None:
    config = json.loads((own / adapter.CONFIG).read_text())
    (own / adapter.CONFIG).write_text(json.dumps({**config, **damage}))
    with pytest.raises(UserError, match="does not fit its base"):
        load_adapter(own)
