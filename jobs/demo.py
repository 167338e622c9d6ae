"""`make demo`: the main job on the embedded sample of Wikipedia, by the same commands that a user types."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

from jobs.cli import main as espalier
from pipelines.documents.readers.dump import sample_dump_path
from pipelines.settings import DataFolder

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
QUESTION = "Which chemist gave his name to the definition of an acid as a proton donor?"


def main() -> int:
    """Build, evaluate and ask once. Returns the exit code of the first command that fails, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="data/demo", help="data folder of the demo")
    data = parser.parse_args().data
    begin = time.perf_counter()
    results = Path(data) / "demo_evaluation.json"
    commands = (
        ["build", "--data", data, "--wikipedia", str(sample_dump_path())],
        ["evaluate", "--data", data, "--questions", str(EXAMPLES / "questions.jsonl"), "--dataset", "demo",
         "--out", str(results)],
        ["ask", "--data", data, "--method", "rdr2", "--budget", "300", QUESTION],
    )
    for command in commands:
        print(f"\n$ espalier {shlex.join(command)}", flush=True)
        if code := espalier(command):
            return code
    folder = DataFolder.at(data)
    print(f"\nDone in {time.perf_counter() - begin:.0f} s.\n"
          f"  report    {folder.reports}\n"
          f"  figures   {results}\n"
          f"  checks    {folder.data_docs}\n"
          f"  Dagster and MLflow: make ui DATA={shlex.quote(data)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
