"""Limits of the process that are too low to work under: said in a line before a library that cannot say it loads.

What belongs here: the least values, and the look at the limits. What does not: what runs out while a command works
(`pipelines/full_disk.py`, `jobs/build.py`). Under them delta-rs panics, allocators write a line for every thread
that they cannot start, and numeric libraries end the process.
"""

from __future__ import annotations

import resource

from pipelines.errors import RunFailure

LEAST = (
    (resource.RLIMIT_AS, "ulimit -v", "address space", 2_000_000 << 10, "bytes"),
    (resource.RLIMIT_NOFILE, "ulimit -n", "open files", 24, ""),
    (resource.RLIMIT_FSIZE, "ulimit -f", "size of a file", 1 << 20, "bytes"),
    (resource.RLIMIT_NPROC, "ulimit -u", "processes and threads of the user", 128, ""),
)
"""Limit, how a shell sets it, its name, the least value of a command that opens tables, its unit.

Address space and open files are the least under which `ask` answered on a small corpus; with 1,500,000 KiB it hung.
"""
LEAST_OF_A_BUILD = {resource.RLIMIT_AS: 6_500_000 << 10, resource.RLIMIT_NOFILE: 512}
"""Java reserves its heap and room for classes, and opens its jars: under 5,000,000 KiB it did not start a task."""


def check_limits(command: str) -> None:
    """Raise RunFailure when a limit of this process is lower than a command needs."""
    for number, shell, name, least, unit in LEAST:
        if command == "build":
            least = LEAST_OF_A_BUILD.get(number, least)
        limit, _ = resource.getrlimit(number)
        if resource.RLIM_INFINITY != limit < least:
            raise RunFailure(f"limit of this process ({shell})", f"{name}: {limit:,} {unit}".rstrip(),
                             f"at least {least:,} {unit}".rstrip(),
                             f"Raise it (`{shell} unlimited`), or run where it is higher.")
