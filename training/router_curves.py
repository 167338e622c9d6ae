"""Ablations and test-time scaling of `rdr2`, with one router beside another (paper 2510.04293, section 5).

Every router is asked the same held-out questions over a grid: k passages at the default turns, turns at the default
k, and at both defaults with each part of the method taken away (`pipelines/methods/ablations.py`). One MLflow
experiment `curves/DATASET` gets a run a point and a run above them, with the drawn curves, a table of all points
and the differences between routers at the defaults, with paired 95 % intervals.

`passage_str_em` is the mean share of required answers that stand in the context, `passage_hit` that of questions
with all of them; `routed_tokens_in` and `_out` are the tokens of the router texts shown and of the actions
written, by the release's counter, whatever the router is: what a language model would read beside the
instruction, and write. `tokens_in` and `tokens_out` are those that a model really took.

What belongs here: the grid, its points, their record. What does not: drawing (`pipelines/evaluation/plots.py`).

Run: `python -m training.router_curves --config FILE` with YAML or JSON as `CurvesConfig`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from pipelines import files
from pipelines.errors import UserError
from pipelines.evaluation.bootstrap import paired_difference
from pipelines.evaluation.datasets import Question, Split
from pipelines.evaluation.metrics import question_metrics, summarise
from pipelines.evaluation.plots import ablation_bars, scaling_curves
from pipelines.evaluation.predictions import Prediction
from pipelines.evaluation.question_table import read_question_set
from pipelines.methods.ablations import ABLATIONS
from pipelines.methods.registry import make_method, options_by_method
from pipelines.settings import DataFolder
from training.answering import Answerer, Ask, InProcess, ray_answerer
from training.command import run_command
from training.config_fields import OutFile
from training.evaluate_router import short_name
from training.router_registry import pinned_router, resolve_router
from training.tracking import Tracker

if TYPE_CHECKING:
    from pipelines.api import Corpus

PREFIX = "curves"
"""Experiments: `curves/DATASET`."""
METHOD = "rdr2"
COMPARED = ("passage_str_em", "evidence_recall", "context_tokens", "routed_tokens_in", "routed_tokens_out")
SHOWN = (*COMPARED, "passage_hit", "tokens_in", "tokens_out", "llm_calls", "latency_p50_s")


class CurvesConfig(BaseModel):
    """Which routers, on which questions, over which grid."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str | None = Field(None, description="Data folder; none: ESPALIER_DATA")
    release: int | None = Field(None, ge=1, description="Release; none: the served one")
    dataset: str = Field(description="Question set of the table questions")
    split: Split | None = Field("test", description="Only the questions of this split; none: all")
    most_questions: int | None = Field(None, ge=1, description="Questions at most, the first by id; none: all")
    routers: tuple[str, ...] = Field(("similarity",), min_length=1, description=(
        "As --router takes them, models:/NAME@champion among them; the first is the base"))
    k: int = Field(5, ge=0, le=1000, description="Passages where turns are scaled, and with a part taken away")
    turns: int = Field(5, ge=0, le=100, description="Headings expanded in a document at most where k is scaled")
    ks: tuple[int, ...] = Field((0, 1, 2, 3, 4, 5), description="Values of k; none: k is not scaled")
    turn_counts: tuple[int, ...] = Field((0, 1, 2, 3, 4, 5), description="Numbers of turns; none: not scaled")
    ablations: tuple[str, ...] = Field(tuple(ABLATIONS), description="Parts that are taken away, one at a time")
    budget_tokens: int = Field(1000, ge=1, description="Budget of every context, in tokens")
    set: dict[str, str] = Field(default_factory=dict, description="Other options of the method")
    together: int = Field(1, ge=1, le=1000, description=(
        "Questions that are asked at once, for a language model that routes; latencies are then shared equally"))
    ray: bool = Field(False, description="Ask on Ray")
    workers: int | None = Field(None, ge=1, description="Workers on Ray; none: one a CPU")
    out: OutFile | None = Field(None, description="All points and differences as JSON")


@dataclass(frozen=True)
class Point:
    """One place of the grid. ablation: the part that is taken away, or empty."""

    router: str
    k: int
    turns: int
    ablation: str = ""

    @property
    def method(self) -> str:
        return f"{METHOD}+{self.ablation}" if self.ablation else METHOD

    @property
    def name(self) -> str:
        """As a run of MLflow is named."""
        return f"{self.router}, {self.method}, k = {self.k}, turns = {self.turns}"


@dataclass(frozen=True)
class Curves:
    """All points with their means, differences of routers at the defaults, and where MLflow has them.

    points: `{router, k, turns, ablation, n_questions, **means}`. plots: artifact name → SVG.
    """

    points: list[dict[str, Any]]
    differences: list[dict[str, Any]]
    plots: dict[str, str]
    run_id: str
    experiment_id: str

    def to_json(self) -> dict[str, Any]:
        """What `out` holds."""
        return {"points": self.points, "differences": self.differences, "run_id": self.run_id}


Progress = Callable[[Point, int, int], None]
"""Called with a point that is done, its number and how many there are."""


def grid(config: CurvesConfig, routers: Sequence[str]) -> list[Point]:
    """Every point, each once; of each router first that of both defaults."""
    found: dict[Point, None] = {}
    for router in routers:
        found[Point(router, config.k, config.turns)] = None
        found |= {Point(router, k, config.turns): None for k in config.ks}
        found |= {Point(router, config.k, turns): None for turns in config.turn_counts}
        found |= {Point(router, config.k, config.turns, name): None for name in config.ablations}
    return list(found)


def draw_curves(data: DataFolder, config: CurvesConfig, progress: Progress = lambda *_: None) -> Curves:
    """Ask every point of the grid, record and draw.

    A router that is named by an alias is recorded by the version that has it now. Raises UserError for questions,
    routers or parts that are not there.
    """
    from pipelines.api import Corpus

    questions = _questions(data, config)
    # Two names of one version are one line.
    pinned = {pinned_router(name, data): resolve_router(name, data) for name in config.routers}
    points = grid(config, list(pinned))
    for method in dict.fromkeys(point.method for point in points):
        make_method(method)
        options_by_method([method], {**config.set, "expand_iterations": str(config.turns)})
    corpus = Corpus.open(data, config.release)
    with ExitStack() as stack:
        answerer = _answerer(stack, data, corpus, config)
        tracker = Tracker(data, PREFIX)
        run = stack.enter_context(tracker.run(config.dataset, ", ".join(pinned), tags={"kind": "curves"}))
        shared = {"dataset": config.dataset, "split": config.split or "all", "release": corpus.release,
                  "n_questions": len(questions), "budget_tokens": config.budget_tokens, "options": config.set}
        run.log_params({**shared, "routers": list(pinned), "k": config.k, "turns": config.turns})
        rows: dict[Point, dict[str, dict[str, float | None]]] = {}
        for number, point in enumerate(points, start=1):
            rows[point] = _ask(answerer, corpus, config, point, pinned[point.router], questions)
            with tracker.run(config.dataset, point.name, parent_run_id=run.run_id,
                             tags={"kind": "point", "router": point.router}) as own:
                own.log_params({**shared, **_place(point)})
                own.log_metrics(_means(rows[point]))
            progress(point, number, len(points))
        table = [{**_place(point), "n_questions": len(questions), **_means(found)} for point, found in rows.items()]
        differences = _differences(config, list(pinned), rows)
        plots = _plots(table, config)
        run.log_table([{name: row.get(name) for name in (*_place(points[0]), *SHOWN)} for row in table],
                      "points.json")
        run.log_table(differences, "differences.json")
        for name, text in plots.items():
            run.log_text(text, f"plots/{name}")
    return Curves(table, differences, plots, run.run_id, run.experiment_id)


def _questions(data: DataFolder, config: CurvesConfig) -> list[Question]:
    found = [question for question in read_question_set(data, config.dataset).questions
             if config.split is None or (question.split or "train") == config.split][:config.most_questions]
    if not found:
        raise UserError(f"question set {config.dataset!r}", f"no question of the split {config.split}",
                        "held-out questions", "Choose another split.")
    return found


def _answerer(stack: ExitStack, data: DataFolder, corpus: Corpus, config: CurvesConfig) -> Answerer:
    if config.ray:
        return stack.enter_context(ray_answerer(data, corpus.release, config.workers))
    return InProcess(corpus)


def _ask(answerer: Answerer, corpus: Corpus, config: CurvesConfig, point: Point, router: str,
         questions: Sequence[Question]) -> dict[str, dict[str, float | None]]:
    """Metrics of every question at a point, by its id."""
    ask = Ask(point.method, config.budget_tokens, point.k, router,
              options={**config.set, "expand_iterations": str(point.turns)}, together=config.together)
    count_tokens = corpus.retrieval.count_tokens
    return {question.question_id: point_metrics(question, prediction, count_tokens)
            for question, prediction in zip(questions, answerer.answer(ask, questions, lambda *_: None),
                                            strict=True)}


def point_metrics(question: Question, prediction: Prediction,
                  count_tokens: Callable[[str], int]) -> dict[str, float | None]:
    """The evaluation's metrics of one prediction, with the names of the paper and the tokens of the routing."""
    found = question_metrics(question, prediction, count_tokens)
    routed = [step for step in prediction.trace if step.get("step") == "route"]
    return {**found, "passage_str_em": found["answer_recall_in_context"], "passage_hit": found["answer_in_context"],
            "routed_tokens_in": float(sum(count_tokens(step["router_text"]) for step in routed)),
            "routed_tokens_out": float(sum(count_tokens(step["output"]) for step in routed))}


def _means(rows: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
    return summarise(rows.values())[0]


def _place(point: Point) -> dict[str, Any]:
    return {"router": point.router, "method": point.method, "k": point.k, "turns": point.turns,
            "ablation": point.ablation}


def _differences(config: CurvesConfig, routers: Sequence[str],
                 rows: Mapping[Point, Mapping[str, Mapping[str, float | None]]]) -> list[dict[str, Any]]:
    """Every other router minus the base at the defaults; every ablation minus the whole, router by router."""
    def values(point: Point, metric: str) -> dict[str, float | None]:
        return {question_id: found[metric] for question_id, found in rows[point].items()}

    def pairs() -> Iterator[tuple[str, str, Point, Point]]:
        whole = {router: Point(router, config.k, config.turns) for router in routers}
        for router in routers[1:]:
            yield router, routers[0], whole[router], whole[routers[0]]
        for router in routers:
            for name in config.ablations:
                yield (f"{router}+{name}", router, Point(router, config.k, config.turns, name), whole[router])

    return [paired_difference(metric, name, base, values(point, metric), values(of_base, metric)).to_json()
            for name, base, point, of_base in pairs() for metric in COMPARED]


def _plots(points: Sequence[Mapping[str, Any]], config: CurvesConfig) -> dict[str, str]:
    whole = [point for point in points if not point["ablation"]]
    plots = {}
    axes = {"k": [p for p in whole if p["turns"] == config.turns and p["k"] in config.ks],
            "turns": [p for p in whole if p["k"] == config.k and p["turns"] in config.turn_counts]}
    if any(axes.values()):
        plots["scaling.svg"] = scaling_curves({name: found for name, found in axes.items() if found})
    if config.ablations:
        default = [p for p in points if p["k"] == config.k and p["turns"] == config.turns]
        plots["ablations.svg"] = ablation_bars(default)
    return plots


def lines(curves: Curves) -> list[str]:
    """All points and the differences between routers as text."""
    printed = [f"{'router':28}{'method':22}{'k':>3}{'turns':>6}" + "".join(f"{name:>19}" for name in SHOWN)]
    for row in curves.points:
        values = "".join(f"{'' if row[name] is None else f'{row[name]:.3f}':>19}" for name in SHOWN)
        printed.append(f"{short_name(row['router'])[-27:]:28}{row['method']:22}{row['k']:>3}{row['turns']:>6}{values}")
    printed += [f"{d['method']} - {d['baseline']}: {d['metric']} {d['mean']:+.3f} [{d['low']:+.3f}, "
                f"{d['high']:+.3f}] (n = {d['n']})" for d in curves.differences
                if d["low"] is not None and d["metric"] in COMPARED[:2]]
    return printed


def run(config: CurvesConfig) -> str:
    """Draw the curves, and say their points."""
    curves = draw_curves(DataFolder.at(config.data), config, lambda point, number, total: print(
        f"{number} of {total}: {point.name}", flush=True))
    if config.out is not None:
        files.write_json(str(config.out.absolute()), curves.to_json())
    return "\n".join([*lines(curves), f"MLflow: experiment {PREFIX}/{config.dataset}, run {curves.run_id}"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw from a config file and print. Returns the exit code."""
    return run_command("router_curves", "Ablations and test-time scaling of rdr2, router by router.", CurvesConfig,
                       run, arguments)


if __name__ == "__main__":
    sys.exit(main())
