"""A router's LoRA adapter: the folder that training writes, and the model that it makes of its base weights.

The folder holds `adapter_model.safetensors` and `adapter_config.json`, as peft has them, and `espalier.json`:
the prompt format that it was trained for, name and hash of its base weights, and the threshold of `score`. With
another prompt format or other weights it would decide at random, so it refuses to load.

What belongs here: writing, checking and loading that folder. What does not: training
(`training/finetune_router.py`), and routing (`llm_router.py`).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipelines.errors import UserError
from pipelines.files import file_sha256, write_bytes, write_json
from pipelines.methods.routing import PROMPT_FORMAT
from pipelines.models.base_weights import BaseWeights, find_base, load_base, weights_sha256
from pipelines.models.local_llm import LocalModel
from pipelines.models.response_cache import default_cache

BASE_VARIABLE = "ESPALIER_ADAPTER_BASE"
"""Folder of an adapter's base weights, where they lie elsewhere than at training."""
WEIGHTS, CONFIG, CARD = "adapter_model.safetensors", "adapter_config.json", "espalier.json"
_STEP = "Train it again: python -m training.finetune_router --config FILE."


@dataclass(frozen=True)
class AdapterCard:
    """What `espalier.json` says. score_threshold: natural log-odds of a line against refusing, tuned on dev
    states. trained: what training tells about itself, JSON values."""

    prompt_format: str
    base_name: str
    base_sha256: str
    score_threshold: float
    trained: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"prompt_format": self.prompt_format, "base": {"name": self.base_name, "sha256": self.base_sha256},
                "score_threshold": self.score_threshold, "trained": dict(self.trained)}


def is_adapter(name: str) -> bool:
    """Whether a router's name is the path of an adapter's folder: one that has a card or peft's config."""
    return "://" not in name and any((Path(name) / file).is_file() for file in (CARD, CONFIG))


def save_adapter(folder: Path, tensors: Mapping[str, Any], lora: Any, card: AdapterCard) -> None:
    """Write a folder. tensors: as peft names them. lora: its LoraConfig. Files of before are replaced."""
    from safetensors.torch import save

    folder.mkdir(parents=True, exist_ok=True)
    # Until the card is there again the folder counts as no adapter.
    (folder / CARD).unlink(missing_ok=True)
    # The library's own `save_file` makes a file that its owner alone may read.
    write_bytes(str(folder.absolute() / WEIGHTS),
                save({name: tensor.contiguous() for name, tensor in tensors.items()}, {"format": "pt"}))
    lora.base_model_name_or_path = card.base_name
    lora.save_pretrained(str(folder))
    write_json(str(folder.absolute() / CARD), card.to_json())


def read_card(folder: Path) -> AdapterCard:
    """What an adapter says about itself. Raises UserError for a folder that is none, or of another prompt."""
    subject = f"adapter {folder}"
    expected = f"a folder with {CARD}, {WEIGHTS} and {CONFIG}, as training writes it"
    try:
        found = json.loads((folder / CARD).read_bytes())
        card = AdapterCard(str(found["prompt_format"]), str(found["base"]["name"]), str(found["base"]["sha256"]),
                           float(found["score_threshold"]), dict(found["trained"]))
        if not math.isfinite(card.score_threshold):
            raise ValueError(f"score_threshold is {card.score_threshold}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(subject, f"{CARD} cannot be read ({type(error).__name__}: {error})", expected, _STEP
                        ) from error
    if missing := [name for name in (WEIGHTS, CONFIG) if not (folder / name).is_file()]:
        raise UserError(subject, f"no {missing[0]}", expected, _STEP)
    if card.prompt_format != PROMPT_FORMAT:
        raise UserError(subject, f"trained for the prompt format {card.prompt_format}",
                        f"the prompt format {PROMPT_FORMAT}", _STEP)
    return card


def load_adapter(folder: Path) -> LocalModel:
    """The base model with the adapter merged into its weights, once a process.

    Raises UserError for an adapter of another prompt format or of other weights, RunFailure where the base
    model was not set up.
    """
    card = read_card(folder)
    facts = (folder / WEIGHTS).stat()
    return _load(folder.absolute(), card.base_name, card.base_sha256, (facts.st_mtime_ns, facts.st_size))


@lru_cache(maxsize=1)
def _load(folder: Path, base_name: str, base_sha256: str, written: tuple[int, int]) -> LocalModel:
    """written: time and size of the weights; files that were written anew at the same path are another adapter."""
    import torch

    base = _base_of(folder, base_name)
    found = weights_sha256(base.folder)
    if found != base_sha256:
        raise UserError(f"adapter {folder}", f"{base.folder} holds other weights (SHA-256 {found[:12]}…)",
                        f"the weights of {base_name} (SHA-256 {base_sha256[:12]}…) that it was trained on",
                        f"Restore them, set {BASE_VARIABLE} to their folder, or train the adapter again.")
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model, tokenizer = load_base(base)
    from safetensors import SafetensorError

    try:
        merged = _laid_over(model, folder).merge_and_unload()
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise UserError(f"adapter {folder}", f"does not fit its base ({str(error).splitlines()[0]})",
                        "the files that training writes", _STEP) from error
    # Cached answers go by the name: two adapters of one base must not share one.
    title = f"{base.title} + LoRA {file_sha256(folder / WEIGHTS)[:8]}"
    return LocalModel(title, merged.eval(), tokenizer, default_cache())


def _laid_over(model: Any, folder: Path) -> Any:
    """The model with the adapter, by peft. Raises ValueError where the file lacks tensors or has others."""
    import warnings

    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import safe_open

    with safe_open(folder / WEIGHTS, "pt") as file:
        found = set(file.keys())
    with warnings.catch_warnings():
        # Of tensors that are missing peft only warns, and leaves the adapter without effect.
        warnings.simplefilter("ignore")
        laid = PeftModel.from_pretrained(model, str(folder), use_safetensors=True)
    if differing := found ^ set(get_peft_model_state_dict(laid, save_embedding_layers=False)):
        raise ValueError(f"{len(differing)} tensors are missing or of another model, as {min(differing)}")
    return laid


def _base_of(folder: Path, name: str) -> BaseWeights:
    chosen = os.environ.get(BASE_VARIABLE) or name
    try:
        return find_base(chosen)
    except UserError as error:
        raise UserError(f"adapter {folder}", f"its base weights {chosen}: {error.found}",
                        "the folder of the weights that it was trained on",
                        f"Set {BASE_VARIABLE} to that folder.") from error
