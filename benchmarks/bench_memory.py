"""How much memory a build takes, and that it does not grow with the corpus: peak PSS of the tree of processes.

    python -m benchmarks.bench_memory [--articles 2000 20000]

The sample's articles, copies with ids of their own, in one bz2 file of each size, go from the dump to the committed
Delta tables `pages`, `tree_nodes` and `documents`, with Spark's heap capped at 1 GiB. Five times a second the
proportional set sizes of the JVM, its Python workers and the driver are added up; the highest sum counts. Goal: at
most 1.1 × from the smallest to the largest size.

Indexes are built apart, each in a process of its own, over the passages of as many articles, with random vectors of
unit length: what building takes depends on how many there are, not on where they point.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.process_tree import Usage, measure
from benchmarks.sample_copies import sample_articles, write_copies
from benchmarks.sample_corpus import SampleRows
from pipelines.retrieval.dense_build import build_shard, plan_shards
from pipelines.retrieval.sparse import build_sparse
from pipelines.schemas import EMBEDDINGS
from pipelines.settings import DataFolder, Profile, profile_by_name
from pipelines.storage import TableReader, create_table

GOAL = 1.1
HEAP = "1g"
DIM, SEED = 384, 7
WRITTEN_AT_ONCE = 2_000
"""Articles whose passages and vectors are in memory while they are written; files get the size of Spark's."""
INDEXES = ("dense, exact", "dense, IVF-PQ", "sparse")
MIB = 1 << 20


def profile_of_benchmark() -> Profile:
    """The profile of a build on a laptop, with the heap that is measured."""
    return profile_by_name("fast").model_copy(update={"spark_driver_memory": HEAP})


def trees(folder: Path) -> None:
    """The process that is measured: `dump.bz2` of the folder to committed trees."""
    from spark_jobs.nodes import refresh_trees
    from spark_jobs.pages import ingest_dump_files
    from spark_jobs.session import get_spark

    data, profile = DataFolder.at(folder / "data"), profile_of_benchmark()
    data.prepare_state()
    session = get_spark(profile, data)
    result = ingest_dump_files(session, data, profile, [folder / "dump.bz2"])
    made = refresh_trees(session, data, profile)
    print(f"  {result.stage.n_inserted:,} pages, {made.tree_nodes.n_inserted:,} nodes", flush=True)


def write_passages(data: DataFolder, n_articles: int) -> None:
    """The tables `units` and `embeddings` of that many articles."""
    from deltalake import WriterProperties, write_deltalake

    profile, properties = profile_of_benchmark(), WriterProperties(compression="ZSTD")
    sample = SampleRows(sample_articles(), profile)
    for name in ("units", "embeddings"):
        create_table(data, name, profile.n_buckets)
    generator = np.random.default_rng(SEED)
    copies = sample.copies(n_articles, profile.n_buckets)
    for begin in range(0, n_articles, WRITTEN_AT_ONCE):
        units = sample.rows(copies[begin: begin + WRITTEN_AT_ONCE])["units"]
        for name, rows in (("units", units), ("embeddings", _vectors(units, profile.encoder, generator))):
            write_deltalake(data.table(name), rows, mode="append", writer_properties=properties)


def _vectors(units: Any, model: str, generator: np.random.Generator) -> Any:
    """Rows of `embeddings` for rows of `units`."""
    import pyarrow as pa

    n = len(units)
    vectors = generator.standard_normal((n, DIM), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    columns = {name: units.column(name) for name in ("unit_id", "doc_id", "bucket", "source", "rendered_sha256",
                                                     "n_tokens")}
    columns |= {"model": pa.array([model] * n), "dim": pa.array(np.full(n, DIM, np.int32)),
                "truncated": pa.array([False] * n),
                "vector": pa.ListArray.from_arrays(np.arange(0, (n + 1) * DIM, DIM, dtype=np.int32),
                                                   vectors.reshape(-1))}
    schema = EMBEDDINGS.arrow_schema()
    return pa.table([columns[name] for name in schema.names], schema=schema)


def index(folder: Path, kind: str) -> None:
    """The process that is measured: one index over the tables, as the release's are built."""
    data, profile = DataFolder.at(folder), profile_of_benchmark()
    reader = TableReader(data)
    with tempfile.TemporaryDirectory(dir=folder) as target:
        if kind == "sparse":
            build_sparse(Path(target), _units(reader), "benchmark")
            return
        plans = plan_shards(reader, profile.encoder, sys.maxsize if kind == "dense, exact" else 0)
        for plan in plans:
            build_shard(data, reader.version("embeddings"), profile.encoder, DIM, plan, Path(target))


def _units(reader: TableReader) -> Iterator[dict[str, Any]]:
    for bucket in sorted(reader.counts("units", "bucket")):
        yield from reader.rows("units", ("unit_id", "doc_id", "source", "text"), f'"bucket" = {bucket}',
                               ("doc_id", "unit_id"))


def _measured(*arguments: str | Path) -> Usage:
    return measure([sys.executable, "-m", "benchmarks.bench_memory", *arguments], memory=True)


def _line(name: str, usage: Usage) -> str:
    parts = ", ".join(f"{program} {size / MIB:,.0f}" for program, size in usage.peak_by_program.items())
    return f"{name:34} peak {usage.peak_pss_bytes / MIB:7,.0f} MiB   ({parts}; {usage.wall_s:.0f} s)"


def _growth(sizes: list[int], peaks: list[int]) -> str:
    more = (peaks[-1] - peaks[0]) / max(1, sizes[-1] - sizes[0])
    return f"{sizes[-1]:,} ÷ {sizes[0]:,} articles: {peaks[-1] / peaks[0]:.2f}, {more:,.0f} bytes more an article"


def main() -> int:
    """Measure and print. Returns 1 when the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", type=int, nargs="*", default=[2_000, 20_000], help="sizes, ascending")
    parser.add_argument("--index-articles", type=int, nargs="*", help="sizes for the indexes; without, the same")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--kind", choices=INDEXES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        index(args.work, args.kind) if args.kind else trees(args.work)
        return 0
    peaks = []
    for n in args.articles:
        with tempfile.TemporaryDirectory() as name:
            write_copies(Path(name) / "dump.bz2", n)
            usage = _measured("--work", name)
        print(_line(f"dump to trees, {n:,} articles", usage), flush=True)
        peaks.append(usage.peak_pss_bytes)
    sizes = args.articles if args.index_articles is None else args.index_articles
    by_kind: dict[str, list[int]] = {kind: [] for kind in INDEXES}
    for n in sizes:
        with tempfile.TemporaryDirectory() as name:
            write_passages(DataFolder.at(name), n)
            print(f"index over {TableReader(DataFolder.at(name)).row_count('units'):,} passages")
            for kind in INDEXES:
                usage = _measured("--work", name, "--kind", kind)
                print(_line(f"  {kind}, {n:,} articles", usage), flush=True)
                by_kind[kind].append(usage.peak_pss_bytes)
    for kind, found in by_kind.items():
        if len(found) > 1:
            print(f"{kind:14} {_growth(sizes, found)}")
    if not peaks:
        return 0
    met = peaks[-1] <= GOAL * peaks[0]
    print(f"dump to trees  {_growth(args.articles, peaks)} (goal: at most {GOAL} ×{'' if met else ', MISSED'})")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
