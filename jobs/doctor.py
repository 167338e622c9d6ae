"""The checks of `espalier doctor`: one function each, none of which changes anything but the cache.

What belongs here: looking for what a build and a question need, with the remedy where it is missing. What
does not: making it (`setup.py`). Every check is run, whatever the others found.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipelines.errors import EspalierError
from pipelines.settings import (
    DATA_VARIABLE,
    ENCODER_NAME,
    LANGUAGE_MODEL_NAME,
    PRECISION_VARIABLE,
    TOKEN_COUNTER_NAME,
    DataFolder,
    cache_folder,
    profile_by_name,
)

PORTS = {"Dagster": 3000, "MLflow": 5000}
NEEDED_BYTES = 2 << 30
"""Free disk below which a build of the sample may fail."""


@dataclass(frozen=True)
class Finding:
    """What one check found. FAIL: a build or a question cannot work. WARN: something optional."""

    name: str
    mark: Literal["ok", "WARN", "FAIL"]
    found: str
    remedy: str = ""


def examine(data: str | None = None) -> list[Finding]:
    """Run all checks. `data`: a data folder to look at too, else ESPALIER_DATA if set."""
    checks: list[tuple[str, Callable[[], str]]] = [
        ("Python", _python), ("bash", _bash), ("Java", _java), ("Delta's jars", _jars),
        ("encoder", _encoder), ("token counter", _token_counter),
        ("language model", _language_model),
        ("cache", lambda: _writable(cache_folder()))]
    findings = [_finding(name, check) for name, check in checks]
    if data or os.environ.get(DATA_VARIABLE):
        findings.append(_finding("data folder", lambda: _data(data)))
    findings.append(_precision())
    findings.append(_disk(Path(data) if data and "://" not in data else Path.cwd()))
    return [*findings, *(_port(name, port) for name, port in PORTS.items())]


def _finding(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, "ok", check())
    except EspalierError as error:
        return _failure(name, error)
    except OSError as error:
        return Finding(name, "FAIL", str(error), "Check the path and its permissions.")


def _failure(name: str, error: EspalierError) -> Finding:
    told = error.as_command_line()
    return Finding(name, "FAIL", f"{told.found}; expected {told.expected}", told.next_step)


def _python() -> str:
    return f"{sys.version.split()[0]} at {sys.executable}"


def _bash() -> str:
    path = shutil.which("bash")
    if path is None:
        raise FileNotFoundError("no bash on PATH, which Spark's launcher is written in: install bash")
    return path


def _java() -> str:
    from spark_jobs.runtime import java_version, prepare_java

    home = prepare_java()
    return f"version {java_version(home / 'bin' / 'java')}, started by {home}/bin/java"


def _jars() -> str:
    from spark_jobs.runtime import DELTA_PACKAGE, delta_jars

    jars = delta_jars()
    return f"{len(jars)} jars of {DELTA_PACKAGE} with the right SHA-256"


def _encoder() -> str:
    from pipelines.models.encoder import load_encoder

    encoder = load_encoder(ENCODER_NAME, 256)
    norm = float((encoder.encode(["A sentence."]).vectors ** 2).sum())
    return f"{encoder.name}, dimension {encoder.dim}, encodes (norm {norm:.3f})"


def _precision() -> Finding:
    """In which precision a build encodes: the back end is loaded and compared with fp32, as a build does."""
    from pipelines.models.encoder import load_encoder

    try:
        profile = profile_by_name()
        choice = load_encoder(ENCODER_NAME, profile.encoder_max_tokens,
                              precision=profile.encoder_precision).choice
    except EspalierError as error:
        return _failure("precision", error)
    found = f"{profile.encoder_precision}: documents {choice}; questions fp32 by onnxruntime"
    if choice.failed:
        return Finding("precision", "WARN", found,
                       f"Builds are slower than they could be. {PRECISION_VARIABLE}=fp32 asks for no more.")
    return Finding("precision", "ok", found)


def _token_counter() -> str:
    from pipelines.models.tokens import load_token_counter

    counter = load_token_counter(TOKEN_COUNTER_NAME)
    return f"{counter.name}, counts {counter.count('A sentence.')} tokens in 'A sentence.'"


def _language_model() -> str:
    from pipelines.models.export_llm import check_export, known_weights

    folder = check_export(LANGUAGE_MODEL_NAME)
    return f"{known_weights(LANGUAGE_MODEL_NAME).title} in {folder}"


def _writable(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written")
    return str(folder)


def _data(root: str | None) -> str:
    from pipelines.status import read_status

    data = DataFolder.at(root)
    _writable(data.state)
    status = read_status(data)
    if status.release_fault:
        raise PermissionError(status.release_fault)
    release = f"release {status.release.number}" if status.release else "no release yet"
    lock = f", process {status.lock.pid} builds" if status.lock else ""
    return f"{data.root}, {release}{lock}"


def _disk(folder: Path) -> Finding:
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    found = f"{free / 2**30:.1f} GiB free at {folder}"
    if free < NEEDED_BYTES:
        return Finding("disk", "WARN", found, f"Free some: a small build wants {NEEDED_BYTES >> 30} GiB.")
    return Finding("disk", "ok", found)


def _port(name: str, port: int) -> Finding:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return Finding(f"port {port}", "WARN", "in use",
                           f"{name} in make ui needs it: end what listens there, or a user interface runs.")
    return Finding(f"port {port}", "ok", f"free for {name}")
