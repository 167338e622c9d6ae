"""A limit under which libraries would crash is one line, before any of them loads."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("limit", "value", "told"), [
    (resource.RLIMIT_AS, 500_000 << 10, "ulimit -v): address space: 512,000,000 bytes"),
    (resource.RLIMIT_NOFILE, 16, "ulimit -n): open files: 16"),
    (resource.RLIMIT_FSIZE, 0, "ulimit -f): size of a file: 0 bytes")])
@pytest.mark.parametrize("command", ["status", "ask", "build"])
def test_a_limit_that_is_too_low_is_one_line(tmp_path: Path, limit: int, value: int, told: str,
                                             command: str) -> None:
    arguments = [command, "--data", str(tmp_path), *(["what?"] if command == "ask" else [])]
    done = subprocess.run(
        [sys.executable, "-m", "jobs.cli", *arguments], capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[3], preexec_fn=lambda: resource.setrlimit(limit, (value, value)))
    assert done.returncode == 1
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
