"""Dense index: recall against exact answers, latency, memory, disk and building, over a curve of settings.

    python -m benchmarks.bench_index [--vectors 20000 200000] [--k 10] [--folder DIR]
    python -m benchmarks.bench_index --vectors 10000000      (30 minutes, 10 GB of disk)
    python -m benchmarks.bench_index --real DATA             (the generator beside a data folder's vectors)

Vectors are those of `clustered_vectors.py`, drawn a shard at a time and written by the project's own code, so
that memory holds one shard whatever the size; the right answers come from products with each shard while it
is there. Every row is a process of its own that opens the index and asks one query after the other through
`DenseIndex.search`. Latencies are divided by the time that one thread needs to multiply a query with all
vectors in memory, building by the matrix products, on all cores, that assigning each vector to its list asks
for. Memory is what answering all queries adds to a process: all of it, with mapped pages, which the system
may take back, and what is its own.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.clustered_vectors import Mixture, Part, hardness
from pipelines.retrieval.dense import CANDIDATES_PER_RESULT, MIN_CANDIDATES
from pipelines.retrieval.dense_build import DENSE_FORMAT, MIN_TRAINED_VECTORS, SHARD_VECTORS, write_shard

if TYPE_CHECKING:
    from numpy.typing import NDArray

GOAL_RECALL = 0.95
SHARES = (256, 128, 64, 32, 16, 8)
"""One in so many lists is probed."""
FACTORS = (0.3, 1, 3, 10)
"""Candidates, as multiples of the default."""
EXACT_UP_TO = 1_000_000
MIB = 1 << 20
QUESTIONS = Path(__file__).resolve().parents[1] / "examples" / "questions.jsonl"

SEARCH = """
import json, sys, time
import numpy as np
from pathlib import Path
from pipelines.retrieval import dense

def resident_bytes():
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return np.array([int(lines[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon")])

folder, queries, k, share, candidates = Path(sys.argv[1]), np.load(sys.argv[2]), *map(int, sys.argv[3:])
manifest = json.loads((folder / "manifest.json").read_text())
for shard in manifest["shards"]:
    if share and "n_lists" in shard:
        shard["n_probe"] = max(1, shard["n_lists"] // share)
dense.CANDIDATES_PER_RESULT, dense.MIN_CANDIDATES = 1, candidates
import faiss  # Loaded now: what a library takes is not the index's.
before = resident_bytes()
index = dense.DenseIndex(folder, manifest)
results, seconds = [], []
for query in queries:
    index.search(query, k)  # What is timed below finds its pages in memory.
for query in queries:
    begin = time.perf_counter()
    matches = index.search(query, k)
    seconds.append(time.perf_counter() - begin)
    results.append([int(match.unit_id.split("/")[1]) for match in matches])
total, own = (resident_bytes() - before).tolist()
print(json.dumps({"results": results, "seconds": seconds, "bytes": total, "own_bytes": own}))
"""


class Built(NamedTuple):
    """One index on disk, and what its queries are to find: rows (n_queries, k)."""

    folder: Path
    truth: NDArray[np.int64]
    entry: dict[str, Any]
    seconds: dict[str, float]
    disk_bytes: int


def build(folder: Path, n: int, dim: int, n_queries: int, k: int, exact: bool) -> Built:
    """Write the index of n vectors, shard by shard; the shards that are in the folder are kept."""
    (folder / "facts").mkdir(parents=True, exist_ok=True)
    mixture = Mixture(dim)
    n_shards = -(-n // SHARD_VECTORS)
    sizes, shares = ([total // n_shards + (seed < total % n_shards) for seed in range(n_shards)]
                     for total in (n, n_queries))
    queries = np.concatenate([mixture.queries(mixture.part(size, seed, 10 * share), share, seed)
                              for seed, (size, share) in enumerate(zip(sizes, shares, strict=True)) if share])
    np.save(folder / "queries.npy", queries)
    facts = []
    for seed in range(n_shards):
        known = folder / "facts" / f"{seed}.json"
        if not known.exists():
            part = mixture.part(sizes[seed], seed)
            known.write_text(json.dumps(build_shard(folder, part, seed, sum(sizes[:seed]), queries, k, exact)))
        facts.append(json.loads(known.read_text()))
        print(f"  shard {seed}: {sizes[seed]:,} vectors in {facts[-1]['seconds']['build']:.0f} s", flush=True)
    entries = [fact["entry"] for fact in facts]
    (folder / "manifest.json").write_text(json.dumps({
        "format": DENSE_FORMAT, "dim": dim, "n_vectors": n, "shards": entries}))
    cosines, rows = (np.hstack([fact[name] for fact in facts]) for name in ("cosines", "rows"))
    truth = np.take_along_axis(rows, np.argsort(-cosines, axis=1)[:, :k], axis=1)
    seconds = {name: sum(fact["seconds"][name] for fact in facts) for name in facts[0]["seconds"]}
    return Built(folder, truth, entries[0], seconds,
                 sum(path.stat().st_size for path in folder.glob("shard-*")))


def build_shard(folder: Path, part: Part, seed: int, first: int, queries: NDArray[np.float32], k: int,
                exact: bool) -> dict[str, Any]:
    """Write one shard, whose first row has the number `first`; returns times in s and its k best by query."""
    documents = [f"xx:{seed:03}{document:07}" for document in part.documents.tolist()]
    units = [(doc_id, f"{doc_id}#passage/{first + row:010}/0") for row, doc_id in enumerate(documents)]
    name = f"shard-{seed:04}"
    begin = time.perf_counter()
    entry = write_shard(folder / name, part.vectors, units, ["wikipedia"] * len(units), exact)
    seconds = {"build": time.perf_counter() - begin, "product": product_s(queries[:5], part.vectors),
               "assign": assign_s(part.vectors, entry.get("n_lists", 0))}
    cosines, rows = nearest(queries, part.vectors, first, k)
    return {"entry": {"name": name, **entry}, "seconds": seconds, "cosines": cosines.tolist(),
            "rows": rows.tolist()}


def nearest(queries: NDArray[np.float32], vectors: NDArray[np.float32], first: int,
            k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The k best cosines (n_queries, k) and rows among these vectors, whose first row has the number `first`."""
    best = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
    for begin in range(0, len(vectors), 50_000):
        cosines = queries @ vectors[begin: begin + 50_000].T
        rows = np.broadcast_to(first + begin + np.arange(cosines.shape[1]), cosines.shape)
        cosines, rows = np.hstack([best[0], cosines]), np.hstack([best[1], rows])
        kept = np.argpartition(-cosines, min(k, cosines.shape[1]) - 1, axis=1)[:, :k]
        best = np.take_along_axis(cosines, kept, axis=1), np.take_along_axis(rows, kept, axis=1)
    return best


def product_s(queries: NDArray[np.float32], vectors: NDArray[np.float32]) -> float:
    """Median time in s in which one thread multiplies one query with all vectors."""
    faiss: Any = importlib.import_module("faiss")  # Its type stubs lack this function.
    seconds, products = [], np.empty(len(vectors), np.float32)
    for query in queries:
        begin = time.perf_counter()
        faiss.fvec_inner_products_ny(*map(faiss.swig_ptr, (products, query, vectors)), vectors.shape[1],
                                     len(vectors))
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds))


def assign_s(vectors: NDArray[np.float32], n_lists: int) -> float:
    """Time in s of the products of all vectors with so many centroids, from a part of the vectors."""
    centroids = np.ascontiguousarray(vectors[:n_lists].T)
    tried = vectors[:65_536]
    begin = time.perf_counter()
    for start in range(0, len(tried), 8_192):
        _ = tried[start: start + 8_192] @ centroids
    return (time.perf_counter() - begin) * len(vectors) / len(tried)


class Asked(NamedTuple):
    """One row of a curve: recall, latencies in s, memory in bytes."""

    recall: float
    p50_s: float
    p95_s: float
    memory_bytes: int
    own_bytes: int


def ask(built: Built, k: int, share: int = 0, candidates: int = MIN_CANDIDATES) -> Asked:
    """Ask all queries in a process of its own; share 0: as many probes as the manifest says."""
    done = subprocess.run([sys.executable, "-c", SEARCH, str(built.folder), str(built.folder / "queries.npy"),
                           str(k), str(share), str(candidates)], check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    hits = [len(set(one) & set(other)) for one, other in zip(found["results"], built.truth.tolist(), strict=True)]
    p50_s, p95_s = np.percentile(found["seconds"], (50, 95))
    return Asked(sum(hits) / built.truth.size, p50_s, p95_s, found["bytes"], found["own_bytes"])


def report(built: Built, n: int, k: int, exact: Asked | None) -> float:
    """Print the curve of one size; returns the recall of the defaults."""
    entry, seconds = built.entry, built.seconds
    unit = seconds["product"]
    usual = max(k * CANDIDATES_PER_RESULT, MIN_CANDIDATES)
    print(f"  {len(list(built.folder.glob('*.faiss')))} shards; {entry['n_lists']} lists and {entry['n_bytes']} "
          f"bytes a code in the first\n"
          f"  building ÷ assigning's matrix products  {seconds['build'] / seconds['assign']:.1f}   "
          f"({n / seconds['build']:,.0f} vectors/s)\n"
          f"  disk                                    {built.disk_bytes / n:.0f} bytes a vector\n"
          f"  one query × all vectors                 {unit * 1000:.1f} ms\n"
          f"  {'lists probed':14} {'candidates':>10} {f'recall@{k}':>10} {'p50 ÷':>8} {'p95 ÷':>8} {'p50 ms':>8} "
          f"{'memory, B/vector':>17} {'own, MiB':>9}")

    def row(name: str, candidates: int, asked: Asked) -> None:
        print(f"  {name:14} {candidates or '':>10} {asked.recall:>10.3f} {asked.p50_s / unit:>8.4f} "
              f"{asked.p95_s / unit:>8.4f} {asked.p50_s * 1000:>8.1f} {asked.memory_bytes / n:>17.0f} "
              f"{asked.own_bytes / MIB:>9.1f}", flush=True)

    if exact:
        row("exact index", 0, exact)
    default = ask(built, k, 0, usual)
    row("default", usual, default)
    for share in SHARES:
        row(f"1/{share}", usual, ask(built, k, share, usual))
    for factor in FACTORS:
        if factor != 1:
            row("default", int(factor * usual), ask(built, k, 0, int(factor * usual)))
    return default.recall


def compare(folder: str) -> None:
    """Print how hard a data folder's vectors are to search, beside generated ones of the same number.

    Asked by a tenth of the vectors, held out, and by the project's example questions beside generated queries.
    """
    from pipelines.models.encoder import load_encoder
    from pipelines.settings import ENCODER_NAME, DataFolder
    from pipelines.storage import TableReader, sql_text

    batches = TableReader(DataFolder.at(folder)).batches("embeddings", ("vector",),
                                                         f'"model" = {sql_text(ENCODER_NAME)}')
    real = np.array([vector for batch in batches for vector in batch.column("vector").to_pylist()], np.float32)
    mixture = Mixture(real.shape[1])
    part = mixture.part(len(real), 0)
    held_out = np.random.default_rng(0).permutation(len(real))[:len(real) // 10]
    asked = [json.loads(line)["question"] for line in QUESTIONS.read_text().splitlines()]
    questions = np.asarray(load_encoder(ENCODER_NAME).encode(asked).vectors, np.float32)
    columns = [hardness(np.delete(vectors, held_out, axis=0), vectors[held_out])
               for vectors in (real, part.vectors)]
    columns += [hardness(real, questions), hardness(part.vectors, mixture.queries(part, len(held_out), 0))]
    print(f"{len(real):,} vectors of {folder}; {len(held_out)} of them held out, {len(questions)} questions\n"
          f"  {'':36} {'held out':>9} {'generated':>9} {'questions':>9} {'generated':>9}")
    for row in zip(*(column.items() for column in columns), strict=True):
        print(f"  {row[0][0]:36}" + "".join(f" {value:>9.3f}" for _, value in row))


def main() -> int:
    """Measure and print. Returns 1 when the recall of the defaults is below the goal."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, nargs="+", default=[20_000, 200_000], help="sizes of the index")
    parser.add_argument("--dim", type=int, default=384, help="dimensions of a vector")
    parser.add_argument("--queries", type=int, default=200, help="queries of each size")
    parser.add_argument("--k", type=int, default=10, help="results of a query")
    parser.add_argument("--folder", type=Path, help="keep the indexes here and use those that are there")
    parser.add_argument("--real", metavar="DATA", help="only compare the generator with a data folder's vectors")
    args = parser.parse_args()
    if args.real:
        compare(args.real)
        return 0
    if min(args.vectors) < MIN_TRAINED_VECTORS:
        parser.error(f"IVF-PQ begins at {MIN_TRAINED_VECTORS} vectors")
    worst = 1.0
    for n in args.vectors:
        print(f"{n:,} vectors of {args.dim} dimensions", flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            folder = (args.folder or Path(scratch)) / f"{n}x{args.dim}-{args.queries}-{args.k}"
            exact = None
            if n <= EXACT_UP_TO:
                exact = ask(build(folder / "exact", n, args.dim, args.queries, args.k, exact=True), args.k)
            trained = build(folder / "trained", n, args.dim, args.queries, args.k, exact=False)
            worst = min(worst, report(trained, n, args.k, exact))
    print(f"recall {worst:.3f}, goal at least {GOAL_RECALL}: {'met' if worst >= GOAL_RECALL else 'MISSED'}")
    return 0 if worst >= GOAL_RECALL else 1


if __name__ == "__main__":
    sys.exit(main())
