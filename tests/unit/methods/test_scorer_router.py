"""Line features on two birds, and the router that is given a network by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pipelines.curation.states import StateSettings, meet_states
from pipelines.errors import UserError
from pipelines.evaluation.datasets import Question
from pipelines.methods.base import Request, Trace
from pipelines.methods.line_features import NAMES
from pipelines.methods.question_words import QuestionWords, SentenceTerms, sentence_shares
from pipelines.methods.rdr2 import Rdr2
from pipelines.methods.routers import check_router
from pipelines.methods.routing import REFUSAL, RouterOutput, RouterState
from pipelines.methods.scorer_router import FeatureMaker, Scorer, ScorerRouter, decide
from pipelines.retrieval.terms import terms


class Refusing:
    name, parallel = "refusing", 1

    def route(self, state: RouterState) -> RouterOutput:
        return RouterOutput(REFUSAL)


def state_of(corpus: Any, question: str, doc_id: str, k: int = 5) -> RouterState:
    met = meet_states(Question("q", question, (), ()), corpus, Refusing(), StateSettings(k=k))
    return next(state for state, _ in met if state.view.document.doc_id == doc_id)


def by_line(corpus: Any, question: str, doc_id: str = "xx:1", k: int = 5) -> dict[str, dict[str, float]]:
    state = state_of(corpus, question, doc_id, k)
    features = FeatureMaker(corpus)(state)
    assert features.shape == (len(state.legal_lines()), len(NAMES))
    assert np.isfinite(features).all()
    return {line: dict(zip(NAMES, row.tolist(), strict=True))
            for line, row in zip(state.legal_lines(), features, strict=True)}


def test_a_line_that_says_what_is_asked_stands_out(bird_corpus: Any) -> None:
    found = by_line(bird_corpus, "wingspan of the barn owl")
    row, other = found["[ANSWER] 18: Barn owl | 95 cm"], found["[ANSWER] 22: Snowy owl | 12"]
    for name in ("own_share", "own_new_share", "bm25", "bm25_of_best", "similarity"):
        assert row[name] > other[name], name
    assert (row["is_row"], row["is_expand"], row["bm25_of_best"]) == (1, 0, 1)


def test_a_heading_is_judged_by_what_it_hides(bird_corpus: Any) -> None:
    found = by_line(bird_corpus, "which owls hunt at night", k=1)
    headings = {line: row for line, row in found.items() if row["is_expand"]}
    assert headings
    assert all(row["log_hidden"] > 0 for row in headings.values())
    hidden = by_line(bird_corpus, "silver coins of the goddess in Athens owls hunt at night", k=1)
    best = max((line for line, row in hidden.items() if row["is_expand"]), key=lambda line: hidden[line]["cosine"])
    assert best.endswith("Owls in art") or not any(line.endswith("Owls in art") for line in hidden)


def test_the_other_document_is_below_the_best_of_the_corpus(bird_corpus: Any) -> None:
    question = "wingspan of the barn owl"
    assert all(row["best_below_corpus"] == pytest.approx(0) for row in by_line(bird_corpus, question).values())
    assert all(row["best_below_corpus"] > 0 for row in by_line(bird_corpus, question, "xx:2").values())


def test_a_line_stands_beside_the_other_lines_of_its_kind(bird_corpus: Any) -> None:
    found = by_line(bird_corpus, "wingspan of the barn owl", k=2)
    for is_expand in (0, 1):
        rows = [row for row in found.values() if row["is_expand"] == is_expand]
        for name in ("cosine", "similarity", "bm25"):
            ranked = sorted(rows, key=lambda row: -row[f"{name}_rank"])
            expected = [1 / n for n in range(1, len(rows) + 1)]
            assert [row[f"{name}_rank"] for row in ranked] == pytest.approx(expected)
            assert [row[name] for row in ranked] == sorted((row[name] for row in rows), reverse=True)
        values = sorted((row["similarity"] for row in rows), reverse=True)
        lead = max(row["similarity_lead"] for row in rows)
        assert lead == pytest.approx(values[0] - values[1] if len(values) > 1 else values[0])
    best = max(row["sentence_of_best"] for row in found.values() if not row["is_expand"])
    assert best == pytest.approx(1)


def test_the_sentence_that_says_most_counts_not_the_paragraph() -> None:
    words = QuestionWords("painters of red boats", lambda term: {"red": 2.0, "boats": 3.0}.get(term, 1.0))
    # All: painters 1, of 1, red 2, boats 3. Together the two sentences have red and boats, each has one of them.
    sentences = [frozenset({"red", "sky", "painted"}), frozenset({"boats", "of", "wood"})]
    assert sentence_shares(words, sentences, frozenset({"of"})) == pytest.approx((4 / 7, 3 / 7, 3 / 4))
    assert words.share({"red", "boats", "of"}) == pytest.approx(6 / 7)


def test_terms_are_of_the_node_s_own_sentences(bird_corpus: Any) -> None:
    view = state_of(bird_corpus, "wingspan of the barn owl", "xx:1").view
    found = SentenceTerms(view, bird_corpus.sentences("xx:1"))
    for node_id in view:
        assert frozenset().union(*found[node_id]) == set(terms(view.text[node_id]))


@pytest.mark.parametrize(("question", "name", "line"), [
    ("how many countries have barn owls", "number_asked", "[ANSWER] 18: Barn owl | 95 cm"),
    ("who has an owl on the coins of Athens", "name_asked", "[ANSWER] 29: The goddess carries an owl")])
def test_what_is_asked_for_is_seen(bird_corpus: Any, question: str, name: str, line: str) -> None:
    found = by_line(bird_corpus, question)
    assert found[line][name] == 1
    assert not all(row[name] for row in found.values())


def by_words(threshold: float) -> Scorer:
    """A network whose log-odds are the feature `own_share`, less a threshold."""
    weight = np.zeros((len(NAMES), 1), np.float32)
    weight[NAMES.index("own_share")] = 1
    zeros, ones = np.zeros(len(NAMES), np.float32), np.ones(len(NAMES), np.float32)
    return Scorer(zeros, ones, (((weight, np.array([-threshold], np.float32)),),), {"answer": 0.0, "expand": 0.0})


def test_the_router_takes_what_reaches_the_threshold(bird_corpus: Any) -> None:
    state = state_of(bird_corpus, "wingspan of the barn owl", "xx:1")
    features = FeatureMaker(bird_corpus)
    assert ScorerRouter(by_words(0.4), features).route(state).text == "[ANSWER] 18: Barn owl | 95 cm"
    output = ScorerRouter(by_words(2.0), features).route(state)
    assert output.text == REFUSAL
    assert list(output.details["scores"]) == list(state.legal_lines())


def test_a_margin_takes_lines_that_miss_their_threshold(bird_corpus: Any) -> None:
    state = state_of(bird_corpus, "wingspan of the barn owl", "xx:1")
    features = FeatureMaker(bird_corpus)
    own_share = by_words(0.0).log_odds(features(state))
    assert len({float(value) for value in own_share if value > 0}) > 1, "lines of more than one score"
    for least in sorted({float(value) for value in own_share if value > 0}):
        taken = ScorerRouter(by_words(2.0), features, margin=2.0 - least + 1e-4).route(state).text.splitlines()
        lines = [line for line, value in zip(state.legal_lines(), own_share, strict=True) if value >= least - 1e-4]
        assert set(taken) <= set(lines)
        assert len(taken) == len([line for line in lines if line.startswith("[ANSWER]")][:10]) + min(
            2, len([line for line in lines if line.startswith("[EXPAND]")]))


def test_a_margin_widens_the_distance_to_the_best_line_too() -> None:
    lines = ["[ANSWER] 1: a", "[ANSWER] 2: b", "[ANSWER] 3: c"]
    thresholds = {"answer": 1.0, "expand": 0.0, "below_best": 1.0}
    # The least that counts is 3 - 1 = 2, above the threshold of 1; a margin of 0.5 makes it 1.5.
    assert decide(lines, [3.0, 1.6, 1.4], thresholds) == lines[0]
    assert decide(lines, [3.0, 1.6, 1.4], thresholds, margin=0.5) == "\n".join(lines[:2])


def test_a_scorer_s_file_is_a_router(bird_corpus: Any, tmp_path: Any) -> None:
    path = tmp_path / "own.safetensors"
    by_words(0.4).save(path, {})
    retrieved = Rdr2().retrieve(Request("wingspan of the barn owl", router=str(path)), bird_corpus, Trace())
    assert [piece.ranges for piece in retrieved.pieces]
    assert retrieved.llm_calls == 0


@pytest.mark.parametrize("change", [
    {"mean": np.zeros(3, np.float32)}, {"scale": np.full(len(NAMES), np.nan, np.float32)}, {"networks": ()},
    {"networks": (((np.zeros((2, 1), np.float32), np.zeros(1, np.float32)),),)},
    {"thresholds": {"answer": 0.0}}, {"thresholds": {"answer": float("nan"), "expand": 0.0}},
    {"thresholds": {"answer": "high", "expand": 0.0}}])
def test_a_scorer_whose_parts_do_not_fit_is_refused_by_name(tmp_path: Any, change: dict[str, Any]) -> None:
    path = tmp_path / "odd.safetensors"
    replace(by_words(0.4), **change).save(path, {})
    with pytest.raises(UserError, match=r"odd\.safetensors: cannot be read"):
        Scorer.load(path)


def test_a_file_that_is_no_scorer_is_refused_before_anything_is_asked(tmp_path: Any) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        check_router(str(tmp_path / "none.safetensors"))
