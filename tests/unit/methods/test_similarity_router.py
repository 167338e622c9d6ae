"""Scores worked out by hand, and decisions by threshold."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.documents.tree import Document
from pipelines.methods.base import Hit
from pipelines.methods.routing import router_state
from pipelines.methods.similarity_router import NodeScorer, SimilarityRouter, question_weights
from pipelines.methods.subtree import SubtreeView

WEIGHTS = {"owl": 1.0, "diet": 2.0, "voles": 5.0}


def scorer(view: SubtreeView, *hits: tuple[int, float]) -> NodeScorer:
    return NodeScorer(WEIGHTS, view, [Hit(str(i), "xx:1", (i,), score, "", 0, 0) for i, score in hits])


def test_score_is_the_mean_of_cosine_and_idf_share(owl: Document) -> None:
    view = SubtreeView(owl)
    score = scorer(view, (7, 0.6), (7, 0.4), (19, -0.2))
    assert score(7) == pytest.approx((0.6 + 7 / 8) / 2), "voles under Diet, its best cosine"
    assert score(8) == pytest.approx((0 + 2 / 8) / 2), "field mice: only the heading has a word"
    assert score(2) == pytest.approx((0 + 2 / 8) / 2), "the heading Diet itself"
    assert score(18) == pytest.approx((0 + 1 / 8) / 2), "the row takes its cell's cosine, not below 0"
    assert scorer(view, (20, 0.5))(18) == pytest.approx((0.5 + 1 / 8) / 2)


def test_a_question_without_words_shares_none(owl: Document) -> None:
    view = SubtreeView(owl)
    assert NodeScorer({}, view, [])(7) == 0.0
    assert question_weights("?!", lambda term: 1.0) == {}


def test_question_words_are_weighted_once(bird_corpus: Any) -> None:
    weights = question_weights("Owl owl VOLES", bird_corpus.inverse_document_frequency)
    assert list(weights) == ["owl", "voles"]
    assert weights["voles"] > weights["owl"] > 0


def route(owl: Document, bird_corpus: Any, scores: dict[int, float], lit: set[int]) -> str:
    state = router_state("?", SubtreeView(owl), lit, lit, turn=0, line_words=60, max_tokens=3000,
                         count_tokens=bird_corpus.count_tokens, score=lambda node_id: scores.get(node_id, 0))
    return SimilarityRouter(0.5, 0.3).route(state).text


def test_answers_from_the_threshold_on_expands_at_most_two(owl: Document, bird_corpus: Any) -> None:
    output = route(owl, bird_corpus, {3: 0.5, 5: 0.49, 1: 0.9, 0: 0.31, 2: 0.3, 11: 0.4, 26: 0.4}, {3, 5})
    assert output == "[ANSWER] 3: Most owls eat these animals:\n[EXPAND] 11: Range\n[EXPAND] 26: Owls in art"


def test_nothing_from_the_thresholds_on_is_a_refusal(owl: Document, bird_corpus: Any) -> None:
    assert route(owl, bird_corpus, {3: 0.49, 11: 0.29}, {3}) == "Cannot answer"
