"""Routers as a Dagster job: leaks and bad rows stop it, champions are promoted and asked by their alias."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from built import Built

from assets.quality.training_faults import routing_faults
from assets.quality.training_rules import TRAINING_RULES
from assets.quality.training_validation import judge_rows
from jobs.cli import main
from jobs.definitions import defs
from jobs.instance import open_instance
from pipelines.errors import UserError
from pipelines.evaluation.datasets import GoldEvidence, Question, QuestionSet
from pipelines.evaluation.question_table import write_question_set
from pipelines.retrieval.corpus import ReleasedCorpus
from pipelines.settings import DataFolder
from pipelines.storage import TableReader, merge_rows
from training.curate_actions import CurateConfig, curate_actions
from training.evaluate import EvaluationOptions, evaluate
from training.evaluate_router import TUNED
from training.promote_router import PromoteConfig, promote
from training.router_curves import CurvesConfig, draw_curves
from training.router_registry import RouterRegistry
from training.tracking import Tracker
from training.train_scorer import TrainScorerConfig, train_scorer


def ask(name: str, split: str, question: str, title: str = "", quote: str = "", answer: str = "") -> Question:
    evidence = (GoldEvidence(title, (), quote),) if title else ()
    return Question(name, question, ((answer,),) if answer else (), evidence, split=split)  # type: ignore[arg-type]


QUESTIONS = (
    ask("a1", "train", "What are made of the soft wood?", "Aspen", "Matches are made of it.", "matches"),
    ask("a2", "train", "What trembles in the wind?", "Aspen", "Its leaves tremble in the wind.", "leaves"),
    ask("a3", "train", "How high is the oak?"),
    ask("b1", "dev", "What is bark used for?", "Birch", "bark | canoes", "canoes"),
    ask("b2", "dev", "Where does the white tree grow?", "Birch", "It grows in the north.", "north"),
    ask("c1", "test", "Who built ships?", "Cedar", "The Phoenicians built ships of cedar.", "Phoenicians"),
    ask("c2", "test", "What avoids resin?", "Cedar", "Moths avoid it.", "moths"),
    ask("c3", "test", "Which yew is the oldest?"),
)
PLAN: dict[str, Any] = {"dataset": "trees", "turns": 1, "scorer": {"epochs": 2, "hidden": [4], "networks": 1}}


@pytest.fixture
def trees(small: Built) -> DataFolder:
    write_question_set(small.data, QuestionSet("trees", QUESTIONS))
    return small.data


def run(data: DataFolder, *assets: str, **plan: Any) -> dg.ExecuteInProcessResult:
    """Run the job, or some of its assets, with a plan; a failed run is given back."""
    with open_instance(data) as instance:
        return defs.resolve_job_def("train_routers").execute_in_process(
            instance=instance, raise_on_error=False, asset_selection=[dg.AssetKey(name) for name in assets] or None,
            run_config={"resources": {"router_plan": {"config": {**PLAN, **plan}}},
                        "loggers": {"console": {"config": {"log_level": "CRITICAL"}}}})


def shown(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, Any]:
    """Metadata of what an asset materialized, as plain values."""
    (event,) = result.asset_materializations_for_node(asset)
    return {name: value.value for name, value in event.metadata.items()}


def failed_checks(result: dg.ExecuteInProcessResult) -> set[str]:
    return {f"{one.asset_key.to_user_string()}:{one.check_name}"
            for one in result.get_asset_check_evaluations() if not one.passed}


def test_a_job_trains_judges_promotes_and_asks_the_champion(trees: DataFolder) -> None:
    result = run(trees, promote_first=True)
    assert result.success
    assert failed_checks(result) == set()
    assert len(result.get_asset_check_evaluations()) == sum(len(rules.names) for rules in TRAINING_RULES.values())
    assert shown(result, "training_questions")["n_train"] == 3
    assert shown(result, "training_questions")["n_held_out"] == 5
    curated = [event.metadata["classes/trees"].value for event in
               result.asset_materializations_for_node("routing_actions")]
    assert curated == ["ANSWER 6 (25%), EXPAND 0 (0%), REFUSE 18 (75%)"] * 2
    scorer = shown(result, "scorer_router")
    registry = RouterRegistry(trees)
    assert scorer["version"] == "models:/scorer/1"
    assert registry.run_of(registry.newest("scorer")).run_id == scorer["mlflow_run_id"]
    assert scorer["mlflow"].endswith(f"/runs/{scorer['mlflow_run_id']}")
    assert shown(result, "adapter_router")["version"].startswith("none")
    figures = shown(result, "router_figures")["figures"].splitlines()
    assert [line.split(" | ")[0] for line in figures[2:]] == [f"| {name}" for name in (
        TUNED, "similarity", "models:/scorer/1")]
    promoted = shown(result, "router_champions")
    assert (promoted["scorer/opponent"], promoted["scorer/promoted"]) == (TUNED, True)
    assert promoted["scorer/champion"] == registry.champion("scorer").uri == "models:/scorer/1"  # type: ignore[union-attr]
    end_to_end = shown(result, "champion_evaluation")
    assert end_to_end["champions"] == "models:/scorer@champion"
    assert "models:/scorer/1" in end_to_end["points"]
    points = json.loads(Path(end_to_end["result"]).read_text(encoding="utf-8"))["points"]
    assert [(point["router"], point["n_questions"]) for point in points] == [
        ("similarity", 3), ("models:/scorer/1", 3)]

    # The newest version is the champion: the next one has to beat it, and an equal one does not.
    again = run(trees, "scorer_router", "router_figures", "router_champions")
    assert again.success
    promoted = shown(again, "router_champions")
    assert (promoted["scorer/version"], promoted["scorer/opponent"]) == ("models:/scorer/2", "models:/scorer/1")
    assert promoted["scorer/promoted"] is False
    assert "+0.000 [+0.000, +0.000]" in promoted["scorer/reason"]
    assert promoted["scorer/champion"] == "models:/scorer/1"


def test_leaks_stop_the_job_before_anything_is_curated_unless_they_are_allowed(trees: DataFolder) -> None:
    leaking = ask("c4", "train", "Who built the ships?", "Cedar", "The Phoenicians built ships of cedar.", "x")
    write_question_set(trees, QuestionSet("trees", (*QUESTIONS, leaking)))
    result = run(trees)
    assert not result.success
    assert failed_checks(result) == {f"training_questions:{rule}" for rule in (
        "question_is_held_out", "document_is_held_out")}
    assert not result.asset_materializations_for_node("routing_actions")
    (check,) = [one for one in result.get_asset_check_evaluations() if one.check_name == "document_is_held_out"]
    assert "question_id=c4" in str(check.description)
    assert (check.metadata["failing_rows"].value, check.metadata["rows"].value) == (1, 4)
    with pytest.raises(UserError, match=r"trees/c4 and trees/c1"):
        train_scorer(trees, TrainScorerConfig(dataset="trees", out=Path(trees.root) / "s.safetensors"))
    allowed = run(trees, "training_questions", allow_leakage=True)
    assert allowed.success
    told = [one.description for one in allowed.get_asset_check_evaluations() if one.description]
    assert len(told) == 2
    assert all(text.startswith("allowed: ") for text in told)


def test_bad_rows_stop_the_job_before_anything_is_trained(trees: DataFolder) -> None:
    curate_actions(trees, CurateConfig(dataset="trees", splits=("train", "dev", "test"), turns=1))
    rows = TableReader(trees).rows("routing_actions", where_sql="tag = 'ANSWER'", order_by=("state_id",))
    merge_rows(trees, "routing_actions", [{**rows[0], "tag": "REFUSE"}])
    result = run(trees)
    assert not result.success
    assert failed_checks(result) == {"routing_actions:tag_matches_actions"}
    assert not result.asset_materializations_for_node("scorer_router")
    assert not RouterRegistry(trees)._client.search_registered_models()


Row = dict[str, Any]


def _other(rows: list[Row], **fields: Any) -> list[Row]:
    return [{**rows[0], **fields}]


BAD_ROWS: dict[str, tuple[str, Callable[[list[Row]], list[Row]], set[str]]] = {
    # name: (table, rows → rows that are merged into it, the rules that fail)
    "no tree": ("routing_states", lambda rows: _other(rows, doc_id="treewiki:99", state_id="0" * 32),
                {"document_is_released", "hash_matches_state"}),
    "other kind": ("routing_states", lambda rows: _other(
        rows, lit_node_ids=[0, *rows[0]["lit_node_ids"][1:]]), {"nodes_have_kind", "lines_match_nodes"}),
    "no such node": ("routing_states", lambda rows: _other(
        rows, lit_node_ids=[*rows[0]["lit_node_ids"], 999], lines=[*rows[0]["lines"], "[ANSWER] 999: x"]),
        {"nodes_have_kind"}),
    "other words": ("routing_states", lambda rows: _other(
        rows, lines=[rows[0]["lines"][0] + "x", *rows[0]["lines"][1:]]), {"lines_match_nodes"}),
    "other text": ("routing_states", lambda rows: _other(rows, router_text="Question: x"), {"hash_matches_state"}),
    "copy": ("routing_states", lambda rows: _other(rows, state_id="1" * 32),
             {"hash_matches_state", "state_is_no_copy"}),
    "no state": ("routing_actions", lambda rows: _other(rows, state_id="2" * 32), {"state_exists"}),
    "illegal": ("routing_actions", lambda rows: _other(rows, actions=[*rows[0]["actions"], "[ANSWER] 7: no"]),
                {"actions_are_legal"}),
    "twice": ("routing_actions", lambda rows: _other(rows, actions=rows[0]["actions"] * 2), {"actions_are_legal"}),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_each_rule_finds_the_rows_that_break_it(trees: DataFolder, name: str) -> None:
    table, damage, expected = BAD_ROWS[name]
    curate_actions(trees, CurateConfig(dataset="trees", turns=1))
    reader = TableReader(trees)
    answered = {row["state_id"] for row in reader.rows("routing_actions", where_sql="tag = 'ANSWER'")}
    rows = [row for row in reader.rows(table, order_by=("state_id",)) if row["state_id"] in answered]
    merge_rows(trees, table, damage(rows))
    found = routing_faults(ReleasedCorpus.open(trees), "trees", "gold")
    faults = {"routing_states": found.states, "routing_actions": found.actions}[table]
    assert {rule.name for row in faults for rule in TRAINING_RULES[table].rules if row[rule.name]} == expected
    judged = judge_rows(trees, table, faults)
    assert {result.rule for result in judged if not result.passed} == expected
    assert all(result.n_failing == 1 for result in judged if not result.passed)


def test_answers_are_judged_by_gold_for_gold_and_loosely_for_a_model(trees: DataFolder) -> None:
    curate_actions(trees, CurateConfig(dataset="trees", turns=1))
    reader = TableReader(trees)
    states = {row["state_id"]: row for row in reader.rows("routing_states")}
    rows = reader.rows("routing_actions", where_sql="tag = 'ANSWER'", order_by=("state_id",))
    row = next(row for row in rows if len(states[row["state_id"]]["lit_node_ids"]) > 1)
    wrong = next(line for line in states[row["state_id"]]["lines"]
                 if line.startswith("[ANSWER]") and line not in row["actions"])
    corpus = ReleasedCorpus.open(trees)

    def broken(teacher: str, actions: list[str]) -> dict[str, int]:
        merge_rows(trees, "routing_actions", [{**row, "teacher": teacher, "actions": actions}])
        results = judge_rows(trees, "routing_actions", routing_faults(corpus, "trees", teacher).actions)
        return {result.rule: result.n_failing for result in results if not result.passed}

    assert broken("gold", row["actions"]) == broken("model", row["actions"]) == {}
    # One right line makes a model's sample good; of gold each line must be right.
    assert broken("model", [wrong, *row["actions"]]) == {}
    assert broken("gold", [wrong, *row["actions"]]) == {"gold_holds_evidence": 1}
    assert broken("model", [wrong]) == {"answers_hold_answer": 1}


def test_references_work_wherever_a_router_is_named(trees: DataFolder, capsys: pytest.CaptureFixture[str]) -> None:
    curate_actions(trees, CurateConfig(dataset="trees", splits=("train", "dev", "test"), turns=1))
    train_scorer(trees, TrainScorerConfig(dataset="trees", turns=1, epochs=2, networks=1, name="trees",
                                          out=Path(trees.root) / "s.safetensors"))
    registry = RouterRegistry(trees)
    command = ["ask", "--data", trees.root, "--router", "models:/trees@champion", "--json", "Who built ships?"]
    assert main(command) == 2
    assert "trees has no such version; expected one of /1" in capsys.readouterr().err
    lost = promote(trees, PromoteConfig(dataset="trees", turns=1, name="trees", margin=0.99))
    assert (lost.promoted, lost.opponent, registry.champion("trees")) == (False, TUNED, None)
    registry.set_champion(registry.newest("trees"))
    assert main(command) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {step["router"] for step in answer["trace"] if step["step"] == "route"} == {"scorer"}
    questions = QuestionSet("trees", QUESTIONS)
    evaluation = evaluate(trees, questions, EvaluationOptions(
        methods=("rdr2",), router="models:/trees@champion", curve_budgets=()))
    assert evaluation.result["settings"]["router"] == "models:/trees/1"
    same = promote(trees, PromoteConfig(dataset="trees", turns=1, name="trees"))
    assert (same.promoted, same.result) == (False, None)

    curves = draw_curves(trees, CurvesConfig(
        dataset="trees", routers=("similarity", "models:/trees@champion"), ks=(0, 2), turn_counts=(0,),
        ablations=("no_router", "no_expand"), turns=1, k=2))
    assert [(row["router"], row["method"], row["k"], row["turns"]) for row in curves.points] == [
        (router, method, k, turns) for router in ("similarity", "models:/trees/1")
        for method, k, turns in (("rdr2", 2, 1), ("rdr2", 0, 1), ("rdr2", 2, 0), ("rdr2+no_router", 2, 1),
                                 ("rdr2+no_expand", 2, 1))]
    nothing = curves.points[1]
    assert (nothing["evidence_recall"], nothing["context_tokens"], nothing["routed_tokens_in"]) == (0, 0, 0)
    tracker = Tracker(trees, "curves")
    runs = tracker._client.search_runs([curves.experiment_id])
    assert len(runs) == 11
    assert {run.data.tags["kind"] for run in runs} == {"curves", "point"}
    artifacts = {file.path for file in tracker._client.list_artifacts(curves.run_id, "plots")}
    assert artifacts == {"plots/scaling.svg", "plots/ablations.svg"}
