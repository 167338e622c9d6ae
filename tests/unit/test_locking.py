"""The build lock: one process at a time, named; dead holders forgotten; re-entrant within a process."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from pipelines.errors import RunFailure
from pipelines.locking import build_lock, lock_holder
from pipelines.settings import DataFolder

HOLD = textwrap.dedent("""
    import sys, time
    from pipelines.locking import build_lock
    from pipelines.settings import DataFolder
    with build_lock(DataFolder.at(sys.argv[1])) as holder:
        print(holder.pid, holder.started_at, flush=True)
        time.sleep(60)
""")


@pytest.fixture
def other(data: DataFolder):
    """Another process that holds the lock; its pid and start time."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, data.root], stdout=subprocess.PIPE, text=True)
    pid, started_at = process.stdout.readline().split()
    yield process, int(pid), started_at
    process.kill()
    process.wait()


def test_a_second_process_is_refused_and_told_who_holds_it(data: DataFolder, other) -> None:
    _, pid, started_at = other
    with pytest.raises(RunFailure) as caught, build_lock(data):
        pytest.fail("two builds at once")
    assert f"process {pid} " in str(caught.value)
    assert started_at in str(caught.value)
    assert caught.value.exit_code == 1
    assert lock_holder(data).pid == pid


def test_what_a_killed_process_left_is_taken_over(data: DataFolder, other) -> None:
    process, pid, _ = other
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert data.lock_file.exists()
    assert lock_holder(data) is None
    with build_lock(data) as holder:
        assert holder.pid == os.getpid() != pid
        assert lock_holder(data) == holder


def test_one_process_may_enter_again_and_leaves_only_with_its_last_block(data: DataFolder) -> None:
    with build_lock(data) as outer:
        with build_lock(data) as inner:
            assert inner == outer
        assert lock_holder(data) == outer
    assert lock_holder(data) is None


def test_a_forked_child_does_not_keep_the_lock_of_its_parent(data: DataFolder) -> None:
    read_end, write_end = os.pipe()
    with build_lock(data):
        child = os.fork()
        if child == 0:
            os.close(write_end)
            os.read(read_end, 1)
            os._exit(0)
    try:
        probe = "import sys; from pipelines.locking import *; from pipelines.settings import DataFolder\n" \
                "with build_lock(DataFolder.at(sys.argv[1])): print('free')"
        answer = subprocess.run([sys.executable, "-c", probe, data.root], capture_output=True, text=True,
                                check=False)
        assert answer.stdout == "free\n", answer.stderr
    finally:
        os.close(write_end)
        os.waitpid(child, 0)
        os.close(read_end)


def test_a_folder_without_a_lock_has_no_holder(data: DataFolder) -> None:
    assert lock_holder(data) is None
