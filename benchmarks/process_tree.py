"""CPU seconds and memory of a command with all its descendants: Spark is a JVM that starts Python workers.

What belongs here: running one command under a supervisor, and reading `/proc`. The supervisor is a process of its
own that adopts orphans (`PR_SET_CHILD_SUBREAPER`) and waits for every one, so that the kernel's account of CPU time
holds all of them, those that ended early too. It lacks those whose parent ignores SIGCHLD, as Spark's daemon of
Python workers does: of these the last look counts, five of which a second are taken. Memory is the tree's
proportional set size (a page that several processes share counts once), at the looks too. Linux alone has this.
"""

from __future__ import annotations

import bisect
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

SUBREAPER = 36
"""prctl(2): PR_SET_CHILD_SUBREAPER."""
WAIT_S, LOOK_S = 0.02, 0.2
GRACE_S = 60.0
"""So long may descendants outlive the command before the measurement counts as failed."""
_TICKS = os.sysconf("SC_CLK_TCK")
# Fields of /proc/PID/stat behind the name, which stands in brackets and may hold any character.
_PARENT, _TIMES = 1, slice(11, 15)


@dataclass
class Usage:
    """What a command took. peak_pss_bytes: 0 unless asked for; peak_by_program: its parts, by program."""

    returncode: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_pss_bytes: int = 0
    peak_by_program: dict[str, int] = field(default_factory=dict)
    looks: list[tuple[float, float]] = field(default_factory=list)
    """(time.monotonic(), CPU seconds until then)."""

    def cpu_s_until(self, moment: float) -> float:
        """CPU seconds until a moment of `time.monotonic()`, between two looks in proportion."""
        place = bisect.bisect([when for when, _ in self.looks], moment)
        if place in (0, len(self.looks)):
            return self.cpu_s if place else 0.0
        (begin, before), (end, after) = self.looks[place - 1: place + 1]
        return before + (after - before) * (moment - begin) / (end - begin)


def measure(command: Sequence[str | os.PathLike[str]], *, memory: bool = False) -> Usage:
    """Run a command and return what it and all its descendants took. memory: look at their memory too.

    Raises CalledProcessError when the command fails, or when a descendant outlives it by a minute.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "usage.json"
        subprocess.run([sys.executable, "-m", "benchmarks.process_tree", report, "memory" if memory else "time",
                        *command], check=True)
        usage = Usage(**json.loads(report.read_text()))
    if usage.returncode:
        raise subprocess.CalledProcessError(usage.returncode, [os.fspath(part) for part in command])
    return usage


def tree(root: int) -> list[int]:
    """The process ids of a process and its living descendants."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (stat := _stat(int(entry)))[_PARENT] != "0":
            children.setdefault(int(stat[_PARENT]), []).append(int(entry))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def tree_pss(root: int) -> Counter[str]:
    """Proportional set size of the descendants of a process, bytes by program; without the process itself."""
    sizes: Counter[str] = Counter()
    for pid in tree(root)[1:]:
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        sizes[name] += sum(int(line.split()[1]) << 10 for line in rollup.splitlines() if line.startswith("Pss:"))
    return sizes


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; zeros for a process that has gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["0"] * 20


def _ignores_children(pid: int) -> bool:
    """Whether the kernel forgets what children of a process took, because it ignores that they end."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return False
    ignored = next(int(line.split()[1], 16) for line in lines if line.startswith("SigIgn:"))
    return bool(ignored >> (signal.SIGCHLD - 1) & 1)


class Account:
    """CPU seconds of the descendants of this process, of which it waits for its children."""

    def __init__(self) -> None:
        self._waited_s = 0.0
        self._unwaited_s: dict[int, float] = {}
        """What those took, at the last look, that nobody waits for."""

    def waited(self, pid: int, used: resource.struct_rusage) -> None:
        """A child ended; its usage holds that of its own children that it had waited for."""
        self._unwaited_s.pop(pid, None)
        self._waited_s += used.ru_utime + used.ru_stime

    def look(self) -> float:
        """The sum until now."""
        living: dict[int, float] = {}
        for pid in tree(os.getpid())[1:]:
            stat = _stat(pid)
            living[pid] = sum(map(int, stat[_TIMES])) / _TICKS
            if _ignores_children(int(stat[_PARENT])):
                self._unwaited_s[pid] = living[pid]
        return self.ended_s + sum(living.values()) - sum(self._unwaited_s.get(pid, 0.0) for pid in living)

    @property
    def ended_s(self) -> float:
        """The sum when all have ended."""
        return self._waited_s + sum(self._unwaited_s.values())


def supervise(command: Sequence[str], memory: bool) -> Usage:
    """Run a command as the only child of this process and wait for all its descendants.

    Raises OSError when orphans cannot be adopted, TimeoutError when one outlives the command by GRACE_S.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    usage, account, begin = Usage(), Account(), time.monotonic()
    root = os.spawnvp(os.P_NOWAIT, command[0], list(command))
    ended, next_look = 0.0, begin
    while True:
        try:
            pid, status, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            usage.cpu_s = account.ended_s
            return usage
        now = time.monotonic()
        if pid:
            account.waited(pid, used)
            if pid == root:
                usage.returncode, usage.wall_s, ended = os.waitstatus_to_exitcode(status), now - begin, now
            continue
        if ended and now - ended > GRACE_S:
            raise TimeoutError(f"processes {tree(os.getpid())[1:]} outlive {command[0]}")
        if now >= next_look:
            usage.looks.append((now, account.look()))
            if memory and (sizes := tree_pss(os.getpid())).total() > usage.peak_pss_bytes:
                usage.peak_pss_bytes, usage.peak_by_program = sizes.total(), dict(sizes.most_common())
            next_look = now + LOOK_S
        time.sleep(WAIT_S)


def main(arguments: Sequence[str]) -> int:
    """`python -m benchmarks.process_tree REPORT time|memory COMMAND…`: the supervisor; the report is JSON."""
    report, what, *command = arguments
    usage = supervise(command, what == "memory")
    Path(report).write_text(json.dumps(asdict(usage)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
