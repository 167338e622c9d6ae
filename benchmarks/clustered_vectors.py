"""Unit vectors that lie as an encoder's do, of any number, and how hard it is to find neighbours among them.

What belongs here: the generator, and the figures by which it was made like real vectors. What does not: the
indexes (`bench_index.py`). A corpus is a mixture in levels: topics of unequal sizes, documents around a topic,
sections around a document, units around a section; every level is Gaussian with a spectrum that falls slowly,
turned at random so that no dimension is special. A query is a unit of the corpus with noise of its own
strength: some are near to what they ask for, a few are far from everything.

The constants come from the demo's vectors (5,879 units of 106 articles, all-MiniLM-L6-v2): spectra of article
means and of units around them, units an article, the variance at each level, then noise of queries as of real
questions. `python -m benchmarks.bench_index --real DATA` prints both sides of the comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 20240
N_TOPICS = 1_000
UNITS_OF_A_DOCUMENT, UNITS_OF_A_SECTION = 55, 5
TOPIC, DOCUMENT, SECTION, UNIT = 0.25, 0.25, 0.18, 0.32
"""Variance of each level."""
ABOVE_UNITS, AMONG_UNITS = (2.9, 32), (2.6, 128)
"""Variance of direction i is (i + b) ** -a: of topics and documents, and of sections, units, queries."""
QUERY_NOISE, QUERY_SPREAD = 1.1, 0.8
"""Median length of a query's noise as a multiple of its unit's, and the deviation of its logarithm."""
_CHUNK = 50_000


@dataclass(frozen=True)
class Part:
    """Vectors (n, dim), float32, of unit length, and the document number of each, ascending."""

    vectors: NDArray[np.float32]
    documents: NDArray[np.int64]


class Mixture:
    """Where all parts of one corpus, and its queries, are drawn from."""

    def __init__(self, dim: int) -> None:
        generator = np.random.default_rng(SEED)
        self.dim = dim
        turn = np.linalg.qr(generator.normal(size=(dim, dim)))[0].astype(np.float32)
        # Each row a direction of unit length, scaled by its share of the variance.
        self._above, self._among = (_deviations(dim, *law)[:, None] * turn for law in (ABOVE_UNITS, AMONG_UNITS))
        self._topics = _normal(generator, N_TOPICS, dim) @ self._above * TOPIC ** 0.5
        weights = 1 / np.arange(1, N_TOPICS + 1) ** 0.7
        self._weights = weights / weights.sum()

    def part(self, n: int, seed: int, rows: int | None = None) -> Part:
        """n units of documents that no other seed has; given rows, only the first so many at least."""
        generator = np.random.default_rng((SEED, seed))
        n_documents = max(1, n // UNITS_OF_A_DOCUMENT)
        sizes = generator.exponential(size=n_documents)
        documents = np.sort(generator.choice(n_documents, n, p=sizes / sizes.sum()))
        means = self._topics[generator.choice(N_TOPICS, n_documents, p=self._weights)]
        means += _normal(generator, n_documents, self.dim) @ self._above * DOCUMENT ** 0.5
        # Whole chunks, as if all were drawn: equal rows whatever is asked for.
        n = min(n, -(-(n if rows is None else rows) // _CHUNK) * _CHUNK)
        documents, vectors = documents[:n], np.empty((n, self.dim), np.float32)
        for begin in range(0, n, _CHUNK):
            chosen = documents[begin: begin + _CHUNK]
            section = np.cumsum(generator.random(len(chosen)) < 1 / UNITS_OF_A_SECTION)
            around = _normal(generator, section[-1] + 1, self.dim)[section] * np.float32(SECTION ** 0.5)
            around += _normal(generator, len(chosen), self.dim) * np.float32(UNIT ** 0.5)
            vectors[begin: begin + _CHUNK] = unit_length(means[chosen] + around @ self._among)
        return Part(vectors, documents)

    def queries(self, part: Part, n: int, seed: int) -> NDArray[np.float32]:
        """n queries (n, dim) of unit length for different units of the part."""
        generator = np.random.default_rng((SEED, seed, n))
        units = part.vectors[generator.choice(len(part.vectors), n, replace=False)]
        strength = QUERY_NOISE * np.exp(QUERY_SPREAD * _normal(generator, n, 1))
        noise = strength * (_normal(generator, n, self.dim) @ self._among)
        return unit_length(units + noise.astype(np.float32))


def _normal(generator: np.random.Generator, n: int, dim: int) -> NDArray[np.float32]:
    return generator.standard_normal((n, dim), np.float32)


def _deviations(dim: int, power: float, begin: float) -> NDArray[np.float32]:
    variances = (np.arange(1, dim + 1) + begin) ** -power
    deviations: NDArray[np.float32] = np.sqrt(variances / variances.sum()).astype(np.float32)
    return deviations


def unit_length(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows (n, dim), each divided by its length."""
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def hardness(vectors: NDArray[np.float32], queries: NDArray[np.float32]) -> dict[str, float]:
    """What decides how hard a search is, medians over the queries.

    Cosines of the 1st, 10th and 100th neighbour; local intrinsic dimension, estimated from the distances of 20
    neighbours by maximum likelihood (Levina and Bickel, 2004); recall@10 when an IVF index of
    at most 4 √n lists with whole vectors probes 1/64, 1/16 and 1/4 of them.
    """
    import faiss

    cosines = queries @ vectors.T
    order = np.argsort(-cosines, axis=1)[:, :100]
    best = np.take_along_axis(cosines, order, axis=1)
    distances = np.sqrt(np.maximum(2 - 2 * best[:, :20], 1e-9))
    dimensions = -1 / np.log(distances[:, :-1] / distances[:, -1:]).mean(axis=1)
    figures = {f"cosine of neighbour {place}": float(np.median(best[:, place - 1])) for place in (1, 10, 100)}
    figures["local intrinsic dimension"] = float(np.median(dimensions))
    n_lists = min(int(4 * len(vectors) ** 0.5), len(vectors) // 39)
    index: Any = faiss.index_factory(vectors.shape[1], f"IVF{n_lists},Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    for share in (64, 16, 4):
        index.nprobe = max(1, n_lists // share)
        found = index.search(queries, 10)[1]
        hits = [len(set(one) & set(other)) for one, other in zip(found, order[:, :10], strict=True)]
        figures[f"recall@10, 1 in {share} of 4 √n lists"] = sum(hits) / (10 * len(queries))
    return figures
