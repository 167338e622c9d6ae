"""`espalier questions generate`: wrong use is one line with exit code 2 before anything is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobs.cli import main

BASE = ["questions", "generate", "--data", "nowhere", "--out", "generated.jsonl"]


@pytest.mark.parametrize(("arguments", "subject"), [
    (["--count", "nope=3"], "--count 'nope=3'"), (["--count", "table_cell"], "--count 'table_cell'"),
    (["--count", "table_cell=-1"], "--count 'table_cell=-1'"),
    (["--count", "table_cell=1,table_cell=2"], "--count 'table_cell=2'"),
    (["--count", "llm=5"], "--count and --llm"),
    (["--count", "table_cell=5", "--llm", "http://127.0.0.1:1/v1#m"], "--count and --llm"),
    (["--n", "0"], "--n"), (["--llm", "nope"], "llm 'nope'"), (["--dev", "1.5"], "--dev"),
    (["--test", "-0.1"], "--test"), (["--dev", "0.6", "--test", "0.6"], "--dev and --test"),
    (["--per-document", "0"], "--per-document"), (["--seed", "-1"], "--seed"),
    (["--most-shared", "2"], "--most-shared"),
    (["--exclude-quoted", "none.jsonl"], "questions file none.jsonl"), (["--out", "."], "--out '.'"),
])
def test_wrong_use_is_told(arguments: list[str], subject: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                           capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*BASE, *arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"espalier: {subject}: ")
    assert told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_release_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quoted = tmp_path / "human.jsonl"
    quoted.write_text(json.dumps({"id": "1", "question": "Who?", "answers": [], "evidence": []}))
    arguments = ["questions", "generate", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out.jsonl"),
                 "--exclude-quoted", str(quoted)]
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("espalier: ")
    assert not (tmp_path / "out.jsonl").exists()
