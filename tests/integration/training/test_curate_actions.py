"""Curation of the small wiki's questions: on Ray as in process, ended and begun again, by a model that is paid."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from built import Built
from language_model_server import Asked, Sent, chat, served

from assets.quality.training_faults import routing_faults
from assets.quality.training_validation import judge_rows
from pipelines.errors import RunFailure, UserError
from pipelines.evaluation.datasets import GoldEvidence, Question, QuestionSet
from pipelines.evaluation.question_table import read_question_set, write_question_set
from pipelines.models.llm_settings import CACHE_VARIABLE, PREFIX
from pipelines.retrieval.corpus import ReleasedCorpus
from pipelines.settings import DataFolder
from pipelines.storage import TableReader
from training import curate_actions as job
from training.curate_actions import CurateConfig, Summary, curate_actions, main
from training.curation import Curated, InProcess
from training.labelled_states import read_labels
from training.training_states import questions_of

QUESTIONS = (
    Question("q1", "What are made of the wood of the aspen?", (("matches",),),
             (GoldEvidence("Aspen", ("Wood",), "Matches are made of it."),)),
    Question("q2", "What is the bark of the birch used for?", (("canoes",),),
             (GoldEvidence("Birch", ("Uses",), "bark | canoes"),), split="train"),
    Question("q3", "Who built ships of cedar?", (("Phoenicians",),),
             (GoldEvidence("Cedar", ("Ships",), "The Phoenicians built ships of cedar."),), split="dev"),
    Question("q4", "How high is the oak?", (), ()),
    Question("q5", "Where does the yew grow?", (("here",),), (GoldEvidence("Yew", (), "It grows here."),)),
    Question("q6", "Who said so?", (("nobody",),), ()),
    Question("q7", "What grows in the north?", (("birch",),),
             (GoldEvidence("Birch", (), "It grows in the north."),), split="test"),
)


@pytest.fixture
def data(small: Built) -> DataFolder:
    write_question_set(small.data, QuestionSet("trees", QUESTIONS))
    return small.data


def curated(data: DataFolder, **fields: Any) -> Summary:
    return curate_actions(data, CurateConfig(dataset="trees", **fields))


def rows(data: DataFolder, name: str) -> list[dict[str, Any]]:
    return TableReader(data).rows(name, order_by=("state_id",))


def test_on_ray_and_in_process_the_rows_are_the_same(data: DataFolder) -> None:
    summary = curated(data, turns=2, ray=False)
    assert summary.n_questions == 6, "the split test stays out"
    assert summary.skipped == {"not_in_corpus": 1, "no_evidence": 1}
    assert set(summary.tags) >= {"ANSWER", "REFUSE"}
    first = {name: rows(data, name) for name in job.TABLES}
    assert len(first["routing_states"]) == len(first["routing_actions"]) == summary.n_states
    assert {row["question_id"] for row in first["routing_states"]} == {"q1", "q2", "q3", "q4"}
    texts = {row["state_id"]: row for row in first["routing_states"]}
    for action in first["routing_actions"]:
        state = texts[action["state_id"]]
        assert set(action["actions"]) <= set(state["lines"])
        if state["question_id"] == "q4":
            assert action["tag"] == "REFUSE"
    for name in job.TABLES:
        from deltalake import DeltaTable

        DeltaTable(data.table(name)).delete()
    assert curated(data, turns=2, ray=False).n_known == 6, "the journal knows them: nothing is done again"
    again = curated(data, turns=2, ray=True, workers=2, k=6)
    assert again.n_known == 0
    assert {name: rows(data, name) for name in job.TABLES} == first


def test_sets_that_share_questions_keep_their_states_and_actions(data: DataFolder) -> None:
    curated(data)
    first = {name: rows(data, name) for name in job.TABLES}
    labels = read_labels(data, "trees", 1, "gold")
    # The same words, of which this set takes another place for the evidence.
    other = replace(QUESTIONS[1], evidence=(GoldEvidence("Birch", (), "It grows in the north."),))
    write_question_set(data, QuestionSet("some trees", (QUESTIONS[0], other, QUESTIONS[2])))
    curate_actions(data, CurateConfig(dataset="some trees"))
    both = {name: rows(data, name) for name in job.TABLES}
    for name in job.TABLES:
        assert [row for row in both[name] if row["dataset"] == "trees"] == first[name]
        own = {row["state_id"] for row in both[name] if row["dataset"] == "some trees"}
        assert own < {row["state_id"] for row in first[name]}
    assert read_labels(data, "trees", 1, "gold") == labels
    shared = read_labels(data, "some trees", 1, "gold")
    assert {name for name in shared if shared[name] != labels[name]} != set()
    for dataset in ("trees", "some trees"):
        found = routing_faults(ReleasedCorpus.open(data), dataset, "gold")
        assert all(result.passed for result in judge_rows(data, "routing_actions", found.actions))


def test_of_questions_with_the_same_words_the_first_is_curated(data: DataFolder) -> None:
    twin = replace(QUESTIONS[0], question_id="q0", evidence=(GoldEvidence("Aspen", (), "matches"),))
    write_question_set(data, QuestionSet("trees", (*QUESTIONS, twin)))
    summary = curated(data)
    assert summary.n_questions == 6
    assert {row["question_id"] for row in rows(data, "routing_states")} == {"q0", "q2", "q3", "q4"}


@pytest.mark.parametrize("order", [("dev", "test"), ("test", "dev")])
def test_of_equal_words_in_two_splits_the_first_keeps_its_label(data: DataFolder, order: tuple[str, ...]) -> None:
    twin = replace(QUESTIONS[2], question_id="q9", split="test", evidence=(), answers=())
    write_question_set(data, QuestionSet("trees", (*QUESTIONS, twin)))
    for split in order:
        curated(data, splits=(split,))
    assert {row["question_id"] for row in rows(data, "routing_states")} == {"q3", "q7"}
    assert any(read_labels(data, "trees", 1, "gold").values())
    assert "q9" not in {question.question_id for question in questions_of(data, "trees", "test")}


def test_a_question_that_was_corrected_is_curated_again(data: DataFolder) -> None:
    curated(data)
    before = read_labels(data, "trees", 1, "gold")
    states = {row["state_id"] for row in rows(data, "routing_states") if row["question_id"] == "q2"}
    moved = replace(QUESTIONS[1], evidence=(GoldEvidence("Birch", (), "It grows in the north."),))

    def with_second(question: Question) -> dict[str, tuple[str, ...]]:
        write_question_set(data, QuestionSet("trees", (QUESTIONS[0], question, *QUESTIONS[2:])))
        assert curated(data).n_known == 5, "the others are as they were"
        return read_labels(data, "trees", 1, "gold")

    after = with_second(moved)
    assert {name for name in after if after[name] != before[name]} <= states
    assert after != before
    assert with_second(QUESTIONS[1]) == before
    gone = with_second(replace(QUESTIONS[1], evidence=(GoldEvidence("Yew", (), "It grows here."),)))
    assert gone == {name: lines for name, lines in before.items() if name not in states}
    assert curated(data).n_known == 6
    reworded = with_second(replace(QUESTIONS[1], question="For what was the bark of birches used?"))
    assert set(reworded) - set(before) != set()


def test_a_questions_file_without_the_splits_does_not_become_the_set(data: DataFolder, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"id": "only", "question": "Who?", "answers": [], "evidence": [], "split": "test"}))
    with pytest.raises(UserError, match="no question of the splits train, dev"):
        curated(data, questions=path)
    assert len(read_question_set(data, "trees").questions) == len(QUESTIONS)


def test_a_run_that_was_ended_goes_on_behind_the_last_portion(data: DataFolder,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.curation.CHUNK_QUESTIONS", 2)
    curate = InProcess.curate
    seen: list[str] = []

    def until(most: int) -> Any:
        def limited(self: InProcess, questions: list[Question]) -> list[Curated]:
            if len(seen) >= most:
                raise KeyboardInterrupt
            seen.extend(question.question_id for question in questions)
            return curate(self, questions)
        return limited

    monkeypatch.setattr(InProcess, "curate", until(4))
    with pytest.raises(KeyboardInterrupt):
        curated(data)
    half = rows(data, "routing_states")
    assert len(half) > 0
    monkeypatch.setattr(InProcess, "curate", until(100))
    assert curated(data).n_known == 4
    assert sorted(seen) == ["q1", "q2", "q3", "q4", "q5", "q6"], "none was done twice"
    whole = rows(data, "routing_states")
    assert [row for row in whole if row in half] == half


@pytest.fixture
def paid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {"PRICE_IN": "1000", "PRICE_OUT": "1000", "RETRIES": "0", "COOL_DOWN_S": "0"}.items():
        monkeypatch.setenv(f"{PREFIX}{name}", value)
    monkeypatch.setenv(CACHE_VARIABLE, "on")
    monkeypatch.setattr("pipelines.models.response_cache.cache_folder", lambda: tmp_path)


def first_line(asked: Asked) -> Sent:
    """Answers with the first line below the title."""
    node = next(line for line in asked.last_words.splitlines()[2:] if ":" in line).strip()
    number, words = node.split(": ", 1)
    return chat(f"[ANSWER] {number}: {' '.join(words.split()[:5])}\n[ANSWER] 999: x",
                usage={"prompt_tokens": 100, "completion_tokens": 10})


@pytest.mark.usefixtures("paid")
def test_a_model_is_paid_once_and_its_legal_lines_are_kept(data: DataFolder, capsys: pytest.CaptureFixture[str]
                                                           ) -> None:
    with served(first_line) as server:
        summary = curated(data, teacher=f"{server.url}#teacher", decode="free")
        n_asked = len(server.requests)
        assert n_asked == summary.n_states > 0
        assert summary.paid_usd == pytest.approx(0.11 * n_asked)
        assert summary.n_expelled == n_asked
        for row in rows(data, "routing_actions"):
            assert (row["tokens_in"], row["tokens_out"], row["expelled"]) == (100, 10, 1)
            assert not row["collapsed"]
        for journal in (data.state / "curation").iterdir():
            journal.unlink()
        again = curated(data, teacher=f"{server.url}#teacher", decode="free")
        assert (again.n_states, again.paid_usd, len(server.requests)) == (summary.n_states, 0.0, n_asked)
    assert "estimate: " in capsys.readouterr().out


@pytest.mark.usefixtures("paid")
def test_a_limit_of_cost_holds_before_and_while_it_spends(data: DataFolder,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    with served(first_line) as server:
        with pytest.raises(UserError, match="at least the estimate"):
            curated(data, teacher=f"{server.url}#teacher", decode="free", max_cost_usd=0.01)
        assert server.requests == []
        monkeypatch.setattr(job, "estimate", lambda *_: (1, 1, 0.0))
        monkeypatch.setattr("training.curation.CHUNK_QUESTIONS", 1)
        with pytest.raises(RunFailure, match="What was paid for is kept"):
            curated(data, teacher=f"{server.url}#teacher", decode="free", max_cost_usd=0.2)
        n_asked = len(server.requests)
        assert 0 < n_asked < 12
        assert len(rows(data, "routing_actions")) == n_asked
        curated(data, teacher=f"{server.url}#teacher", decode="free")
        assert len(server.requests) == len(rows(data, "routing_actions")), "nothing was asked twice"


def test_the_command_names_what_is_wrong(data: DataFolder, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    def run(**fields: Any) -> tuple[int, str]:
        config = tmp_path / "config.json"
        config.write_text(json.dumps({"data": data.root, "dataset": "trees", **fields}))
        code = main(["--config", str(config)])
        return code, capsys.readouterr().err

    assert run(dataset="flowers")[0] == 2
    assert run(teacher="oracle") == (2, "curate_actions: teacher 'oracle': no such teacher; expected one of gold, "
                                        "local, an endpoint's URL. Correct teacher=.\n")
    assert "k: Input should be" in run(k=0)[1]
    code, message = run(teacher="http://127.0.0.1:1/v1")
    assert code == 1
    assert "127.0.0.1:1" in message
