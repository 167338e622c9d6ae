"""The command line from outside: help, errors, exit codes, signals, and what a process loads."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.cli import COMMANDS, build_parser, command_module, main
from pipelines.errors import RunFailure

HEAVY = ("torch", "pyspark", "dagster", "ray", "mlflow", "pandas", "pyarrow.dataset", "numpy")


def espalier(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "jobs.cli", *arguments], capture_output=True, text=True,
                          env={**os.environ, **environment}, check=False, timeout=120)


def test_help_lists_every_command_and_loads_nothing_heavy() -> None:
    code = (f"import sys, jobs.cli; jobs.cli.main([]); "
            f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    for name, meaning in COMMANDS.items():
        assert re.search(rf"^ +{name}\s+{meaning.split()[0]}", done.stdout, re.MULTILINE), name


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_that_shows_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        build_parser(name).parse_args([name, "--help"])
    assert caught.value.code == 0
    help_text = capsys.readouterr().out
    assert f"espalier {name}" in help_text
    assert "example" in help_text or name == "doctor", "doctor has nothing to choose"
    assert callable(command_module(name).run)


@pytest.mark.parametrize(("arguments", "words"), [
    (["asc"], "invalid choice: 'asc'"),
    (["ask"], "QUESTION"),
    (["ask", "--budget", "many", "q"], "--budget"),
    (["ask", "--data", "/nowhere/at/all", "q"], "no published release"),
    (["ask", "--data", "/nowhere/at/all", "--set", "k", "q"], "key=value"),
    (["show", "--data", "/nowhere/at/all", "enwiki:12"], "no published release"),
    (["export-trees", "--data", "/nowhere/at/all", "--out", "-"], "no published release"),
    (["export-trees", "--data", "/nowhere/at/all", "--out", "/dev/null"], "no file"),
    (["export-trees", "--data", "/nowhere/at/all", "--out", ""], "no file"),
])
def test_wrong_input_is_one_line_and_exit_code_2(arguments: list[str], words: str) -> None:
    done = espalier(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r"espalier: [^\n]+; expected [^\n]+\n", done.stderr), done.stderr
    assert words in done.stderr


def test_no_data_folder_at_all_names_the_option_and_the_variable() -> None:
    done = espalier("ask", "q", ESPALIER_DATA="")
    assert done.returncode == 2
    assert "--data" in done.stderr
    assert "ESPALIER_DATA" in done.stderr


def test_debug_shows_the_traceback_wherever_it_stands() -> None:
    for arguments in (["--debug", "ask", "--data", "/nowhere", "q"],
                      ["ask", "--data", "/nowhere", "q", "--debug"]):
        done = espalier(*arguments)
        assert done.returncode == 2
        assert "Traceback" in done.stderr
        assert done.stderr.rstrip().split("\n")[-1].startswith("espalier: ")


def test_failures_and_surprises_exit_with_1(monkeypatch: pytest.MonkeyPatch,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    def fail(error: Exception) -> int:
        monkeypatch.setattr(command_module("show"), "run", lambda args: (_ for _ in ()).throw(error))
        return main(["show", "enwiki:12"])

    assert fail(RunFailure("lock", "held", "a free lock", "Wait.")) == 1
    assert capsys.readouterr().err == "espalier: lock: held; expected a free lock. Wait.\n"
    assert fail(ZeroDivisionError("division\nby zero")) == 1
    assert "unexpected error: ZeroDivisionError: division by zero" in capsys.readouterr().err
    assert fail(ZeroDivisionError()) == 1
    monkeypatch.setattr(command_module("show"), "run", lambda args: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main(["show", "enwiki:12"]) == 130


def test_an_interrupt_ends_with_130_and_without_traceback() -> None:
    code = ("import sys, time, jobs.cli; m = jobs.cli.command_module('show'); "
            "m.run = lambda args: (print('ready', flush=True), time.sleep(60))[0]; "
            "sys.exit(jobs.cli.main(['show', 'enwiki:12']))")
    # A shell lets what it starts in the background ignore this signal, and so these tests, and their processes.
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, cwd=Path(__file__).parents[3],
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, "espalier: interrupted\n")


def test_a_reader_that_goes_away_is_no_error() -> None:
    code = ("import sys, jobs.cli; m = jobs.cli.command_module('show'); "
            "m.run = lambda args: [print('x' * 1000) for _ in range(10000)] and 0; "
            "sys.exit(jobs.cli.main(['show', 'enwiki:12']))")
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               cwd=Path(__file__).parents[3])
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait(timeout=30) == 141


def test_version_is_the_distributions() -> None:
    done = espalier("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"espalier \d+\.\d+\.\d+\n", done.stdout)


def test_what_follows_two_dashes_is_the_users_text(capsys: pytest.CaptureFixture[str]) -> None:
    args = build_parser("ask").parse_args(["ask", "--", "--debug"])
    assert args.question == "--debug"
    assert main(["ask", "--data", "/nowhere", "--", "--debug"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_json_is_one_object(tmp_path: Path) -> None:
    """A command that prints JSON prints nothing else: even an error leaves standard output empty."""
    done = espalier("ask", "--json", "--data", str(tmp_path), "q")
    assert done.stdout == ""
    assert done.returncode == 2
