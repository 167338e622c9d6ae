"""What a refresh costs: CPU seconds of a second build against the first, of the whole tree of processes.

    python -m benchmarks.bench_refresh [--copies 50] [--whole]

The dump holds the sample's articles that many times, each copy with ids of its own. The stages of a build up to
`units` read it, each time in a new process; vectors are left out, for they would only make the first build
dearer (with `--whole` it is `espalier build` with everything, of copies that have equal titles, so that equal
passages are encoded once). Then come: the same file again; its pages in a file of other bytes; all pages with a
hundredth of them edited by a sentence; and another hundredth edited, in a dump of those pages alone. All of it
happens to a dump of one page too, and what that takes is start-up, subtracted case by case.

Goals: at most 10 % of the first build where no page changed, at most 15 % with a hundredth of all pages, and rows
of exactly the edited documents differ, compared row by row with the versions before.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.process_tree import measure
from benchmarks.sample_copies import sample_articles, write_copies
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder, profile_by_name
from pipelines.storage import TableReader, batch_rows, open_table, table_exists

GOAL_SAME, GOAL_CHANGED = 0.10, 0.15
SHARE = 100
"""One page of so many is edited."""
ROWS_OF_DOCUMENTS = ("pages", "documents", "tree_nodes", "sentences", "units", "embeddings")


@dataclass(frozen=True)
class Case:
    """A build of the sequence: what its dump holds, and the goal for its share of the first build's CPU time."""

    name: str
    goal: float | None
    revision: int = 1
    """Of the edited pages: 1 for none."""
    alone: bool = False
    """The dump holds the edited pages and no other."""
    level: int = 9

    def edited(self, n: int) -> set[int]:
        """Numbers of the edited pages of n: others each time."""
        return set(range((self.revision - 2) * SHARE // 3 % n, n, SHARE)) if self.revision > 1 else set()


FIRST = Case("first build", None)
CASES = (FIRST,
         Case("the same file", GOAL_SAME),
         Case("the same pages, another file", GOAL_SAME, level=8),
         Case("all pages, 1 % edited", GOAL_CHANGED, revision=2),
         Case("the edited 1 % alone", GOAL_CHANGED, revision=3, alone=True))


@dataclass
class Result:
    """One build. stages_s: CPU seconds by stage; documents: those whose rows differ, by table."""

    cpu_s: float
    wall_s: float
    stages_s: dict[str, float]
    documents: dict[str, set[str]]


def stages(data: DataFolder, dump: Path, note: Callable[[str], None]) -> None:
    """The stages of a build up to `units`, with the profile `fast`."""
    from assets.resources import SparkOnDemand
    from spark_jobs.nodes import refresh_trees
    from spark_jobs.pages import ingest_dump_files
    from spark_jobs.sentences import refresh_sentences
    from spark_jobs.units import refresh_units

    profile = profile_by_name("fast")
    data.prepare_state()
    spark = SparkOnDemand(profile, data)
    ingest_dump_files(spark, data, profile, [dump])
    note("pages")
    for name, refresh in (("trees", refresh_trees), ("sentences", refresh_sentences), ("units", refresh_units)):
        refresh(spark, data, profile)
        note(name)


def whole(data: DataFolder, dump: Path, note: Callable[[str], None]) -> None:
    """What `espalier build` does, with the profile `fast`."""
    from jobs.build import BuildRequest, build

    build(data, BuildRequest(wikipedia=(str(dump),), profile="fast"),
          lambda event: note(event.name) if event.state == "done" else None)


def _work(folder: Path, dump: Path, everything: bool) -> list[tuple[str, float]]:
    """The process that is measured: build, and note when each stage ended."""
    ends: list[tuple[str, float]] = []
    (whole if everything else stages)(DataFolder.at(folder / "data"), dump,
                                      lambda name: ends.append((name, time.monotonic())))
    return ends


class Corpus:
    """A data folder and the dumps that are built into it, one case after the other."""

    def __init__(self, folder: Path, n_articles: int, everything: bool) -> None:
        self.folder, self.n, self.everything = folder, n_articles, everything
        self.data = DataFolder.at(folder / "data")
        folder.mkdir()

    def build(self, case: Case, compare: bool) -> Result:
        """Build a case in a process of its own; compare: all rows with those before."""
        edited = case.edited(self.n)
        # Of the same name each time: it is the bytes that tell one file from another.
        dump = self.folder / "dump.xml.bz2"
        write_copies(dump, self.n, numbers=sorted(edited) if case.alone else None, revised=edited,
                     revision=case.revision, retitled=not self.everything, level=case.level)
        report = self.folder / "stages.json"
        before = self._versions()
        usage = measure([sys.executable, "-m", "benchmarks.bench_refresh", "--work", self.folder, "--dump", dump,
                         "--report", report, *(["--whole"] if self.everything else [])])
        after = self._versions()
        changed = {name: changed_documents(self.data, name, before[name], after[name]) for name in before} \
            if compare else {}
        stages_s: dict[str, float] = {}
        until = 0.0
        for name, moment in json.loads(report.read_text()):
            stages_s[name] = stages_s.get(name, 0.0) + usage.cpu_s_until(moment) - until
            until = usage.cpu_s_until(moment)
        return Result(usage.cpu_s, usage.wall_s, stages_s, changed)

    def _versions(self) -> dict[str, int]:
        return {name: int(open_table(self.data, name).version()) for name in ROWS_OF_DOCUMENTS
                if table_exists(self.data, name)}


def changed_documents(data: DataFolder, name: str, before: int, after: int) -> set[str]:
    """The documents of which a row was added, removed or changed between two versions of a table."""
    if before == after:
        return set()
    old, new = (_document_digests(data, name, version) for version in (before, after))
    return {doc_id for doc_id in old.keys() | new.keys() if old[doc_id] != new[doc_id]}


def _document_digests(data: DataFolder, name: str, version: int) -> Counter[str]:
    """A number for the rows of each document, whatever their order."""
    columns = TABLES[name].column_names
    digests: Counter[str] = Counter()
    for batch in TableReader(data, {name: version}).batches(name, columns):
        for row in batch_rows(batch, name):
            digests[row["doc_id"]] += hash(repr([_in_order(row[column]) for column in columns]))
    return digests


def _in_order(value: Any) -> Any:
    return sorted(value.items()) if isinstance(value, dict) else value


def _verdict(case: Case, n: int, result: Result) -> tuple[bool, str]:
    """Whether the rows of exactly the edited documents differ in every table, and a line that says so."""
    edited = {f"enwiki:{number + 1}" for number in case.edited(n)}
    exact = all(found == edited for found in result.documents.values())
    counts = ", ".join(f"{name} {len(found)}" for name, found in result.documents.items())
    return exact, f"  documents with other rows: {counts}; edited: {len(edited)}" + ("" if exact else "  MISSED")


def _shares(result: Result, start_up: Result) -> str:
    """CPU seconds by stage, start-up subtracted; a stage may take less than in the build of one page."""
    shares = {name: seconds - start_up.stages_s.get(name, 0.0) for name, seconds in result.stages_s.items()}
    return "  by stage: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in shares.items())


def main() -> int:
    """Measure and print. Returns 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copies", type=int, default=50, help="how often the sample's articles are in the dump")
    parser.add_argument("--whole", action="store_true", help="all of `espalier build`: checks, vectors, indexes")
    for name in ("--work", "--dump", "--report"):
        parser.add_argument(name, type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        args.report.write_text(json.dumps(_work(args.work, args.dump, args.whole)))
        return 0
    n = args.copies * len(sample_articles())
    print(f"{n:,} articles, {'all of espalier build' if args.whole else 'stages up to units'}")
    missed, first = 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        corpus, one_page = (Corpus(Path(name) / str(size), size, args.whole) for size in (n, 1))
        for case in CASES:
            start_up, result = one_page.build(case, compare=False), corpus.build(case, compare=case is not FIRST)
            cpu_s = result.cpu_s - start_up.cpu_s
            first = first or cpu_s
            met = case.goal is None or cpu_s / first <= case.goal
            goal = "" if case.goal is None else f"   (goal: at most {case.goal:.0%}{'' if met else ', MISSED'})"
            exact, documents = _verdict(case, n, result)
            missed += (not met) + (not exact)
            print(f"{case.name:30} {cpu_s:8.1f} CPU s  {cpu_s / first:6.1%} of the first{goal}\n"
                  f"  with start-up {result.cpu_s:.1f}, start-up {start_up.cpu_s:.1f}; {result.wall_s:.0f} s\n"
                  f"{_shares(result, start_up)}" + (f"\n{documents}" if case is not FIRST else ""), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
