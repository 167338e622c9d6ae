"""The sentence encoder at run time: texts to unit vectors, for one question as for millions of passages.

What belongs here: tokenizing, sorting, batching, and loading what `make setup` exported. What does not: the
model itself (`encoder_onnx.py`, `encoder_torch.py`) and the choice between those (`encoder_backend.py`), the
export (`export.py`), reading and writing tables. Texts are sorted by their token count, so that little or
nothing is padded, and a batch holds few tokens, so that a layer's values stay in the processor's cache. A
text beyond the limit is cut and *flagged*, with its true length: two long texts that differ at the end get
equal vectors.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.errors import RunFailure
from pipelines.models.encoder_backend import Backend, BackendChoice, choose_backend
from pipelines.models.export import EXPORT_FORMAT, encoder_folder
from pipelines.settings import Precision

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

THREADS_VARIABLE = "ESPALIER_ENCODER_THREADS"
"""Threads of one encoder. A Spark worker sets 1, for Spark runs one worker a core; else all cores work."""

BATCH_TOKENS = 1024
"""Tokens of a batch, padding included. More are slower: the values of a layer then leave the cache."""

_TOKENIZED_AT_ONCE = 2048
_PROBES = (
    "A short text.", "Short texts too.", "42", "Albedo\nThe fraction of sunlight that a body reflects: 0.30 | 12 %",
    "Київ — столиця України, місто на Дніпрі.", "東京は日本の首都です。", "القاهرة عاصمة مصر.",
    "A text of many words, longer than any encoder reads, for its end must be cut. " * 40,
)
"""Texts on which a back end is compared with fp32: several scripts and lengths, two of one length."""


@dataclass(frozen=True)
class Encoded:
    """vectors: float32 (n, dim) of unit length. n_tokens: int32 (n,), each text's length in the encoder's
    tokens before truncation, with the two special ones. truncated: bool (n,), where the end was not seen."""

    vectors: NDArray[np.float32]
    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]


class Encoder:
    """A loaded encoder. Texts longer than `max_tokens` (special tokens included) are cut.

    choice: which back end computes, and why.
    """

    def __init__(self, name: str, dim: int, max_tokens: int, tokenizer: Any, backend: Backend,
                 choice: BackendChoice) -> None:
        self.name, self.dim, self.max_tokens, self.choice = name, dim, max_tokens, choice
        self._tokenizer, self._backend = tokenizer, backend

    def encode(self, texts: Sequence[str], batch_tokens: int = BATCH_TOKENS) -> Encoded:
        """Vectors of the texts, in their order; no texts give arrays of length 0.

        batch_tokens: tokens a batch, padding included; a longer text is a batch alone. The texts of one
        call are sorted together: hand over thousands at once, and no more than fit in memory.
        """
        import numpy as np

        vectors = np.empty((len(texts), self.dim), np.float32)
        rows, lengths = _token_rows(self._tokenizer, texts, self.max_tokens)
        batches = list(_batches(rows, batch_tokens))
        embedded = self._backend.embed([[rows[place] for place in places] for places in batches])
        for places, found in zip(batches, embedded, strict=True):
            vectors[places] = found
        return Encoded(vectors, lengths, lengths > self.max_tokens)


def _token_rows(tokenizer: Any, texts: Sequence[str],
                max_tokens: int) -> tuple[list[NDArray[np.int64]], NDArray[np.int32]]:
    """Token ids of each text, cut at the limit, and each text's length before that."""
    import numpy as np

    rows: list[NDArray[np.int64]] = []
    lengths = np.empty(len(texts), np.int32)
    for begin in range(0, len(texts), _TOKENIZED_AT_ONCE):
        chunk = list(texts[begin: begin + _TOKENIZED_AT_ONCE])
        for place, encoding in enumerate(tokenizer.encode_batch_fast(chunk), begin):
            tokens = encoding.ids
            lengths[place] = len(tokens)
            if len(tokens) > max_tokens:
                # The last token is the separator, which the model expects at the end.
                tokens = [*tokens[: max_tokens - 1], tokens[-1]]
            rows.append(np.asarray(tokens, np.int64))
    return rows, lengths


def _batches(rows: Sequence[NDArray[np.int64]], batch_tokens: int) -> Iterator[list[int]]:
    """The places of the rows, longest first, in batches whose rows, padded, have so many tokens at most."""
    places: list[int] = []
    for place in sorted(range(len(rows)), key=lambda place: len(rows[place]), reverse=True):
        if places and (len(places) + 1) * len(rows[places[0]]) > batch_tokens:
            yield places
            places = []
        places.append(place)
    if places:
        yield places


def load_encoder(name: str, max_tokens: int | None = None, threads: int | None = None,
                 precision: Precision = "fp32") -> Encoder:
    """The encoder of that name, loaded once a process.

    max_tokens: where a text is cut; without, the limit that the model was made for. threads: of one matrix
    product; without, ESPALIER_ENCODER_THREADS, else all cores that the process may use. precision: `fp32`
    loads onnxruntime alone, in a fraction of a second; `bf16` and `auto` load torch, in seconds, where the
    processor has instructions for it, and fall back to fp32. Raises RunFailure when the exported files are
    missing or damaged.
    """
    threads = threads or int(os.environ.get(THREADS_VARIABLE) or 0) or len(os.sched_getaffinity(0))
    return _load(name, max_tokens, threads, encoder_folder(name), precision)


@lru_cache(maxsize=4)
def _load(name: str, max_tokens: int | None, threads: int, folder: Path, precision: Precision) -> Encoder:
    config = _read_config(name, folder)
    from tokenizers import Tokenizer

    from pipelines.models.encoder_onnx import load_onnx

    try:
        fp32 = load_onnx(folder / "model.onnx", threads)
        tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
    except ValueError as error:
        raise _damaged(name, folder, str(error)) from error
    limit = max_tokens or int(config["max_tokens"])
    probes = sorted(_token_rows(tokenizer, _PROBES, limit)[0], key=len)
    backend, choice = choose_backend(name, precision, threads, fp32, probes)
    return Encoder(name, int(config["dim"]), limit, tokenizer, backend, choice)


def _read_config(name: str, folder: Path) -> dict[str, Any]:
    """What the export wrote down, the sizes of its files compared. Raises RunFailure."""
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_bytes())
        sizes = {file: (folder / file).stat().st_size for file in config["files"]}
    except FileNotFoundError as error:
        raise RunFailure(f"encoder {name}", f"no {error.filename}", "the encoder exported at set-up",
                         "Run `make setup`.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(name, folder / "config.json", str(error)) from error
    if config.get("format") != EXPORT_FORMAT:
        raise _damaged(name, folder, f"export format {config.get('format')}")
    for file, facts in config["files"].items():
        if sizes[file] != facts["size_bytes"]:
            raise _damaged(name, folder / file, f"{sizes[file]} bytes instead of {facts['size_bytes']}")
    return config


def _damaged(name: str, path: Path, what: str) -> RunFailure:
    return RunFailure(f"encoder {name}", f"{path} is damaged ({what})", "the files exported at set-up",
                      "Delete the folder and run `make setup`.")
