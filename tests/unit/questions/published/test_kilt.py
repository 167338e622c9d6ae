"""The KILT form: answers as aliases, sections from its names, quotes from annotators or from KILT's pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import UserError
from pipelines.evaluation.datasets import GoldEvidence
from pipelines.questions.published.kilt import headings
from pipelines.questions.published.kilt_pages import Place, quotes_of

PLACE = {"wikipedia_id": "10287141", "title": "Chen Yi-hsiung", "section": "Section::::Death.:Inquiry.",
         "start_paragraph_id": 2, "start_character": 26, "end_paragraph_id": 2, "end_character": 33,
         "bleu_score": 1.0}
ITEM: dict[str, Any] = {"id": 4203, "input": "How did he die?", "meta": {"level": "hard"},
                        "output": [{"answer": "suicide", "provenance": [PLACE]}, {"answer": "by suicide"},
                                   {"answer": " ", "meta": {"score": 3}}]}
SPAN = {"title": "Tulip", "wikipedia_id": "3", "section": "Section::::Abstract.",
        "meta": {"evidence_span": ["Tulips are flowers.\r\nThey bloom in spring.", ""]}}
PARAGRAPHS = ["Chen Yi-hsiung\n", "Section::::Death.\n", "He was found dead. It was suicide. Nobody saw it.",
              "BULLET::::- The inquiry closed. It opened again."]


def test_answers_are_aliases_of_one_and_places_without_words_are_counted(read: Any) -> None:
    found = read("kilt-nq", "nq-dev-kilt.jsonl", [ITEM], lines=True)
    [question] = found.questions
    assert (question.question_id, question.question) == ("4203", "How did he die?")
    assert question.answers == (("suicide", "by suicide"),)
    assert (question.evidence, question.split, question.type) == ((), "dev", None)
    assert found.tally.left_out == {"no_quote": 1}
    assert found.tally.n_without_evidence == 1
    assert not found.tally.unknown_fields


def test_spans_of_annotators_are_quotes_under_their_headings(read: Any) -> None:
    item = {**ITEM, "output": [{"answer": "a"}, {"provenance": [SPAN, {**SPAN, "title": None}]}]}
    found = read("kilt-eli5", "eli5-dev-kilt.jsonl", [item], lines=True)
    [question] = found.questions
    assert question.evidence == (GoldEvidence("Tulip", (), "Tulips are flowers."),
                                 GoldEvidence("Tulip", (), "They bloom in spring."))
    assert question.type == "long_form"
    assert found.tally.left_out == {"no_title": 1}


@pytest.mark.parametrize("page_id", ["10287141", 10287141])
def test_with_kilts_pages_the_sentence_around_the_answer_is_the_quote(read: Any, tmp_path: Path,
                                                                      page_id: str | int) -> None:
    pages = tmp_path / "kilt_knowledgesource.json"
    pages.write_text("".join(json.dumps(page) + "\n" for page in (
        {"wikipedia_id": "1", "wikipedia_title": "Other", "text": ["Other", "Words."]},
        {"wikipedia_id": page_id, "wikipedia_title": "Chen Yi-hsiung", "text": PARAGRAPHS, "anchors": []})))
    found = read("kilt-nq", "nq-train-kilt.jsonl", [ITEM, {"id": "bad"}], lines=True, pages=pages)
    assert found.questions[0].evidence == (GoldEvidence("Chen Yi-hsiung", ("Death", "Inquiry"), "It was suicide."),)
    assert not found.tally.left_out
    assert found.places == [(2, "bad_field", "input")]


@pytest.mark.parametrize(("place", "quotes"), [
    ((2, 0, 2, 3), ["He was found dead."]),
    ((2, 10, 2, 25), ["He was found dead. It was suicide."]),
    ((2, -1, 2, -1), ["He was found dead. It was suicide. Nobody saw it."]),
    ((2, 36, 3, 20), ["Nobody saw it.", "- The inquiry closed."]),
    ((0, 0, 1, 5), []), ((9, 0, 9, 4), []),
])
def test_quotes_of_a_place(place: tuple[int, int, int, int], quotes: list[str]) -> None:
    assert quotes_of(Place("1", *place), PARAGRAPHS) == quotes


def test_pages_that_are_none_are_refused(read: Any, tmp_path: Path) -> None:
    pages = tmp_path / "pages.json"
    pages.write_text('{"wikipedia_id": "1"}\n')
    with pytest.raises(UserError, match=r"line 1: no page; expected an object with wikipedia_id and a list text"):
        read("kilt-nq", "nq-dev-kilt.jsonl", [ITEM], lines=True, pages=pages)


@pytest.mark.parametrize(("section", "expected"), [
    ("Section::::Abstract.", ()), (None, ()), ("Section::::History.", ("History",)),
    ("Section::::Reception.:Critical response.", ("Reception", "Critical response")),
    ("Section::::Dr. No.", ("Dr. No",)), ("History", ("History",)),
])
def test_headings_of_a_section(section: str | None, expected: tuple[str, ...]) -> None:
    assert headings(section) == expected


@pytest.mark.parametrize(("change", "place"), [
    ({"id": None}, "id"), ({"id": True}, "id"), ({"input": ""}, "input"), ({"output": []}, "output"),
    ({"output": [{"provenance": [PLACE]}]}, "output"), ({"output": {"answer": "a"}}, "output"),
    ({"output": [{"answer": 3}]}, "output[0].answer"), ({"output": [{"answer": "a", "provenance": PLACE}]},
                                                        "output[0].provenance"),
    ({"output": [{"answer": "a", "provenance": [{**PLACE, "title": 3}]}]}, "output[0].provenance[0].title"),
    ({"output": [{"answer": "a", "provenance": [{**PLACE, "meta": {"evidence_span": "x"}}]}]},
     "output[0].provenance[0].meta.evidence_span"),
])
def test_another_shape_is_a_reject_with_its_field(read: Any, change: dict[str, Any], place: str) -> None:
    found = read("kilt-hotpotqa", "hotpotqa-train-kilt.jsonl", [ITEM, {**ITEM, "id": 2, **change}], lines=True)
    assert found.places == [(2, "bad_field", place)]
    assert len(found.questions) == 1


@pytest.mark.parametrize(("name", "missing", "expected"), [
    ("triviaqa-train_id-kilt.jsonl", "input", "get_triviaqa_input.py"),
    ("nq-test_without_answers-kilt.jsonl", "output", "the published test files do not have"),
])
def test_files_without_questions_or_answers_say_so(read: Any, name: str, missing: str, expected: str) -> None:
    found = read("kilt-triviaqa", name, [{key: value for key, value in ITEM.items() if key != missing}], lines=True)
    assert found.places == [(1, "bad_field", missing)]
    assert expected in found.bad[0].line.expected


def test_bad_lines_are_rejects_of_their_own(read: Any) -> None:
    text = f'{json.dumps(ITEM)}\n{{"id": \n[1]\n{{"id": 1, "id": 2}}\n{json.dumps(ITEM)}\n'
    found = read("kilt-nq", "nq-dev-kilt.jsonl", text)
    assert found.places == [(2, "not_json", ""), (3, "bad_field", ""), (4, "bad_field", "id"),
                            (5, "duplicate_id", "id")]
    assert found.tally.bad == {"bad_field": 2, "not_json": 1, "duplicate_id": 1}
    assert (found.tally.n_items, found.tally.n_questions) == (5, 1)
