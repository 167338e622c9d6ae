"""Base weights: folders that are taken and refused, and a hash of values, not of files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import torch  # noqa: TID253 (tensors are made here)
from safetensors.torch import save_file

from pipelines.errors import UserError
from pipelines.models.base_weights import find_base, weights_sha256
from pipelines.settings import LANGUAGE_MODEL_NAME


def folder_with(path: Path, **files: dict[str, torch.Tensor]) -> Path:
    path.mkdir(parents=True)
    for name, tensors in files.items():
        save_file(tensors, str(path / f"{name}.safetensors"), {"format": "pt", "file": name})
    return path


def test_the_hash_is_of_names_types_shapes_and_values(tmp_path: Path) -> None:
    a, b = torch.arange(6, dtype=torch.float32).reshape(2, 3), torch.tensor([1.5], dtype=torch.bfloat16)
    expected = hashlib.sha256(b'["a", "F32", [2, 3]]' + a.numpy().tobytes()
                              + b'["b", "BF16", [1]]' + b.view(torch.uint8).numpy().tobytes()).hexdigest()
    assert weights_sha256(folder_with(tmp_path / "one", model={"b": b, "a": a})) == expected
    assert weights_sha256(folder_with(tmp_path / "two", y={"a": a}, x={"b": b})) == expected, "in two files"
    others = [{"a": a.reshape(3, 2), "b": b}, {"a": a + 1e-6, "b": b}, {"a": a, "c": b}, {"a": a},
              {"a": a, "b": b.view(torch.float16)}]
    found = {weights_sha256(folder_with(tmp_path / f"other{n}", model=other)) for n, other in enumerate(others)}
    assert len(found | {expected}) == 6


def test_damaged_files_are_named(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "cut", model={"a": torch.zeros(100)})
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(UserError, match="shorter than its head says"):
        weights_sha256(folder)
    for content in (b"", b"\xff" * 16, b"\x02\x00\x00\x00\x00\x00\x00\x00[]"):
        path.write_bytes(content)
        with pytest.raises(UserError, match="no head of tensors"):
            weights_sha256(folder)


def test_a_folder_needs_config_tokenizer_and_safetensors(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"no such name or folder; expected one of {LANGUAGE_MODEL_NAME}, or"):
        find_base(str(tmp_path / "nowhere"))
    folder = tmp_path / "Small-1B"
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        with pytest.raises(UserError, match=r"Save the model with save_pretrained"):
            find_base(str(folder))
        (folder / name).write_text(json.dumps({}))
    (folder / "pytorch_model.bin").write_bytes(b"never read")
    base = find_base(str(folder))
    assert (base.name, base.title, base.folder) == (str(folder), "Small-1B", folder)
