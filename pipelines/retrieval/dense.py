"""Dense retrieval: the FAISS shards of one release, searched by cosine.

What belongs here: opening shards by memory map, searching them together, filters, and a fixed order. What
does not: building them (`dense_build.py`, which describes the files) and encoding questions (`corpus.py`).
Vectors have unit length, so that the inner product is the cosine. IVF-PQ only nominates candidates; they
are scored again with the stored vectors, and filtered searches of few rows are exact.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.retrieval.index_files import Manifest
from pipelines.retrieval.sparse import Match, rank

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CANDIDATES_PER_RESULT = 10
MIN_CANDIDATES = 100
EXACT_ROWS = 50_000
"""A filter that leaves at most this many rows of a trained shard is answered exactly."""

_TIE_MARGIN = 16


class DenseIndex:
    """The opened shards of one index. Instances may be shared between threads."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.dim = int(manifest["dim"])
        self.n_vectors = int(manifest["n_vectors"])
        self._shards = [_Shard(folder / entry["name"], entry, self.dim)
                        for entry in manifest["shards"] if entry["n_vectors"]]

    def search(self, vector: NDArray[np.float32], k: int, *, source: str | None = None,
               doc_ids: Collection[str] | None = None) -> list[Match]:
        """The k units nearest to a unit vector (dim,), best first; ties by unit_id; fewer if there are fewer.

        source, doc_ids: restrict the search to these documents. Raises ValueError for another dimension.
        """
        import numpy as np

        query = np.ascontiguousarray(vector, np.float32).reshape(1, -1)
        if query.shape[1] != self.dim:
            raise ValueError(f"a vector of {query.shape[1]} dimensions, the index has {self.dim}")
        # One query gives two threads nothing to share; on a busy machine they wait for each other, and a
        # search takes 40 times as long. The setting is the calling thread's own.
        _faiss().omp_set_num_threads(1)
        found: list[Match] = []
        nominating: list[tuple[_Shard, NDArray[np.int64] | None]] = []
        for shard in self._shards:
            rows = shard.rows(source, doc_ids)
            if k <= 0 or (rows is not None and not len(rows)):
                continue
            if shard.is_exact_for(rows):
                found += shard.search(query, k, rows)
            else:
                nominating.append((shard, rows))
        for shard, rows in _candidates(nominating, query, k):
            found += shard.search(query, k, rows)
        return rank(found, k)


def _candidates(shards: list[tuple[_Shard, NDArray[np.int64] | None]], query: NDArray[np.float32],
                k: int) -> list[tuple[_Shard, NDArray[np.int64]]]:
    """Rows to score again: the best by their codes of all shards together, so that more shards read no more.

    Few probes may find too few under a filter: then all lists are searched.
    """
    import numpy as np

    limit = max(k * CANDIDATES_PER_RESULT, MIN_CANDIDATES)
    wanted = min(k, sum(shard.n if rows is None else len(rows) for shard, rows in shards))
    nominated: list[tuple[NDArray[np.float32], NDArray[np.int64]]] = []
    for all_lists in (False, True):
        nominated = [shard.nominate(query, limit, rows, all_lists) for shard, rows in shards]
        if sum(len(found) for _, found in nominated) >= wanted:
            break
    scores = np.concatenate([scores for scores, _ in nominated]) if nominated else np.empty(0, np.float32)
    last = np.partition(scores, len(scores) - limit)[len(scores) - limit] if len(scores) > limit else -np.inf
    kept = [(shard, np.sort(found[scores >= last]))
            for (shard, _), (scores, found) in zip(shards, nominated, strict=True)]
    return [(shard, found) for shard, found in kept if len(found)]


class _Shard:
    def __init__(self, base: Path, entry: dict[str, Any], dim: int) -> None:
        import numpy as np

        self.n = int(entry["n_vectors"])
        self._sources: list[str] = entry["sources"]
        self._n_probe = int(entry.get("n_probe", 0))
        self._n_lists = int(entry.get("n_lists", 0))
        self._index = _faiss().read_index(f"{base}.faiss", _faiss().IO_FLAG_MMAP_IFC)
        self._vectors = np.load(f"{base}.vectors.npy", mmap_mode="r") if self._n_probe else None
        self._unit_begins = np.load(f"{base}.units.npy", mmap_mode="r")
        self._unit_bytes = np.memmap(f"{base}.units.bin", np.uint8, "r")
        self._first_rows, self._doc_begins, self._doc_sources = np.load(f"{base}.docs.npy", mmap_mode="r")
        self._doc_bytes = np.memmap(f"{base}.docs.bin", np.uint8, "r")

    # --- ids

    @property
    def n_documents(self) -> int:
        return len(self._first_rows) - 1

    def unit_id(self, row: int) -> str:
        return bytes(self._unit_bytes[self._unit_begins[row]: self._unit_begins[row + 1]]).decode()

    def doc_id(self, number: int) -> str:
        return bytes(self._doc_bytes[self._doc_begins[number]: self._doc_begins[number + 1]]).decode()

    def _document_of(self, row: int) -> int:
        import numpy as np

        return int(np.searchsorted(self._first_rows, row, side="right")) - 1

    def _number_of(self, doc_id: str) -> int | None:
        place = bisect_left(range(self.n_documents), doc_id, key=self.doc_id)
        return place if place < self.n_documents and self.doc_id(place) == doc_id else None

    def rows(self, source: str | None, doc_ids: Collection[str] | None) -> NDArray[np.int64] | None:
        """The rows that a filter leaves, ascending; None when it leaves all."""
        import numpy as np

        if source is not None and self._sources == [source]:
            source = None
        if source is None and doc_ids is None:
            return None
        if doc_ids is None:
            numbers = range(self.n_documents)
        else:
            numbers = sorted(n for n in map(self._number_of, doc_ids) if n is not None)  # type: ignore[assignment]
        kept = [n for n in numbers if source is None or self._sources[self._doc_sources[n]] == source]
        parts = [np.arange(self._first_rows[n], self._first_rows[n + 1], dtype=np.int64) for n in kept]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    # --- search

    def is_exact_for(self, rows: NDArray[np.int64] | None) -> bool:
        """Whether `search` compares these rows (None: all) themselves; otherwise some are nominated first."""
        return self._vectors is None or (rows is not None and len(rows) <= EXACT_ROWS)

    def search(self, query: NDArray[np.float32], k: int, rows: NDArray[np.int64] | None) -> list[Match]:
        """The shard's k best among `rows` (None: all), with all that tie with the last of them."""
        if self._vectors is None or rows is None:
            scores, found = self._search_exact(query, k, rows)
        else:
            found, scores = rows, self._vectors[rows].astype(query.dtype) @ query[0]
        return [Match(self.unit_id(row), self.doc_id(self._document_of(row)), float(score))
                for score, row in self._best(scores, found, k)]

    @staticmethod
    def _best(scores: NDArray[np.float32], rows: NDArray[np.int64], k: int) -> list[tuple[float, int]]:
        import numpy as np

        if len(scores) > k:
            last = np.partition(scores, len(scores) - k)[len(scores) - k]
            kept = scores >= last
            scores, rows = scores[kept], rows[kept]
        return list(zip(scores.tolist(), rows.tolist(), strict=True))

    def _search_exact(self, query: NDArray[np.float32], k: int,
                      rows: NDArray[np.int64] | None) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        available = self.n if rows is None else len(rows)
        selector = None if rows is None else _faiss().IDSelectorBatch(rows)
        parameters = _faiss().SearchParameters(sel=selector)
        limit = k + _TIE_MARGIN
        while True:
            scores, found = self._index.search(query, min(limit, available), params=parameters)
            # Rows with the score of the k-th may be beyond the limit: only all of them can be ordered.
            if limit >= available or scores[0, -1] < scores[0, k - 1]:
                return _valid(scores[0], found[0])
            limit *= 4

    def nominate(self, query: NDArray[np.float32], limit: int, rows: NDArray[np.int64] | None,
                 all_lists: bool) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """At most `limit` rows with their scores by code, from the lists nearest to the query or from all."""
        limit = min(limit, self.n if rows is None else len(rows))
        selector = None if rows is None else _faiss().IDSelectorBatch(rows)
        n_probe = self._n_lists if all_lists else self._n_probe
        parameters = _faiss().SearchParametersIVF(nprobe=n_probe, sel=selector)
        scores, found = self._index.search(query, limit, params=parameters)
        return _valid(scores[0], found[0])


def _faiss() -> Any:
    """The library as `Any`: its own type stubs do not know the keywords that its Python layer adds."""
    import faiss

    return faiss


def _valid(scores: NDArray[np.float32],
           rows: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Without the places that FAISS could not fill: it gives them the row -1."""
    return scores[rows >= 0], rows[rows >= 0]
