"""What a question costs on a large corpus over a small one: latency by step, memory, and what look-ups read.

    python -m benchmarks.bench_ask_scale [--documents 20000] [--buckets 4]

The sample's 106 articles, and copies of them with ids of their own up to that many documents, become tables and
indexes as a build makes them (`sample_corpus.py`). Then both corpora are asked the questions of
`examples/questions.jsonl`, in turn, so that a busy machine slows both alike: by cold processes of `espalier ask`,
and by two processes that keep a corpus open. The latter also look up documents taken at random, alone and forty at
once, and say what that reads of the files. Printed: medians, large ÷ small. Copies tie: of a passage that answers,
the large corpus has as many as copies, so that its hits lie in more documents than the small one's; the look-ups at
random compare equal numbers. Goals: a look-up of one document reads 4 MiB at most (a page of each column, of 20,000
rows or 1 MiB, and one of keys in each other file of its bucket), and a cold `ask` takes twice as long at most.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.sample_copies import sample_articles
from benchmarks.sample_corpus import sample_rows, write_corpus
from pipelines.settings import DataFolder, profile_by_name

QUESTIONS = Path(__file__).resolve().parents[1] / "examples" / "questions.jsonl"
METHODS = ("flat", "flat_bm25", "flat_hybrid", "rdr2", "rdr2+fill")
COLD_METHODS = ("flat", "rdr2")
LOOKUPS = (1, 40)
"""Documents looked up at once: one, and as many as `flat` may find with 1,000 tokens."""
LOOKUP_ROUNDS = 7
STEPS = ("encode", "dense search", "sparse search", "read units", "read sentences", "read trees", "other")
LOOKUP_TABLES = ("documents", "tree_nodes", "sentences", "units")
GOAL_READ, GOAL_COLD = 4 << 20, 2.0
SIZES = ("small", "large")
Times = dict[str, float]


class Server:
    """A process that keeps one corpus open (`ask_scale_server.py`) and answers one JSON line with another."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen([sys.executable, "-m", "benchmarks.ask_scale_server", str(folder)],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, command: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
        self._process.stdin.flush()
        if not (line := self._process.stdout.readline()):
            raise RuntimeError(f"the server ended at {command}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def servers(folders: dict[str, Path]) -> Iterator[dict[str, Server]]:
    """One server a corpus."""
    opened = {size: Server(folder) for size, folder in folders.items()}
    try:
        yield opened
    finally:
        for server in opened.values():
            server.close()


def cold(folders: dict[str, Path], questions: Sequence[str], rounds: int) -> dict[tuple[str, str], Times]:
    """Medians of whole processes by method and size: seconds, and MiB resident at most."""
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number in range(rounds + 1):
        for method in COLD_METHODS:
            for size, folder in folders.items():
                found = _process([sys.executable, "-m", "jobs.cli", "ask", "--data", str(folder),
                                  "--method", method, questions[number % len(questions)]])
                # The first round fills the file cache: what is compared is work, not the first read of a disk.
                if number:
                    taken.setdefault((method, size), []).append(found)
    return {key: {"s": statistics.median(s for s, _ in values), "mib": statistics.median(m for _, m in values)}
            for key, values in taken.items()}


def _process(command: list[str]) -> tuple[float, float]:
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if process.returncode is None:
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def warm(both: dict[str, Server], questions: Sequence[str]) -> dict[tuple[str, str], list[Times]]:
    """The steps of each question by method and size; a first question loads what loads once."""
    taken: dict[tuple[str, str], list[Times]] = {}
    for method in METHODS:
        for number, question in enumerate([questions[-1], *questions[:-1]]):
            for size, server in both.items():
                times = server("ask", method=method, question=question)
                if number:
                    taken.setdefault((method, size), []).append(times)
    return taken


def lookups(both: dict[str, Server]) -> dict[tuple[str, int, str], list[Times]]:
    """Times and what was read by table, documents at once and size."""
    taken: dict[tuple[str, int, str], list[Times]] = {}
    for number in range(LOOKUP_ROUNDS + 1):
        for table in LOOKUP_TABLES:
            for n in LOOKUPS:
                for size, server in both.items():
                    found = server("look_up", table=table, n=n, seed=number)
                    if number:
                        taken.setdefault((table, n, size), []).append(found)
    return taken


def _median(rows: Sequence[Times], name: str) -> float:
    return statistics.median(row.get(name, 0.0) for row in rows)


def _p95(rows: Sequence[Times], name: str) -> float:
    values = sorted(row.get(name, 0.0) for row in rows)
    return values[min(len(values) - 1, int(0.95 * len(values)))]


def _compared(small: float, large: float, form: str = "9.1f") -> str:
    """Both values and their ratio."""
    return f"{small:{form}}{large:{form}} {large / small if small else 0:6.2f}"


def print_warm(taken: dict[tuple[str, str], list[Times]]) -> None:
    """Whole questions, then their steps."""
    print(f"\n{'open corpus, ms':32}{'small':>9}{'large':>9}{'÷':>7}{'of large':>10}{'of growth':>11}")
    for method in METHODS:
        small, large = taken[method, "small"], taken[method, "large"]
        total = _median(small, "total"), _median(large, "total")
        print(f"{method + ', median':32}{_compared(*total)}")
        print(f"{method + ', p95':32}{_compared(_p95(small, 'total'), _p95(large, 'total'))}")
        for name in [name for name in STEPS if any(name in row for row in large)]:
            one, other = _median(small, name), _median(large, name)
            print(f"    {name:28}{_compared(one, other)}{other / total[1]:10.0%}"
                  f"{(other - one) / (total[1] - total[0]):11.0%}")
        for name, title, form in (("documents", "documents read", "9.0f"), ("a document", "ms a document", "9.1f")):
            print(f"    {title:28}{_compared(_median(small, name), _median(large, name), form)}")


def print_lookups(taken: dict[tuple[str, int, str], list[Times]]) -> float:
    """Look-ups of equal numbers of documents; returns the most bytes that one document's reads."""
    columns = "".join(f"{name:>{n}}{'':{n}}{'÷':>7}" for name, n in (("ms", 9), ("KiB read", 9), ("keys", 11)))
    print(f"\n{'look-up of documents at random':32}{columns}{'files':>8}")
    most = 0.0
    for table in LOOKUP_TABLES:
        for n in LOOKUPS:
            both = [taken[table, n, size] for size in SIZES]
            ms, size, keys, files = ((_median(both[0], name), _median(both[1], name))
                                     for name in ("ms", "bytes", "keys", "files"))
            print(f"{f'{table}, {n} at once':32}{_compared(*ms)}"
                  f"{_compared(size[0] / 1024, size[1] / 1024, '9,.0f')}{_compared(*keys, form='11,.0f')}"
                  f"{files[0]:4.0f}{files[1]:4.0f}")
            if n == 1:
                most = max(most, size[1])
    return most


def print_memory(memory: dict[str, Times], opening: dict[str, Times]) -> None:
    """Memory of the open processes, and what opening takes."""
    print(f"\n{'':32}{'small':>9}{'large':>9}{'÷':>7}")
    for title, found in (("MiB after all questions", memory), ("ms to open again", opening)):
        print(title)
        for name in found["large"]:
            one, other = found["small"][name], found["large"][name]
            print(f"    {name:28}{_compared(one, other)}")


def build(folder: Path, n_documents: int, n_buckets: int) -> dict[str, Path]:
    """Both corpora, where they are not there yet."""
    folders = {size: folder / f"{size}-{n_buckets}" for size in SIZES}
    if not all((path / "releases" / "current").exists() for path in folders.values()):
        profile = profile_by_name()
        sample = sample_rows(profile)
        for size, n in (("small", len(sample.articles)), ("large", n_documents)):
            begin = time.perf_counter()
            release = write_corpus(DataFolder.at(folders[size]), sample, n, n_buckets)
            print(f"{size}: {n:,} documents, {release.counts['tree_nodes']:,} nodes, "
                  f"{release.counts['units']:,} units, {n_buckets} buckets, written and indexed in "
                  f"{time.perf_counter() - begin:.0f} s", flush=True)
    return folders


def main() -> int:
    """Measure and print. Returns 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000, help="of the large corpus (default: %(default)s)")
    parser.add_argument("--buckets", type=int, default=profile_by_name("fast").n_buckets,
                        help="of both (default: %(default)s, as the profile fast)")
    parser.add_argument("--questions", type=int, default=20, help="asked of each method (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="of cold processes (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where the corpora are kept (default: nowhere)")
    args = parser.parse_args()
    if args.documents <= len(sample_articles()):
        parser.error(f"a large corpus has more than the sample's {len(sample_articles())} documents")
    lines = QUESTIONS.read_text().splitlines()[:args.questions + 1]
    questions = [json.loads(line)["question"] for line in lines]
    with tempfile.TemporaryDirectory() as name:
        folders = build(args.folder or Path(name), args.documents, args.buckets)
        processes = cold(folders, questions, args.rounds)
        with servers(folders) as both:
            asked = warm(both, questions)
            looked_up = lookups(both)
            memory = {size: server("memory") for size, server in both.items()}
            opening = {size: server("open") for size, server in both.items()}
    print(f"\n{'cold espalier ask':32}{'small':>9}{'large':>9}{'÷':>7}")
    for method in COLD_METHODS:
        for unit, name, form in (("s", "s", "9.2f"), ("mib", "MiB resident at most", "9.0f")):
            small, large = (processes[method, size][unit] for size in SIZES)
            print(f"{f'{method}, {name}':32}{_compared(small, large, form)}")
    print_warm(asked)
    most = print_lookups(looked_up)
    print_memory(memory, opening)
    slowest = max(processes[method, "large"]["s"] / processes[method, "small"]["s"] for method in COLD_METHODS)
    met = most <= GOAL_READ and slowest <= GOAL_COLD
    print(f"\na document's look-up reads {most / (1 << 20):.2f} MiB at most (goal: {GOAL_READ / (1 << 20):g}), "
          f"a cold ask takes {slowest:.2f} × as long (goal: {GOAL_COLD:g}): {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
