"""The account of a command's descendants: work and memory of a grandchild count, if it outlives its parent too."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from itertools import pairwise

import pytest

from benchmarks.process_tree import LOOK_S, Usage, measure, tree

BURN_S = 1.0
BURN = f"import time\nwhile time.process_time() < {BURN_S}: pass"
ALLOCATED = 96 << 20
ALLOCATE = f"import time; held = bytearray({ALLOCATED}); time.sleep(1)"
WAIT = "subprocess.run([sys.executable, '-c', work], check=True)"
LEAVE = "subprocess.Popen([sys.executable, '-c', work])"
FORGET = f"import signal, time; signal.signal(signal.SIGCHLD, signal.SIG_IGN); {LEAVE}; time.sleep(3)"
"""As Spark's daemon of Python workers does: the kernel then forgets what the child took."""


def _parent(work: str, start: str) -> list[str]:
    """A command that does nothing but to start another process."""
    return [sys.executable, "-c", f"import subprocess, sys; work = {work!r}; {start}"]


@pytest.mark.parametrize("start", [WAIT, LEAVE, FORGET])
def test_cpu_time_of_a_grandchild_counts(start: str) -> None:
    idle = measure(_parent("pass", start))
    busy = measure(_parent(BURN, start))
    assert BURN_S - LOOK_S - 0.1 < busy.cpu_s - idle.cpu_s < BURN_S * 1.5
    assert busy.peak_pss_bytes == 0


@pytest.mark.parametrize("start", [WAIT, LEAVE])
def test_memory_of_a_grandchild_counts(start: str) -> None:
    usage = measure(_parent(ALLOCATE, start), memory=True)
    assert ALLOCATED < usage.peak_pss_bytes < ALLOCATED + (96 << 20)
    assert sum(usage.peak_by_program.values()) == usage.peak_pss_bytes
    assert len(usage.looks) >= 3


def test_memory_shared_by_two_processes_counts_once() -> None:
    script = textwrap.dedent(f"""
        import mmap, os, time
        held = mmap.mmap(-1, {ALLOCATED})
        held.write(bytes({ALLOCATED}))
        if os.fork():
            os.wait()
        else:
            assert held.read(1) == b"" and sum(held[:: 4096]) == 0
            time.sleep(1)
        """)
    usage = measure([sys.executable, "-c", script], memory=True)
    assert ALLOCATED < usage.peak_pss_bytes < 1.7 * ALLOCATED


@pytest.mark.parametrize("start", [WAIT, LEAVE, FORGET])
def test_the_account_grows_to_its_end_and_loses_nothing_on_the_way(start: str) -> None:
    usage = measure(_parent(BURN, start))
    sums = [cpu_s for _, cpu_s in usage.looks]
    # A process may end between two readings of one look.
    assert all(after >= before - 0.05 for before, after in pairwise(sums))
    assert abs(usage.cpu_s - sums[-1]) < 2 * LOOK_S


def test_cpu_time_until_a_moment_lies_between_two_looks() -> None:
    usage = Usage(cpu_s=9.0, looks=[(10.0, 0.0), (11.0, 4.0), (12.0, 8.0)])
    assert [usage.cpu_s_until(moment) for moment in (9.0, 10.0, 10.5, 11.75, 12.5)] == [0.0, 0.0, 2.0, 7.0, 9.0]


def test_a_tree_is_a_process_with_its_living_descendants() -> None:
    before = tree(os.getpid())
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert before[0] == os.getpid()
        assert set(tree(os.getpid())) == {*before, child.pid}
        assert tree(child.pid) == [child.pid]
    finally:
        child.communicate(b"\n")
    assert child.pid not in tree(os.getpid())


def test_a_command_that_fails_is_no_measurement() -> None:
    with pytest.raises(subprocess.CalledProcessError) as error:
        measure([sys.executable, "-c", "raise SystemExit(3)"])
    assert error.value.returncode == 3
