"""Which layers of a model get an adapter, and the names that its tensors have in peft's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import UserError
from pipelines.models.base_weights import BaseWeights
from training.finetune_config import FinetuneConfig
from training.lora_model import adapter_files, attention_layers, make_lora_model


def small_models() -> dict[str, Any]:
    """Random models of three architectures that name their layers differently."""
    from transformers import (
        GPT2Config,
        GPT2LMHeadModel,
        GPTNeoXConfig,
        GPTNeoXForCausalLM,
        Qwen2Config,
        Qwen2ForCausalLM,
    )

    sizes = {"vocab_size": 300, "hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 32,
             "num_attention_heads": 2}
    return {"qwen2": Qwen2ForCausalLM(Qwen2Config(**sizes, num_key_value_heads=1)),
            "gpt2": GPT2LMHeadModel(GPT2Config(vocab_size=300, n_embd=16, n_layer=1, n_head=2)),
            "neox": GPTNeoXForCausalLM(GPTNeoXConfig(**sizes))}


EXPECTED = {"qwen2": [f"self_attn.{name}_proj" for name in "koqv"], "gpt2": ["attn.c_attn", "attn.c_proj"],
            "neox": ["attention.dense", "attention.query_key_value"]}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_linear_layers_of_attention_get_an_adapter(name: str, tmp_path: Path) -> None:
    model = small_models()[name]
    assert list(attention_layers(model)) == EXPECTED[name]
    base = saved(model, tmp_path)
    made = make_lora_model(base, config(), cpu())
    named = {path.split(".lora_")[0] for path in made.trained()}
    assert {".".join(path.split(".")[-2:]) for path in named} == set(EXPECTED[name])
    assert len(named) == len(EXPECTED[name]), "none of the other layers with such a name"
    tensors, lora = adapter_files(made.trained(), config())
    from peft import get_peft_model_state_dict

    assert tensors.keys() == get_peft_model_state_dict(made.peft, save_embedding_layers=False).keys()
    assert sorted(lora.target_modules) == EXPECTED[name]


def test_bfloat16_weights_have_an_adapter_in_float32(tmp_path: Path) -> None:
    import torch

    made = make_lora_model(saved(small_models()["qwen2"], tmp_path), config(precision="bfloat16"), cpu())
    assert {value.dtype for value in made.trained().values()} == {torch.float32}
    assert made.causal.lm_head.weight.dtype == torch.bfloat16


def test_layers_that_are_not_there_are_named(tmp_path: Path) -> None:
    base = saved(small_models()["qwen2"], tmp_path)
    with pytest.raises(UserError, match=r"targets: .*query"):
        make_lora_model(base, config(targets=["query"]), cpu())


def config(**fields: Any) -> FinetuneConfig:
    return FinetuneConfig(dataset="d", out=Path("x"), **{"precision": "float32", **fields})


def cpu() -> Any:
    import torch

    return torch.device("cpu")


def saved(model: Any, folder: Path) -> BaseWeights:
    """The model in a folder, with a tokenizer that no test uses."""
    from tokenizers import Tokenizer, models

    model.save_pretrained(str(folder))
    Tokenizer(models.BPE()).save(str(folder / "tokenizer.json"))
    return BaseWeights("small", "small", folder)
