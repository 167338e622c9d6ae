"""The settings of fine-tuning a language model as a router; defaults are the paper's (2510.04293, A.2).

What belongs here: fields, and what of them a checkpoint is bound to. What does not: what they do
(`finetune_router.py`).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pydantic import Field

from pipelines.settings import LANGUAGE_MODEL_NAME
from training.config_fields import LargestShares, OutFolder, RouterName
from training.states_config import StatesConfig
from training.training_states import HeldOut

Precision = Literal["auto", "float32", "bfloat16", "float64"]
Strategy = Literal["ddp", "fsdp"]
Schedule = Literal["cosine", "linear", "constant"]

_PLACES = frozenset({"data", "out", "checkpoint", "checkpoint_every", "name", "ray", "workers", "max_failures",
                     "threads", "use_gpu", "strategy", "micro_tokens", "gradient_checkpointing"})
"""Fields that change where and how fast it is computed, not what."""


class FinetuneConfig(StatesConfig):
    """What is trained, on what, and how."""

    base: str = Field(LANGUAGE_MODEL_NAME, description="Name of the model of set-up, or a folder in Hugging Face "
                                                       "layout with safetensors")
    precision: Precision = Field("auto", description="Of the base weights; auto: bfloat16 on a GPU, else float32. "
                                                     "The adapter has float32 at least")
    rank: int = Field(8, ge=1, description="Rank of the update")
    alpha: int = Field(16, ge=1, description="The update is scaled by alpha / rank")
    dropout: float = Field(0.0, ge=0, lt=1, description="Before the update")
    targets: tuple[str, ...] | None = Field(None, description="Names of the layers that get one; none: the linear "
                                                              "ones of attention")

    dev_dataset: str | None = Field(None, description="Set with the dev split; none: the same set")
    held_out: HeldOut = Field("gold", description=(
        "No state is trained on of a document that answers a held-out question (gold), or that one is shown (met)"))
    allow_leakage: bool = Field(False, description="Train although training questions leak held-out ones")
    at_most: LargestShares = Field(default_factory=dict, description="Largest share of a class, as REFUSE: 0.5")
    max_tokens: int = Field(4096, ge=64, description="Longer samples, prompt and output, are left out and counted")
    most_states: int | None = Field(None, ge=1, description="Train states at most, drawn by their ids; none: all")
    dev_states: int = Field(200, ge=1, description="Dev states at most, drawn by their ids")

    epochs: float = Field(3.5, gt=0, description="Passes over the train states")
    max_steps: int | None = Field(None, ge=1, description="Steps, in place of epochs")
    batch_states: int = Field(8, ge=1, description="Samples of a step, over all workers and micro-batches")
    learning_rate: float = Field(1e-5, gt=0, description="Of AdamW, at its highest")
    weight_decay: float = Field(0.0, ge=0, description="Of AdamW")
    schedule: Schedule = Field("cosine", description="How the learning rate falls behind its warm-up")
    warmup: float = Field(0.1, ge=0, lt=1, description="Share of the steps in which the learning rate rises")
    max_grad_norm: float = Field(1.0, gt=0, description="Longer gradients are shortened to it")
    seed: int = Field(7, description="Seed of the adapter's weights, of the order and of dropout")

    eval_every: int | None = Field(None, ge=1, description="Steps between looks at the dev states; none: an epoch")
    patience: int = Field(3, ge=1, description="Looks without a better dev metric after which training ends")

    micro_tokens: int = Field(4096, ge=64, description="Tokens of one pass of the model, padding included; a "
                                                       "longer sample is a pass of its own")
    gradient_checkpointing: bool = Field(False, description="Compute activations twice rather than keep them")
    workers: int = Field(1, ge=1, description="Workers, each with its own model; the global batch stays the same")
    ray: bool | None = Field(None, description="Train on Ray; none: with several workers, a GPU or RAY_ADDRESS")
    use_gpu: bool | None = Field(None, description="One GPU a worker; none: where PyTorch sees one")
    strategy: Strategy = Field("ddp", description="What several workers share: ddp gradients, fsdp weights too")
    threads: int | None = Field(None, ge=1, description="Threads of a worker on CPUs; none: the CPUs by workers")
    max_failures: int = Field(3, ge=0, description="Workers that may die and are replaced")
    checkpoint: str | None = Field(None, description="File or address that all workers reach; none: beside out")
    checkpoint_every: int = Field(20, ge=1, description="Steps between two checkpoints")

    name: RouterName = Field("router-adapter", description="Registered model in MLflow")
    out: OutFolder = Field(description="The adapter's folder")

    @property
    def checkpoint_path(self) -> str:
        """Where the state of the run is kept until it is done."""
        return self.checkpoint or f"{self.out.absolute()}.checkpoint.safetensors"

    def fingerprint(self, **facts: Any) -> str:
        """Hash of all settings that losses depend on, and of more facts: whose checkpoint one is."""
        described = self.model_dump(mode="json", exclude=set(_PLACES)) | facts
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
