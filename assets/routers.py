"""Trained routers: curated actions, a scorer, an adapter, their figures, the champions, and curves.

What belongs here: one asset a step, thin; all read the resource `router_plan`. What does not: the steps themselves
(`training`), what a check says (`router_checks.py`). Question sets come from `questions`, which the command line
fills too; a run of these assets reads them as they are. What is asked end to end is the champion, by its alias.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from assets.metadata import markdown_table, table_facts, table_spec
from assets.router_checks import check_results, note_failures, training_check_specs
from assets.router_plan import RouterPlan
from assets.stages import StageEvent, stage, tell
from pipelines import files
from pipelines.curation.class_tags import shares
from pipelines.settings import DataFolder
from pipelines.storage import open_table

TABLES = ("routing_states", "routing_actions")
MLFLOW_UI = "http://127.0.0.1:5000"
SHOWN = ("macro_f1", "ans_f1", "exp_pre", "ref_acc", "xpl_avg", "col_rate", "ms_a_state")


@dg.multi_asset(
    specs=[dg.AssetSpec(
        "training_questions", deps=["questions"], kinds={"python"}, code_version="1",
        description="The questions that a plan trains on, judged against those that it holds out.")],
    check_specs=training_check_specs("training_questions"))
def training_questions(data: dg.ResourceParam[DataFolder], router_plan: RouterPlan,
                       ) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Look for leaks between the train split of the plan's set and the dev and test splits of all of its sets."""
    from assets.quality.training_faults import leakage_faults
    from assets.quality.training_validation import judge_rows
    from pipelines.evaluation.question_table import read_question_set
    from pipelines.questions.leakage import sides

    with stage("training_questions checks") as event:
        train, held_out = sides(data, router_plan.dataset, router_plan.held_out)
        results = judge_rows(data, "training_questions", leakage_faults(train, held_out))
        note_failures(event, data, results)
        digests = {f"digest/{name}": read_question_set(data, name).digest for name in router_plan.splits}
    yield dg.MaterializeResult("training_questions", metadata={
        "n_train": len(train), "n_held_out": len(held_out), **digests})
    yield from check_results("training_questions", data, results, allowed=router_plan.allow_leakage)


@dg.multi_asset(
    name="routing_actions",
    specs=[table_spec(name, ["training_questions", "release"], code_version="1", kinds={"ray", "delta"})
           for name in TABLES],
    check_specs=[spec for name in TABLES for spec in training_check_specs(name)])
def routing_actions(data: dg.ResourceParam[DataFolder], router_plan: RouterPlan,
                    ) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Curate what the teacher does in the states of the plan's questions, and judge what training would read."""
    from assets.quality.training_faults import routing_faults
    from assets.quality.training_validation import judge_rows
    from pipelines.retrieval.corpus import ReleasedCorpus
    from training.curate_actions import CurateConfig, curate_actions

    told: dict[str, str] = {}
    with stage("routing_actions"):
        for dataset, splits in router_plan.splits.items():
            summary = curate_actions(data, CurateConfig(
                dataset=dataset, splits=splits, **{**router_plan.shown, **router_plan.curation}))
            told[f"curated/{dataset}"] = (f"{summary.n_questions:,} questions, {summary.n_known:,} done before; "
                                          f"{summary}")
        facts = {name: table_facts(data, name, int(open_table(data, name).version())) for name in TABLES}
    with stage("routing_actions checks") as event:
        corpus = ReleasedCorpus.open(data, router_plan.release)
        found = {dataset: routing_faults(corpus, dataset, router_plan.recorded_teacher)
                 for dataset in router_plan.splits}
        told |= {f"classes/{dataset}": _shares(one.tags) for dataset, one in found.items()}
        results = {
            "routing_states": judge_rows(data, "routing_states",
                                         [row for one in found.values() for row in one.states]),
            "routing_actions": judge_rows(data, "routing_actions",
                                          [row for one in found.values() for row in one.actions])}
        note_failures(event, data, [result for judged in results.values() for result in judged])
    for name in TABLES:
        yield dg.MaterializeResult(name, metadata={**facts[name], **told, "release": corpus.release.number})
    for name, judged in results.items():
        yield from check_results(name, data, judged)


def _shares(tags: Counter[str]) -> str:
    """How many samples there are of each class, and their shares."""
    return ", ".join(f"{tag} {tags[tag]:,} ({share:.0%})" for tag, share in shares(tags.elements()).items())


@dg.asset(deps=TABLES, kinds={"pytorch", "mlflow"}, code_version="1",
          description="The router `scorer`, trained on the curated actions and registered in MLflow as a version.")
def scorer_router(data: dg.ResourceParam[DataFolder], router_plan: RouterPlan) -> dg.MaterializeResult[None]:
    """Train a scorer, and register it."""
    from training.train_scorer import TrainScorerConfig, train_scorer

    with stage("scorer_router"):
        trained = train_scorer(data, TrainScorerConfig(**{
            **router_plan.states("train"), "dev_dataset": router_plan.dev_dataset,
            "out": _place(data, f"{router_plan.scorer_name}.safetensors"),
            "name": router_plan.scorer_name, "allow_leakage": router_plan.allow_leakage, **router_plan.scorer}))
    return dg.MaterializeResult(metadata=_registered(data, trained.version))


@dg.asset(deps=TABLES, kinds={"pytorch", "ray", "mlflow"}, code_version="1",
          description="A language model's LoRA adapter, fine-tuned on the curated actions and registered in MLflow "
                      "as a version. Without `adapter` in the plan none is trained, and the metadata say so.")
def adapter_router(data: dg.ResourceParam[DataFolder], router_plan: RouterPlan) -> dg.MaterializeResult[None]:
    """Fine-tune an adapter, and register it; without settings of one nothing is done."""
    # An output that is left out would skip everything behind it.
    if router_plan.adapter is None:
        return dg.MaterializeResult(metadata={"version": "none: the plan has no adapter"})
    from training.finetune_config import FinetuneConfig
    from training.finetune_router import finetune_router

    with stage("adapter_router"):
        trained = finetune_router(data, FinetuneConfig(**{
            **router_plan.states("train"), "dev_dataset": router_plan.dev_dataset,
            "out": _place(data, router_plan.adapter_name),
            "name": router_plan.adapter_name, "allow_leakage": router_plan.allow_leakage, **router_plan.adapter}))
    return dg.MaterializeResult(metadata=_registered(data, trained.version))


def _place(data: DataFolder, name: str) -> Path:
    """Where a training writes; a run that follows one that was ended finds its checkpoint there."""
    folder = data.prepare_state() / "training"
    folder.mkdir(exist_ok=True)
    return folder / name


def _registered(data: DataFolder, version: Any) -> dict[str, Any]:
    """What is shown of a registered version: its card, figures of its training, its run."""
    from training.router_registry import RouterRegistry

    run = RouterRegistry(data).run_of(version)
    return {"version": version.uri, "card": dg.MetadataValue.md(run.card),
            **{f"metrics/{name}": value for name, value in run.metrics.items()},
            **_run(run.experiment_id, run.run_id)}


def _run(experiment_id: str, run_id: str) -> dict[str, Any]:
    """A run of MLflow: its id, and its page where `make ui` serves it."""
    return {"mlflow_run_id": run_id,
            "mlflow": dg.MetadataValue.url(f"{MLFLOW_UI}/#/experiments/{experiment_id}/runs/{run_id}")}


@dg.asset(deps=["scorer_router", "adapter_router"], kinds={"python"}, code_version="1",
          description="Figures of the newest routers, the champions and the free baselines on the held-out states, "
                      "with paired 95 % intervals to the first of them.")
def router_figures(data: dg.ResourceParam[DataFolder], router_plan: RouterPlan) -> dg.MaterializeResult[None]:
    """Let all routers decide on the same held-out states."""
    from training.evaluate_router import TUNED, EvaluateRouterConfig, evaluate_routers
    from training.router_registry import RouterRegistry

    with stage("router_figures"):
        registry = RouterRegistry(data)
        known = [version.uri for name in _names(router_plan)
                 for version in (registry.champion(name), registry.newest(name)) if version is not None]
        result = evaluate_routers(data, EvaluateRouterConfig(
            **router_plan.states("test"), split="test", dev_dataset=router_plan.sets["dev"],
            decode=router_plan.decode, routers=(TUNED, "similarity", *dict.fromkeys(known))))
        path = f"{data.reports}/routers-{router_plan.sets['test']}.json"
        files.write_json(path, result)
    return dg.MaterializeResult(metadata={
        "n_states": result["n_states"], "release": result["release"], "figures": _figures(result),
        "differences": dg.MetadataValue.md(_difference_table(result["differences"])),
        "result": dg.MetadataValue.path(path)})


def _names(plan: RouterPlan) -> list[str]:
    return [plan.scorer_name, *([plan.adapter_name] if plan.adapter is not None else [])]


def _figures(result: dict[str, Any]) -> dg.MetadataValue[Any]:
    return dg.MetadataValue.md(markdown_table(("router", *SHOWN), [
        (name, *(figures[metric] for metric in SHOWN)) for name, figures in result["routers"].items()]))


@dg.asset(deps=["router_figures"], kinds={"mlflow"}, code_version="1",
          description="The champion of each name: its newest version where that beats the one before by the plan's "
                      "margin with a paired 95 % interval above zero, else the one before.")
def router_champions(data: dg.ResourceParam[DataFolder], router_plan: RouterPlan) -> dg.MaterializeResult[None]:
    """Compare each newest version with its champion, and promote what wins."""
    from training.promote_router import PromoteConfig, promote
    from training.router_registry import RouterRegistry

    metadata: dict[str, Any] = {}
    with stage("router_champions") as event:
        for name in _names(router_plan):
            promotion = promote(data, PromoteConfig(
                **router_plan.states("test"), name=name, dev_dataset=router_plan.sets["dev"],
                metric=router_plan.metric, margin=router_plan.margin, promote_first=router_plan.promote_first,
                decode=router_plan.decode, allow_leakage=router_plan.allow_leakage))
            champion = RouterRegistry(data).champion(name)
            event.facts[name] = champion.uri if champion else "none"
            metadata |= {f"{name}/version": promotion.version.uri, f"{name}/opponent": promotion.opponent,
                         f"{name}/promoted": promotion.promoted, f"{name}/reason": promotion.reason,
                         f"{name}/champion": champion.uri if champion else "none"}
            if promotion.result is not None:
                metadata |= {f"{name}/figures": _figures(promotion.result), **{
                    f"{name}/{key}": value
                    for key, value in _run(str(promotion.experiment_id), str(promotion.run_id)).items()}}
    return dg.MaterializeResult(metadata=metadata)


@dg.asset(deps=["router_champions", "release"], kinds={"mlflow"}, code_version="1",
          description="rdr2 end to end on the held-out questions: the router `similarity` beside the champions, "
                      "passage STR-EM, evidence recall and tokens, with paired 95 % intervals.")
def champion_evaluation(data: dg.ResourceParam[DataFolder], router_plan: RouterPlan) -> dg.MaterializeResult[None]:
    """Ask with the base and with each champion, at one place of the grid."""
    return _curves(data, router_plan, "champion_evaluation", {"ks": (), "turn_counts": (), "ablations": ()})


@dg.asset(deps=["router_champions", "release"], kinds={"mlflow"}, code_version="1",
          description="Ablations and test-time scaling of rdr2 over passages and turns, the router `similarity` "
                      "beside the champions: one MLflow experiment with the drawn curves.")
def router_curves(data: dg.ResourceParam[DataFolder], router_plan: RouterPlan) -> dg.MaterializeResult[None]:
    """Ask over the whole grid, and draw."""
    return _curves(data, router_plan, "router_curves", router_plan.curves)


def _curves(data: DataFolder, plan: RouterPlan, name: str, settings: dict[str, Any]) -> dg.MaterializeResult[None]:
    from training.router_curves import COMPARED, CurvesConfig, draw_curves
    from training.router_registry import CHAMPION, SCHEME, RouterRegistry

    def tell_progress(point: Any, number: int, total: int) -> None:
        tell(StageEvent(name, facts={"asked": number, "of": total}))

    with stage(name):
        registry = RouterRegistry(data)
        champions = [f"{SCHEME}{own}@{CHAMPION}" for own in _names(plan) if registry.champion(own) is not None]
        curves = draw_curves(data, CurvesConfig(**{
            "release": plan.release, "dataset": plan.sets["test"], "split": "test", "k": plan.k,
            "routers": ("similarity", *champions), "set": {"decode": plan.decode}, **settings}), tell_progress)
        path = f"{data.reports}/{name}-{plan.sets['test']}.json"
        files.write_json(path, curves.to_json())
    columns = ("router", "method", "k", "turns", *COMPARED)
    return dg.MaterializeResult(metadata={
        "points": dg.MetadataValue.md(markdown_table(columns, [[row[column] for column in columns]
                                                               for row in curves.points])),
        "differences": dg.MetadataValue.md(_difference_table(curves.differences)),
        "champions": ", ".join(champions) or "none", "result": dg.MetadataValue.path(path),
        **_run(curves.experiment_id, curves.run_id)})


def _difference_table(rows: Sequence[dict[str, Any]]) -> str:
    columns = ("method", "baseline", "metric", "mean", "low", "high", "n")
    return markdown_table(columns, [[row[column] for column in columns] for row in rows])
