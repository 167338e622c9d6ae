"""Bounds of the wikitext reader: every sample article, and the fuzz families as large as time allows."""

from __future__ import annotations

import tracemalloc
from math import inf

import pytest

from benchmarks.wikitext_families import FAMILIES, Family
from benchmarks.wikitext_fuzz import PER_DOUBLING, STEPS, growth, measure, peak_bytes
from pipelines.documents.readers.dump import iter_pages, read_site_info, sample_dump_path
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.readers.wikitext_tokens import c_tokens, python_tokens

PROBE, LARGEST, N_DOUBLINGS = 30_000, 2_000_000, 2
SECONDS = 0.08
"""What the largest text of a family may take, by the speed at the probe's size."""
FLOOR_S = 0.02
MEMORY_SIZES = (12_000, 24_000)


@pytest.fixture(scope="module")
def site() -> SiteInfo:
    return read_site_info(sample_dump_path())


@pytest.fixture(scope="module")
def articles() -> list[tuple[str, str]]:
    pages = [(page.title, page.text) for page in iter_pages(sample_dump_path())
             if page.namespace == 0 and page.redirect_to is None and page.text]
    assert len(pages) == 106
    return pages


def test_token_sources_give_equal_trees(articles: list[tuple[str, str]], site: SiteInfo) -> None:
    for title, text in articles:
        by_c = read_wikitext(title, text, site, source=c_tokens)
        assert read_wikitext(title, text, site, source=python_tokens) == by_c, title


def test_memory_of_each_article_is_bounded(articles: list[tuple[str, str]], site: SiteInfo) -> None:
    read_wikitext(*articles[0], site)
    over = {}
    for title, text in articles:
        tracemalloc.start()
        read_wikitext(title, text, site)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if peak > 100 * len(text.encode()) + (1 << 20):
            over[title] = peak
    assert over == {}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_families_are_linear(family: Family) -> None:
    """The cheaper a family, the larger its text, up to 2 MB: a hidden square shows only there."""
    cost = sum(measure(family, family.text(PROBE)).seconds.values())
    size = min(max(int(PROBE * SECONDS / cost), 4 * PROBE), LARGEST)
    texts = family.text(size >> N_DOUBLINGS), family.text(size)
    grown = dict.fromkeys(STEPS, inf)
    for rounds in (1, 3, 5, 10):
        small, large = (measure(family, text, rounds) for text in texts)
        assert (large.lost, large.extra) == (0, 0)
        # A neighbour on the machine may slow one of the two down: of what is slow itself no round is fast.
        grown = {step: min(grown[step], factor)
                 for step, factor in growth(small, large, N_DOUBLINGS, FLOOR_S).items()}
        if max(grown.values()) <= PER_DOUBLING:
            break
    assert {step: grown[step] for step in STEPS if grown[step] > PER_DOUBLING} == {}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_memory_of_families_is_linear(family: Family) -> None:
    small, large = (peak_bytes(family.text(size)) for size in MEMORY_SIZES)
    assert large <= PER_DOUBLING * small + (1 << 16)
