"""ELI5 in ALCE's form: claims as required answers, and ids from the questions."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

ITEM: dict[str, Any] = {"question": "How are firms valued so highly?", "question_ctx": "[removed]",
                        "answer": "They grow first.", "claims": ["Firms grow first.", "Profit comes later."],
                        "docs": [{"title": "T", "text": "x", "url": "u", "summary": "s", "extraction": "e"}]}


def test_claims_are_required_answers(read: Any) -> None:
    found = read("alce-eli5", "eli5_eval_bm25_top100.json", [ITEM])
    [question] = found.questions
    assert question.question_id == hashlib.sha256(b"How are firms valued so highly?").hexdigest()[:16]
    assert question.answers == (("Firms grow first.",), ("Profit comes later.",))
    assert (question.evidence, question.type, question.split) == ((), "long_form", "dev")
    assert not question.is_unanswerable
    assert not found.tally.unknown_fields


def test_without_claims_the_answer_is_the_answer(read: Any) -> None:
    item = {name: value for name, value in ITEM.items() if name != "claims"}
    assert read("alce-eli5", "eli5_eval.json", [item]).questions[0].answers == (("They grow first.",),)


def test_the_same_question_has_the_same_id_in_every_file(read: Any) -> None:
    ids = {read("alce-eli5", name, [item]).questions[0].question_id
           for name, item in (("eli5_eval_bm25.json", ITEM), ("eli5_eval_oracle.json", {**ITEM, "docs": []}))}
    assert len(ids) == 1


@pytest.mark.parametrize(("item", "place"), [
    ({**ITEM, "question": "Another?", "claims": "one"}, "claims"),
    ({**ITEM, "question": "Another?", "claims": [1]}, "claims[0]"),
    ({"question": "Another?"}, "answer"), ({"claims": ["x"]}, "question"), ("text", ""),
])
def test_another_shape_is_a_reject_with_its_field(read: Any, item: Any, place: str) -> None:
    found = read("alce-eli5", "eli5_eval.json", [ITEM, item])
    assert found.places == [(2, "bad_field", place)]


def test_a_question_that_stands_twice_is_taken_once(read: Any) -> None:
    found = read("alce-eli5", "eli5_eval.json", [ITEM, ITEM])
    assert found.places == [(2, "duplicate_id", "id")]
    assert len(found.questions) == 1
