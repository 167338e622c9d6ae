"""`make demo`: the main job on the embedded sample of Wikipedia, by the same commands that a user types.

Built, asked and evaluated; then a router is trained on questions that are generated over articles which no
question of `examples/questions.jsonl` quotes, and judged on those. The files of settings are those of `examples/`;
for another data folder copies of them are written into it.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jobs.cli import main as espalier
from pipelines.documents.readers.dump import sample_dump_path
from pipelines.settings import DataFolder

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
QUESTIONS = EXAMPLES / "questions.jsonl"
QUESTION = "Which chemist gave his name to the definition of an acid as a proton donor?"
EXAMPLES_DATA = "data/demo"
"""The data folder that the files of settings name."""


def main() -> int:
    """Build, evaluate, ask once, train a router. Returns the exit code of the first command that fails, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=EXAMPLES_DATA, help="data folder of the demo")
    data = parser.parse_args().data
    begin = time.perf_counter()
    results = Path(data) / "demo_evaluation.json"
    for command in commands(data, results):
        print(f"\n$ {shlex.join(command)}", flush=True)
        if code := run(command):
            return code
    folder = DataFolder.at(data)
    print(f"\nDone in {time.perf_counter() - begin:.0f} s.\n"
          f"  report    {folder.reports}\n"
          f"  figures   {results}\n"
          f"  checks    {folder.data_docs}\n"
          f"  router    {Path(data) / 'scorer.safetensors'}, for --router of espalier ask and evaluate\n"
          f"  Dagster and MLflow: make ui DATA={shlex.quote(data)}")
    return 0


def commands(data: str, results: Path) -> list[list[str]]:
    """All command lines of the demo, in their order."""
    generated = str(Path(data) / "generated.jsonl")
    training = [["python", "-m", f"training.{module}", "--config", str(settings(data, name))] for module, name in (
        ("curate_actions", "curate_demo"), ("curate_actions", "curate_actions"),
        ("train_scorer", "train_scorer"), ("evaluate_router", "evaluate_router"))]
    return [
        ["espalier", "build", "--data", data, "--wikipedia", str(sample_dump_path())],
        ["espalier", "evaluate", "--data", data, "--questions", str(QUESTIONS), "--dataset", "demo",
         "--out", str(results)],
        ["espalier", "ask", "--data", data, "--method", "rdr2", "--budget", "300", QUESTION],
        ["espalier", "questions", "generate", "--data", data, "--n", "1500", "--per-document", "40", "--dev", "0",
         "--test", "0", "--exclude-quoted", str(QUESTIONS), "--out", generated],
        *training,
    ]


def run(command: Sequence[str]) -> int:
    """A command line in this process. Returns its exit code."""
    if command[0] == "espalier":
        return espalier(list(command[1:]))
    return int(importlib.import_module(command[2]).main(list(command[3:])))


def settings(data: str, name: str) -> Path:
    """The file of settings of that name for a data folder; a copy in it, unless it is the one of the examples."""
    import yaml

    path = EXAMPLES / f"{name}.yaml"
    if data == EXAMPLES_DATA and Path.cwd() == EXAMPLES.parent:
        return path.relative_to(EXAMPLES.parent)
    values = {field: _moved(value, data) for field, value in yaml.safe_load(path.read_text("utf-8")).items()}
    copy = Path(data) / path.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    return copy


def _moved(value: Any, data: str) -> Any:
    """A value with the paths of the examples replaced: of the data folder, and of the questions."""
    if isinstance(value, list):
        return [_moved(one, data) for one in value]
    if not isinstance(value, str):
        return value
    if value.startswith(f"{EXAMPLES.name}/"):
        return str(EXAMPLES / value.removeprefix(f"{EXAMPLES.name}/"))
    return data + value.removeprefix(EXAMPLES_DATA) if value.startswith(EXAMPLES_DATA) else value


if __name__ == "__main__":
    sys.exit(main())
