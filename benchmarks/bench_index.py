"""Dense index: recall of IVF-PQ against the exact index, latency, memory, disk and building, as ratios.

    python -m benchmarks.bench_index [--vectors 20000 80000] [--dim 384] [--queries 200] [--k 10]

The vectors are synthetic and clustered like those of texts: topics of unequal sizes in few directions, and
noise around each. Shards are written by the project's own code from arrays; a latency is that of
`DenseIndex.search`, one query after the other. The plain alternative is the same search over an exact shard.
Memory is what a process gains by opening the index and answering all queries, mapped pages included.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipelines.retrieval.dense_build import DENSE_FORMAT, MIN_TRAINED_VECTORS, write_shard

SEED = 20240
N_TOPICS, N_DIRECTIONS, NOISE = 1_000, 64, 0.8
GOAL_RECALL = 0.95

SEARCH = """
import json, sys, time
import numpy as np
from pathlib import Path
from pipelines.retrieval.dense import DenseIndex

def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

folder, k = Path(sys.argv[1]), int(sys.argv[2])
queries = np.load(sys.argv[3])
import faiss  # Loaded now: what a library takes is not the index's.
before = resident_bytes()
index = DenseIndex(folder, json.loads((folder / "manifest.json").read_text()))
index.search(queries[0], k)
results, seconds = [], []
for query in queries:
    begin = time.perf_counter()
    matches = index.search(query, k)
    seconds.append(time.perf_counter() - begin)
    results.append([match.unit_id for match in matches])
print(json.dumps({"results": results, "seconds": seconds, "bytes": resident_bytes() - before}))
"""


class Measured(NamedTuple):
    """One index: its results by query, latency in s, memory and disk in bytes, building in s."""

    results: list[list[str]]
    p50_s: float
    p95_s: float
    memory_bytes: int
    disk_bytes: int
    build_s: float
    facts: dict[str, Any]


def clustered(n: int, dim: int, seed: int) -> Any:
    """n unit vectors (n, dim), float32, around the same topics for every seed."""
    fixed, generator = np.random.default_rng(SEED), np.random.default_rng(seed)
    directions = fixed.normal(size=(N_DIRECTIONS, dim)).astype(np.float32)
    topics = fixed.normal(size=(N_TOPICS, N_DIRECTIONS)).astype(np.float32) @ directions
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    weights = 1 / np.arange(1, N_TOPICS + 1) ** 0.7
    chosen = generator.choice(N_TOPICS, n, p=weights / weights.sum())
    vectors = np.empty((n, dim), np.float32)
    for begin in range(0, n, 50_000):
        part = topics[chosen[begin: begin + 50_000]]
        noise = generator.normal(size=(len(part), N_DIRECTIONS)).astype(np.float32) @ directions
        rows = part + NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
        vectors[begin: begin + 50_000] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return vectors


def measure(vectors: Any, queries: Path, k: int, exact: bool) -> Measured:
    """Build one shard over the vectors and search it in a process of its own."""
    n, dim = vectors.shape
    units = [(f"xx:{row:09}", f"xx:{row:09}#passage/0/0") for row in range(n)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        begin = time.perf_counter()
        entry = write_shard(folder / "shard-0000", vectors, units, ["wikipedia"] * n, exact)
        build_s = time.perf_counter() - begin
        disk_bytes = sum(path.stat().st_size for path in folder.iterdir())
        (folder / "manifest.json").write_text(json.dumps({
            "format": DENSE_FORMAT, "dim": dim, "n_vectors": n, "shards": [{"name": "shard-0000", **entry}]}))
        done = subprocess.run([sys.executable, "-c", SEARCH, scratch, str(k), str(queries)], check=True,
                              stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    p50_s, p95_s = np.percentile(found["seconds"], (50, 95))
    return Measured(found["results"], p50_s, p95_s, found["bytes"], disk_bytes, build_s, entry)


def main() -> int:
    """Measure and print. Returns 1 when the recall is below the goal."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, nargs="+", default=[20_000, 80_000], help="sizes of the index")
    parser.add_argument("--dim", type=int, default=384, help="dimensions of a vector")
    parser.add_argument("--queries", type=int, default=200, help="queries of each size")
    parser.add_argument("--k", type=int, default=10, help="results of a query")
    args = parser.parse_args()
    if min(args.vectors) < MIN_TRAINED_VECTORS:
        parser.error(f"IVF-PQ begins at {MIN_TRAINED_VECTORS} vectors")
    worst = 1.0
    for n in args.vectors:
        vectors = clustered(n, args.dim, seed=1)
        with tempfile.TemporaryDirectory() as scratch:
            queries = Path(scratch) / "queries.npy"
            np.save(queries, clustered(args.queries, args.dim, seed=2))
            exact = measure(vectors, queries, args.k, exact=True)
            trained = measure(vectors, queries, args.k, exact=False)
        pairs = zip(trained.results, exact.results, strict=True)
        recall = sum(len(set(one) & set(other)) for one, other in pairs) / (args.k * args.queries)
        worst = min(worst, recall)
        facts = trained.facts
        print(f"{n:,} vectors of {args.dim} dimensions; {facts['n_lists']} lists, {facts['n_probe']} probed, "
              f"{facts['n_bytes']} bytes a code\n"
              f"  recall@{args.k} of IVF-PQ against exact      {recall:.3f}\n"
              f"  latency, IVF-PQ ÷ exact            p50 {trained.p50_s / exact.p50_s:.2f}  "
              f"p95 {trained.p95_s / exact.p95_s:.2f}   (exact: p50 {exact.p50_s * 1000:.1f} ms)\n"
              f"  memory of a searching process, ÷   {trained.memory_bytes / exact.memory_bytes:.2f}   "
              f"(exact: {exact.memory_bytes / n:.0f} bytes a vector)\n"
              f"  disk, ÷                            {trained.disk_bytes / exact.disk_bytes:.2f}\n"
              f"  building, ÷                        {trained.build_s / exact.build_s:.1f}   "
              f"({n / trained.build_s:,.0f} vectors/s)", flush=True)
    print(f"recall {worst:.3f}, goal at least {GOAL_RECALL}: {'met' if worst >= GOAL_RECALL else 'MISSED'}")
    return 0 if worst >= GOAL_RECALL else 1


if __name__ == "__main__":
    sys.exit(main())
