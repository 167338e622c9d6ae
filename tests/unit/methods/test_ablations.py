"""Each ablation takes away what the paper says, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.documents.tree import Document, TreeBuilder
from pipelines.methods import rdr2
from pipelines.methods.ablations import ABLATIONS, random_heading
from pipelines.methods.base import Request, Trace
from pipelines.methods.registry import make_method
from pipelines.methods.routing import RouterOutput, RouterState
from pipelines.methods.subtree import view_of
from pipelines.retrieval.budget import pack

QUESTION = "wingspan of the barn owl"
EVERYTHING = object()


class ScriptedRouter:
    """Says one prepared output a turn, by default every legal line, and keeps what it was shown."""

    name, parallel = "scripted", 1

    def __init__(self, *outputs: object) -> None:
        self._outputs = outputs
        self.states: list[RouterState] = []

    def route(self, state: RouterState) -> RouterOutput:
        output = self._outputs[min(len(self.states), len(self._outputs) - 1)]
        self.states.append(state)
        return RouterOutput("\n".join(state.legal_lines()) if output is EVERYTHING else str(output))


def route(corpus: Any, monkeypatch: pytest.MonkeyPatch, method: str, *outputs: object, k: int = 1,
          question: str = QUESTION) -> tuple[list[Any], ScriptedRouter]:
    router = ScriptedRouter(*(outputs or (EVERYTHING,)))
    monkeypatch.setattr(rdr2, "make_router", lambda name, corpus, options: router)
    return make_method(method).retrieve(Request(question, k=k), corpus, Trace()).pieces, router


def text(state: RouterState) -> list[str]:
    return [line.strip().split(" ")[0] for line in state.text.split("\n")[1:]]


def test_without_router_the_passages_are_the_evidence(bird_corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces, router = route(bird_corpus, monkeypatch, "rdr2+no_router", k=2)
    flat = make_method("flat").retrieve(Request(QUESTION, k=2), bird_corpus, Trace()).pieces
    assert pieces == flat
    assert router.states == []


def test_without_router_fill_takes_all_that_may_fit(bird_corpus: Any) -> None:
    builder = TreeBuilder("T")
    for number in range(8):
        builder.add("p", text=f"number{number} " * 30)
    corpus = type(bird_corpus)([Document("xx:3", builder.finish())])
    n_pieces = {method: len(make_method(method).retrieve(Request("number1"), corpus, Trace()).pieces)
                for method in ("rdr2+no_router", "rdr2+fill+no_router")}
    assert n_pieces == {"rdr2+no_router": 5, "rdr2+fill+no_router": 8}


def test_without_structure_each_passage_is_taken_or_refused_alone(bird_corpus: Any,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    pieces, router = route(bird_corpus, monkeypatch, "rdr2+no_structure", EVERYTHING, "Cannot answer", k=3)
    hits = bird_corpus.search_dense(QUESTION, 3)
    assert len(router.states) == 3
    for state in router.states:
        assert not any(state.view.is_structure(int(line.rstrip(":"))) for line in text(state)), "no headings"
        assert "\t" not in state.text
        assert state.expandable == ()
    view = router.states[0].view
    assert set(router.states[0].visible) == view.matched(hits[0].node_ids)
    assert {piece.ranges[0][0] for piece in pieces} <= {r for n in view.matched(hits[0].node_ids)
                                                        for r in range(n, view.document[n].end_id + 1)}


def test_one_answer_takes_the_whole_passage(bird_corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    everything, _ = route(bird_corpus, monkeypatch, "rdr2+no_structure")
    one, _ = route(bird_corpus, monkeypatch, "rdr2+no_structure", "[ANSWER] 18: Barn owl")
    assert len(everything) > 1
    assert one == everything


def test_without_similarity_it_starts_below_a_random_heading(bird_corpus: Any, owl: Document,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    view = view_of(owl)
    chosen = {random_heading(f"question {n}", view) for n in range(50)}
    assert chosen == {0, 2, 11, 26}, "every heading with content of its own"
    assert random_heading(QUESTION, view) == random_heading(QUESTION, view)
    _, router = route(bird_corpus, monkeypatch, "rdr2+no_similarity", "Cannot answer")
    (state,) = router.states
    assert set(state.visible) == set(view.direct_content(random_heading(QUESTION, view)))
    assert max(map(state.score, state.visible)) <= 0.5, "no share of retrieved passages in any score"


def test_without_content_it_starts_with_headings(bird_corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = ("[EXPAND] 11: Range", "[ANSWER] 18: Barn owl")
    pieces, router = route(bird_corpus, monkeypatch, "rdr2+no_content", *outputs)
    assert text(router.states[0]) == ["0:", "2:", "11:", "26:"]
    assert router.states[0].visible == ()
    assert [state.turn for state in router.states] == [0, 1]
    assert len(pieces) == 1


def test_without_expand_only_the_first_turn_is_shown(bird_corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, router = route(bird_corpus, monkeypatch, "rdr2+no_expand", "[EXPAND] 26: Owls in art")
    (state,) = router.states
    assert state.expandable == ()
    assert "26: Owls in art" in state.text, "headings are still read"


def test_without_refuse_the_best_node_is_taken(bird_corpus: Any) -> None:
    for method, n_pieces in (("rdr2", 0), ("rdr2+no_refuse", 1)):
        trace = Trace()
        request = Request("price of bread", k=1, options={"answer_threshold": "1", "expand_threshold": "1",
                                                          "expand_iterations": "0"})
        pieces = make_method(method).retrieve(request, bird_corpus, trace).pieces
        step = next(step for step in trace.steps if step["step"] == "route")
        assert step["refused"] == (method == "rdr2")
        assert len(pieces) + len(step["expands"]) == n_pieces


def test_refusing_is_no_legal_output_without_refuse(bird_corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = Trace()
    router = ScriptedRouter("Cannot answer")
    monkeypatch.setattr(rdr2, "make_router", lambda name, corpus, options: router)
    make_method("rdr2+no_refuse").retrieve(Request(QUESTION, k=1), bird_corpus, trace)
    step = next(step for step in trace.steps if step["step"] == "route")
    assert (step["refused"], step["collapsed"], step["unparsed"]) == (False, True, 1)


@pytest.mark.parametrize("ablation", ABLATIONS)
def test_every_ablation_runs_with_the_similarity_router(bird_corpus: Any, ablation: str) -> None:
    for method in (f"rdr2+{ablation}", f"rdr2+fill+{ablation}"):
        pieces = make_method(method).retrieve(Request("owls and herons nest"), bird_corpus, Trace()).pieces
        assert pack(pieces, bird_corpus, 500).n_tokens <= 500


def test_switches_have_one_order() -> None:
    assert make_method("rdr2+no_refuse+no_expand+fill").name == "rdr2+fill+no_expand+no_refuse"
