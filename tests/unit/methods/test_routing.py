"""The router text and the grammar of actions: exact lines, and every illegal action counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pipelines.documents.tree import Document, TreeBuilder
from pipelines.methods.routing import RouterState, first_words, parse_actions, router_state
from pipelines.methods.subtree import SubtreeView

State = Callable[..., RouterState]


@pytest.fixture(scope="module")
def make_state(owl: Document, bird_corpus: Any) -> State:
    def make(lit: set[str], anchors: set[str] | None = None, question: str = "What do owls eat?",
             max_tokens: int = 3000, view: SubtreeView | None = None, line_words: int = 60) -> RouterState:
        view = view or SubtreeView(owl)

        def ids(texts: set[str]) -> set[int]:
            return {next(i for i in view if view.text[i].startswith(text)) for text in texts}

        return router_state(question, view, ids(lit), ids(anchors or lit), turn=0, line_words=line_words,
                            max_tokens=max_tokens, count_tokens=bird_corpus.count_tokens, score=lambda _: 0.0)
    return make


def test_router_text_shows_all_headings_and_lit_content_by_depth(make_state: State) -> None:
    state = make_state({"Most owls", "small mammals", "Barn owl"})
    assert state.text == ("Question: What do owls eat?\n"
                          "0: Owl\n"
                          "\t2: Diet\n"
                          "\t\t3: Most owls eat these animals:\n"
                          "\t\t\t5: small mammals\n"
                          "\t11: Range\n"
                          "\t\t18: Barn owl | 95 cm | 140\n"
                          "\t26: Owls in art")
    assert state.visible == (3, 5, 18)
    assert state.expandable == (0, 2, 11, 26), "headings with something hidden"
    assert make_state({"Athena", "The goddess"}).expandable == (0, 2, 11)


def test_lines_are_cut_to_their_words_and_kept_on_one_line(make_state: State) -> None:
    builder = TreeBuilder("T")
    builder.add("pre", text="one two\nthree   four\nfive six")
    state = make_state({"one"}, view=SubtreeView(Document("xx:9", builder.finish())), line_words=5)
    assert state.text.split("\n")[1:] == ["0: T", "\t1: one two three four five …"]


@pytest.mark.parametrize("question", ["owls " * 3000, "鴞" * 3000])
def test_a_question_of_pages_leaves_room_for_nodes(make_state: State, bird_corpus: Any, question: str) -> None:
    state = make_state({"small mammals"}, question=question, max_tokens=400)
    assert "small mammals" in state.text
    assert bird_corpus.count_tokens(state.text.split("\n")[0]) <= 200
    assert bird_corpus.count_tokens(state.text) <= 400


def test_a_long_text_loses_its_farthest_lines_and_says_how_many(make_state: State, bird_corpus: Any) -> None:
    builder = TreeBuilder("Long")
    for number in range(200):
        builder.add("p", text=f"paragraph {number} of many words about nothing in particular")
    for number in range(5):
        builder.close_to(0)
        builder.open("section", text=f"Heading {number}", level=2)
        builder.add("p", text=f"below {number}")
    view = SubtreeView(Document("xx:9", builder.finish()))
    lit = {f"paragraph {number} of" for number in range(200)}
    state = make_state(lit, {"paragraph 150 of"}, max_tokens=600, view=view)
    assert bird_corpus.count_tokens(state.text) <= 600
    shown = [int(line.split()[2]) for line in state.text.split("\n") if "paragraph" in line]
    assert len(shown) > 20
    assert shown == list(range(shown[0], shown[-1] + 1))
    assert abs((150 - shown[0]) - (shown[-1] - 150)) <= 1, "as many on both sides of the match"
    assert state.text.count("Heading") == 5, "headings stay"
    assert state.n_left_out == 200 - len(shown) == len(lit) - len(state.visible)
    assert state.text.endswith(f"\n({state.n_left_out} lines left out)")
    assert 0 in state.expandable, "what was left out can still be asked for"
    tiny = make_state(lit, {"paragraph 150 of"}, max_tokens=40, view=view)
    assert bird_corpus.count_tokens(tiny.text) <= 40
    assert tiny.text.startswith("Question: What do owls eat?\n0: Long\n")


def test_legal_actions_are_taken_once_each_in_their_order(make_state: State) -> None:
    state = make_state({"Most owls", "small mammals"})
    actions = parse_actions("[ANSWER] 5: small mammals\n\n[EXPAND] 11: Range\n [answer] 3: Most owls eat\n"
                            "[ANSWER] 5: small", state)
    assert (actions.answers, actions.expands) == ((5, 3), (11,))
    assert not (actions.is_refusal)
    assert not (actions.is_collapsed)
    assert not (actions.expelled)
    assert not (actions.unknown)


@pytest.mark.parametrize("line", [
    "[ANSWER] 2: Diet",  # a heading
    "[EXPAND] 3: Most owls eat",  # content
    "[ANSWER] 1: Owls are birds",  # content that is not shown
    "[ANSWER] 3: Fish and chips",  # other words
    "[ANSWER] 3:",  # no words
    "[ANSWER] 3",
])
def test_known_ids_of_the_wrong_kind_or_words_are_expelled(make_state: State, line: str) -> None:
    actions = parse_actions(line, make_state({"Most owls", "small mammals"}))
    assert (actions.expelled, actions.unknown, actions.is_collapsed) == ((line.strip(),), (), True)


def test_an_endless_number_is_no_action(make_state: State) -> None:
    line = f"[ANSWER] {'9' * 5000}: x"
    assert parse_actions(line, make_state({"Most owls"})).unparsed == (line,)


def test_unknown_ids_and_prose_are_counted_apart(make_state: State) -> None:
    actions = parse_actions("I think:\n[ANSWER] 999: x\n[ANSWER] 4:\n[ANSWER] 3: most OWLS, eat",
                            make_state({"Most owls"}))
    assert (actions.answers, actions.unparsed) == ((3,), ("I think:",))
    assert actions.unknown == ("[ANSWER] 999: x", "[ANSWER] 4:"), "4 is the list itself, which no router sees"


@pytest.mark.parametrize(("text", "is_refusal", "is_collapsed"), [
    ("Cannot answer", True, False), ("cannot answer.\n", True, False), ("", False, True),
    ("I cannot answer that", False, True), ("Cannot answer\nCannot answer", False, True)])
def test_refusing_is_one_line(make_state: State, text: str, is_refusal: bool, is_collapsed: bool) -> None:
    actions = parse_actions(text, make_state({"Most owls"}))
    assert (actions.is_refusal, actions.is_collapsed) == (is_refusal, is_collapsed)


def test_a_refusal_beside_an_action_is_no_refusal(make_state: State) -> None:
    actions = parse_actions("Cannot answer\n[ANSWER] 3: Most", make_state({"Most owls"}))
    assert (actions.is_refusal, actions.answers, actions.unparsed) == (False, (3,), ("Cannot answer",))


@pytest.mark.parametrize(("text", "n_words", "expected"), [
    ("one two  three", 2, "one two"), ("one", 5, "one"), ("", 5, ""), ("東京都港区赤坂", 2, "東京都港"),
    ("in 東京都港区 now", 2, "in 東京")])
def test_first_words_count_as_everywhere(text: str, n_words: int, expected: str) -> None:
    assert first_words(text, n_words) == expected
