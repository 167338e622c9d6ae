"""Documents of one question, and of several, decided on together: the same as one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_language_model import labelled, write_small_model

from pipelines.curation.states import StateSettings, meet_states, meet_states_together
from pipelines.errors import UserError
from pipelines.evaluation.datasets import Question
from pipelines.methods import rdr2
from pipelines.methods.base import Request, Trace
from pipelines.methods.llm_router import DECODES, Decode, LlmRouter, LlmRouterSettings
from pipelines.methods.rdr2 import Rdr2
from pipelines.methods.routing import RouterOutput, RouterState, route_together
from pipelines.methods.similarity_router import SimilarityRouter
from pipelines.models.base_weights import find_base, load_base
from pipelines.models.llm import LineGrammar, Message, ModelFailure, Scores
from pipelines.models.local_llm import LocalModel
from pipelines.models.response_cache import ResponseCache

STATES = [replace(labelled(number)[1], can_refuse=number % 2 == 0) for number in range(7)]
"""In some refusing is legal."""
BIRDS = "Which owls and herons nest in colonies?"


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """Random weights in float32 that stay as they are, and the tokenizer."""
    folder = write_small_model(tmp_path_factory.mktemp("model"), dtype="float32")
    weights, tokenizer = load_base(find_base(str(folder)))
    return weights.requires_grad_(False), tokenizer


@pytest.fixture(scope="module")
def model(parts: tuple[Any, Any]) -> LocalModel:
    return LocalModel("small", *parts, None)


def router_of(model: LocalModel, decode: Decode, fallback: bool = False) -> LlmRouter:
    settings = LlmRouterSettings(decode, max_tokens=60, most_actions=3)
    return LlmRouter("small", model, settings, SimilarityRouter(0.3, 0.2) if fallback else None)


@pytest.mark.parametrize("decode", DECODES)
def test_many_states_are_decided_as_each_alone(model: LocalModel, decode: Decode) -> None:
    router = router_of(model, decode)
    alone, together = [router.route(state) for state in STATES], router.route_many(STATES)
    assert route_together(router, STATES) == together
    for one, other in zip(alone, together, strict=True):
        assert (one.text, one.usage, one.used_fallback) == (other.text, other.usage, other.used_fallback)
        assert one.details.get("scores") == pytest.approx(other.details.get("scores"), abs=1.1e-4)
    if decode != "free":
        assert len({output.text for output in together}) > 2, "the states lead to different outputs"


def test_a_state_without_a_line_is_refused_between_others(model: LocalModel) -> None:
    state = STATES[0]
    closed = RouterState(state.question, state.view, state.text, (), (), 0, 0, state.score)
    outputs = router_of(model, "score").route_many([STATES[1], closed, STATES[2]])
    assert outputs[1].text == "Cannot answer"
    assert [output.usage.calls for output in outputs] == [1, 0, 1]


def test_only_what_the_cache_lacks_is_asked(model: LocalModel, tmp_path: Path) -> None:
    cached = model.with_cache(ResponseCache(tmp_path))
    router = router_of(cached, "score")
    router.route(STATES[1])
    n_known = cached.decoder.tokens_read
    first = router.route_many(STATES[:2])
    assert [output.usage.cache_hits for output in first] == [0, 1]
    n_read = cached.decoder.tokens_read
    assert n_read > n_known
    again = router.route_many(STATES[:2])
    assert [output.usage.cache_hits for output in again] == [1, 1]
    assert [output.usage.tokens_in for output in again] == [output.usage.tokens_in for output in first]
    assert cached.decoder.tokens_read == n_read


class Failing(LocalModel):
    """Fails where a conversation holds a word."""

    word = "rye"

    def score_many(self, asked: Sequence[tuple[Sequence[Message], Sequence[str]]]) -> list[Scores]:
        if any(self.word in message.content for messages, _ in asked for message in messages):
            raise ModelFailure("small", "no answer", "one", "Ask again.")
        return super().score_many(asked)


def test_a_failure_in_one_state_does_not_lose_the_others(model: LocalModel, parts: tuple[Any, Any]) -> None:
    failing = Failing("small", *parts, None)
    with_word = ["rye" in state.text for state in STATES]
    assert 0 < sum(with_word) < len(STATES)
    outputs = router_of(failing, "score", fallback=True).route_many(STATES)
    plain = router_of(model, "score").route_many(STATES)
    assert [output.used_fallback for output in outputs] == with_word
    assert all(output.text == other.text for output, other, fails in zip(outputs, plain, with_word, strict=True)
               if not fails)
    with pytest.raises(ModelFailure):
        router_of(failing, "score").route_many(STATES)


def test_a_prompt_that_is_too_long_is_an_error_in_a_batch_too(model: LocalModel) -> None:
    with pytest.raises(UserError, match="router_text_tokens"):
        model.complete_lines_many([([Message("user", "a")], LineGrammar(("b",))),
                                   ([Message("user", "a" * 5000)], LineGrammar(("b",)))], 10)


class Counting:
    """A router that decides by similarity and keeps how many states it was shown at a time."""

    name, parallel = "counting", 1

    def __init__(self) -> None:
        self._inner = SimilarityRouter(0.3, 0.0)
        self.shown: list[list[tuple[str, int]]] = []

    def route(self, state: RouterState) -> RouterOutput:
        return self.route_many([state])[0]

    def route_many(self, states: Sequence[RouterState]) -> list[RouterOutput]:
        self.shown.append([(state.view.document.doc_id, state.turn) for state in states])
        return [self._inner.route(state) for state in states]


def routed(corpus: Any, router: Any, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> tuple[Any, list[Any]]:
    monkeypatch.setattr(rdr2, "make_router", lambda name, corpus, options: router)
    trace = Trace()
    retrieved = Rdr2().retrieve(Request(BIRDS, **fields), corpus, trace)
    return retrieved, facts(trace)


def facts(trace: Trace) -> list[dict[str, Any]]:
    volatile = ("started_at_s", "duration_s", "router")
    return [{key: value for key, value in step.items() if key not in volatile} for step in trace.steps]


def test_a_turn_of_all_documents_is_decided_together(bird_corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting()
    together = routed(bird_corpus, counting, monkeypatch, k=2)
    assert together == routed(bird_corpus, SimilarityRouter(0.3, 0.0), monkeypatch, k=2)
    first, second, *_ = counting.shown
    assert [turn for _, turn in first] == [0, 0], "both birds"
    assert {turn for _, turn in second} == {1}
    order = [doc_id for doc_id, _ in first]
    steps = [(order.index(step["doc_id"]), step["turn"]) for step in together[1] if step["step"] == "route"]
    assert steps == sorted(steps), "document by document"


def test_questions_are_routed_together(bird_corpus: Any) -> None:
    texts = (BIRDS, "wingspan of the barn owl", BIRDS)
    questions = [Question(f"q{n}", text, (), ()) for n, text in enumerate(texts)]
    settings = StateSettings(turns=3)
    counting = Counting()
    together = meet_states_together(questions, bird_corpus, counting, settings)
    alone = [meet_states(question, bird_corpus, SimilarityRouter(0.3, 0.0), settings) for question in questions]

    def shown(met: Any) -> list[Any]:
        return [(state.text, state.turn, output.text) for state, output in met]

    assert [*map(shown, together)] == [*map(shown, alone)]
    assert len(counting.shown[0]) == sum(state.turn == 0 for met in alone for state, _ in met)
    assert meet_states_together([], bird_corpus, counting, settings) == []


@pytest.mark.parametrize("fill", [False, True])
def test_a_method_routes_the_questions_of_a_batch_together(bird_corpus: Any, monkeypatch: pytest.MonkeyPatch,
                                                           fill: bool) -> None:
    requests = [Request(text, 200, k=1) for text in (BIRDS, "wingspan of the barn owl", BIRDS, "auk")]
    counting = Counting()
    monkeypatch.setattr(rdr2, "make_router", lambda name, corpus, options: counting)
    traces = [Trace() for _ in requests]
    together = Rdr2(fill).retrieve_many(requests, bird_corpus, traces)
    first = counting.shown[0]
    counting.shown.clear()
    alone = [Trace() for _ in requests]
    assert together == [Rdr2(fill).retrieve(request, bird_corpus, trace)
                        for request, trace in zip(requests, alone, strict=True)]
    assert [turn for _, turn in first] == [0] * len(requests)
    assert [facts(trace) for trace in traces] == [facts(trace) for trace in alone]
    assert any(step["step"] == "fill" for step in traces[0].steps) == fill
