"""ASQA: answers of its readings, what the annotators used as evidence, splits as the file has them."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.errors import UserError
from pipelines.evaluation.datasets import GoldEvidence

KNOWLEDGE = {"content": "Sinclair has 187 goals.\nShe has 300 caps.", "wikipage": "Christine Sinclair"}
ITEM: dict[str, Any] = {
    "ambiguous_question": "Who has the most goals?",
    "qa_pairs": [
        {"context": "No context provided", "question": "Who among men?", "short_answers": ["Daei", "Ali Daei"],
         "wikipage": None},
        {"context": "The first player …", "question": "Who among women?", "short_answers": ["Sinclair"],
         "wikipage": "List of footballers"},
    ],
    "wikipages": [{"title": "Ali Daei", "url": "https://en.wikipedia.org/wiki/Ali%20Daei"}],
    "annotations": [{"knowledge": [], "long_answer": "Ali Daei …"},
                    {"knowledge": [KNOWLEDGE], "long_answer": "The players …"}],
}
ALCE = {**{name: value for name, value in ITEM.items() if name != "ambiguous_question"},
        "sample_id": "-7013", "question": "Who has the most goals?", "answer": "The players …",
        "docs": [{"id": "1", "title": "T", "text": "x", "score": 0.7, "summary": "s", "extraction": "e"}]}


def test_readings_are_required_answers_and_knowledge_is_evidence_a_line_a_quote(read: Any) -> None:
    found = read("asqa", "ASQA.json", {"train": {"-10": ITEM}, "dev": {"12": ITEM}})
    first, second = found.questions
    assert (first.question_id, first.split, second.question_id, second.split) == ("-10", "train", "12", "dev")
    assert first.question == "Who has the most goals?"
    assert first.answers == (("Daei", "Ali Daei"), ("Sinclair",))
    assert first.evidence == (GoldEvidence("Christine Sinclair", (), "Sinclair has 187 goals."),
                              GoldEvidence("Christine Sinclair", (), "She has 300 caps."))
    assert (first.type, first.derived, first.generator) == (None, False, None)
    assert not found.bad
    assert not found.tally.unknown_fields
    assert not found.tally.left_out


def test_a_split_is_taken_alone_when_it_is_named(read: Any) -> None:
    content = {"train": {"1": ITEM}, "dev": {"2": ITEM, "3": ITEM}}
    assert [q.question_id for q in read("asqa", "ASQA.json", content, "dev").questions] == ["2", "3"]


def test_alces_form_gives_the_same_question(read: Any) -> None:
    [original] = read("asqa", "ASQA.json", {"dev": {"-7013": ITEM}}).questions
    found = read("alce-asqa", "asqa_eval_gtr_top100.json", [ALCE])
    assert found.questions == [original]
    assert not found.tally.unknown_fields


def test_evidence_that_has_no_title_or_no_words_is_counted(read: Any) -> None:
    pieces = [{"content": "words", "wikipage": None}, {"content": "words", "wikipage": "A list of things ..."},
              {"content": " — ", "wikipage": "T"}, {"content": None, "wikipage": "T"}, KNOWLEDGE, KNOWLEDGE]
    item = {**ITEM, "annotations": [{"knowledge": pieces, "long_answer": "x"}]}
    found = read("asqa", "ASQA.json", {"dev": {"1": item}})
    assert len(found.questions[0].evidence) == 2
    assert found.tally.left_out == {"no_title": 1, "title_cut_off": 1, "no_quote": 2}


@pytest.mark.parametrize(("change", "place"), [
    ({"ambiguous_question": None}, "ambiguous_question"), ({"qa_pairs": {}}, "qa_pairs"),
    ({"qa_pairs": []}, "qa_pairs"), ({"qa_pairs": [{"question": "q"}]}, "qa_pairs[0].short_answers"),
    ({"qa_pairs": [{"short_answers": ["a", 3]}]}, "qa_pairs[0].short_answers[1]"),
    ({"qa_pairs": [{"short_answers": [" "]}]}, "qa_pairs[0].short_answers"),
    ({"annotations": "none"}, "annotations"), ({"annotations": [{"long_answer": "x"}]}, "annotations[0].knowledge"),
    ({"annotations": [{"knowledge": [{"content": 4, "wikipage": "T"}]}]}, "annotations[0].knowledge[0].content"),
])
def test_another_shape_is_a_reject_with_its_field(read: Any, change: dict[str, Any], place: str) -> None:
    found = read("asqa", "ASQA.json", {"dev": {"1": {**ITEM, **change}, "2": ITEM}})
    assert found.places == [(1, "bad_field", place)]
    assert [question.question_id for question in found.questions] == ["2"]


def test_a_missing_field_and_an_unknown_one(read: Any) -> None:
    missing = {name: value for name, value in ITEM.items() if name != "annotations"}
    found = read("asqa", "ASQA.json", {"dev": {"1": missing, "2": {**ITEM, "colour": "red"}}})
    assert found.places == [(1, "bad_field", "annotations")]
    assert found.tally.unknown_fields == {"colour": 1}
    assert len(found.questions) == 1


@pytest.mark.parametrize("content", [[ITEM], {"all": {"1": ITEM}}, {"dev": [ITEM]}])
def test_a_file_of_another_layout_is_refused(read: Any, content: Any) -> None:
    with pytest.raises(UserError, match=r"Check the format: this one is ASQA\.json"):
        read("asqa", "ASQA.json", content)
