"""`python -m benchmarks [NAME …]`: run all benchmarks, or the named ones, each in a process of its own.

A benchmark is a module `bench_<name>.py` beside this one. Times on a shared machine prove nothing by
themselves: every benchmark prints ratios of things measured in the same run.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
FLAGS = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16")


def machine() -> str:
    """One line about the processor: cores and the instruction sets that matter for encoders."""
    cpu = Path("/proc/cpuinfo")
    words = set(cpu.read_text().split()) if cpu.exists() else set()
    flags = " ".join(flag for flag in FLAGS if flag in words)
    return f"{platform.machine()}, {os.cpu_count()} cores, {flags or 'no vector flags known'}"


def main() -> int:
    names = sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help=f"of: {', '.join(names)}")
    chosen = parser.parse_args().name or names
    if unknown := sorted(set(chosen) - set(names)):
        parser.error(f"no benchmark {', '.join(unknown)}; there are: {', '.join(names)}")
    print(f"machine: {machine()}")
    failed = []
    for name in chosen:
        print(f"\n== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.bench_{name}"], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
