"""SIGTERM and SIGHUP end a command in one line with 128 + their number; a broken run history has a remedy."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.instance import check_store
from pipelines.errors import RunFailure
from pipelines.settings import DataFolder

WAIT = ("import sys, time, jobs.cli; m = jobs.cli.command_module('show'); "
        "m.run = lambda args: (print('ready', flush=True), time.sleep(60))[0]; "
        "sys.exit(jobs.cli.main(['show', 'enwiki:12']))")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_a_command_is_one_line_and_its_code(number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WAIT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=Path(__file__).parents[3], preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (128 + number, f"espalier: interrupted by {number.name}\n")


def truncate(store: Path) -> None:
    store.write_bytes(store.read_bytes()[:5000])


def fill(store: Path) -> None:
    store.write_bytes(b"garbage" * 1000)


def flip_schema(store: Path) -> None:
    content = bytearray(store.read_bytes())
    content[100:200] = b"\xff" * 100
    store.write_bytes(content)


@pytest.mark.parametrize("damage", [truncate, fill, flip_schema])
@pytest.mark.parametrize("name", ["history/runs.db", "history/runs/index.db", "schedules/schedules.db"])
def test_a_broken_run_history_says_what_is_broken_and_what_removing_it_costs(
        tmp_path: Path, damage: Callable[[Path], None], name: str) -> None:
    data = DataFolder.at(tmp_path)
    store = data.dagster_home / name
    store.parent.mkdir(parents=True)
    with sqlite3.connect(store) as connection:
        connection.execute("CREATE TABLE runs (id INTEGER, body TEXT)")
        connection.executemany("INSERT INTO runs VALUES (?, ?)", [(n, "x" * 500) for n in range(100)])
    connection.close()
    check_store(data)
    damage(store)
    with pytest.raises(RunFailure) as caught:
        check_store(data)
    assert str(store) in caught.value.found
    assert f"Remove the folder {data.dagster_home}" in caught.value.next_step
    assert "history of past runs alone" in caught.value.next_step
