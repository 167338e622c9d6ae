"""How much a whole `espalier ask` costs over the one thing it cannot do without: encoding the question.

Peer: a cold process that only encodes the question with onnxruntime and tokenizers. Measured: cold processes
of `espalier ask` with `flat` and with `rdr2`, in turn with the peer, so that a busy machine slows all alike.
Printed: medians and the ratio of the medians; goal: at most 4. The data folder is that of ESPALIER_DATA, else
of `make demo`, else the sample is built first.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.documents.readers.dump import sample_dump_path
from pipelines.models.export import encoder_folder
from pipelines.settings import DATA_VARIABLE, ENCODER_NAME

GOAL_RATIO = 4.0
ROUNDS = 9
QUESTION = "Which zoo was the first in the world to keep an aardvark?"
DEMO = Path(__file__).resolve().parents[1] / "data" / "demo"
PEER = """
import sys, pathlib, numpy, onnxruntime, tokenizers
folder = pathlib.Path(sys.argv[1])
tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
ids = numpy.array([tokenizer.encode(sys.argv[2]).ids], numpy.int64)
vector = session.run(["embedding"], {"input_ids": ids, "attention_mask": numpy.ones_like(ids)})[0]
assert vector.shape[0] == 1
"""


def seconds(command: list[str]) -> float:
    """Wall-clock time of one process, in s. Raises CalledProcessError when it fails."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


@contextmanager
def data_folder() -> Iterator[str]:
    """A data folder with a release; a temporary one where none is built yet."""
    known = os.environ.get(DATA_VARIABLE) or (str(DEMO) if (DEMO / "releases" / "current").exists() else None)
    if known:
        yield known
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "jobs.cli", "build", "--data", folder, "--wikipedia",
                        str(sample_dump_path())], check=True, stdout=subprocess.DEVNULL)
        yield folder


def main() -> int:
    """Measure and print. Returns 1 when the goal is missed."""
    with data_folder() as data:
        ask = [sys.executable, "-m", "jobs.cli", "ask", "--data", data]
        commands = {
            "encode the question only": [sys.executable, "-c", PEER, str(encoder_folder(ENCODER_NAME)),
                                         QUESTION],
            "espalier ask --method flat": [*ask, "--method", "flat", QUESTION],
            "espalier ask --method rdr2": [*ask, "--method", "rdr2", QUESTION],
        }
        for command in commands.values():
            seconds(command)  # Fill the file cache: what is compared is work, not the first read of a disk.
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                times[name].append(seconds(command))
    medians = {name: statistics.median(values) for name, values in times.items()}
    peer = next(iter(medians.values()))
    for name, median in medians.items():
        print(f"{name:28} {median:6.2f} s   {median / peer:4.2f} × the peer")
    worst = max(medians.values()) / peer
    print(f"ratio {worst:.2f}, goal at most {GOAL_RATIO:g}: {'met' if worst <= GOAL_RATIO else 'MISSED'} "
          f"({ROUNDS} rounds, cold processes, medians)")
    return 0 if worst <= GOAL_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
