"""The sentence encoder at run time: texts to unit vectors by onnxruntime and tokenizers, without torch.

What belongs here: tokenizing, batching and running the exported graph, for one question as for millions of
passages. What does not: the export (`export.py`), reading and writing tables. Texts are sorted by their
token count and a batch is padded to its own longest text: padding is what costs most. A text beyond the
limit is cut and *flagged*, with its true length: two long texts that differ at the end get equal vectors.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.errors import RunFailure
from pipelines.models.export import EXPORT_FORMAT, encoder_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

THREADS_VARIABLE = "ESPALIER_ENCODER_THREADS"
"""Threads of one encoder. A Spark worker sets 1, for Spark runs one worker a core; else all cores work."""

_TOKENIZED_AT_ONCE = 2048


@dataclass(frozen=True)
class Encoded:
    """vectors: float32 (n, dim) of unit length. n_tokens: int32 (n,), each text's length in the encoder's
    tokens before truncation, with the two special ones. truncated: bool (n,), where the end was not seen."""

    vectors: NDArray[np.float32]
    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]


class Encoder:
    """A loaded encoder. Texts longer than `max_tokens` (special tokens included) are cut."""

    def __init__(self, name: str, dim: int, max_tokens: int, session: Any, tokenizer: Any) -> None:
        self.name, self.dim, self.max_tokens = name, dim, max_tokens
        self._session, self._tokenizer = session, tokenizer

    def encode(self, texts: Sequence[str], batch: int = 32) -> Encoded:
        """Vectors of the texts, in their order; no texts give arrays of length 0.

        batch: texts a batch, larger ones are slower on a CPU. The texts of one call are sorted together:
        hand over thousands at once, and no more than fit in memory.
        """
        import numpy as np

        n = len(texts)
        vectors = np.empty((n, self.dim), np.float32)
        n_tokens = np.empty(n, np.int32)
        ids: list[NDArray[np.int64]] = []
        for begin in range(0, n, _TOKENIZED_AT_ONCE):
            chunk = list(texts[begin: begin + _TOKENIZED_AT_ONCE])
            for place, encoding in enumerate(self._tokenizer.encode_batch_fast(chunk), begin):
                tokens = encoding.ids
                n_tokens[place] = len(tokens)
                if len(tokens) > self.max_tokens:
                    # The last token is the separator, which the model expects at the end.
                    tokens = [*tokens[: self.max_tokens - 1], tokens[-1]]
                ids.append(np.asarray(tokens, np.int64))
        order = sorted(range(n), key=lambda place: len(ids[place]))
        for begin in range(0, n, batch):
            places = order[begin: begin + batch]
            vectors[places] = self._run([ids[place] for place in places])
        return Encoded(vectors, n_tokens, n_tokens > self.max_tokens)

    def _run(self, rows: list[NDArray[np.int64]]) -> NDArray[np.float32]:
        import numpy as np

        input_ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(input_ids)
        for number, row in enumerate(rows):
            input_ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        output: NDArray[np.float32] = self._session.run(
            ["embedding"], {"input_ids": input_ids, "attention_mask": mask})[0]
        return output


def load_encoder(name: str, max_tokens: int | None = None, threads: int | None = None) -> Encoder:
    """The encoder of that name, loaded once a process.

    max_tokens: where a text is cut; without, the limit that the model was made for. threads: of one matrix
    product; without, ESPALIER_ENCODER_THREADS, else all cores that the process may use. Raises RunFailure
    when the exported files are missing or damaged.
    """
    threads = threads or int(os.environ.get(THREADS_VARIABLE) or 0) or len(os.sched_getaffinity(0))
    return _load(name, max_tokens, threads, encoder_folder(name))


@lru_cache(maxsize=4)
def _load(name: str, max_tokens: int | None, threads: int, folder: Path) -> Encoder:
    try:
        config = json.loads((folder / "config.json").read_bytes())
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

    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as failures
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads would take the core of the next Spark worker between two batches.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0" if threads == 1 else "1")
    try:
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options,
                                               providers=["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
    except (failures.Fail, failures.InvalidProtobuf, failures.InvalidGraph, ValueError) as error:
        raise _damaged(name, folder, str(error).splitlines()[0]) from error
    return Encoder(name, int(config["dim"]), max_tokens or int(config["max_tokens"]), session, tokenizer)


def _damaged(name: str, path: Path, what: str) -> RunFailure:
    return RunFailure(f"encoder {name}", f"{path} is damaged ({what})", "the files exported at set-up",
                      "Delete the folder and run `make setup`.")
