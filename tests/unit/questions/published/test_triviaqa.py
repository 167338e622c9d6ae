"""TriviaQA: every name of the answer, the verified part, no evidence."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.errors import UserError

ANSWER: dict[str, Any] = {
    "Aliases": ["Sunset Blvd", "West Sunset Boulevard", "Sunset Boulevard"], "MatchedWikiEntityName": "S",
    "NormalizedAliases": ["sunset blvd", "sunset boulevard", "sunset bulevard"], "Type": "WikipediaEntity",
    "NormalizedMatchedWikiEntityName": "s", "NormalizedValue": "sunset boulevard", "Value": "Sunset Boulevard"}
ITEM: dict[str, Any] = {
    "Answer": ANSWER, "EntityPages": [{"DocSource": "TagMe", "Filename": "A.txt", "Title": "A"}],
    "Question": "Which musical premiered in 1993? ", "QuestionId": "tc_33", "QuestionSource": "http://x/",
    "SearchResults": [{"Title": "B", "Url": "u"}, {"Title": "C", "Url": "u"}]}


def file_of(*items: Any, **more: Any) -> dict[str, Any]:
    return {"Data": list(items), "Domain": "Web", "VerifiedEval": False, "Version": 1.0, **more}


def test_one_answer_with_every_name(read: Any) -> None:
    found = read("triviaqa", "wikipedia-dev.json", file_of(ITEM))
    [question] = found.questions
    assert (question.question_id, question.question) == ("tc_33", "Which musical premiered in 1993?")
    assert question.answers == (("Sunset Boulevard", "Sunset Blvd", "West Sunset Boulevard", "sunset bulevard"),)
    assert (question.evidence, question.split, question.type) == ((), "dev", None)
    assert found.tally.left_out == {"no_quote": 3}
    assert not found.tally.unknown_fields


def test_numbers_and_answers_of_people(read: Any) -> None:
    answer = {"Aliases": ["9 km"], "HumanAnswers": ["nine kilometres"], "Multiplier": "",
              "NormalizedAliases": ["9 km"], "NormalizedValue": "9 km", "Number": "9", "Type": "Numerical",
              "Unit": "km", "Value": "9 km"}
    item = {name: value for name, value in {**ITEM, "Answer": answer}.items() if name != "SearchResults"}
    found = read("triviaqa", "unfiltered-web-train.json", file_of(item))
    assert found.questions[0].answers == (("9 km", "nine kilometres"),)
    assert not found.tally.unknown_fields


def test_the_test_file_has_no_answers(read: Any) -> None:
    item = {name: value for name, value in ITEM.items() if name != "Answer"}
    found = read("triviaqa", "wikipedia-test-without-answers.json", file_of(item))
    assert found.places == [(1, "bad_field", "Answer")]


VERIFIED = file_of({**ITEM, "QuestionPartOfVerifiedEval": True, "QuestionVerifiedEvalAttempt": True},
                   {**ITEM, "QuestionId": "tc_34", "QuestionPartOfVerifiedEval": False}, VerifiedEval=True)


def test_of_a_verified_file_the_verified_items_count(read: Any) -> None:
    found = read("triviaqa", "verified-wikipedia-dev.json", VERIFIED)
    assert [question.question_id for question in found.questions] == ["tc_33"]
    assert found.tally.skipped == {"not part of the verified evaluation": 1}
    assert not found.bad


def test_a_verified_file_under_another_name_is_refused(read: Any) -> None:
    with pytest.raises(UserError, match="1 items are not verified; expected a name that begins with verified-"):
        read("triviaqa", "wikipedia-dev.json", VERIFIED)


@pytest.mark.parametrize(("change", "place"), [
    ({"QuestionId": None}, "QuestionId"), ({"Question": 3}, "Question"), ({"Answer": None}, "Answer"),
    ({"Answer": {**ANSWER, "Value": ""}}, "Answer.Value"),
    ({"Answer": {**ANSWER, "Aliases": "a"}}, "Answer.Aliases"),
    ({"Answer": {**ANSWER, "Aliases": [None]}}, "Answer.Aliases[0]"), ({"SearchResults": {}}, "SearchResults"),
])
def test_another_shape_is_a_reject_with_its_field(read: Any, change: dict[str, Any], place: str) -> None:
    found = read("triviaqa", "wikipedia-train.json", file_of(ITEM, {**ITEM, "QuestionId": "2", **change}))
    assert found.places == [(2, "bad_field", place)]


@pytest.mark.parametrize("content", [[ITEM], {"Version": 1.0}, {"data": [ITEM]}])
def test_a_file_of_another_layout_is_refused(read: Any, content: Any) -> None:
    with pytest.raises(UserError, match="a JSON object with Data"):
        read("triviaqa", "wikipedia-dev.json", content)


def test_unknown_fields_beside_and_in_the_items(read: Any) -> None:
    found = read("triviaqa", "web-dev.json", file_of({**ITEM, "Hint": "x"}, Licence="y"))
    assert found.tally.unknown_fields == {"Hint": 1, "Licence, beside Data": 1}
