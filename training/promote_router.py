"""Promote a registered router: a version becomes the champion when it beats the one before (docs/training.md).

Both decide on the same held-out states. The new version wins when its mean is ahead by `margin` in `metric`, the
95 % interval of that difference (paired bootstrap over questions) lies above zero, and no other compared figure
is surely worse. Where a name has no champion yet, or one that this version of the project cannot read, the
opponent is `similarity` with thresholds tuned on the dev states: a router that does not beat what is free is no
champion, unless `promote_first` says so. A version that was trained on leaked questions is refused.

What belongs here: that decision, its record in MLflow and the alias. What does not: the figures
(`evaluate_router.py`) and their intervals (`pipelines/curation/router_comparison.py`).

Run: `python -m training.promote_router --config FILE` with YAML or JSON as `PromoteConfig`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from pipelines.curation.router_metrics import COMPARED
from pipelines.errors import UserError
from pipelines.evaluation.datasets import Split
from pipelines.methods.llm_router import Decode
from pipelines.questions.leakage import refuse_leakage
from pipelines.settings import DataFolder
from training.command import run_command
from training.config_fields import RouterName
from training.evaluate_router import TUNED, EvaluateRouterConfig, evaluate_routers, lines
from training.router_registry import RouterRegistry, RouterVersion
from training.states_config import StatesConfig
from training.tracking import Tracker

PREFIX = "promotion"
"""Experiments of comparisons with the champion: `promotion/NAME`."""


class PromoteConfig(StatesConfig):
    """Which version, against whom, on which held-out states."""

    name: RouterName = Field(description="Name of the registered router")
    version: int | None = Field(None, ge=1, description="Version; none: the newest")
    split: Split | None = Field("test", description="Only the questions of this split of the set; none: all")
    dev_dataset: str | None = Field(None, description=f"Set on whose dev split {TUNED} is tuned; none: the same")
    metric: Literal["macro_f1", "ans_f1"] = Field("macro_f1", description="Figure in which a version must win")
    margin: float = Field(0.01, ge=0, lt=1, description="By how much its mean must be ahead")
    promote_first: bool = Field(False, description=f"Without a champion, promote what does not beat {TUNED} too")
    decode: Decode = Field("score", description="How a model's output is made")
    allow_leakage: bool = Field(False, description="Compare although training questions leak held-out ones")


@dataclass(frozen=True)
class Verdict:
    """Whether a version wins, and why, in one line."""

    wins: bool
    reason: str


@dataclass(frozen=True)
class Promotion:
    """What came of a version. result: as `evaluate_routers`; None where nothing was compared."""

    version: RouterVersion
    opponent: str
    promoted: bool
    reason: str
    result: dict[str, Any] | None = None
    run_id: str | None = None
    experiment_id: str | None = None


def judge(differences: Sequence[Mapping[str, Any]], metric: str, margin: float) -> Verdict:
    """Judge differences of a version to its opponent, one a compared figure, as `Difference.to_json`."""
    by_metric = {one["metric"]: one for one in differences}
    own = by_metric[metric]
    if own["mean"] is None or own["low"] is None:
        return Verdict(False, f"{metric}: too few questions for an interval ({own['n']})")
    shown = f"{metric} {own['mean']:+.3f} [{own['low']:+.3f}, {own['high']:+.3f}], n = {own['n']}"
    if own["mean"] < margin:
        return Verdict(False, f"{shown}: not ahead by {margin:g}")
    if own["low"] <= 0:
        return Verdict(False, f"{shown}: the interval holds zero")
    for name, other in by_metric.items():
        if name != metric and other["high"] is not None and other["high"] < 0:
            return Verdict(False, f"{shown}; but {name} {other['mean']:+.3f} [{other['low']:+.3f}, "
                                  f"{other['high']:+.3f}] is surely worse")
    return Verdict(True, f"{shown}: ahead by {margin:g}")


def promote(data: DataFolder, config: PromoteConfig) -> Promotion:
    """Compare a version with the champion, record it, and move the alias where it wins.

    Raises UserError for a version that is not there, one of another format, leaked training questions, and sets
    without curated states.
    """
    registry = RouterRegistry(data)
    version = (registry.newest(config.name) if config.version is None else
               RouterVersion(config.name, config.version, f"models:/{config.name}/{config.version}"))
    registry.fetch(version.uri)
    champion = registry.champion(config.name)
    if champion == version:
        return Promotion(version, version.uri, False, f"{version.uri} is the champion already")
    trained_on = registry.run_of(version).parameters.get("dataset")
    if trained_on is not None and not config.allow_leakage:
        refuse_leakage(data, trained_on, [config.dataset, config.dev_dataset])
    opponent = _opponent(registry, champion)
    result = evaluate_routers(data, EvaluateRouterConfig(
        **config.model_dump(include=set(StatesConfig.model_fields)), split=config.split,
        dev_dataset=config.dev_dataset, decode=config.decode, routers=(opponent, version.uri)))
    verdict = judge(result["differences"], config.metric, config.margin)
    promoted, reason = verdict.wins, verdict.reason
    if not promoted and champion is None and config.promote_first:
        promoted, reason = True, f"{reason}; promoted as the first of its name"
    with Tracker(data, PREFIX).run(config.name, f"{version.uri} against {opponent}",
                                   tags={"promoted": str(promoted).lower(), "reason": reason}) as run:
        run.log_params({**config.model_dump(mode="json", exclude={"data"}), "version": version.uri,
                        "opponent": opponent, "release": result["release"], "n_states": result["n_states"]})
        run.log_metrics({**_named(result, version.uri, "version"), **_named(result, opponent, "opponent"),
                         **{f"{one['metric']}_{end}": one[end] for one in result["differences"]
                            for end in ("mean", "low", "high")}})
        run.log_table(result["differences"], "differences.json")
        run.log_text("\n".join(lines(result)), "comparison.txt")
    if promoted:
        registry.set_champion(version)
    registry.annotate(version, {"promoted": str(promoted).lower(), "promotion": f"against {opponent}: {reason}"})
    return Promotion(version, opponent, promoted, reason, result, run.run_id, run.experiment_id)


def _opponent(registry: RouterRegistry, champion: RouterVersion | None) -> str:
    """The champion, where there is one that can be read."""
    if champion is None:
        return TUNED
    try:
        registry.fetch(champion.uri)
    except UserError as error:
        print(f"promote_router: {error.subject}: {error.found}; {TUNED} stands in for it", file=sys.stderr)
        return TUNED
    return champion.uri


def _named(result: Mapping[str, Any], router: str, side: str) -> dict[str, float | None]:
    figures: Mapping[str, float | None] = result["routers"][router]
    return {f"{side}_{name}": value for name, value in figures.items() if name in COMPARED or name == "ref_acc"}


def run(config: PromoteConfig) -> str:
    """Compare with the champion, promote where that wins, and say both."""
    promotion = promote(DataFolder.at(config.data), config)
    return "\n".join([
        *(lines(promotion.result) if promotion.result is not None else ()),
        f"{promotion.version.uri} {'is now the champion' if promotion.promoted else 'is not promoted'}: "
        f"{promotion.reason}"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Promote from a config file and print. Returns the exit code: 0 also where the champion stays."""
    return run_command("promote_router", "Compare a registered router with the champion.", PromoteConfig, run,
                       arguments)


if __name__ == "__main__":
    sys.exit(main())
