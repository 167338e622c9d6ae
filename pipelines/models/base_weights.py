"""The causal model that a router is trained on: where it lies, that it needs no pickle, and what it is known by.

What belongs here: names and folders in Hugging Face layout, loading, and the hash of the weights. What does not:
converting the project's own model (`export_llm.py`), adapters (`adapter.py`), running (`local_llm.py`).
"""

from __future__ import annotations

import hashlib
import json
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.errors import UserError
from pipelines.models.export_llm import LANGUAGE_MODELS, check_export

_EXPECTED = "a folder with config.json, tokenizer.json and *.safetensors"


@dataclass(frozen=True)
class BaseWeights:
    """name: of a model of set-up, or the path of a folder. title: the name that figures carry."""

    name: str
    title: str
    folder: Path


def find_base(name: str) -> BaseWeights:
    """The weights of that name, or in that folder.

    Raises UserError for what is neither or holds no safetensors, RunFailure for a model that was not set up.
    """
    if name in LANGUAGE_MODELS:
        return BaseWeights(name, LANGUAGE_MODELS[name].title, check_export(name))
    folder = Path(name).expanduser().absolute()
    subject = f"language model {name}"
    known = f"one of {', '.join(LANGUAGE_MODELS)}, or {_EXPECTED}"
    if not folder.is_dir():
        raise UserError(subject, "no such name or folder", known, "Correct the name or the path.")
    for needed in ("config.json", "tokenizer.json", "*.safetensors"):
        if not any(folder.glob(needed)):
            raise UserError(subject, f"no {needed} in {folder}", known,
                            "Save the model with save_pretrained, and its tokenizer as tokenizer.json.")
    return BaseWeights(str(folder), folder.name, folder)


def weights_sha256(folder: Path) -> str:
    """SHA-256 over names, types, shapes and values of all tensors of a folder's safetensors, in hex.

    Tensors come in the order of their names, so that neither their places in a file nor the number of files
    matters. Reads everything: some 2 s a GB. Raises UserError for a damaged file.
    """
    tensors: dict[str, tuple[Path, str, int, int]] = {}
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with path.open("rb") as stream:
                n_head = int.from_bytes(stream.read(8), "little")
                head = json.loads(stream.read(n_head))
            for name, facts in head.items():
                if name != "__metadata__":
                    begin, end = facts["data_offsets"]
                    described = json.dumps([name, facts["dtype"], facts["shape"]])
                    tensors[name] = (path, described, 8 + n_head + begin, 8 + n_head + end)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, MemoryError, OverflowError) as error:
            raise UserError(f"weights {path}", f"no head of tensors ({error})", "a safetensors file",
                            "Save or download the model again.") from error
    digest = hashlib.sha256()
    maps = {}
    for name in sorted(tensors):
        path, described, begin, end = tensors[name]
        digest.update(described.encode())
        if end > begin:
            if path not in maps:
                with path.open("rb") as stream:
                    maps[path] = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            if end > len(maps[path]):
                raise UserError(f"weights {path}", "shorter than its head says", "a whole safetensors file",
                                "Save or download the model again.")
            with memoryview(maps[path]) as view, view[begin:end] as part:
                digest.update(part)
    for one in maps.values():
        one.close()
    return digest.hexdigest()


def load_base(base: BaseWeights, dtype: str = "float32") -> tuple[Any, Any]:
    """(model of transformers in evaluation mode, tokenizer of `tokenizers`), from local files alone.

    dtype: float32, float64 or bfloat16. Raises UserError for files that are damaged or no causal model.
    """
    import torch
    from safetensors import SafetensorError
    from tokenizers import Tokenizer
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        model = AutoModelForCausalLM.from_pretrained(
            str(base.folder), dtype=getattr(torch, dtype), local_files_only=True, use_safetensors=True)
        tokenizer = Tokenizer.from_buffer((base.folder / "tokenizer.json").read_bytes())
    except (OSError, ValueError, SafetensorError) as error:
        raise UserError(f"language model {base.folder}", f"cannot be loaded ({str(error).splitlines()[0]})",
                        _EXPECTED, "Save or download the model again.") from error
    return model.eval(), tokenizer
