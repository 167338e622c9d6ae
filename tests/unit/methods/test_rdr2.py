"""RDR² from question to pieces on a small corpus, and the loop with routers that say what a test wants."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.documents.tree import Document, TreeBuilder
from pipelines.errors import UserError
from pipelines.methods import rdr2
from pipelines.methods.base import Request, Trace
from pipelines.methods.flat import Flat
from pipelines.methods.rdr2 import Rdr2
from pipelines.methods.routing import RouterOutput, RouterState
from pipelines.methods.routing_loop import RoutedDocument
from pipelines.methods.similarity_router import NodeScorer
from pipelines.methods.subtree import view_of
from pipelines.models.llm import Usage
from pipelines.retrieval.budget import pack


class ScriptedRouter:
    """Says one prepared output a turn and keeps what it was shown."""

    name = "scripted"

    def __init__(self, *outputs: str, parallel: int = 1) -> None:
        self._outputs, self.parallel = outputs, parallel
        self.states: list[RouterState] = []

    def route(self, state: RouterState) -> RouterOutput:
        self.states.append(state)
        return RouterOutput(self._outputs[min(state.turn, len(self._outputs) - 1)],
                            Usage(1, tokens_in=100, tokens_out=10))


def scripted(monkeypatch: pytest.MonkeyPatch, *outputs: str, parallel: int = 1) -> ScriptedRouter:
    router = ScriptedRouter(*outputs, parallel=parallel)
    monkeypatch.setattr(rdr2, "make_router", lambda name, corpus, options: router)
    return router


def ask(corpus: Any, question: str, fill: bool = False, **fields: Any) -> tuple[Any, Trace]:
    trace = Trace()
    return Rdr2(fill).retrieve(Request(question, **fields), corpus, trace), trace


def flat_trace(corpus: Any, question: str, ranking: Any, **fields: Any) -> tuple[Any, Trace]:
    trace = Trace()
    return Flat("flat", ranking).retrieve(Request(question, **fields), corpus, trace), trace


def steps(trace: Trace, name: str) -> list[dict[str, Any]]:
    return [step for step in trace.steps if step["step"] == name]


def test_a_row_is_found_through_its_table(bird_corpus: Any) -> None:
    retrieved, trace = ask(bird_corpus, "wingspan of the barn owl")
    context = pack(retrieved.pieces, bird_corpus, 1000)
    assert context.text == "# Owl\n## Range\nSpecies | Wingspan | Countries\nBarn owl | 95 cm | 140"
    assert (retrieved.llm_calls, retrieved.fallbacks) == (0, 0)
    route = steps(trace, "route")[0]
    assert route["output"] == "[ANSWER] 14: Species | Wingspan | Countries\n[ANSWER] 18: Barn owl | 95 cm"
    assert route["router_text"].startswith("Question: wingspan of the barn owl\n0: Owl\n")
    assert {"title", "answers", "expands", "refused", "expelled", "collapsed", "lines_left_out",
            "duration_s"} <= set(route)


def test_a_hidden_section_is_reached_by_expanding_its_heading(bird_corpus: Any) -> None:
    retrieved, trace = ask(bird_corpus, "What is shown of owls in art?", k=1,
                           options={"expand_threshold": "0.15", "answer_threshold": "0.15"})
    turns = steps(trace, "route")
    assert any(step["turn"] > 0 for step in turns)
    assert "Athena\n: The goddess carries an owl" in pack(retrieved.pieces, bird_corpus, 1000).text


def test_a_list_item_comes_with_what_introduces_it(bird_corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, "[ANSWER] 7: voles")
    retrieved, _ = ask(bird_corpus, "voles", k=1)
    (piece,) = retrieved.pieces
    assert pack(retrieved.pieces, bird_corpus, 1000).text == \
        "# Owl\n## Diet\nMost owls eat these animals:\n- small mammals\n  1. voles"
    assert piece.ranges == ((7, 0, 5),)


def test_expanding_shows_all_headings_and_only_new_content(bird_corpus: Any,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    router = scripted(monkeypatch, "[EXPAND] 11: Range\n[EXPAND] 26: Owls in art", "[EXPAND] 11: Range",
                      "[ANSWER] 28: Athena")
    retrieved, _ = ask(bird_corpus, "voles", k=1)
    assert [state.turn for state in router.states] == [0, 1, 2], "what was seen is not shown again"
    assert [router.states[1].view.text[i].split()[0] for i in router.states[1].visible] == [
        "Owls", "Species", "Barn", "Snowy"]
    assert router.states[1].text.split("\n")[1:3] == ["0: Owl", "\t2: Diet"]
    assert [piece.ranges[0][0] for piece in retrieved.pieces] == [28]
    assert (retrieved.llm_calls, retrieved.tokens_in, retrieved.tokens_out) == (3, 300, 30)


def test_expanding_stops_at_its_limit(bird_corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = "[EXPAND] 11: Range\n[EXPAND] 26: Owls in art"
    for limit, n_turns in ((0, 1), (1, 2), (2, 3), (5, 3)):
        router = scripted(monkeypatch, everything)
        ask(bird_corpus, "voles", k=1, options={"expand_iterations": str(limit)})
        assert len(router.states) == n_turns


def test_a_heading_without_direct_content_is_skipped_free(bird_corpus: Any,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    builder = TreeBuilder("T")
    builder.add("p", text="lead " * 30)
    builder.open("section", text="Outer", level=2)
    builder.open("section", text="Inner", level=3)
    builder.add("p", text="inner words")
    corpus = type(bird_corpus)([Document("xx:3", builder.finish())])
    router = scripted(monkeypatch, "[EXPAND] 2: Outer\n[EXPAND] 3: Inner", "[ANSWER] 4: inner words")
    retrieved, _ = ask(corpus, "lead", k=1, options={"expand_iterations": "1"})
    assert [state.turn for state in router.states] == [0, 1]
    assert [piece.ranges[0][0] for piece in retrieved.pieces] == [4]


def test_illegal_output_answers_nothing_and_is_counted(bird_corpus: Any,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, "[ANSWER] 7: lions\nblah")
    retrieved, trace = ask(bird_corpus, "voles", k=1)
    (step,) = steps(trace, "route")
    assert retrieved.pieces == []
    assert (step["expelled"], step["unparsed"], step["collapsed"], step["refused"]) == (1, 1, True, False)


def test_pieces_are_ordered_by_document_then_score(bird_corpus: Any) -> None:
    retrieved, trace = ask(bird_corpus, "Which owls and herons nest in colonies?",
                           options={"answer_threshold": "0", "expand_threshold": "1"})
    order = list(dict.fromkeys(hit["doc_id"] for hit in steps(trace, "search")[0]["hits"]))
    assert list(dict.fromkeys(piece.doc_id for piece in retrieved.pieces)) == order
    for doc_id in order:
        scores = [piece.score for piece in retrieved.pieces if piece.doc_id == doc_id]
        assert scores == sorted(scores, reverse=True)


def test_parallel_routing_gives_the_same_steps_in_the_same_order(bird_corpus: Any,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for parallel in (1, 4):
        scripted(monkeypatch, "Cannot answer", parallel=parallel)
        _, trace = ask(bird_corpus, "Which owls and herons nest in colonies?")
        seen.append([(step["doc_id"], step["turn"]) for step in steps(trace, "route")])
    assert seen[0] == seen[1]
    assert len(seen[0]) == 2


def long_corpus(corpus_class: Any) -> Any:
    documents = []
    for number in range(30):
        builder = TreeBuilder(f"Village {number}")
        builder.add("p", text=f"Village {number} has a mill on the river and a chapel of 18{number:02}. "
                              "Its people keep sheep and weave cloth for the market of the town.")
        documents.append(Document(f"xx:{100 + number}", builder.finish(), revision="1", parser_version=1))
    return corpus_class(documents, {"answer": 0.3, "expand": 0.9})


def test_fill_retrieves_more_until_the_context_is_nearly_full(bird_corpus: Any) -> None:
    corpus = long_corpus(type(bird_corpus))
    question = "village mill river chapel"
    plain, _ = ask(corpus, question, budget_tokens=600)
    filled, trace = ask(corpus, question, fill=True, budget_tokens=600)
    assert pack(plain.pieces, corpus, 600).n_tokens < 0.9 * 600 <= pack(filled.pieces, corpus, 600).n_tokens
    assert [step["k"] for step in steps(trace, "fill")] == [5, 10, 20]
    routed = [step["doc_id"] for step in steps(trace, "route")]
    assert len(routed) == len(set(routed)), "a document with the same passages is routed once"
    assert filled.pieces[: len(plain.pieces)] == plain.pieces


def test_fill_stops_at_fifty_passages_or_at_the_corpus_end(bird_corpus: Any) -> None:
    corpus = long_corpus(type(bird_corpus))
    _, trace = ask(corpus, "village mill river chapel", fill=True, budget_tokens=100_000)
    assert steps(trace, "search")[0]["k"] == 50
    assert [step["k"] for step in steps(trace, "fill")] == [5, 10, 20]


@pytest.mark.parametrize("ranking", ["bm25", "hybrid"])
def test_another_ranking_finds_passages_and_the_router_still_reads_cosines(
        bird_corpus: Any, monkeypatch: pytest.MonkeyPatch, ranking: str) -> None:
    question = "wingspan of the barn owl"
    read: dict[str, float] = {}

    class Recorded(NodeScorer):
        def __init__(self, weights: Any, view: Any, hits: Any) -> None:
            read.update({hit.unit_id: hit.score for hit in hits})
            super().__init__(weights, view, hits)

    monkeypatch.setattr("pipelines.methods.routing_loop.NodeScorer", Recorded)
    _, trace = ask(bird_corpus, question, options={"ranking": ranking}, k=3)
    _, flat = flat_trace(bird_corpus, question, ranking, k=3)
    found = [hit["unit_id"] for hit in steps(trace, "search")[0]["hits"]]
    assert found == [hit["unit_id"] for hit in steps(flat, "search")[0]["hits"]]
    cosines = {hit.unit_id: hit.score for hit in bird_corpus.search_dense(question, 1000)}
    assert read == {unit_id: cosines[unit_id] for unit_id in found}


def test_k_zero_retrieves_nothing(bird_corpus: Any) -> None:
    assert ask(bird_corpus, "voles", k=0)[0].pieces == []


@pytest.mark.parametrize("options", [
    {"expand_iterations": "-1"}, {"expand_iterations": "two"}, {"kappa": "3"}, {"answer_threshold": "1.5"},
    {"line_words": "60.5"}, {"answer_threshold": "nan"}])
def test_wrong_options_are_a_users_error(bird_corpus: Any, options: dict[str, str]) -> None:
    with pytest.raises(UserError):
        ask(bird_corpus, "voles", options=options)


def test_an_answered_node_below_another_repeats_nothing(bird_corpus: Any,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, "[ANSWER] 5: small mammals\n[ANSWER] 7: voles")
    retrieved, _ = ask(bird_corpus, "voles small mammals", k=1)
    text = pack(retrieved.pieces, bird_corpus, 1000).text
    assert text.count("small mammals") == 1
    assert text.count("voles") == 1


def test_routed_documents_without_answers_give_no_pieces(bird_corpus: Any, owl: Document) -> None:
    view = view_of(owl)
    assert RoutedDocument(view, NodeScorer({}, view, [])).pieces() == []


def test_a_row_comes_with_the_column_headings_of_its_table(bird_corpus: Any,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, "[ANSWER] 18: Barn owl")
    row = "# Owl\n## Range\n{}Barn owl | 95 cm | 140"
    for given, expected in (({}, "Species | Wingspan | Countries\n"), ({"table_headers": "false"}, "")):
        retrieved, _ = ask(bird_corpus, "barn owl wingspan", k=1, options=given)
        context = pack(retrieved.pieces, bird_corpus, 1000)
        assert context.text == row.format(expected)
        assert [citation.quote for citation in context.evidence[0].citations] == ["Barn owl | 95 cm | 140"]
