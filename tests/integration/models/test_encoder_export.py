"""The exported encoder against sentence-transformers on the same weights, and a set-up after damage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pipelines.models.encoder import load_encoder
from pipelines.models.export import ENCODERS, encoder_folder, export_encoder, locate

NAME = "all-MiniLM-L6-v2"
TEXTS = [
    "",
    "Anarchism",
    "Albedo is the fraction of sunlight that is diffusely reflected by a body.",
    "Київ — столиця України.\nТаблиця | рядок | комірка",
    "東京は日本の首都です。 Straße, naïve, ﬁ, \u200bzero width",
    "The quick brown fox jumps over the lazy dog. " * 15,
    "A long text that is cut, with other words at its very end. " * 60,
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that this module fills by itself."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def use_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPALIER_CACHE", str(cache))


def test_vectors_are_those_of_sentence_transformers() -> None:
    from sentence_transformers import SentenceTransformer

    export_encoder(NAME)
    encoder = load_encoder(NAME)
    model = SentenceTransformer(str(locate(ENCODERS[NAME])), device="cpu")
    assert model.max_seq_length == encoder.max_tokens == 256
    expected = model.encode(TEXTS, normalize_embeddings=True, batch_size=2)
    cosines = np.sum(expected * encoder.encode(TEXTS, batch_tokens=300).vectors, axis=1)
    assert cosines.min() >= 0.9999


def test_a_second_set_up_does_nothing_and_repairs_damage() -> None:
    model = export_encoder(NAME) / "model.onnx"
    written, size = model.stat().st_mtime_ns, model.stat().st_size
    assert export_encoder(NAME) == encoder_folder(NAME)
    assert model.stat().st_mtime_ns == written
    model.write_bytes(model.read_bytes()[:1000])
    export_encoder(NAME)
    assert model.stat().st_size == size
    assert json.loads((model.parent / "config.json").read_text())["dim"] == 384
    assert sorted(path.name for path in model.parent.iterdir()) == [
        "config.json", "model.onnx", "tokenizer.json"]
