"""The questions file: what is accepted, what is refused with file, line and field, and what the set is."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipelines.errors import UserError
from pipelines.evaluation.datasets import QuestionSet, load_questions, read_lines
from pipelines.schemas import QUESTIONS

GOOD: dict[str, Any] = {
    "id": "q1", "question": "Who?", "answers": ["Ann", "Anne"],
    "evidence": [{"title": "T", "section": ["S"], "quote": "Ann did it."}],
}


def write(tmp_path: Path, *rows: Any, text: bytes | None = None) -> Path:
    path = tmp_path / "my set.jsonl"
    path.write_bytes(text if text is not None else "\n".join(map(json.dumps, rows)).encode() + b"\n")
    return path


def test_a_set_is_named_after_its_file(tmp_path: Path) -> None:
    questions = load_questions(write(tmp_path, GOOD))
    assert questions.name == "my-set"
    assert questions.questions[0].answers == (("Ann", "Anne"),)
    assert questions.questions[0].evidence[0].section == ("S",)


@pytest.mark.parametrize(("answers", "derived", "expected"), [
    (["5", "five"], False, (("5", "five"),)),
    ([["A", "a"], ["B"]], False, (("A", "a"), ("B",))),
    (["A; B"], True, (("A",), ("B",))),
    (["A; B"], False, (("A; B",),)),
    (["A; B", "a; b"], True, (("A", "a"), ("B", "b"))),
    (["5", "five"], True, (("5", "five"),)),
    ([["A; B"]], True, (("A; B",),)),
    ([], False, ()),
])
def test_forms_of_answers(tmp_path: Path, answers: Any, derived: bool, expected: Any) -> None:
    path = write(tmp_path, {**GOOD, "answers": answers, "derived": derived})
    assert load_questions(path).questions[0].answers == expected


@pytest.mark.parametrize(("change", "field"), [
    ({"id": 7}, "id"), ({"id": " "}, "id"), ({"question": None}, "question"),
    ({"answers": "Ann"}, "answers"), ({"answers": [["A"], "B"]}, "answers[0]"),
    ({"answers": [[]]}, "answers[0]"), ({"answers": [""]}, "answers[0]"),
    ({"answers": ["A; B", "C"], "derived": True}, "answers"),
    ({"answers": ["A; "], "derived": True}, "answers"),
    ({"evidence": {}}, "evidence"), ({"evidence": ["x"]}, "evidence[0]"),
    ({"evidence": [{"title": "T", "section": []}]}, "evidence[0].quote"),
    ({"evidence": [{"title": "T", "section": "S", "quote": "x"}]}, "evidence[0].section"),
    ({"evidence": [{"title": "T", "section": [], "quote": "—"}]}, "evidence[0].quote"),
    ({"split": "validation"}, "split"), ({"derived": "yes"}, "derived"), ({"type": ""}, "type"),
    ({"question": "\ud800"}, "question"),
])
def test_a_bad_line_is_named_with_its_field(tmp_path: Path, change: dict[str, Any], field: str) -> None:
    path = write(tmp_path, GOOD, {**GOOD, "id": "q2", **change})
    with pytest.raises(UserError) as caught:
        load_questions(path)
    assert caught.value.subject == f"questions file {path}, line 2, field {field}"


@pytest.mark.parametrize("name", ["id", "question", "answers", "evidence"])
def test_a_missing_field_is_named(tmp_path: Path, name: str) -> None:
    row = {key: value for key, value in GOOD.items() if key != name}
    with pytest.raises(UserError, match=f"line 1, field {name}: missing"):
        load_questions(write(tmp_path, row))


@pytest.mark.parametrize(("line", "found"), [
    (b'{"id": "q1"', "not JSON"), (b"[1]", "expected a JSON object"), (b'{"id": "\xff"}', "not UTF-8"),
    (b'{"id": "a", "id": "b"}', "twice"), (b"[" * 100_000, "too deeply"),
    (b'{"id": ' + b"9" * 5000 + b"}", "not JSON"),
])
def test_a_line_that_is_no_object_is_refused(tmp_path: Path, line: bytes, found: str) -> None:
    with pytest.raises(UserError, match=found):
        load_questions(write(tmp_path, text=line + b"\n"))


def test_ids_are_unique(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"line 3, field id.*line 1 has it too"):
        load_questions(write(tmp_path, GOOD, {**GOOD, "id": "q2"}, GOOD))


@pytest.mark.parametrize("encode", [
    lambda text: text.encode(), lambda text: b"\xef\xbb\xbf" + text.encode(),
    lambda text: text.replace("\n", "\r\n").encode(), lambda text: text.encode("utf-16"),
    lambda text: ("\n\n" + text + "  \n").encode(),
])
def test_encodings_and_line_ends(tmp_path: Path, encode: Any) -> None:
    rows = [{**GOOD, "question": "Wér?\u2028Next"}, {**GOOD, "id": "q2"}]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    questions = load_questions(write(tmp_path, text=encode(text))).questions
    assert [q.question for q in questions] == ["Wér?\u2028Next", "Who?"]


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        load_questions(tmp_path / "none.jsonl")
    with pytest.raises(UserError, match="no question"):
        load_questions(write(tmp_path, text=b"\n"), "d")
    with pytest.raises(UserError, match="Is a directory"):
        load_questions(tmp_path, "d")


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "x" * 101])
def test_names_of_sets(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="dataset"):
        load_questions(write(tmp_path, GOOD), name)


def test_good_rows_and_bad_lines_side_by_side(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD, {"id": "q2"}, {**GOOD, "id": "q3", "note": 1}, GOOD)
    good, bad, unknown = read_lines(path)
    assert [question.question_id for question in good] == ["q1", "q3"]
    assert [(line.number, line.reason, line.place) for line in bad] == [
        (2, "bad_field", "question"), (4, "duplicate_id", "id")]
    assert unknown == {"note": 1}


def test_the_digest_is_of_the_questions_not_of_their_order(tmp_path: Path) -> None:
    one = load_questions(write(tmp_path, GOOD, {**GOOD, "id": "q2"}), "a")
    other = load_questions(write(tmp_path, {**GOOD, "id": "q2"}, GOOD), "b")
    changed = load_questions(write(tmp_path, GOOD, {**GOOD, "id": "q2", "question": "What?"}), "a")
    assert one.digest == other.digest != changed.digest


def test_table_rows_have_the_tables_columns(tmp_path: Path) -> None:
    questions: QuestionSet = load_questions(write(tmp_path, GOOD))
    row = questions.table_rows()[0]
    assert set(row) == set(QUESTIONS.column_names)
    table = pa.Table.from_pylist([row], schema=QUESTIONS.arrow_schema())
    assert table.to_pylist()[0]["answers"] == [["Ann", "Anne"]]


def test_bad_lines_can_be_left_out_as_long_as_a_question_is_left(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD, {"id": "q2"}, {**GOOD, "id": "q3"}, GOOD)
    questions = load_questions(path, skip_bad=True)
    assert [question.question_id for question in questions.questions] == ["q1", "q3"]
    assert [(row["source_ref"], row["reason"], row["detail"]) for row in questions.rejects()] == [
        ("my-set:my set.jsonl:2", "bad_field",
         "field question: missing; expected the fields id, question, answers, evidence"),
        ("my-set:my set.jsonl:4", "duplicate_id", "field id: 'q1' again; expected an id once; line 1 has it too")]
    with pytest.raises(UserError, match="line 1, field question: missing"):
        load_questions(write(tmp_path, {"id": "q2"}), skip_bad=True)


def test_the_generator_is_read_kept_and_written(tmp_path: Path) -> None:
    questions = load_questions(write(tmp_path, {**GOOD, "generator": "inverse_cloze", "derived": True}))
    assert questions.questions[0].generator == "inverse_cloze"
    assert questions.questions[0].to_json()["generator"] == "inverse_cloze"
    assert questions.table_rows()[0]["generator"] == "inverse_cloze"
    assert (questions.is_generated, questions.unknown_fields) == (True, {})
    assert not load_questions(write(tmp_path, {**GOOD, "generator": None})).is_generated


@pytest.mark.parametrize("generator", ["", 7, ["x"]])
def test_a_generator_is_a_name(tmp_path: Path, generator: Any) -> None:
    with pytest.raises(UserError, match="field generator"):
        load_questions(write(tmp_path, {**GOOD, "generator": generator}))


def test_questions_of_people_and_generated_ones_do_not_mix(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD, {**GOOD, "id": "q2", "generator": "table_cell"}, {**GOOD, "id": "q3"})
    found = r"2 questions from people and 1 generated ones \(the first is 'q2'\)"
    with pytest.raises(UserError, match=found) as caught:
        load_questions(path, "mixed")
    assert caught.value.subject == f"question set 'mixed' ({path})"
    with pytest.raises(UserError, match="from people"):
        load_questions(path, "mixed", skip_bad=True)


def test_the_digest_of_a_set_of_people_does_not_know_the_field(tmp_path: Path) -> None:
    """As it was before there was a generator: SHA-256 over the sorted JSON of the other seven fields."""
    row = {**GOOD, "answers": [["Ann", "Anne"]], "type": None, "split": None, "derived": False}
    expected = hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:16]
    assert load_questions(write(tmp_path, GOOD)).digest == expected
    assert load_questions(write(tmp_path, {**GOOD, "generator": "table_cell"})).digest != expected
