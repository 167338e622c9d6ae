"""The indexes of the candidate release: dense (FAISS) and sparse (tantivy), over its pinned versions.

What belongs here: one asset for each index. What does not: building them (`training/build_index.py`). When
nothing that an index is built over has changed since the served release, its folder is used again.
"""

from collections.abc import Iterator

import dagster as dg

from assets.candidate import next_candidate
from assets.stages import stage
from pipelines.locking import Holder
from pipelines.settings import DataFolder, Profile
from pipelines.sizes import folder_size_bytes

NAMES = {"dense_index": "dense", "sparse_index": "sparse"}
"""Asset of each index in a release."""


@dg.multi_asset(name="indexes", specs=[
    dg.AssetSpec("dense_index", deps=["units", "embeddings", "documents"], kinds={"faiss"}, code_version="1",
                 description="Vectors of all units, searched by cosine; exact below a number of vectors, "
                             "IVF-PQ above."),
    dg.AssetSpec("sparse_index", deps=["units", "documents"], kinds={"tantivy"}, code_version="1",
                 description="Words of all units, searched by BM25."),
])
def indexes(data: dg.ResourceParam[DataFolder], profile: dg.ResourceParam[Profile],
            lock: dg.ResourceParam[Holder]) -> Iterator[dg.MaterializeResult[None]]:
    """Build both indexes of the next release, if it is due."""
    with stage("indexes") as event:
        candidate = next_candidate(data, profile)
        if candidate.reuses_indexes and candidate.served is not None:
            folders, built, number = candidate.served.indexes, False, candidate.served.number
        else:
            from training.build_index import build_indexes

            number, built = candidate.release.number, True
            folders = build_indexes(data, profile, candidate.release.tables, number)
        event.facts.update(built=built, rows=candidate.release.counts["units"])
    for asset, name in NAMES.items():
        yield dg.MaterializeResult(asset, metadata={
            "dagster/row_count": candidate.release.counts["units"], "built": built, "release": number,
            "folder": folders[name], "size_bytes": folder_size_bytes(f"{data.root}/{folders[name]}"),
            "table_versions": {key: candidate.release.tables[key] for key in ("units", "embeddings")},
            "seconds": round(event.seconds, 2)})
