"""The encoder in fp32 by onnxruntime: for every question, for few texts, and wherever bf16 does not pay.

What belongs here: running the graph that `export.py` wrote. What does not: choosing this back end
(`encoder_backend.py`). A batch is padded to its longest row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pipelines.models.encoder_backend import Rows


class OnnxBackend:
    """The exported graph in a session of onnxruntime."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def embed(self, batches: Sequence[Rows]) -> Iterator[NDArray[np.float32]]:
        """Of each batch of token ids, in turn: vectors of unit length, (rows, dim)."""
        return map(self._embed, batches)

    def _embed(self, rows: Rows) -> NDArray[np.float32]:
        import numpy as np

        input_ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(input_ids)
        for number, row in enumerate(rows):
            input_ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        output: NDArray[np.float32] = self.session.run(
            ["embedding"], {"input_ids": input_ids, "attention_mask": mask})[0]
        return output


def load_onnx(model: Path, threads: int) -> OnnxBackend:
    """The graph of a file. Raises ValueError when onnxruntime cannot read it."""
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as failures

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads would take the core of the next Spark worker between two batches.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0" if threads == 1 else "1")
    try:
        return OnnxBackend(onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"]))
    except (failures.Fail, failures.InvalidProtobuf, failures.InvalidGraph) as error:
        raise ValueError(str(error).splitlines()[0]) from error
