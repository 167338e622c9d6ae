"""Temporary folders: gone with their process, or with the next start; never those of a process that lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from pipelines.scratch import remove_left_overs

MAKE = ("import sys, time; from pipelines.scratch import scratch_folder; "
        "print(scratch_folder('spark'), flush=True); sys.stdin.read()")


def start(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", MAKE], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(folder)},
                               cwd=Path(__file__).parents[2])
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_killed_process_s_folder_goes_with_the_next_start_and_a_living_one_s_stays(tmp_path: Path) -> None:
    (killed, left), (living, kept) = start(tmp_path), start(tmp_path)
    assert left.is_dir(), "the second process was started while the first one lived"
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    foreign = tmp_path / "spark-of-someone"
    foreign.mkdir()
    just_made = tmp_path / "espalier-spark-new"
    just_made.mkdir()
    old = tmp_path / "espalier-ray-old"
    old.mkdir()
    os.utime(old, (time.time() - 10_000,) * 2)
    (tmp_path / "espalier-spark-link").symlink_to(kept)
    assert sorted(remove_left_overs(str(tmp_path))) == sorted([left, old])
    assert kept.is_dir()
    assert foreign.is_dir()
    assert just_made.is_dir()
    living.communicate("")
    assert not kept.exists(), "an ordinary end removes it at once"


def test_a_folder_for_temporary_files_that_is_missing_is_no_error(tmp_path: Path) -> None:
    assert remove_left_overs(str(tmp_path / "nothing")) == []
