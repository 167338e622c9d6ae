"""`make ui`: a port that is taken, a service that dies, and that nothing is left behind."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs import ui
from pipelines.errors import UserError
from pipelines.settings import DataFolder


@pytest.fixture
def busy() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind((ui.HOST, 0))
        taken.listen()
        yield taken.getsockname()[1]


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in ui.SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("from_make", "dagster", "mlflow"), [
    (True, "make ui DAGSTER_PORT=…", "make ui MLFLOW_PORT=…"), (False, "--dagster-port …", "--mlflow-port …")])
def test_a_taken_port_names_what_the_caller_can_give(
        data: DataFolder, busy: int, from_make: bool, dagster: str, mlflow: str) -> None:
    with socket.socket() as probe:
        probe.bind((ui.HOST, 0))
        free = probe.getsockname()[1]
    with pytest.raises(UserError, match="for Dagster: Address already in use") as first:
        ui.serve(data, busy, free, from_make)
    with pytest.raises(UserError, match="for MLflow: Address already in use") as second:
        ui.serve(data, free, busy, from_make)
    assert first.value.next_step.endswith(f"choose another: {dagster}.")
    assert second.value.next_step.endswith(f"choose another: {mlflow}.")
    with pytest.raises(UserError, match="a port each"):
        ui.serve(data, free, free, from_make)
    with pytest.raises(UserError, match="from 1 to 65535"):
        ui.serve(data, 70_000, free, from_make)


def test_make_hands_its_variables_on() -> None:
    makefile = Path(ui.__file__).parents[1].joinpath("Makefile").read_text(encoding="utf-8")
    assert "--from-make" in makefile
    assert "--dagster-port $(DAGSTER_PORT) --mlflow-port $(MLFLOW_PORT)" in makefile


def test_a_service_that_dies_is_one_line_and_leaves_nothing_behind(
        data: DataFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    child = tmp_path / "child"
    monkeypatch.setattr(ui, "check_port", lambda *_: None)
    monkeypatch.setattr(ui, "commands", lambda *_: {
        "Dagster": ["sh", "-c", f"sh -c \"trap '' TERM; sleep 60\" & echo $! > {child}; wait"],
        "MLflow": ["sh", "-c", f"while [ ! -s {child} ]; do :; done; echo no such table; echo; exit 3"]})
    assert ui.serve(data, 1, 2) == 1
    told = capsys.readouterr()
    assert "espalier: MLflow ended with exit code 3" in told.err
    assert "mlflow.log; its last line: no such table" in told.err
    assert told.err.count("\n") == 1
    assert "http" not in told.out, "nothing answered"
    pid = int(child.read_text())
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            break
        if state == "Z":
            break
        time.sleep(0.02)
    else:
        os.kill(pid, signal.SIGKILL)
        pytest.fail("a child of a service is still there")


def test_an_address_is_told_when_it_answers(busy: int) -> None:
    with socket.socket() as probe:
        probe.bind((ui.HOST, 0))
        assert not ui.answers(f"http://{ui.HOST}:{probe.getsockname()[1]}")
