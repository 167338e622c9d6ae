"""Dump → rows of trees through Spark, against a plain Python loop over the same functions and pages.

    python -m benchmarks.bench_trees [--copies 50]

The dump holds the sample's articles that many times, each copy with ids of its own. The loop reads it, parses
every page and makes Arrow batches, in one process. Spark does the same by the tasks of a build (`read_splits`,
`parse_pages`), in sessions that have run once before, and throws the batches away. A session of one core, JVM
and Python workers together, is held to one core, as the loop is. Printed: Spark's time on one core ÷ the loop's
(goal: at most 1.25), one core ÷ two cores (goal: at least 1.6), and by itself what a build takes on two cores
until its Delta tables `pages`, `tree_nodes` and `documents` are committed.

English Wikipedia is extrapolated by words: DPR's passages of it (December 2018) are 21,015,324 of 100 words each,
taken from paragraphs alone, so the words of the sample's paragraphs say how much of it a second does.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.sample_copies import sample_articles, write_copies
from pipelines.documents.readers.dump import read_site_info, sample_dump_path
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.dump_files import DumpFile, register_dump_files
from pipelines.settings import DataFolder, Profile, profile_by_name
from spark_jobs.documents import ddl
from spark_jobs.dumps import STAGED_DDL, plan_splits, read_splits, wiki_of
from spark_jobs.nodes import STAGED, PageTask, parse_pages, refresh_trees
from spark_jobs.pages import ingest_dump_files
from spark_jobs.session import get_spark

GOAL_OVERHEAD, GOAL_CORES = 1.25, 1.6
DPR_WORDS = 21_015_324 * 100
PAPER_ARTICLES, PAPER_CORES = 5_820_000, 8
"""RDR²: trees of so many articles in some 20 minutes on so many cores."""


def profile_of(cores: int) -> Profile:
    """The profile of a build on a laptop, on that many cores."""
    return profile_by_name("fast").model_copy(update={"spark_master": f"local[{cores}]"})


def _tasks(file: DumpFile, profile: Profile, cores: int) -> tuple[Any, Any, int]:
    """The two functions of a build's tasks for this file, and the number of splits."""
    splits = plan_splits(file, "enwiki", cores)
    read = functools.partial(read_splits, splits=splits, n_buckets=profile.n_buckets,
                             batch_rows=profile.arrow_batch_rows)
    sites = {file.key: wiki_of(file, None).to_json()}
    return read, functools.partial(parse_pages, task=PageTask(sites, profile.token_counter)), len(splits)


def loop(file: DumpFile) -> dict[str, float]:
    """The plain loop: seconds, and nodes made."""
    import pyarrow as pa

    profile = profile_of(1)
    read, parse, n_splits = _tasks(file, profile, 1)
    parse(read([pa.RecordBatch.from_pydict({"id": []})]))
    begin = time.perf_counter()
    n_rows = 0
    for number in range(n_splits):
        pages = (batch.filter(batch.column("report").is_null())
                 for batch in read([pa.RecordBatch.from_pydict({"id": [number]})]))
        n_rows += sum(batch.num_rows for batch in parse(pages))
    return {"seconds": time.perf_counter() - begin, "rows": n_rows}


def spark(file: DumpFile, warm_up: DumpFile, cores: int) -> dict[str, float]:
    """The same in a Spark session that has read a small dump before."""
    profile = profile_of(cores)
    session = get_spark(profile)
    result: dict[str, float] = {}
    for dump in (warm_up, file):
        read, parse, n_splits = _tasks(dump, profile, cores)
        begin = time.perf_counter()
        rows = (session.range(0, n_splits, 1, n_splits).mapInArrow(read, STAGED_DDL)
                .where("report IS NULL").mapInArrow(parse, ddl(STAGED)))
        rows.write.format("noop").mode("overwrite").save()
        result = {"seconds": time.perf_counter() - begin}
    session.stop()
    return result


def build(file: DumpFile, warm_up: DumpFile, folder: Path) -> dict[str, float]:
    """Dump → committed Delta tables on two cores, after a small one in the same session."""
    profile = profile_of(2)
    session = get_spark(profile)
    result: dict[str, float] = {}
    for dump in (warm_up, file):
        data = DataFolder.at(folder / dump.key)
        data.prepare_state()
        begin = time.perf_counter()
        ingest_dump_files(session, data, profile, [dump.path])
        pages_s = time.perf_counter() - begin
        refresh_trees(session, data, profile)
        result = {"seconds": time.perf_counter() - begin, "pages_s": pages_s}
    session.stop()
    return result


def _in_process(folder: Path, what: str) -> dict[str, float]:
    """One measurement in a process of its own: a session cannot change its number of cores."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.bench_trees", "--measure", what, "--folder", folder],
                          check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _words_of_paragraphs() -> int:
    """Words in the paragraphs of the sample's trees."""
    site = read_site_info(sample_dump_path())
    return sum(len(node.text.split()) for page in sample_articles()
               for node in read_wikitext(page.title, page.text, site).nodes if node.tag == "p")


def _measure(folder: Path, what: str) -> dict[str, float]:
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[:1] if what in ("loop", "1") else cores[:2])
    data = DataFolder.at(folder)
    data.prepare_state()
    file, warm_up = register_dump_files(data, [str(folder / "dump.bz2"), str(folder / "small.bz2")])
    if what == "loop":
        return loop(file)
    if what == "build":
        return build(file, warm_up, folder / "data")
    return spark(file, warm_up, int(what))


def main() -> int:
    """Measure and print. Returns 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copies", type=int, default=50, help="how often the sample's articles are in the dump")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(_measure(args.folder, args.measure)))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n = args.copies * len(sample_articles())
        n_bytes = write_copies(folder / "dump.bz2", n)
        write_copies(folder / "small.bz2", len(sample_articles()) // 2)
        results = {what: _in_process(folder, what) for what in ("loop", "1", "2", "build")}
    plain, one, two, whole = (results[what]["seconds"] for what in ("loop", "1", "2", "build"))
    overhead, gain = one / plain, one / two
    words_s = args.copies * _words_of_paragraphs() / two / 2
    minutes = DPR_WORDS / words_s / PAPER_CORES / 60
    print(f"{n:,} articles, {n_bytes / 1e6:,.0f} MB of wikitext, {results['loop']['rows']:,.0f} rows\n"
          f"plain loop, one process        {plain:7.1f} s   {n / plain:5.0f} articles/s   "
          f"{n_bytes / plain / 1e6:.2f} MB/s\n"
          f"Spark local[1] ÷ plain loop    {overhead:7.2f}     (goal: at most {GOAL_OVERHEAD})\n"
          f"Spark local[1] ÷ local[2]      {gain:7.2f}     (goal: at least {GOAL_CORES})\n"
          f"Spark local[2]                 {two:7.1f} s   {n / two / 2:5.0f} articles/s/core\n"
          f"build to Delta, local[2]       {whole:7.1f} s   {n / whole / 2:5.0f} articles/s/core   "
          f"{n_bytes / whole / 2 / 1e6:.2f} MB/s/core, {whole / two:.2f} × without Delta, "
          f"{results['build']['pages_s']:.1f} s of it for pages\n"
          f"English Wikipedia, by words     {minutes:7.1f} min on {PAPER_CORES} such cores, or "
          f"{PAPER_ARTICLES / (minutes * 60 * PAPER_CORES):,.0f} of {PAPER_ARTICLES:,} articles/s/core, "
          f"without Delta; {minutes * whole / two:.1f} min with it")
    return 0 if overhead <= GOAL_OVERHEAD and gain >= GOAL_CORES else 1


if __name__ == "__main__":
    sys.exit(main())
