"""Builds the dense index of a release: FAISS shards over the embeddings, one for each group of buckets.

What belongs here: planning shards, and streaming one shard's vectors from Delta into its files with bounded
memory. What does not: searching (`dense.py`) and whether shards are built here or on Ray
(`training/build_index.py`).

Files of shard 0000, rows in the order of (doc_id, unit_id):
`shard-0000.faiss` the FAISS index, exact (inner product) or IVF-PQ;
`shard-0000.vectors.npy` float16 (n, dim), with IVF-PQ only: candidates are scored again with them;
`shard-0000.units.npy` int64 (n + 1), where each unit_id begins in `shard-0000.units.bin` (UTF-8);
`shard-0000.docs.npy` int64 (3, n_docs + 1): first row, begin in `shard-0000.docs.bin`, source number.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.deletion_vectors import row_places
from pipelines.settings import DataFolder
from pipelines.storage import TableReader, sql_in, sql_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DENSE_FORMAT = 1
SHARD_VECTORS = 1_000_000
"""A shard closes before it exceeds this many vectors."""

MIN_TRAINED_VECTORS = 4_096
"""A shard of fewer vectors is exact: 256 centroids a subquantizer cannot be trained on them."""

TRAINING_VECTORS = 131_072
SEED = 1234
_CHUNK_ROWS = 16_384


@dataclass(frozen=True)
class ShardPlan:
    """One shard: its number, the buckets that it covers, and whether it is exact."""

    number: int
    buckets: tuple[int, ...]
    n_vectors: int
    exact: bool

    @property
    def name(self) -> str:
        return f"shard-{self.number:04d}"


def plan_shards(reader: TableReader, model: str, flat_below: int,
                shard_vectors: int = SHARD_VECTORS) -> list[ShardPlan]:
    """Group the buckets, in order, into shards; an index of fewer than `flat_below` vectors is exact."""
    counts = reader.counts("embeddings", "bucket", f'"model" = {sql_text(model)}')
    exact = sum(counts.values()) < flat_below
    groups: list[list[int]] = []
    sizes: list[int] = []
    for bucket, n in sorted(counts.items()):
        if not groups or sizes[-1] + n > shard_vectors:
            groups.append([])
            sizes.append(0)
        groups[-1].append(bucket)
        sizes[-1] += n
    return [ShardPlan(number, tuple(group), size, exact)
            for number, (group, size) in enumerate(zip(groups, sizes, strict=True))]


def shard_inputs(reader: TableReader, model: str, plan: ShardPlan) -> str:
    """Digest of what a shard is built from: where the rows of its buckets are. Equal: the shard can be kept."""
    wanted = {f"bucket={bucket}" for bucket in plan.buckets}
    table = reader.table("embeddings")
    places = [f"{path} {vector}".rstrip() for path, vector in row_places(table, reader.data.table("embeddings"))
              if wanted & set(path.split("/"))]
    described = "\n".join([str(DENSE_FORMAT), model, str(plan.exact), *places])
    return hashlib.sha256(described.encode()).hexdigest()


def build_shard(data: DataFolder, version: int, model: str, dim: int, plan: ShardPlan,
                folder: Path) -> dict[str, Any]:
    """Build one shard's files in `folder`; returns its entry of the manifest.

    version: of the table embeddings. Raises RunFailure when the table cannot be read, ValueError when a
    vector has another dimension than `dim`.
    """
    import numpy as np

    reader = TableReader(data, {"embeddings": version})
    with tempfile.TemporaryDirectory(prefix=f".{plan.name}-", dir=folder) as scratch:
        arrived = Path(scratch) / "vectors"
        units, sources = _spool(reader, model, dim, plan, arrived)
        vectors = (np.memmap(arrived, np.float32, "r", shape=(len(units), dim)) if units
                   else np.zeros((0, dim), np.float32))
        facts = write_shard(folder / plan.name, vectors, units, sources, plan.exact)
    return {"name": plan.name, "buckets": [plan.buckets[0], plan.buckets[-1]],
            "inputs": shard_inputs(reader, model, plan), **facts}


def write_shard(target: Path, vectors: NDArray[np.float32], units: Sequence[tuple[str, str]],
                sources: Sequence[str], exact: bool) -> dict[str, Any]:
    """Write the files of a shard, named after `target`; returns what its entry of the manifest says of them.

    vectors: (n, dim) of unit length, possibly a memory map. units, sources: (doc_id, unit_id) and source of
    each row, in any order; of a unit that repeats, the first row counts.
    """
    import faiss
    import numpy as np

    # Searches set one thread for themselves, perhaps in this very thread.
    faiss.omp_set_num_threads(len(os.sched_getaffinity(0)))
    first = {unit: place for place, unit in reversed(list(enumerate(units)))}
    order = sorted(first.values(), key=lambda place: units[place])
    exact = exact or len(order) < MIN_TRAINED_VECTORS
    facts = (_write_exact if exact else _write_trained)(vectors, np.asarray(order, np.int64), target)
    names = sorted(set(sources))
    _write_ids(target, [units[place] for place in order], [names.index(sources[place]) for place in order])
    return {"n_vectors": len(order), "n_repeated": len(units) - len(order), "sources": names, **facts}


def _spool(reader: TableReader, model: str, dim: int, plan: ShardPlan,
           target: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """Stream the shard's vectors to a raw file; returns (doc_id, unit_id) and source of each row."""
    units: list[tuple[str, str]] = []
    sources: list[str] = []
    where = f'{sql_in("bucket", plan.buckets)} AND "model" = {sql_text(model)}'
    with target.open("wb") as stream:
        for batch in reader.batches("embeddings", ("unit_id", "doc_id", "source", "vector"), where):
            units += zip(batch.column("doc_id").to_pylist(), batch.column("unit_id").to_pylist(), strict=True)
            sources += batch.column("source").to_pylist()
            stream.write(_matrix(batch.column("vector"), dim).tobytes())
    return units, sources


def _matrix(column: Any, dim: int) -> NDArray[np.float32]:
    """An Arrow column of float lists as an array (n, dim), without a Python object for each number."""
    import numpy as np
    import pyarrow as pa

    array = pa.array(column)
    flat: NDArray[np.float32] = array.flatten().to_numpy(zero_copy_only=False).astype(np.float32, copy=False)
    if array.null_count or not (np.diff(array.offsets.to_numpy()) == dim).all():
        raise ValueError(f"a vector of the table embeddings does not have {dim} dimensions")
    return flat.reshape(-1, dim)


def _chunks(vectors: NDArray[np.float32], rows: NDArray[np.int64]) -> Iterator[NDArray[np.float32]]:
    for begin in range(0, len(rows), _CHUNK_ROWS):
        yield vectors[rows[begin: begin + _CHUNK_ROWS]]


def _write_exact(vectors: NDArray[np.float32], rows: NDArray[np.int64], target: Path) -> dict[str, Any]:
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    for chunk in _chunks(vectors, rows):
        index.add(chunk)
    faiss.write_index(index, f"{target}.faiss")
    return {"index": "flat"}


def _write_trained(vectors: NDArray[np.float32], rows: NDArray[np.int64], target: Path) -> dict[str, Any]:
    import faiss
    import numpy as np

    n, dim = len(rows), vectors.shape[1]
    index, facts = new_trained_index(n, dim)
    sample = np.sort(np.random.default_rng(SEED).choice(n, min(n, TRAINING_VECTORS), replace=False))
    index.train(np.ascontiguousarray(vectors[rows[sample]]))
    halves = np.lib.format.open_memmap(f"{target}.vectors.npy", "w+", np.float16, (n, dim))
    begin = 0
    for chunk in _chunks(vectors, rows):
        index.add(chunk)
        halves[begin: begin + len(chunk)] = chunk
        begin += len(chunk)
    halves.flush()
    faiss.write_index(index, f"{target}.faiss")
    return facts


def new_trained_index(n: int, dim: int) -> tuple[Any, dict[str, Any]]:
    """An untrained, seeded IVF-PQ index for n vectors and the manifest's facts about it.

    4 √n inverted lists, of which 1 in 16 is probed, and a byte for every 4 dimensions. docs/indexes.md shows
    the curves that the constants come from.
    """
    import faiss

    n_lists = max(1, min(int(4 * n ** 0.5), min(n, TRAINING_VECTORS) // 39))
    n_bytes = next(m for m in range(max(dim // 4, 1), 0, -1) if dim % m == 0)
    index: Any = faiss.index_factory(dim, f"IVF{n_lists},PQ{n_bytes}x8", faiss.METRIC_INNER_PRODUCT)
    # Orders codes for a Hamming search that is not used here, by annealing that takes most of the time.
    index.do_polysemous_training = False
    index.cp.seed = index.pq.cp.seed = SEED
    index.cp.niter = index.pq.cp.niter = 10
    index.cp.max_points_per_centroid = index.pq.cp.max_points_per_centroid = 64
    return index, {"index": "ivf_pq", "n_lists": n_lists, "n_bytes": n_bytes,
                   "n_probe": min(n_lists, max(32, n_lists // 16))}


def _write_ids(target: Path, units: Sequence[tuple[str, str]], sources: Sequence[int]) -> None:
    """Write the id map of rows sorted by (doc_id, unit_id)."""
    import numpy as np

    first_rows: list[int] = []
    doc_ids: list[str] = []
    doc_sources: list[int] = []
    for row, (doc_id, _) in enumerate(units):
        if not doc_ids or doc_ids[-1] != doc_id:
            first_rows.append(row)
            doc_ids.append(doc_id)
            doc_sources.append(sources[row])
    np.save(f"{target}.units.npy", _write_texts(Path(f"{target}.units.bin"), [unit for _, unit in units]))
    begins = _write_texts(Path(f"{target}.docs.bin"), doc_ids)
    documents = [[*first_rows, len(units)], begins, [*doc_sources, -1]]
    np.save(f"{target}.docs.npy", np.asarray(documents, np.int64))


def _write_texts(target: Path, texts: Sequence[str]) -> NDArray[np.int64]:
    import numpy as np

    encoded = [text.encode() for text in texts]
    target.write_bytes(b"".join(encoded))
    return np.cumsum([0, *map(len, encoded)], dtype=np.int64)
