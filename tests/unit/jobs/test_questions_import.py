"""`espalier questions import`: to the table, to a file, what is told, wrong use."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import main
from pipelines.evaluation.datasets import load_questions
from pipelines.evaluation.question_table import read_question_set
from pipelines.questions.published.reading import FORMATS
from pipelines.settings import DataFolder

ITEM: dict[str, Any] = {"_id": "1", "question": "Q?", "answer": "yes", "type": "bridge", "level": "easy",
                        "supporting_facts": [["T", 0], ["T", 4]], "context": [["T", ["Words."]]]}
KILT = {"id": "1", "input": "Q?", "output": [{"answer": "a", "provenance": [
    {"wikipedia_id": "3", "title": "T", "section": "Section::::Abstract.", "start_paragraph_id": 1,
     "start_character": 0, "end_paragraph_id": 1, "end_character": 5}]}]}


@pytest.fixture
def hotpot(tmp_path: Path) -> Path:
    path = tmp_path / "hotpot_dev_distractor_v1.json"
    path.write_text(json.dumps([ITEM, {"_id": "2"}, {**ITEM, "_id": "3", "hint": 1}]))
    return path


def test_a_set_goes_into_the_table(hotpot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data"
    arguments = ["questions", "import", "hotpotqa", str(hotpot), "--data", str(folder)]
    assert main(arguments) == 0
    told = capsys.readouterr()
    assert told.out == ""
    lines = told.err.splitlines()
    assert re.fullmatch(r"hotpotqa: 2 questions in the table questions \(version \d+\), 0 of them without evidence",
                        lines.pop(1))
    assert lines == [
        f"espalier: {hotpot}, item 2, field question: missing; expected a string. The item is left out.",
        "  items left out: 1 bad_field",
        "  evidence left out: 2 no_such_sentence (the paragraph has fewer sentences than the number says)",
        "  field not part of the format, not used: hint, 1 times"]
    stored = read_question_set(DataFolder.at(folder), "hotpotqa")
    assert [(q.question_id, q.split) for q in stored.questions] == [("1", "dev"), ("3", "dev")]
    assert main([*arguments, "--dataset", "mine", "--split", "train"]) == 0
    assert {q.split for q in read_question_set(DataFolder.at(folder), "mine").questions} == {"train"}
    assert main(arguments) == 0
    assert "hotpotqa: 2 questions as the table questions has them already" in capsys.readouterr().err


def test_a_questions_file_is_what_other_commands_read(hotpot: Path, tmp_path: Path) -> None:
    out = tmp_path / "hotpot.jsonl"
    assert main(["questions", "import", "hotpotqa", str(hotpot), "--out", str(out)]) == 0
    questions = load_questions(out)
    assert [q.question_id for q in questions.questions] == ["1", "3"]
    assert questions.questions[0].evidence[0].quote == "Words."
    assert not questions.unknown_fields


def test_kilts_pages_give_the_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions, pages = tmp_path / "nq-dev-kilt.jsonl", tmp_path / "pages.json"
    questions.write_text(json.dumps(KILT))
    pages.write_text(json.dumps({"wikipedia_id": "3", "text": ["T", "Words. More."]}))
    assert main(["questions", "import", "kilt-nq", str(questions), "--out", "-", "--pages", str(pages)]) == 0
    [evidence] = json.loads(capsys.readouterr().out)["evidence"]
    assert evidence == {"title": "T", "section": [], "quote": "Words."}


@pytest.mark.parametrize(("change", "words"), [
    (["eli5"], "format 'eli5': no format of that name"), (["hotpotqa", "--split", "all"], "--split"),
    (["hotpotqa", "--pages", "x.json"], "one of the KILT formats"),
    (["hotpotqa", "--dataset", "a/b"], "a name with other characters"),
    (["asqa"], "Check the format: this one is ASQA.json"), (["hotpotqa", "--out", ""], "no file"),
])
def test_wrong_use_is_one_line_and_exit_code_2(hotpot: Path, tmp_path: Path, change: list[str], words: str,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.jsonl"
    assert main(["questions", "import", change[0], str(hotpot), "--out", str(out), *change[1:]]) == 2
    assert words in capsys.readouterr().err
    assert not out.exists()


def test_a_file_without_a_question_leaves_the_old_result(hotpot: Path, tmp_path: Path,
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("old")
    hotpot.write_text("[{}]")
    assert main(["questions", "import", "hotpotqa", str(hotpot), "--out", str(out)]) == 2
    assert "item 1, field _id: missing, and no item is a question" in capsys.readouterr().err
    assert out.read_text() == "old"


def test_every_format_stands_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["questions", "import", "--help"])
    told = capsys.readouterr().out
    assert all(f"\n  {name} " in told for name in FORMATS)
