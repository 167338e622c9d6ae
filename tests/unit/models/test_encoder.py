"""The encoder at run time: batches, limits, threads, errors. Vectors: tests/integration/models."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from pipelines.errors import RunFailure, UserError
from pipelines.models.encoder import THREADS_VARIABLE, Encoder, _batches, load_encoder
from pipelines.models.encoder_onnx import OnnxBackend
from pipelines.models.export import Wheel, encoder_folder, export_encoder, locate

NAME = "all-MiniLM-L6-v2"
TEXTS = [
    "",
    "Anarchism",
    "Albedo is the fraction of sunlight that is diffusely reflected by a body.",
    "Київ — столиця України.\nТаблиця | рядок | комірка",
    "東京は日本の首都です。 Straße, naïve, ﬁ, \u200bzero width",
    "The quick brown fox jumps over the lazy dog. " * 15,
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    export_encoder(NAME)
    return load_encoder(NAME, max_tokens=256)


def test_order_and_vectors_do_not_depend_on_batches(encoder: Encoder) -> None:
    together = encoder.encode(TEXTS, batch_tokens=64)
    for place, text in enumerate(TEXTS):
        alone = encoder.encode([text])
        np.testing.assert_allclose(alone.vectors[0], together.vectors[place], atol=1e-3)
        assert alone.n_tokens[0] == together.n_tokens[place]
    np.testing.assert_allclose(np.linalg.norm(together.vectors, axis=1), 1.0, atol=1e-5)
    assert together.vectors.dtype == np.float32
    assert together.vectors.shape == (len(TEXTS), 384)


def test_batches_hold_few_tokens_and_a_longer_text_alone() -> None:
    lengths = [3, 9, 2, 4, 12, 3]
    # Longest first: 12 alone, for it is beyond 10; 9 alone, for two rows of 9 are; 4 and 3; 3, 2 as 3 and 3.
    assert list(_batches([np.zeros(n, np.int64) for n in lengths], 10)) == [[4], [1], [3, 0], [5, 2]]
    assert list(_batches([], 10)) == []


def test_a_cut_text_is_flagged_with_its_true_length(encoder: Encoder) -> None:
    # One word, one token: 254 words and the two special tokens are exactly the limit.
    fits, one_more, far_more = (" ".join(["sun"] * n) for n in (254, 255, 5_000))
    encoded = encoder.encode([far_more, fits, one_more])
    assert encoded.n_tokens.tolist() == [5_002, 256, 257]
    assert encoded.truncated.tolist() == [True, False, True]
    np.testing.assert_allclose(encoded.vectors[1], encoded.vectors[0], atol=1e-5)


def test_no_texts_give_empty_arrays(encoder: Encoder) -> None:
    encoded = encoder.encode([])
    assert (encoded.vectors.shape, encoded.n_tokens.shape, encoded.truncated.shape) == ((0, 384), (0,), (0,))


def test_threads_come_from_the_environment(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, "1")
    single = load_encoder(NAME, max_tokens=256)
    backend = single._backend
    assert isinstance(backend, OnnxBackend)
    assert backend.session.get_session_options().intra_op_num_threads == 1
    np.testing.assert_allclose(single.encode(TEXTS).vectors, encoder.encode(TEXTS).vectors, atol=1e-3)


def test_a_missing_export_names_make_setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path))
    with pytest.raises(RunFailure, match=r"no .*config\.json.*Run `make setup`"):
        load_encoder(NAME, max_tokens=256)


def test_a_damaged_export_is_named(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = encoder_folder(NAME)
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path))
    folder = encoder_folder(NAME)
    shutil.copytree(source, folder)
    whole = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(whole[:1000])
    with pytest.raises(RunFailure, match=r"model\.onnx is damaged \(1000 bytes instead of \d+\)"):
        load_encoder(NAME, max_tokens=256)
    (folder / "model.onnx").write_bytes(b"\0" * len(whole))
    with pytest.raises(RunFailure, match="is damaged"):
        load_encoder(NAME, max_tokens=256)


def test_unknown_names_and_missing_wheels_are_explained() -> None:
    with pytest.raises(UserError, match=r"encoder 'nope'.*all-MiniLM-L6-v2"):
        export_encoder("nope")
    with pytest.raises(RunFailure, match=r"wheel no-such.*not installed.*make setup"):
        locate(Wheel("no-such", "no_such_package", "model"))
