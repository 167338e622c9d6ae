"""A causal model with a LoRA adapter to train (Hu et al. 2022), by peft.

What belongs here: making it, which layers get an adapter, and its tensors by name. What does not: the loss
(`finetune_step.py`), workers (`workers.py`), and the folder of a trained one (`pipelines/models/adapter.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.errors import UserError
from pipelines.models.base_weights import BaseWeights, load_base
from training.finetune_config import FinetuneConfig


@dataclass(frozen=True)
class LoraModel:
    """peft: the PeftModel. tokenizer: of the library `tokenizers`."""

    peft: Any
    tokenizer: Any

    @property
    def causal(self) -> Any:
        """The causal model itself, its layers with their adapters in place."""
        return self.peft.get_base_model()

    def trained(self) -> dict[str, Any]:
        """The parameters that are trained, by name."""
        return {name: value for name, value in self.peft.named_parameters() if value.requires_grad}


def precision_of(config: FinetuneConfig, is_gpu: bool) -> str:
    """The type of the base weights."""
    return config.precision if config.precision != "auto" else "bfloat16" if is_gpu else "float32"


def make_lora_model(base: BaseWeights, config: FinetuneConfig, device: Any) -> LoraModel:
    """Load the base weights and lay the adapter over them. Equal seeds give equal adapters.

    The adapter is in float32 at least: updates of a rate of 1e-5 are lost in bfloat16.
    Raises UserError for damaged weights and for a model without such layers.
    """
    import warnings

    import torch
    from peft import get_peft_model

    model, tokenizer = load_base(base, precision_of(config, device.type == "cuda"))
    targets = list(config.targets or attention_layers(model))
    if not targets:
        raise UserError(f"language model {base.title}", "no linear layer in a module named …Attention…",
                        "layers that get an adapter", "Name some by targets.")
    torch.manual_seed(config.seed)
    try:
        with warnings.catch_warnings():
            # peft reads an attribute of models that transformers is about to rename.
            warnings.simplefilter("ignore", FutureWarning)
            peft = get_peft_model(model, lora_config(config, targets))
    except ValueError as error:
        raise UserError("targets", str(error).splitlines()[0], f"layers of {base.title}", "Correct them.") from None
    if config.gradient_checkpointing:
        model.activation_checkpointing_enable(activation_checkpointing_kwargs={"use_reentrant": False})
    return LoraModel(peft.to(device), tokenizer)


def lora_config(config: FinetuneConfig, targets: Sequence[str]) -> Any:
    """What peft is told of an adapter on these layers."""
    from peft import LoraConfig

    return LoraConfig(task_type="CAUSAL_LM", r=config.rank, lora_alpha=config.alpha, lora_dropout=config.dropout,
                      target_modules=list(targets))


def adapter_files(trained: Mapping[str, Any], config: FinetuneConfig) -> tuple[dict[str, Any], Any]:
    """Trained parameters by name → tensors under the names that peft's files have, and their LoraConfig."""
    tensors = {name.replace(".default.", "."): value for name, value in trained.items()}
    layers = {".".join(name.partition(".lora_")[0].split(".")[-2:]) for name in tensors}
    return tensors, lora_config(config, config.targets or sorted(layers))


def attention_layers(model: Any) -> Sequence[str]:
    """Names of the linear layers of attention with their module's, as `self_attn.q_proj`."""
    import torch
    from transformers.pytorch_utils import Conv1D

    found = {f"{path.rpartition('.')[2]}.{name}" for path, module in model.named_modules()
             if "Attention" in type(module).__name__
             for name, layer in module.named_children() if isinstance(layer, (torch.nn.Linear, Conv1D))}
    return sorted(found)
