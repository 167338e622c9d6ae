"""bf16 against fp32: the same vectors for texts of thirty languages, whatever texts stand beside them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from pipelines.models import encoder_backend
from pipelines.models.encoder import Encoded, Encoder, load_encoder
from pipelines.models.encoder_backend import BF16_FLAGS, MIN_COSINE, cpu_flags
from pipelines.models.export import export_encoder

NAME = "all-MiniLM-L6-v2"
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "sentences"
N_TEXTS = 200

pytestmark = pytest.mark.skipif(
    not cpu_flags() & set(BF16_FLAGS), reason=f"this processor has none of {', '.join(BF16_FLAGS)}")


def mixed_texts() -> list[str]:
    """Sentences of thirty languages in turn; a tenth are whole files, longer than the encoder reads."""
    files = sorted(FIXTURES.glob("*.txt"))
    lines = [[line for line in file.read_text("utf-8").splitlines() if line and not line.startswith("#")]
             for file in files]
    rounds = [file[place] for place in range(max(map(len, lines))) for file in lines if place < len(file)]
    long = ["\n".join(file) for file in lines]
    return ["", "42", *long[:20], *rounds][:N_TEXTS]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return mixed_texts()


@pytest.fixture(scope="module")
def bf16() -> Encoder:
    export_encoder(NAME)
    encoder = load_encoder(NAME, precision="bf16")
    assert (encoder.choice.precision, encoder.choice.library, encoder.choice.failed) == ("bf16", "torch", False)
    return encoder


@pytest.fixture(scope="module")
def in_order(bf16: Encoder, texts: list[str]) -> Encoded:
    return bf16.encode(texts)


def test_vectors_are_those_of_fp32(bf16: Encoder, texts: list[str], in_order: Encoded) -> None:
    expected = load_encoder(NAME).encode(texts)
    assert len(texts) == N_TEXTS
    assert in_order.truncated.sum() >= 10
    cosines = np.sum(in_order.vectors * expected.vectors, axis=1)
    assert cosines.min() >= MIN_COSINE
    np.testing.assert_allclose(np.linalg.norm(in_order.vectors, axis=1), 1.0, atol=1e-5)
    assert in_order.n_tokens.tolist() == expected.n_tokens.tolist()
    assert in_order.truncated.tolist() == expected.truncated.tolist()
    # Were bf16 not at work, not one component would differ so much.
    assert np.abs(in_order.vectors - expected.vectors).max() > 1e-4


@pytest.mark.parametrize("batch_tokens", [1, 300, 4096])
def test_neighbours_do_not_matter(bf16: Encoder, texts: list[str], in_order: Encoded, batch_tokens: int) -> None:
    order = list(range(0, len(texts), 3))
    random.Random(batch_tokens).shuffle(order)
    shuffled = bf16.encode([texts[place] for place in order], batch_tokens)
    np.testing.assert_allclose(shuffled.vectors, in_order.vectors[order], atol=1e-3)


def test_the_comparison_with_fp32_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_backend, "MIN_COSINE", 1.0001)
    # A limit of its own: an encoder that another test loaded is not taken from memory.
    choice = load_encoder(NAME, max_tokens=199, precision="auto").choice
    assert (choice.precision, choice.failed) == ("fp32", True)
    assert choice.reason.endswith("to fp32, below 1.0001")


def test_one_thread_and_many_give_the_same(texts: list[str], in_order: Encoded) -> None:
    import torch

    before = torch.get_num_threads()
    single = load_encoder(NAME, threads=1, precision="auto")
    np.testing.assert_allclose(single.encode(texts[:40]).vectors, in_order.vectors[:40], atol=1e-3)
    assert torch.get_num_threads() == before
