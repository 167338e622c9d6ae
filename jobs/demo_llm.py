"""`make demo-llm`: SmolLM2 fine-tuned as a router on this machine's cores, by the commands that a user types.

It is trained on questions generated over articles that no question of `examples/questions.jsonl` is shown. Those,
which people wrote, say what came of it: the model before, after, and the router `similarity`, all with thresholds
from their dev half, on the test half. Below twenty minutes on two cores; run `make demo` first, or it builds.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from pathlib import Path

from jobs.demo import EXAMPLES_DATA, QUESTIONS, run, settings
from pipelines.documents.readers.dump import sample_dump_path
from pipelines.methods.routers import LOCAL_ROUTER
from pipelines.models.adapter import read_card
from training.evaluate_router import TUNED

SHOWN = ("macro_f1", "ans_f1", "ref_acc", "refuse_precision")


def main() -> int:
    """All steps. Returns the exit code of the first command that fails, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=EXAMPLES_DATA, help="data folder of the demo")
    data = parser.parse_args().data
    begin = time.perf_counter()
    questions = str(Path(data) / "llm_questions.jsonl")
    commands = [
        ["espalier", "build", "--data", data, "--wikipedia", str(sample_dump_path())],
        ["espalier", "questions", "generate", "--data", data, "--n", "280", "--per-document", "8", "--dev", "0",
         "--test", "0", "--exclude-quoted", str(QUESTIONS), "--out", questions],
        *(["python", "-m", f"training.{module}", "--config", str(settings(data, name))] for module, name in (
            ("curate_actions", "curate_llm_people"), ("curate_actions", "curate_llm"),
            ("finetune_router", "finetune_llm")))]
    adapter = Path(data) / "llm_router"
    for command in commands:
        if code := _shown(command):
            return code
    comparison = _comparison(data, adapter)
    if code := _shown(["python", "-m", "training.evaluate_router", "--config", str(comparison)]):
        return code
    found = json.loads((Path(data) / "llm_comparison.json").read_text(encoding="utf-8"))["routers"]
    print(f"\n{'states of people':28}" + "".join(f"{name:>18}" for name in SHOWN))
    for title, name in (("SmolLM2 before", LOCAL_ROUTER), ("SmolLM2 after", str(adapter)), ("similarity", TUNED)):
        print(f"{title:28}" + "".join(f"{found[name][figure]:18.3f}" for figure in SHOWN))
    print(f"\nDone in {time.perf_counter() - begin:.0f} s.\n"
          f"  router    {adapter}, for --router of espalier ask and evaluate, with --set decode=score\n"
          f"  MLflow    make ui DATA={shlex.quote(data)}: experiment training/demo-llm")
    return 0


def _shown(command: list[str]) -> int:
    print(f"\n$ {shlex.join(command)}", flush=True)
    return run(command)


def _comparison(data: str, adapter: Path) -> Path:
    """The file of settings that compares the three; the model before has the threshold that dev states give it."""
    path = Path(data) / "evaluate_llm.yaml"
    values = {"data": data, "dataset": "demo", "dev_dataset": "demo", "split": "test",
              "router_text_tokens": 560, "line_words": 20, "routers": [TUNED, LOCAL_ROUTER, str(adapter)],
              "score_thresholds": {LOCAL_ROUTER: read_card(adapter).trained["before"]["threshold"]},
              "out": str(Path(data) / "llm_comparison.json")}
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
