"""How large a corpus gets: bytes an article of every table and index, and what a million articles would take.

    python -m benchmarks.bench_sizes [--copies 10]

The sample's articles once, and that many times with ids of their own, go through the stages of a build up to
`units`; vectors are random ones of unit length, for a float of any vector takes the same room. One bucket
holds them all: with the default it has about the 1,000 articles that each of the 1,024 buckets of the profile
`full` has at a million. Bytes are those of the data files of the newest version, and of finished indexes.
Printed: both sizes (equal ones show that repetition is not what compresses), and those of the larger corpus ×
a million. Articles of the sample are long; the factor to the wikitext's bytes carries over to other corpora.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.sample_copies import sample_articles, write_copies
from pipelines.schemas import EMBEDDINGS
from pipelines.settings import DataFolder, Profile, profile_by_name
from pipelines.sizes import folder_size_bytes
from pipelines.storage import TableReader, create_table, open_table
from spark_jobs.nodes import refresh_trees
from spark_jobs.pages import ingest_dump_files
from spark_jobs.sentences import refresh_sentences
from spark_jobs.session import get_spark
from spark_jobs.units import refresh_units
from training.build_index import build_indexes

TABLES = ("pages", "documents", "tree_nodes", "sentences", "units", "embeddings")
DIM = 384
SEED = 7
TRAINED_UNITS = 20_000
"""From here on IVF-PQ has enough vectors to learn from; below, its tables would outweigh the codes."""
GIB = 1 << 30


def write_vectors(data: DataFolder, profile: Profile) -> int:
    """A random vector for every unit, as rows of `embeddings`; returns how many."""
    import pyarrow as pa
    from deltalake import write_deltalake

    create_table(data, "embeddings", profile.n_buckets)
    columns = ("unit_id", "doc_id", "bucket", "source", "n_tokens", "rendered_sha256")
    units = TableReader(data).rows("units", columns, order_by=("unit_id",))
    vectors = np.random.default_rng(SEED).normal(size=(len(units), DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = [{**unit, "model": profile.encoder, "vector": vector, "dim": DIM, "truncated": False}
            for unit, vector in zip(units, vectors, strict=True)]
    write_deltalake(data.table("embeddings"), pa.Table.from_pylist(rows, EMBEDDINGS.arrow_schema()), mode="append")
    return len(units)


def measure(folder: Path, copies: int) -> dict[str, int]:
    """Bytes by what takes them, for the sample's articles that many times; and counts."""
    profile = profile_by_name("fast").model_copy(update={"n_buckets": 1})
    n_articles = copies * len(sample_articles())
    dump = folder / "dump.bz2"
    found = {"articles": n_articles, "wikitext": write_copies(dump, n_articles), "dump (bz2)": dump.stat().st_size}
    data = DataFolder.at(folder / "data")
    data.prepare_state()
    session = get_spark(profile, data)
    ingest_dump_files(session, data, profile, [dump])
    for stage in (refresh_trees, refresh_sentences, refresh_units):
        stage(session, data, profile)
    found["units"] = write_vectors(data, profile)
    for name in TABLES:
        files = open_table(data, name).get_add_actions(flatten=True)
        found[f"table {name}"] = sum(files.column("size_bytes").to_pylist())
    versions = {name: int(open_table(data, name).version()) for name in ("units", "embeddings")}
    for number, (kind, flat_below) in enumerate((("exact", sys.maxsize), ("IVF-PQ", 0)), start=1):
        if kind == "exact" or found["units"] >= TRAINED_UNITS:
            indexes = build_indexes(data, profile.model_copy(update={"dense_flat_below": flat_below}), versions,
                                    number)
            found[f"index dense, {kind}"] = int(folder_size_bytes(f"{data.root}/{indexes['dense']}") or 0)
            found["index sparse"] = int(folder_size_bytes(f"{data.root}/{indexes['sparse']}") or 0)
    return found


def lines(one: dict[str, int], many: dict[str, int]) -> list[str]:
    """The table of sizes. The exact index is no part of the sum: from 100,000 vectors on it is IVF-PQ."""
    printed = [f"{'':22} {'bytes an article':>25} {'÷ wikitext':>11} {'a million':>11}",
               f"{'':22} {one['articles']:>12,} {many['articles']:>12,}"]
    total = 0
    for name in (key for key in many if key not in ("articles", "units")):
        small = f"{one[name] / one['articles']:,.0f}" if name in one else ""
        printed.append(f"{name:22} {small:>12} {_row(many[name], many)}")
        if name.startswith(("table", "index")) and name != "index dense, exact":
            total += many[name]
    return [*printed, f"{'sum of a release':22} {'':>12} {_row(total, many)}"]


def _row(n_bytes: int, corpus: dict[str, int]) -> str:
    each = n_bytes / corpus["articles"]
    return f"{each:>12,.0f} {n_bytes / corpus['wikitext']:>11.3f} {each * 1e6 / GIB:>7,.0f} GiB"


def main() -> int:
    """Measure and print. Returns 1 when the larger corpus is more than a tenth off the smaller, an article."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copies", type=int, default=10, help="how often the larger one has the sample's articles")
    copies = parser.parse_args().copies
    if copies < 4:
        parser.error("an IVF-PQ index needs 4 copies or more")
    results: list[dict[str, int]] = []
    for number in (1, copies):
        with tempfile.TemporaryDirectory() as name:
            results.append(measure(Path(name), number))
    one, many = results
    n = many["articles"]
    print(f"{one['articles']:,} and {n:,} articles, {many['units'] / n:.1f} units and {many['wikitext'] / n:,.0f} "
          "bytes of wikitext an article")
    print("\n".join(lines(one, many)))
    tables = [sum(size for key, size in found.items() if key.startswith("table")) / found["articles"]
              for found in results]
    print(f"tables an article, larger ÷ smaller corpus: {tables[1] / tables[0]:.3f} (goal: 0.9 to 1.1)")
    return 0 if 0.9 <= tables[1] / tables[0] <= 1.1 else 1


if __name__ == "__main__":
    sys.exit(main())
