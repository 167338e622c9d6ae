"""Which library runs the sentence encoder, and in which precision: decided when the encoder is loaded.

What belongs here: what a back end is, and the choice between them by the number of texts, the processor and
a comparison with fp32. What does not: the back ends (`encoder_onnx.py`: fp32, starts at once;
`encoder_torch.py`: bf16, starts in seconds), tokens and batches (`encoder.py`). Both give the vectors of one
model: their cosine is at least MIN_COSINE, or fp32 does the work. Nothing here is quantized to int8.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from pipelines.settings import Precision

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = Sequence[NDArray[np.int64]]

BF16_FLAGS = ("avx512_bf16", "amx_bf16")
"""Processor flags, each of which means that products of bf16 matrices are faster than those of fp32."""
MIN_COSINE = 0.9999
"""Of a back end's vector to that of fp32, for every text of the comparison."""
BULK_TEXTS = 1000
"""From so many texts on, one process gains more by bf16 than loading torch costs it (some 3 s of one core,
while a passage of 100 words takes some 8 ms less)."""

_LOG = logging.getLogger(__name__)


class Backend(Protocol):
    """A loaded model."""

    def embed(self, batches: Sequence[Rows]) -> Iterator[NDArray[np.float32]]:
        """Of each batch of token ids, in turn: vectors of unit length, (rows, dim).

        The rows of a batch are not empty, and those of one length are neighbours.
        """
        ...


class BackendUnavailable(Exception):
    """A back end cannot run here; the message says why."""


@dataclass(frozen=True)
class BackendChoice:
    """What runs the encoder. precision: `fp32` or `bf16`; reason: why this one, in words; failed: bf16
    was asked for, or the processor would be faster with it, and it could not be used."""

    precision: Literal["fp32", "bf16"]
    library: str
    reason: str
    failed: bool = False

    def __str__(self) -> str:
        return f"{self.precision} by {self.library} ({self.reason})"


def precision_for(setting: Precision, n_texts: int) -> Precision:
    """The precision that a process asks for that has `n_texts` to encode.

    For fewer than BULK_TEXTS `auto` is fp32: torch is not loaded for them.
    """
    return "fp32" if setting == "auto" and n_texts < BULK_TEXTS else setting


def cpu_flags() -> frozenset[str]:
    """Instruction sets of the processor; empty where the system does not tell them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.split(":", 1)[1] for line in lines if line.startswith("flags")), "").split())


def choose_backend(name: str, precision: Precision, threads: int, fp32: Backend,
                   probes: Rows) -> tuple[Backend, BackendChoice]:
    """The back end for that precision, and why it was taken; falls back to `fp32` and logs it.

    probes: a batch of token ids on which bf16 is compared with `fp32`. `bf16` is taken where the
    processor has instructions for it, whether asked for by that name or by `auto`.
    """
    if precision == "fp32":
        return fp32, BackendChoice("fp32", "onnxruntime", "by setting, or for few texts")
    flags = [flag for flag in BF16_FLAGS if flag in cpu_flags()]
    if not flags:
        reason = f"the processor has none of {', '.join(BF16_FLAGS)}"
        choice = BackendChoice("fp32", "onnxruntime", reason, failed=precision == "bf16")
    else:
        try:
            bf16, cosine = _checked_bf16(name, threads, fp32, probes)
        except BackendUnavailable as error:
            choice = BackendChoice("fp32", "onnxruntime", str(error), failed=True)
        else:
            choice = BackendChoice("bf16", "torch", f"{' '.join(flags)}, cosine to fp32 at least {cosine:.5f}")
            _LOG.info("encoder %s: %s", name, choice)
            return bf16, choice
    _LOG.log(logging.WARNING if choice.failed else logging.INFO, "encoder %s: %s", name, choice)
    return fp32, choice


def _checked_bf16(name: str, threads: int, fp32: Backend, probes: Rows) -> tuple[Backend, float]:
    """The bf16 back end and its least cosine to fp32. Raises BackendUnavailable when that is too small."""
    import numpy as np

    from pipelines.models.encoder_torch import load_bf16

    bf16 = load_bf16(name, threads)
    ours, expected = (next(backend.embed([probes])) for backend in (bf16, fp32))
    cosine = float(np.sum(ours * expected, axis=1).min())
    # The negation catches NaN too.
    if not cosine >= MIN_COSINE:
        raise BackendUnavailable(f"bf16 by torch gives a cosine of {cosine:.5f} to fp32, below {MIN_COSINE}")
    return bf16, cosine
