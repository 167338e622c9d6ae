"""Copies of the sample's rows: each is what the stages make of an article with that id and title."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.sample_copies import sample_articles
from benchmarks.sample_corpus import FILE_DOCUMENTS, Copy, SampleRows, _in_files
from pipelines.settings import profile_by_name
from pipelines.storage import bucket_of

N_ARTICLES = 6


@pytest.fixture(scope="module")
def sample() -> SampleRows:
    return SampleRows(sample_articles()[:N_ARTICLES], profile_by_name("fast"))


def test_copies_are_what_the_stages_make_of_renamed_articles(sample: SampleRows) -> None:
    copies = sample.copies(3 * N_ARTICLES, 4)[2 * N_ARTICLES:]
    renamed = SampleRows([page._replace(title=f"{page.title} (2)", page_id=2000 + page.page_id)
                          for page in sample.articles], sample.profile)
    made = sample.rows(copies)
    assert set(made) == set(renamed.tables) == {"documents", "tree_nodes", "sentences", "units"}
    for name, table in renamed.tables.items():
        expected = [{**row, "bucket": bucket_of(row["doc_id"], 4)} for row in table.to_pylist()]
        assert made[name].to_pylist() == expected
        assert made[name].schema == table.schema


def test_the_first_copy_is_the_sample_itself(sample: SampleRows) -> None:
    copies = sample.copies(N_ARTICLES, 1)
    assert all(sample.rows(copies)[name].equals(table) for name, table in sample.tables.items())
    assert len({copy.doc_id for copy in sample.copies(100 * N_ARTICLES, 4)}) == 100 * N_ARTICLES


@pytest.mark.parametrize("n_buckets", [1, 4, 64])
def test_files_are_full_and_reach_over_their_bucket(n_buckets: int) -> None:
    n = 2 * FILE_DOCUMENTS + 100
    copies = [Copy(0, f"w:{number}", "T", number % n_buckets) for number in range(n)]
    writes = list(_in_files(copies))
    assert Counter(copy for write in writes for copy in write) == Counter(copies)
    assert all(len(write) <= FILE_DOCUMENTS for write in writes)
    n_files = Counter(bucket for write in writes for bucket in {copy.bucket for copy in write})
    assert set(n_files.values()) == {3 if n_buckets == 1 else 1}
    if n_buckets == 1:
        # Each begins near the bucket's first document and ends near its last.
        assert {write[0].doc_id for write in writes} == {"w:0", "w:1", "w:2"}
        assert {write[-1].doc_id for write in writes} == {f"w:{n - 1}", f"w:{n - 2}", f"w:{n - 3}"}
