"""QAMPARI: all answers required, proofs as evidence, and which questions a program made."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.evaluation.datasets import GoldEvidence
from pipelines.questions.published.qampari import title_of_url

ITEM: dict[str, Any] = {
    "qid": "799__wikidata_simple__dev", "question_text": "What manga was drawn by Ryoichi Ikegami?",
    "entities": [{"entity_text": "Ryoichi Ikegami"}],
    "answer_list": [
        {"answer_text": "Heat", "aliases": ["Heat", "Heat (manga)"], "aid": "799__0", "answer_url": "u",
         "proof": [{"proof_text": "Heat was drawn by Ryoichi Ikegami.", "pid": "799__0__0",
                    "found_in_url": "https://en.wikipedia.org/wiki/Heat_(manga)"}]},
        {"answer_text": "Sanctuary", "aliases": [],
         "proof": [{"proof_text": "It was illustrated by him.", "found_in_url": None}]},
    ],
}
ALCE = {"id": "799__wikidata_simple__dev", "question": "What manga?", "answer": "Heat, Sanctuary.",
        "answers": [["Heat", "Heat (manga)"], ["Sanctuary"]], "docs": []}


def test_answers_aliases_and_proofs(read: Any) -> None:
    found = read("qampari", "dev_data.jsonl", [ITEM], lines=True)
    [question] = found.questions
    assert question.question_id == "799__wikidata_simple__dev"
    assert question.answers == (("Heat", "Heat (manga)"), ("Sanctuary",))
    assert question.evidence == (GoldEvidence("Heat (manga)", (), "Heat was drawn by Ryoichi Ikegami."),)
    assert (question.split, question.type, question.derived) == ("dev", "wikidata_simple", False)
    assert found.tally.left_out == {"no_title": 1}
    assert not found.tally.unknown_fields


@pytest.mark.parametrize(("qid", "name", "derived", "kind"), [
    ("1__wikitables_composition__train", "train_data.jsonl", True, "wikitables_composition"),
    ("1__wikidata_comp__test", "test_data.jsonl", False, "wikidata_comp"),
    ("plain", "train_data.jsonl", True, None), ("plain", "dev_data.jsonl", False, None),
    ("plain", "data.jsonl", False, None),
])
def test_questions_of_the_training_set_were_made_by_a_program(read: Any, qid: str, name: str, derived: bool,
                                                              kind: str | None) -> None:
    [question] = read("qampari", name, [{**ITEM, "qid": qid}], lines=True).questions
    assert (question.derived, question.type) == (derived, kind)


def test_alces_form(read: Any) -> None:
    found = read("alce-qampari", "qampari_eval_gtr_top100.json", [ALCE])
    [question] = found.questions
    assert question.answers == (("Heat", "Heat (manga)"), ("Sanctuary",))
    assert (question.evidence, question.split, question.type) == ((), "dev", "wikidata_simple")
    assert found.tally.n_without_evidence == 1
    assert not found.tally.unknown_fields


@pytest.mark.parametrize(("change", "place"), [
    ({"qid": 7}, "qid"), ({"question_text": ""}, "question_text"), ({"answer_list": None}, "answer_list"),
    ({"answer_list": []}, "answers"), ({"answer_list": [{"aliases": ["a"]}]}, "answer_list[0].answer_text"),
    ({"answer_list": [{"answer_text": "a", "aliases": "b"}]}, "answer_list[0].aliases"),
    ({"answer_list": [{"answer_text": "a", "proof": {"proof_text": "x"}}]}, "answer_list[0].proof"),
    ({"answer_list": [{"answer_text": "a", "proof": [["x"]]}]}, "answer_list[0].proof[0]"),
    ({"answer_list": [{"answer_text": "a", "proof": [{"proof_text": 3, "found_in_url": "https://w/wiki/A"}]}]},
     "answer_list[0].proof[0].proof_text"),
])
def test_another_shape_is_a_reject_with_its_field(read: Any, change: dict[str, Any], place: str) -> None:
    found = read("qampari", "dev_data.jsonl", [ITEM, {**ITEM, "qid": "8__x__dev", **change}], lines=True)
    assert found.places == [(2, "bad_field", place)]
    assert len(found.questions) == 1


def test_unknown_fields_are_counted_by_their_path(read: Any) -> None:
    item = {**ITEM, "answer_list": [{**entry, "colour": 1} for entry in ITEM["answer_list"]]}
    found = read("qampari", "dev_data.jsonl", [item], lines=True)
    assert found.tally.unknown_fields == {"answer_list[].colour": 2}


def test_alces_answers_must_be_lists_of_strings(read: Any) -> None:
    found = read("alce-qampari", "qampari_eval.json", [{**ALCE, "answers": ["Heat"]}, {**ALCE, "answers": [[]]}])
    assert found.places == [(1, "bad_field", "answers[0]"), (2, "bad_field", "answers[0]")]


@pytest.mark.parametrize(("url", "title"), [
    ("https://en.wikipedia.org/wiki/Heat_(manga)", "Heat (manga)"),
    ("https://en.wikipedia.org/wiki/AC/DC#History", "AC/DC"),
    ("https://en.wikipedia.org/wiki/Caf%C3%A9_Central?oldid=3", "Café Central"),
    ("https://en.wikipedia.org/w/index.php?title=Ali_Daei&oldid=1", "Ali Daei"),
    ("https://example.org/Heat", None), ("https://en.wikipedia.org/wiki/", None), ("http://[", None),
])
def test_the_title_in_an_address(url: str, title: str | None) -> None:
    assert title_of_url(url) == title
