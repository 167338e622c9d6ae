"""States and actions of the gold teacher on two birds, and rows that hold what training needs."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.curation.gold_teacher import GoldTeacher
from pipelines.curation.states import StateSettings, action_row, meet_states, state_id, state_row
from pipelines.evaluation.datasets import GoldEvidence, Question
from pipelines.evaluation.gold import GoldLocator
from pipelines.evaluation.normalise import normalise_title
from pipelines.methods.routing import PROMPT_FORMAT, RouterOutput, RouterState, parse_actions
from pipelines.models.llm import Usage


def asked(text: str, *quotes: tuple[str, str]) -> Question:
    return Question("q", text, (("yes",),), tuple(GoldEvidence(title, (), quote) for title, quote in quotes))


def locator_of(corpus: Any) -> GoldLocator:
    documents = corpus.documents(["xx:1", "xx:2"])
    ids_by_title = {normalise_title(document.title): [doc_id] for doc_id, document in documents.items()}
    return GoldLocator(ids_by_title, documents, corpus.count_tokens)


def teacher_of(corpus: Any, question: Question) -> GoldTeacher:
    return GoldTeacher(locator_of(corpus).nodes(question))


def outputs(corpus: Any, question: Question, **settings: Any) -> list[tuple[str, int, str]]:
    met = meet_states(question, corpus, teacher_of(corpus, question), StateSettings(**settings))
    return [(state.view.document.doc_id, state.turn, output.text) for state, output in met]


def test_visible_evidence_is_answered_with_and_other_documents_are_refused(bird_corpus: Any) -> None:
    question = asked("wingspan of the barn owl", ("Owl", "Barn owl | 95 cm"))
    assert outputs(bird_corpus, question) == [
        ("xx:1", 0, "[ANSWER] 18: Barn owl | 95 cm"), ("xx:2", 0, "Cannot answer")]


def test_hidden_evidence_is_expanded_and_answered_with_a_turn_later(bird_corpus: Any) -> None:
    question = asked("which owls hunt", ("Owl", "Barn owl | 95 cm"))
    shown = [item for item in outputs(bird_corpus, question, k=1, turns=2) if item[0] == "xx:1"]
    assert shown == [("xx:1", 0, "[EXPAND] 11: Range"), ("xx:1", 1, "[ANSWER] 18: Barn owl | 95 cm")]
    assert outputs(bird_corpus, question, k=1) == shown[:1], "without turns the loop ends behind the first"


def test_a_quote_that_stands_twice_is_gold_in_both_places(bird_corpus: Any) -> None:
    locator = locator_of(bird_corpus)
    holding = {node.node_id for node in bird_corpus.document("xx:1")
               if "owls" in node.text.lower() and not node.is_structure}
    assert len(holding) > 2
    assert locator.nodes(asked("?", ("Owl", "owls"))) == {"xx:1": holding}


def test_a_quote_over_two_blocks_is_gold_in_both(bird_corpus: Any) -> None:
    locator = locator_of(bird_corpus)
    found = locator.nodes(asked("?", ("Owl", "voles field mice")))["xx:1"]
    assert {bird_corpus.document("xx:1")[node_id].text for node_id in found} == {"voles", "field mice"}
    assert locator.nodes(asked("?", ("Owl", "words that it lacks"), ("Auk", "voles"))) == {}


def met(corpus: Any, question: Question) -> tuple[RouterState, RouterOutput]:
    return meet_states(question, corpus, teacher_of(corpus, question), StateSettings(k=1))[0]


def test_a_row_holds_lines_and_scores_side_by_side(bird_corpus: Any) -> None:
    question = asked("wingspan of the barn owl", ("Owl", "Barn owl | 95 cm"))
    state, output = met(bird_corpus, question)
    row = state_row(state, question, "birds", 3, 1)
    assert row["lines"] == list(state.legal_lines())
    assert len(row["lines"]) == len(row["scores"]) == len(row["lit_node_ids"]) + len(row["hidden_node_ids"])
    assert row["scores"][row["lit_node_ids"].index(18)] == state.score(18)
    assert row["router_text"] == state.text
    assert (row["prompt_format"], row["release"], row["bucket"], row["turn"]) == (PROMPT_FORMAT, 3, 1, 0)
    action = action_row(row, state, output, "gold")
    assert (action["state_id"], action["actions"], action["tag"]) == (
        row["state_id"], ["[ANSWER] 18: Barn owl | 95 cm"], "ANSWER")


def test_of_a_model_only_legal_actions_are_kept_and_the_others_counted(bird_corpus: Any) -> None:
    question = asked("wingspan of the barn owl")
    state, _ = met(bird_corpus, question)
    row = state_row(state, question, "birds", 3, 1)
    heading = next(node_id for node_id in state.expandable if state.view.text[node_id] == "Owls in art")
    said = RouterOutput(f"[EXPAND] {heading}: Owls\n[ANSWER] 2: Diet\n[ANSWER] 999: x\n[ANSWER] 18: Barn",
                        Usage(1, tokens_in=200, tokens_out=9, cost_usd=0.5))
    action = action_row(row, state, said, "teacher")
    assert action["actions"] == ["[ANSWER] 18: Barn owl | 95 cm", f"[EXPAND] {heading}: Owls in art"]
    assert (action["expelled"], action["collapsed"], action["tag"]) == (2, False, "ANSWER")
    assert (action["tokens_in"], action["tokens_out"], action["cost_usd"]) == (200, 9, 0.5)
    nothing = action_row(row, state, RouterOutput("I do not know"), "teacher")
    assert (nothing["actions"], nothing["collapsed"]) == ([], True)


@pytest.mark.parametrize(("other", "is_equal"), [
    (("q", "d", "t"), True), (("q2", "d", "t"), False), (("q", "d2", "t"), False), (("q", "d", "t2"), False)])
def test_a_state_is_known_by_question_document_and_text(other: tuple[str, str, str], is_equal: bool) -> None:
    assert (state_id(*other) == state_id("q", "d", "t")) == is_equal


def test_kept_lines_are_legal_again(bird_corpus: Any) -> None:
    question = asked("which owls hunt", ("Owl", "Barn owl | 95 cm"))
    for state, output in meet_states(question, bird_corpus, teacher_of(bird_corpus, question),
                                     StateSettings(turns=3)):
        action = action_row(state_row(state, question, "birds", 1, 0), state, output, "gold")
        again = parse_actions("\n".join(action["actions"]) or "Cannot answer", state)
        assert (again.expelled, again.unknown, again.unparsed, again.is_collapsed) == ((), (), (), False)
