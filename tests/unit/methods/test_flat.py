"""The flat baselines: order, ranges, and how many units fill a budget."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.methods.base import Filters, Request, Trace
from pipelines.methods.flat import units_for_budget
from pipelines.methods.registry import make_method
from pipelines.retrieval.budget import pack

QUESTION = "How many nests has the largest heronry of the county?"


@pytest.mark.parametrize("name", ["flat", "flat_bm25", "flat_hybrid"])
def test_the_best_passage_comes_first_with_exactly_its_sentences(bird_corpus: Any, name: str) -> None:
    trace = Trace()
    retrieved = make_method(name).retrieve(Request(QUESTION), bird_corpus, trace)
    best = retrieved.pieces[0]
    assert best.doc_id == "xx:2"
    assert best.layout == "passage"
    scores = [piece.score for piece in retrieved.pieces]
    assert scores == sorted(scores, reverse=True)
    text = pack([best], bird_corpus, 1000).text
    assert "two hundred nests" in text
    assert text.startswith("# Heron\n")
    assert "##" not in text
    assert [step["step"] for step in trace.steps] == ["search", "read_sentences"]


def test_a_passage_shows_the_words_that_were_embedded(bird_corpus: Any) -> None:
    hits = bird_corpus.search_dense("owl", 100)
    pieces = make_method("flat").retrieve(Request("owl", k=100), bird_corpus, Trace()).pieces
    for hit, piece in zip(hits, pieces, strict=True):
        shown = pack([piece], bird_corpus, 10_000).evidence[0].text
        assert shown.replace(" | ", " ").split() == " ".join(hit.text.split("\n")[1:]).split()


def test_hybrid_fuses_both_rankings(bird_corpus: Any) -> None:
    request = Request(QUESTION, options={"kappa": "0"})
    pieces = make_method("flat_hybrid").retrieve(request, bird_corpus, Trace()).pieces
    assert pieces[0].score == 2.0, "first in both rankings, κ = 0"


def test_k_and_filters_reach_the_search(bird_corpus: Any) -> None:
    for name in ("flat", "flat_bm25", "flat_hybrid"):
        request = Request("owl birds", k=2, filters=Filters(titles=("Heron",)))
        pieces = make_method(name).retrieve(request, bird_corpus, Trace()).pieces
        assert {piece.doc_id for piece in pieces} == {"xx:2"}
        assert len(pieces) <= 2
        assert make_method(name).retrieve(Request("owl", k=0), bird_corpus, Trace()).pieces == []


@pytest.mark.parametrize(("budget_tokens", "n_units"), [(1, 20), (1000, 40), (10_000, 400), (10**6, 1000)])
def test_units_for_budget(budget_tokens: int, n_units: int) -> None:
    assert units_for_budget(budget_tokens) == n_units
