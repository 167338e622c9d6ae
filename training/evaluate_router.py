"""Compare routers on the held-out states of curated question sets (docs/training.md).

Every router decides on the same states, those that the teacher's actions lead to. Printed and written: the
figures of `router_metrics.py` for each, and differences to the baseline with a paired bootstrap over questions.
`similarity+tuned` is the router `similarity` with thresholds tuned on the dev states, as a trained one has them.

Run: `python -m training.evaluate_router --config FILE` with YAML or JSON as `EvaluateRouterConfig`.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import Field, FiniteFloat, model_validator

from pipelines import files
from pipelines.curation.router_comparison import compare_routers
from pipelines.curation.router_metrics import Decision, answer_f1, macro_f1, router_metrics
from pipelines.evaluation.datasets import Split
from pipelines.methods.llm_router import Decode
from pipelines.methods.options import read_options
from pipelines.methods.rdr2 import OPTIONS
from pipelines.methods.routers import make_router
from pipelines.methods.routing import Actions, Router, RouterState, parse_actions, route_together
from pipelines.methods.similarity_router import SimilarityRouter
from pipelines.retrieval.corpus import ReleasedCorpus
from pipelines.settings import DataFolder
from training.command import run_command
from training.config_fields import OutFile
from training.labelled_states import labelled_states, read_labels
from training.router_registry import SCHEME, is_reference, resolve_router
from training.states_config import StatesConfig
from training.training_states import no_state_met, questions_of

TUNED = "similarity+tuned"
TOGETHER = 32
"""States that a router is asked about at once."""
ANSWER_GRID = tuple(round(0.15 + 0.025 * n, 3) for n in range(23))
EXPAND_GRID = tuple(round(0.1 + 0.05 * n, 2) for n in range(15))


class EvaluateRouterConfig(StatesConfig):
    """Which routers, on which states."""

    split: Split | None = Field(None, description="Only the questions of this split; none: all")
    dev_dataset: str | None = Field(None, description="Set on whose dev split similarity+tuned is tuned")
    routers: tuple[str, ...] = Field(("similarity",), min_length=1, description=(
        f"similarity, {TUNED}, local, a URL, a scorer's file, models:/NAME@champion; the first is the baseline"))
    decode: Decode = Field("score", description="How a model's output is made")
    score_thresholds: dict[str, FiniteFloat] = Field(default_factory=dict, description=(
        "Router → its threshold of score, in place of the adapter's or the release's"))
    out: OutFile | None = Field(None, description="Result as JSON")

    @model_validator(mode="after")
    def _has_the_routers(self) -> Self:
        if unknown := sorted(set(self.score_thresholds) - set(self.routers)):
            raise ValueError(f"score_thresholds: {unknown[0]!r} is none of routers")
        if len(set(self.routers)) < len(self.routers):
            raise ValueError("routers: one is named twice")
        return self


States = list[tuple[str, RouterState, Actions]]
"""question_id, state, what the teacher did."""


def states_of(corpus: ReleasedCorpus, dataset: str, config: EvaluateRouterConfig, split: Split | None) -> States:
    """The curated states of a set, of one split or of all. Raises UserError when none is met."""
    labels = read_labels(corpus.data, dataset, corpus.release.number, config.recorded_teacher)
    found = [(question.question_id, state, actions) for question, state, actions in
             labelled_states(corpus, questions_of(corpus.data, dataset, split), labels, config.states)]
    if not found:
        raise no_state_met(dataset, split)
    return found


def decided(router: Router, states: States) -> dict[str, list[Decision]]:
    """What a router does in every state, by question. A fallback's actions count as collapsed."""
    found: dict[str, list[Decision]] = {}
    for begin in range(0, len(states), TOGETHER):
        some = states[begin: begin + TOGETHER]
        outputs = route_together(router, [state for _, state, _ in some])
        for (question_id, state, gold), output in zip(some, outputs, strict=True):
            actions = output.replaced or parse_actions(output.text, state)
            found.setdefault(question_id, []).append(Decision(gold, actions))
    return found


def tuned_similarity(states: States) -> SimilarityRouter:
    """The router `similarity` with the thresholds of the best sum of macro-F1 and ANS-F1 on these states."""
    def quality(pair: tuple[float, float]) -> tuple[float, float, float]:
        found = [one for row in decided(SimilarityRouter(*pair), states).values() for one in row]
        return macro_f1(found) + (answer_f1(found) or 0.0), *pair

    return SimilarityRouter(*max(itertools.product(ANSWER_GRID, EXPAND_GRID), key=quality))


def evaluate_routers(data: DataFolder, config: EvaluateRouterConfig) -> dict[str, Any]:
    """Figures of every router, and differences to the first. Raises UserError for sets without actions."""
    corpus = ReleasedCorpus.open(data, config.release)
    states = states_of(corpus, config.dataset, config, config.split)
    given = {"decode": config.decode, "router_fallback": "false"}
    by_router: dict[str, dict[str, list[Decision]]] = {}
    result: dict[str, Any] = {"dataset": config.dataset, "release": corpus.release.number,
                              "n_states": len(states), "routers": {}}
    for name in config.routers:
        if name == TUNED:
            dev = states_of(corpus, config.dev_dataset or config.dataset, config, "dev")
            router: Router = tuned_similarity(dev)
        else:
            own = {"score_threshold": str(config.score_thresholds[name])} if name in config.score_thresholds else {}
            router = make_router(resolve_router(name, data), corpus, read_options("router", OPTIONS, given | own))
        begin = time.perf_counter()
        by_router[name] = decided(router, states)
        seconds = time.perf_counter() - begin
        figures = router_metrics([one for row in by_router[name].values() for one in row])
        result["routers"][name] = {**figures, "ms_a_state": 1000 * seconds / max(1, len(states))}
    baseline = config.routers[0]
    result["differences"] = [
        difference.to_json() for name in config.routers[1:]
        for difference in compare_routers(name, baseline, by_router[name], by_router[baseline])]
    return result


def lines(result: Mapping[str, Any]) -> list[str]:
    """The result as a table of text."""
    shown = ("macro_f1", "ans_f1", "exp_pre", "ref_acc", "refuse_precision", "answer_f1", "expand_f1", "xpl_avg",
             "col_rate", "ms_a_state")
    printed = [f"{result['n_states']:,} states of {result['dataset']}",
               f"{'':24}" + "".join(f"{n:>17}" for n in shown)]
    for name, figures in result["routers"].items():
        values = "".join(f"{'' if figures[n] is None else f'{figures[n]:.3f}':>17}" for n in shown)
        printed.append(f"{short_name(name)[:24]:24}{values}")
    printed += [f"{short_name(d['method'])} - {short_name(d['baseline'])}: {d['metric']} {d['mean']:+.3f} "
                f"[{d['low']:+.3f}, {d['high']:+.3f}]" for d in result["differences"]]
    return printed


def short_name(name: str) -> str:
    """A router's name for a table: the last part of a path, the whole of a reference but its scheme."""
    return name.removeprefix(SCHEME) if is_reference(name) else Path(name).name


def run(config: EvaluateRouterConfig) -> str:
    """Compare, and say the rows of the table."""
    result = evaluate_routers(DataFolder.at(config.data), config)
    # Shown before it is written: a disk that is full by then loses no figure.
    print("\n".join(lines(result)), flush=True)
    if config.out is not None:
        files.write_json(str(config.out.absolute()), result)
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare from a config file and print. Returns the exit code."""
    return run_command("evaluate_router", "Compare routers on curated states.", EvaluateRouterConfig, run,
                       arguments)


if __name__ == "__main__":
    sys.exit(main())
