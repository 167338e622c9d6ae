"""`python -m benchmarks.kill_builds --kills 50 --seed 1`: kills builds at random moments and looks at what is left.

A folder is built, and an update of it measured. Then the same update is killed, over and over, at moments drawn
evenly from its duration, as a stage and a share of it, so that they fall there however busy the machine is: with
SIGKILL for it and its Java at once, now and then with SIGTERM. After each kill the served release must answer. One
to nine kills later the same command is let run to its end; then the rows of all tables, and those that the served
release pins, must be those of the build that nobody disturbed, and the folder for temporary files must be empty.
What is compared: rows in order of their keys, without times of day; floats rounded to three decimals. Exit code 1
when anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.api import Corpus
from pipelines.releases import current_release
from pipelines.schemas import RELEASED_TABLES, TABLES
from pipelines.settings import DataFolder
from pipelines.storage import TableReader, table_exists

MOST_KILLS_A_ROUND = 9
SIGTERM_SHARE = 0.2
LOOK_S, BUILD_S, END_S = 0.02, 1800, 60
"""How often a build is looked at, how long it may take, how long its processes may outlive it."""
QUESTION, ANSWERS = "What trembles in the wind?", ("tremble in the wind", "never stands still")
KEPT = {".ses"}
"""onnxruntime's one small file, which every process of a user uses again."""
TIMES = {"read_at", "rejected_at"}

_HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
<siteinfo><sitename>Trees</sitename><dbname>treewiki</dbname><base>https://tree.example.org/wiki/Main_Page</base>
<namespaces><namespace key="0" case="first-letter"/></namespaces></siteinfo>
"""
_REDIRECT = '<redirect title="Cedar"/>'
FIRST = {
    1: ("Aspen", "'''Aspen''' is a tree of birch woods. Its leaves tremble in the wind.\n\n"
                 "== Wood ==\nThe wood is soft. Matches are made of it.\n\n* paper\n* boxes\n"),
    2: ("Birch", "The '''birch''' has white bark.\n\n== Uses ==\n{| class=\"wikitable\"\n! Part !! Use\n|-\n"
                 "| bark || canoes\n|}\n"),
    3: ("Cedar", "A '''cedar''' smells of resin. Moths avoid it.\n"),
    4: ("Larch", "#REDIRECT [[Cedar]]"),
}
UPDATE = {
    1: ("Aspen", "'''Aspen''' never stands still in the wind.\n\n== Wood ==\nBears like it.\n"),
    4: ("Larch", "The '''larch''' drops its needles.\n\n== Age ==\nIt lives for centuries.\n"),
    5: ("Yew", "The '''yew''' is poisonous.\n"),
}
"""Page id → title and text: a page that changes, one that was a redirect, a new one; the others stay."""


@dataclass
class Tally:
    """What the kills met. faults: what differed, in words."""

    by_signal: Counter[str] = field(default_factory=Counter)
    by_release: Counter[int] = field(default_factory=Counter)
    n_rounds: int = 0
    by_stage: Counter[int] = field(default_factory=Counter)
    """Kills by the number of stages that were done."""
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Where one build works: its data folder, and a folder for temporary files that is its alone."""

    data: DataFolder
    temporary: Path

    @property
    def log(self) -> Path:
        return self.temporary.with_suffix(".log")

    def start(self, dump: Path) -> subprocess.Popen[bytes]:
        self.temporary.mkdir(exist_ok=True)
        with self.log.open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "jobs.cli", "build", "--data", self.data.root, "--wikipedia", str(dump)],
                stdout=subprocess.DEVNULL, stderr=log, start_new_session=True,
                env={**os.environ, "TMPDIR": str(self.temporary)})

    def said(self) -> str:
        """The end of what the last build said."""
        return self.log.read_text(errors="replace").strip()[-400:]

    def n_stages(self) -> int:
        """Stages that the build has come through: it writes a line for each."""
        return self.log.read_bytes().count(b"\n")

    def complete(self, dump: Path) -> tuple[str, list[float]]:
        """Let a build end. Returns what went wrong, or nothing; and how many seconds each stage took."""
        process, begin, ends = self.start(dump), time.monotonic(), [0.0]
        while process.poll() is None:
            time.sleep(LOOK_S)
            ends += [time.monotonic() - begin] * (self.n_stages() + 1 - len(ends))
        ends.append(time.monotonic() - begin)
        seconds = [end - start for start, end in itertools.pairwise(ends)]
        return "" if process.returncode == 0 else f"exit code {process.returncode}: {self.said()}", seconds

    def processes(self) -> list[int]:
        """All processes with this folder for temporary files, whoever started them."""
        mark, found = f"TMPDIR={self.temporary}\0".encode(), []
        for environment in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in environment.read_bytes() + b"\0":
                    found.append(int(environment.parent.name))
            except OSError:
                continue
        return found

    def wait_until_gone(self) -> list[int]:
        """The processes that still run after the time they may take to end."""
        deadline = time.monotonic() + END_S
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left


def write_dump(path: Path, pages: Mapping[int, tuple[str, str]], revision: int) -> Path:
    """Write pages as a dump of a small wiki, each in the revision of that number."""
    from xml.sax.saxutils import escape

    written = [f"<page><title>{title}</title><ns>0</ns><id>{page}</id>"
               f"{_REDIRECT if text.startswith('#') else ''}<revision>"
               f"<id>{revision * 100 + page}</id><timestamp>2026-01-0{revision}T00:00:00Z</timestamp>"
               f"<model>wikitext</model><text xml:space=\"preserve\">{escape(text)}</text></revision></page>\n"
               for page, (title, text) in pages.items()]
    path.write_text(_HEAD + "".join(written) + "</mediawiki>\n", encoding="utf-8")
    return path


def rounded(value: Any) -> Any:
    """A value with its floats at three decimals, whatever holds them."""
    if isinstance(value, float):
        return round(value, 3) + 0.0
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in sorted(value.items())}
    return value


def fingerprints(data: DataFolder) -> dict[str, str]:
    """Hash of the rows of every table at its newest version, and of those of the served release at its own."""
    release = current_release(data)
    found = {"release counts": repr(sorted(release.counts.items()))}
    for label, reader, names in (
            ("newest", TableReader(data), [*RELEASED_TABLES, "dump_files", "rejects"]),
            ("served", TableReader(data, release.tables), list(RELEASED_TABLES))):
        for name in names:
            if not table_exists(data, name):
                continue
            columns = [column for column in TABLES[name].column_names if column not in TIMES]
            digest = hashlib.sha256()
            rows = reader.rows(name, columns, order_by=TABLES[name].key)
            for row in rows:
                digest.update(repr(rounded(row)).encode())
            found[f"{name} ({label})"] = f"{len(rows)} rows {digest.hexdigest()[:16]}"
    return found


def wait_for(place: Place, process: subprocess.Popen[bytes], moment: float, stages: Sequence[float]) -> bool:
    """Wait until a build has come to a moment of the measured one; False when it ends before."""
    begin, before = time.monotonic(), list(itertools.accumulate(stages, initial=0.0))
    n_before = max(n for n in range(len(stages)) if before[n] <= moment)
    while place.n_stages() < n_before:
        if process.poll() is not None:
            return False
        time.sleep(LOOK_S)
    # As much slower or faster as this build has been until here.
    pace = (time.monotonic() - begin) / before[n_before] if n_before else 1.0
    deadline = time.monotonic() + (moment - before[n_before]) * pace
    while place.n_stages() == n_before and time.monotonic() < deadline and process.poll() is None:
        time.sleep(LOOK_S)
    return process.poll() is None


def kill(place: Place, dump: Path, moment: float, stages: Sequence[float], number: signal.Signals,
         tally: Tally) -> bool:
    """Start a build and end it at a moment; look at what is left. Returns whether it ended before that."""
    process = place.start(dump)
    if not wait_for(place, process, moment, stages):
        if process.wait():
            tally.faults.append(f"undisturbed build: {place.said()}")
        return True
    n_stages = place.n_stages()
    if number == signal.SIGKILL:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    process.wait(BUILD_S)
    where = f"{number.name} after {n_stages} stages"
    if number == signal.SIGTERM and process.returncode not in (0, 128 + number, -number):
        tally.faults.append(f"{where}: exit code {process.returncode}: {place.said()}")
    if left := place.wait_until_gone():
        tally.faults.append(f"{where}: processes {left} outlive the build")
    tally.by_signal[number.name] += 1
    tally.by_stage[n_stages] += 1
    try:
        answer = Corpus.open(place.data).ask(QUESTION, method="flat").to_json()
        tally.by_release[answer["release"]] += 1
        if not any(expected in answer["context"] for expected in ANSWERS):
            tally.faults.append(f"{where}: release {answer['release']} answers {answer['context'][:200]!r}")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the kill has left
        tally.faults.append(f"{where}: no answer: {error}")
    return False


def run(folder: Path, n_kills: int, seed: int) -> Tally:
    """All rounds, in `folder`; what they met is printed as it comes."""
    dice, tally = random.Random(seed), Tally()
    first, update = write_dump(folder / "first.xml", FIRST, 1), write_dump(folder / "update.xml", UPDATE, 2)
    base = Place(DataFolder.at(folder / "base"), folder / "tmp-base")
    whole = Place(DataFolder.at(folder / "whole"), folder / "tmp-whole")
    if fault := base.complete(first)[0]:
        raise SystemExit(f"the first build: {fault}")
    shutil.copytree(base.data.root, whole.data.root, symlinks=True)
    fault, stages = whole.complete(update)
    if fault:
        raise SystemExit(f"the undisturbed update: {fault}")
    expected = fingerprints(whole.data)
    print(f"seed {seed}; an undisturbed update takes {sum(stages):.1f} s", flush=True)
    while sum(tally.by_signal.values()) < n_kills and len(tally.faults) < n_kills:
        tally.n_rounds += 1
        place = Place(DataFolder.at(folder / f"round-{tally.n_rounds}"), folder / f"tmp-{tally.n_rounds}")
        shutil.copytree(base.data.root, place.data.root, symlinks=True)
        for _ in range(min(dice.randint(1, MOST_KILLS_A_ROUND), n_kills - sum(tally.by_signal.values()))):
            number = signal.SIGTERM if dice.random() < SIGTERM_SHARE else signal.SIGKILL
            if kill(place, update, dice.uniform(0, sum(stages)), stages, number, tally):
                break
        known = len(tally.faults)
        if fault := place.complete(update)[0]:
            tally.faults.append(f"the build after the kills: {fault}")
        else:
            found = fingerprints(place.data)
            tally.faults += [f"{name}: {found.get(name)}, undisturbed {expected.get(name)}"
                             for name in sorted({*expected, *found}) if found.get(name) != expected.get(name)]
            place.wait_until_gone()
            if left := sorted({path.name for path in place.temporary.iterdir()} - KEPT):
                tally.faults.append(f"left in the folder for temporary files: {', '.join(left)}")
        print(f"round {tally.n_rounds}: {sum(tally.by_signal.values())} kills, "
              f"{'; '.join(tally.faults[known:]) or 'equal'}", flush=True)
        if len(tally.faults) == known:
            shutil.rmtree(place.data.root)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, metavar="N", help="builds to kill (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of moments and signals")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="work here, and keep it")
    chosen = parser.parse_args()
    folder = chosen.folder or Path(tempfile.mkdtemp(prefix="kill-builds-"))
    folder.mkdir(parents=True, exist_ok=True)
    tally = run(folder.absolute(), chosen.kills, chosen.seed)
    signals = ", ".join(f"{n} by {name}" for name, n in sorted(tally.by_signal.items()))
    served = ", ".join(f"release {number} {n} times" for number, n in sorted(tally.by_release.items()))
    stages = ", ".join(f"{n}: {times}" for n, times in sorted(tally.by_stage.items()))
    print(f"{sum(tally.by_signal.values())} kills ({signals}) in {tally.n_rounds} rounds; answered by {served}; "
          f"kills by stages done: {stages}")
    print(f"{len(tally.faults)} faults" + "".join(f"\n  {fault}" for fault in tally.faults))
    if not chosen.folder and not tally.faults:
        shutil.rmtree(folder)
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
