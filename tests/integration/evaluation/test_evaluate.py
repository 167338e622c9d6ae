"""An evaluation as its users meet it: result, tables, MLflow's store, report; in process and on Ray."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import Built
from language_model_server import Asked, Sent, chat, served

from jobs.cli import main
from pipelines.errors import RunFailure
from pipelines.evaluation.datasets import QuestionSet, load_questions
from pipelines.evaluation.question_table import read_question_set, write_question_set
from pipelines.evaluation.results import RESULT_METRICS
from pipelines.settings import DataFolder
from pipelines.storage import TableReader
from training.comparison import compare_stored
from training.evaluate import EvaluationOptions, evaluate
from training.evaluate import main as evaluate_from_config
from training.tracking import Tracker

ROWS: list[dict[str, Any]] = [
    {"id": "t1", "question": "What is made of the wood of the aspen?", "answers": ["matches"], "type": "fact",
     "evidence": [{"title": "Aspen", "section": ["Wood"], "quote": "Matches are made of it."}]},
    {"id": "t2", "question": "What is birch sap used for?", "answers": ["syrup"], "type": "table",
     "evidence": [{"title": "Birch", "section": ["Uses"], "quote": "sap | syrup"}]},
    {"id": "t3", "question": "Who built ships of cedar, and what avoids it?", "type": "multi_section",
     "answers": [["Phoenicians"], ["moths", "moth"]],
     "evidence": [{"title": "Cedar", "section": ["Ships"], "quote": "The Phoenicians built ships of cedar."},
                  {"title": "Cedar", "section": [], "quote": "Moths avoid it."}]},
    {"id": "t4", "question": "How tall is the yew?", "answers": [], "evidence": [], "type": "unanswerable"},
]
OPTIONS = EvaluationOptions(methods=("flat", "flat_bm25", "rdr2+fill"), budget_tokens=200,
                            curve_budgets=(16,), n_resamples=500)


@pytest.fixture
def questions(tmp_path: Path) -> QuestionSet:
    path = tmp_path / "trees.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return load_questions(path)


def _without_time(result: dict[str, Any]) -> dict[str, Any]:
    """What must be equal in every run: everything but latencies and where it ran."""
    kept = json.loads(json.dumps(result))
    kept["settings"].pop("executor")
    kept["differences"] = [row for row in kept["differences"] if row["metric"] != "latency_s"]
    for row in (*kept["per_question"], *kept["methods"].values(),
                *(values for kind in kept["by_type"] for values in kind["methods"].values())):
        for name in [name for name in row if name.startswith("latency")]:
            del row[name]
    return dict(kept)


def test_a_comparison_with_all_its_records(small: Built, questions: QuestionSet) -> None:
    evaluation = evaluate(small.data, questions, OPTIONS)
    result = evaluation.result
    assert list(result["methods"]) == ["flat", "flat_bm25", "rdr2+fill"]
    assert set(RESULT_METRICS) <= set(result["methods"]["flat"])
    assert result["gold"]["not_in_corpus"] == []
    # The three articles have about 100 tokens: under 200 flat shows all of them, so it must find all quotes.
    assert result["methods"]["flat"]["evidence_recall"] == 1
    assert result["methods"]["flat"]["answer_in_context"] == 1
    assert result["methods"]["flat"]["n"]["evidence_recall"] == 3
    assert 0 < result["curve"]["flat"][0]["evidence_recall"] < 1
    assert read_question_set(small.data, "trees").digest == questions.digest
    rows = TableReader(small.data).rows("predictions", order_by=("method", "question_id"))
    assert [(row["method"], row["question_id"]) for row in rows[:5]] == [
        ("flat", "t1"), ("flat", "t2"), ("flat", "t3"), ("flat", "t4"), ("flat_bm25", "t1")]
    assert {row["run_id"] for row in rows} == set(evaluation.run_ids.values())
    assert Path(evaluation.report_path).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_what_mlflow_keeps(small: Built, questions: QuestionSet) -> None:
    evaluation = evaluate(small.data, questions, OPTIONS)
    import mlflow

    client = mlflow.MlflowClient(small.data.mlflow_uri)
    parent = client.get_run(evaluation.comparison_run_id)
    assert parent.info.status == "FINISHED"
    children = client.search_runs(
        [evaluation.experiment_id], f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'")
    assert {run.info.run_id for run in children} == set(evaluation.run_ids.values())
    run = client.get_run(evaluation.run_ids["rdr2+fill"])
    assert run.info.status == "FINISHED"
    assert run.data.params["release"] == "1"
    assert run.data.params["questions_digest"] == questions.digest
    assert run.data.params["token_counter"] == "SmolLM2"
    assert run.data.metrics["n_evidence_recall"] == 3
    assert all(math.isfinite(value) for value in run.data.metrics.values())
    assert "answer_em" not in run.data.metrics
    steps = [entry.step for entry in client.get_metric_history(run.info.run_id, "evidence_recall_at_budget")]
    assert sorted(steps) == [16, 200]
    [used] = run.inputs.dataset_inputs
    assert (used.dataset.name, used.dataset.digest) == ("trees", questions.digest)
    assert run.info.artifact_uri.startswith(Path(small.data.mlflow_artifacts).as_uri())
    assert {item.path for item in client.list_artifacts(run.info.run_id)} == {"per_question.json", "plots", "trec"}
    assert {item.path for item in client.list_artifacts(parent.info.run_id)} == {
        "report.html", "differences.json", "plots"}
    table = client.load_table(evaluation.experiment_id, "per_question.json", run_ids=[run.info.run_id])
    assert list(table["id"]) == ["t1", "t2", "t3", "t4"]


def test_traces_have_the_times_that_were_measured(small: Built, questions: QuestionSet) -> None:
    evaluation = evaluate(small.data, questions, OPTIONS.model_copy(update={"methods": ("flat",)}))
    import mlflow

    run_id = evaluation.run_ids["flat"]
    assert run_id == evaluation.comparison_run_id
    traces = mlflow.search_traces(locations=[evaluation.experiment_id], run_id=run_id, return_type="list")
    rows = TableReader(small.data).rows("predictions")
    stored = {row["question_id"]: json.loads(row["trace"]) for row in rows}
    assert {trace.info.tags["question_id"] for trace in traces} == set(stored)
    for trace in traces:
        steps = stored[trace.info.tags["question_id"]]
        spans = {span.name: span for span in trace.data.spans}
        assert {step["step"] for step in steps} < set(spans)
        search = next(step for step in steps if step["step"] == "search")
        assert spans["search"].start_time_ns == round(search["started_at_s"] * 1e9)
        length_ns = spans["search"].end_time_ns - spans["search"].start_time_ns
        assert length_ns == pytest.approx(search["duration_s"] * 1e9, abs=1e3)


def test_on_ray_the_same_comes_out(small: Built, questions: QuestionSet) -> None:
    here = evaluate(small.data, questions, OPTIONS)
    there = evaluate(small.data, questions, OPTIONS.model_copy(update={"ray": "always", "ray_workers": 2}))
    assert there.result["settings"]["executor"] == "on Ray, 2 workers at a time"
    assert _without_time(here.result) == _without_time(there.result)


def test_the_order_of_the_questions_changes_no_figure(small: Built, questions: QuestionSet) -> None:
    turned = QuestionSet(questions.name, questions.questions[::-1])
    one = evaluate(small.data, questions, OPTIONS).result
    other = evaluate(small.data, turned, OPTIONS).result
    for key in ("differences", "methods", "per_question"):
        left, right = _without_time(one)[key], _without_time(other)[key]
        if key == "per_question":
            left, right = (sorted(rows, key=lambda row: (row["id"], row["method"])) for rows in (left, right))
        assert left == right


def test_a_run_that_fails_is_marked(small: Built, questions: QuestionSet) -> None:
    for index in Path(small.data.root, "indexes").glob("*/sparse*"):
        shutil.rmtree(index)
    with pytest.raises(RunFailure):
        evaluate(small.data, questions, OPTIONS)
    import mlflow

    client = mlflow.MlflowClient(small.data.mlflow_uri)
    runs = client.search_runs([Tracker(small.data).experiment_id("trees")])
    statuses = {run.info.run_name: run.info.status for run in runs}
    assert statuses == {"comparison, release 1": "FAILED", "flat": "FINISHED", "flat_bm25": "FAILED"}
    failed = next(run for run in runs if run.info.run_name == "flat_bm25")
    assert "RunFailure" in failed.data.tags["error"]


def test_a_set_in_the_table_is_the_last_one_of_its_name(small: Built, questions: QuestionSet) -> None:
    write_question_set(small.data, questions)
    shorter = QuestionSet("trees", questions.questions[1:])
    other = QuestionSet("others", questions.questions[:1])
    write_question_set(small.data, other)
    version = write_question_set(small.data, shorter).version
    assert read_question_set(small.data, "trees").digest == shorter.digest
    assert read_question_set(small.data, "others").digest == other.digest
    assert write_question_set(small.data, shorter).version == version


def test_the_command_runs_the_dagster_jobs_and_writes_the_result(
        small: Built, questions: QuestionSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "result.json"
    assert main(["evaluate", "--data", small.data.root, "--questions", questions.path, "--budget", "200",
                 "--methods", "flat,rdr2", "--curve", "40", "--out", str(out)]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["n_questions"] == 4
    assert list(result["methods"]) == ["flat", "rdr2"]
    assert len(result["per_question"]) == 8
    printed = capsys.readouterr().out
    assert "rdr2" in printed
    assert str(out) in printed
    run_ids = _newest_run_ids(small.data)
    again, report = compare_stored(small.data, "trees", run_ids, 200)
    assert _without_time(again)["methods"] == _without_time(result)["methods"]
    assert _without_time(again)["differences"] == _without_time(result)["differences"]
    assert again["curve"] == result["curve"]
    assert Path(report).is_file()


def test_endpoints_route_and_read_in_an_evaluation(small: Built, questions: QuestionSet, tmp_path: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    """The model refuses to route, by two words that are no action, and answers every question alike."""
    def said(asked: Asked) -> Sent:
        is_reader = asked.last_words.startswith("Paragraphs:")
        return chat("Matches." if is_reader else "No idea", usage={"prompt_tokens": 100, "completion_tokens": 2})

    out = tmp_path / "result.json"
    with served(said) as server:
        name = f"{server.url}#m"
        assert main(["evaluate", "--data", small.data.root, "--questions", questions.path, "--budget", "200",
                     "--methods", "flat,rdr2,rdr2+no_expand", "--curve", "", "--router", name, "--reader", name,
                     "--set", "decode=free", "--set", "reader_form=short", "--out", str(out)]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    flat, ablated = result["methods"]["flat"], result["methods"]["rdr2+no_expand"]
    assert list(result["methods"]) == ["flat", "rdr2", "rdr2+no_expand"]
    assert (result["settings"]["router"], result["settings"]["reader"]) == (name, name)
    answers = {row["id"]: row["answer"] for row in result["per_question"] if row["method"] == "flat"}
    assert answers == dict.fromkeys(("t1", "t2", "t3", "t4"), "Matches")
    assert (flat["answer_em"], flat["answer_f1"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert (flat["llm_calls"], flat["tokens_in"], flat["collapsed"]) == (1.0, 100.0, 0.0)
    assert ablated["collapsed"] == ablated["fallbacks"] >= 1
    assert ablated["tokens_in"] == 100 * ablated["llm_calls"]
    assert not any("no reader" in line for line in result["not_measured"])
    printed = capsys.readouterr().out
    assert "collapsed" in printed
    assert "answer F1" in printed


def test_two_ablations_at_once_are_refused(small: Built, questions: QuestionSet, tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--data", small.data.root, "--questions", questions.path, "--methods",
                 "rdr2+no_expand+no_refuse", "--out", str(tmp_path / "out.json")]) == 2
    assert "one ablation a method" in capsys.readouterr().err


def test_bad_lines_are_told_counted_and_rejected_and_the_rest_is_asked(
        small: Built, questions: QuestionSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path(questions.path).read_text(encoding="utf-8").splitlines()
    bad = ['{"id": "t5", "question": "No answers?"', '{"id": "t6", "question": "No answers?"}', "", lines[0],
           '{"id": 7, "question": "A number?", "answers": [], "evidence": []}']
    path, out = tmp_path / "bad.jsonl", tmp_path / "result.json"
    path.write_text("\n".join([lines[0], *bad, *lines[1:]]), encoding="utf-8")
    command = ["evaluate", "--data", small.data.root, "--questions", str(path), "--methods", "flat",
               "--curve", "40", "--out", str(out)]
    assert main(command) == 0
    told = capsys.readouterr().err
    assert f"{path}, line 2: not JSON" in told
    assert f"{path}, line 3, field answers: missing; expected the fields id, question" in told
    assert "4 lines hold no valid question and are in the table rejects; 4 questions are asked" in told
    assert "flat: 4 questions asked under each of 2 budgets" in told
    result = json.loads(out.read_text(encoding="utf-8"))
    assert (result["n_questions"], result["n_bad_lines"]) == (4, 4)
    rejects = TableReader(small.data).rows("rejects", ("source_ref", "reason", "sample"), order_by=("source_ref",))
    assert [(row["source_ref"], row["reason"]) for row in rejects] == [
        ("bad:bad.jsonl:2", "not_json"), ("bad:bad.jsonl:3", "bad_field"), ("bad:bad.jsonl:5", "duplicate_id"),
        ("bad:bad.jsonl:6", "bad_field")]
    assert rejects[0]["sample"] == bad[0]
    assert main(command) == 0
    assert TableReader(small.data).row_count("rejects") == 4

    path.write_text("\n".join(bad[:2]), encoding="utf-8")
    capsys.readouterr()
    assert main(command) == 2
    assert f"{path}, line 1: not JSON" in capsys.readouterr().err


def _newest_run_ids(data: DataFolder) -> dict[str, str]:
    rows = TableReader(data).rows("predictions", ("method", "run_id"))
    return {row["method"]: row["run_id"] for row in sorted(rows, key=lambda row: row["method"])}


def test_the_entry_point_takes_a_config_file(small: Built, questions: QuestionSet, tmp_path: Path,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    config, out = tmp_path / "evaluate.yaml", tmp_path / "out.json"
    config.write_text(f"data: {small.data.root}\nquestions: {questions.path}\nmethods: [flat_bm25]\n"
                      f"curve_budgets: []\nout: {out}\n", encoding="utf-8")
    assert evaluate_from_config(["--config", str(config)]) == 0
    assert json.loads(out.read_text(encoding="utf-8"))["dataset"] == "trees"
    config.write_text("questions: x.jsonl\nbudget_tokens: 0\nbugdet: 3\n", encoding="utf-8")
    assert evaluate_from_config(["--config", str(config)]) == 2
    message = capsys.readouterr().err
    assert "budget_tokens" in message
    assert "bugdet" in message
