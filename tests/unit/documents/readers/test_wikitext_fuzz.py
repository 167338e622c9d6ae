"""Hostile pages of every family, small: no exception, no lost word, no step that grows faster than the page.

Larger ones are in tests/integration/documents, the largest in `python -m benchmarks fuzz`.
"""

from __future__ import annotations

import random

import pytest

from benchmarks.wikitext_families import FAMILIES, Family
from benchmarks.wikitext_fuzz import PER_DOUBLING, SITE, STEPS, growth, measure
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.templates.table import BLOCKS, WORDS, load_handlers
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.tree import Node, check_tree

SMALL, LARGE, N_DOUBLINGS = 10_000, 40_000, 2
FLOOR_S = 0.02
ODD_VALUES = (
    "", "²", "١", "1" * 5000, "9" * 30, "-", "−1", "1e999", "1e39", "NaN", "Infinity", "0", "0.0", "1/0", "3/4",
    "1-2/3", "12", "1,000", "-273.15", "x", "km", "ftin", "e6km", "°C", "[[a|b]]", "{{!}}", "{{a|b|c}}", "a" * 5000,
    "\n* x\n")
ODD_KEYS = ("", "", "", "1=", "2=", "3=", "abbr=", "sigfig=", "round=", "prec=", "disp=", "order=", "df=", "text=")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_no_word_is_lost_and_work_is_linear(family: Family) -> None:
    texts = family.text(SMALL), family.text(LARGE)
    small, large = (measure(family, text) for text in texts)
    assert (large.lost, large.extra) == (0, 0)
    grown = growth(small, large, N_DOUBLINGS, FLOOR_S)
    if max(grown.values()) > PER_DOUBLING:
        grown = growth(*(measure(family, text, rounds=3) for text in texts), N_DOUBLINGS, FLOOR_S)
    assert {step: grown[step] for step in STEPS if grown[step] > PER_DOUBLING} == {}


def names_of_handlers() -> list[str]:
    load_handlers()
    return sorted({*WORDS, *BLOCKS})


@pytest.mark.parametrize("language", ["en", "de", "ja", ""])
def test_templates_with_odd_parameters_are_read(language: str) -> None:
    site = SiteInfo.unknown(language)
    chooser = random.Random(language)
    for name in names_of_handlers():
        for _ in range(3):
            values = "".join(f"|{chooser.choice(ODD_KEYS)}{chooser.choice(ODD_VALUES)}"
                             for _ in range(chooser.randint(0, 6)))
            call = f"{{{{{name}{values}}}}}"
            try:
                check_tree("T", read_wikitext("T", f"before {call} behind", site).nodes)
            except Exception as fault:
                raise AssertionError(f"{language}: {call[:200]}") from fault


def size(nodes: tuple[Node, ...]) -> int:
    return sum(len(node.text) + sum(len(span.target or "") for span in node.spans) for node in nodes)


@pytest.mark.parametrize(("before", "behind"), [("|", ""), ("|x|", ""), ("|x|y|", ""), ("|text=", ""),
                                                ("|url=", "|title=x"), ("|[[a|", "]]")])
def test_templates_in_themselves_do_not_double_their_words(before: str, behind: str) -> None:
    for name in names_of_handlers():
        texts = [f"{{{{{name}{before}" * depth + "w" + f"{behind}}}}}" * depth for depth in (5, 10)]
        few, many = (size(read_wikitext("T", text, SITE).nodes) for text in texts)
        assert many <= 3 * few + 100, name
