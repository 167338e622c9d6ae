"""HotpotQA: supporting facts become the sentences that they number."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.errors import UserError
from pipelines.evaluation.datasets import GoldEvidence

ITEM: dict[str, Any] = {
    "_id": "5a7a", "question": "Were they of the same nationality?", "answer": "yes", "type": "comparison",
    "level": "hard", "supporting_facts": [["Scott Derrickson", 0], ["Ed Wood", 1]],
    "context": [["Ed Wood", ["Ed Wood was born.", " He was an American filmmaker."]], ["Other", ["Words."]],
                ["Scott Derrickson", ["Scott Derrickson is an American director.", " He lives."]]],
}


def test_facts_are_quotes(read: Any) -> None:
    found = read("hotpotqa", "hotpot_dev_distractor_v1.json", [ITEM])
    [question] = found.questions
    assert (question.question_id, question.answers) == ("5a7a", (("yes",),))
    assert question.evidence == (
        GoldEvidence("Scott Derrickson", (), "Scott Derrickson is an American director."),
        GoldEvidence("Ed Wood", (), "He was an American filmmaker."))
    assert (question.type, question.split, question.derived) == ("comparison", "dev", False)
    assert not found.tally.unknown_fields


def test_facts_outside_the_context_and_beyond_their_paragraph_are_counted(read: Any) -> None:
    item = {**ITEM, "supporting_facts": [["Nowhere", 0], ["Other", 1], ["Ed Wood", 0], ["Ed Wood", 0]]}
    found = read("hotpotqa", "hotpot_dev_fullwiki_v1.json", [item])
    assert found.questions[0].evidence == (GoldEvidence("Ed Wood", (), "Ed Wood was born."),)
    assert found.tally.left_out == {"not_in_context": 1, "no_such_sentence": 1}
    assert found.tally.n_without_evidence == 0


def test_of_two_paragraphs_of_a_page_the_one_with_the_sentence_counts(read: Any) -> None:
    item = {**ITEM, "context": [["Ed Wood", ["Short."]], *ITEM["context"]]}
    assert read("hotpotqa", "dev.json", [item]).questions[0].evidence[1].quote == "He was an American filmmaker."


def test_items_of_the_test_file_are_no_unanswerable_questions(read: Any) -> None:
    item = {name: value for name, value in ITEM.items() if name not in ("answer", "supporting_facts", "type")}
    found = read("hotpotqa", "hotpot_test_fullwiki_v1.json", [item])
    assert found.places == [(1, "bad_field", "answer")]
    assert "the published test file does not have" in found.bad[0].line.expected


@pytest.mark.parametrize(("change", "place"), [
    ({"_id": 5}, "_id"), ({"answer": ["yes"]}, "answer"), ({"context": None}, "context"),
    ({"context": [["Ed Wood"]]}, "context[0]"), ({"context": [[1, ["a"]]]}, "context[0][0]"),
    ({"context": [["Ed Wood", "text"]]}, "context[0][1]"),
    ({"supporting_facts": [["Ed Wood"]]}, "supporting_facts[0]"),
    ({"supporting_facts": [["Ed Wood", "0"]]}, "supporting_facts[0][1]"),
    ({"supporting_facts": [["Ed Wood", -1]]}, "supporting_facts[0][1]"),
    ({"supporting_facts": [["Ed Wood", True]]}, "supporting_facts[0][1]"),
    ({"supporting_facts": [["", 0]]}, "supporting_facts[0][0]"), ({"type": 4}, "type"),
    ({"context": [["Ed Wood", [1, 2]]]}, "context, sentence 1 of 'Ed Wood'"),
])
def test_another_shape_is_a_reject_with_its_field(read: Any, change: dict[str, Any], place: str) -> None:
    item = {**ITEM, "_id": "2", **change}
    if "context" in change:
        item["supporting_facts"] = [["Ed Wood", 1]]
    found = read("hotpotqa", "hotpot_train_v1.1.json", [ITEM, item])
    assert found.places == [(2, "bad_field", place)]
    assert len(found.questions) == 1


@pytest.mark.parametrize(("content", "words"), [
    ({"data": []}, "it begins with '{'; expected a JSON array of items"),
    ("", "it begins with 'nothing'"),
    ('[{"_id": "1"}, {"_id', "it ends in the middle \\(item 2, character 16\\)"),
    ("[] []", "more after its end"),
])
def test_a_file_of_another_layout_or_cut_off_is_refused(read: Any, content: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        read("hotpotqa", "hotpot_dev.json", content)


def test_half_of_a_surrogate_pair_is_no_text(read: Any) -> None:
    found = read("hotpotqa", "hotpot_dev.json", '[{"_id": "1", "question": "\\ud800"}]')
    assert found.places == [(1, "bad_field", "question")]
    assert found.bad[0].line.sample == '{"_id": "1", "question": "\\ud800"}'
