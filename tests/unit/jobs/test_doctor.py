"""The checks of this machine: each one is run, and what is missing comes with its remedy."""

import socket
from pathlib import Path

import pytest

from jobs import doctor
from jobs.cli import main
from pipelines.models import encoder, encoder_backend
from pipelines.settings import CACHE_VARIABLE


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder in which no set-up was made."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_set_up_would_make_is_missed_by_name(empty_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    findings = {finding.name: finding for finding in doctor.examine()}
    for name in ("Delta's jars", "encoder", "precision", "token counter"):
        assert findings[name].mark == "FAIL"
        assert "make setup" in findings[name].remedy
    assert findings["Java"].mark == "ok"
    assert main(["doctor"]) == 1
    assert "FAIL encoder" in capsys.readouterr().out


def test_a_port_in_use_is_a_warning() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert doctor._port("Dagster", port).mark == "WARN"
    assert doctor._port("Dagster", port).mark == "ok"


@pytest.mark.parametrize(("setting", "flags", "mark", "found"), [
    ("fp32", {"avx512_bf16"}, "ok", "fp32: documents fp32 by onnxruntime (by setting"),
    ("auto", {"avx2"}, "ok", "auto: documents fp32 by onnxruntime (the processor has none of avx512_bf16"),
    ("bf16", {"avx2"}, "WARN", "bf16: documents fp32 by onnxruntime (the processor has none of avx512_bf16"),
    ("int8", set(), "FAIL", "'int8'; expected one of auto, fp32, bf16")])
def test_the_encoders_precision_is_told_with_its_reason(
        monkeypatch: pytest.MonkeyPatch, setting: str, flags: set[str], mark: str, found: str) -> None:
    encoder._load.cache_clear()
    monkeypatch.setenv("ESPALIER_ENCODER_PRECISION", setting)
    monkeypatch.setattr(encoder_backend, "cpu_flags", lambda: frozenset(flags))
    finding = doctor._precision()
    encoder._load.cache_clear()
    assert finding.mark == mark
    assert finding.found.startswith(found)
    assert bool(finding.remedy) == (mark != "ok")


def test_no_bash_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    finding = doctor._finding("bash", doctor._bash)
    assert finding.mark == "FAIL"
    assert "install bash" in finding.found
