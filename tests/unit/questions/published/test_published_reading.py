"""Reading across files: splits from names, ids once, formats by name, every format on an empty file."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import UserError
from pipelines.evaluation.datasets import Question
from pipelines.questions.published.fields import Tally
from pipelines.questions.published.kilt_pages import KiltPages
from pipelines.questions.published.reading import FORMATS, BadItem, format_named, read_published


def line(question_id: str) -> str:
    return json.dumps({"qid": question_id, "question_text": "Q?", "answer_list": [{"answer_text": "A"}]}) + "\n"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "qampari.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("qampari_data/train_data.jsonl", line("1__a__train") + line("2__a__train") + "oops\n")
        archive.writestr("qampari_data/dev_data.jsonl", line("3__a__dev") + line("1__a__train"))
    return path


def test_the_files_of_a_zip_have_their_own_splits_and_ids_are_once_in_all(archive: Path) -> None:
    tally = Tally()
    items = list(read_published(FORMATS["qampari"], [archive], tally))
    questions = [(item.question_id, item.split) for item in items if isinstance(item, Question)]
    assert questions == [("1__a__train", "train"), ("2__a__train", "train"), ("3__a__dev", "dev")]
    bad = [item for item in items if isinstance(item, BadItem)]
    assert [(item.file, item.line.number, item.line.reason) for item in bad] == [
        (f"{archive}/qampari_data/train_data.jsonl", 3, "not_json"),
        (f"{archive}/qampari_data/dev_data.jsonl", 2, "duplicate_id")]
    assert bad[0].line.sample == "oops\n"
    assert json.loads(bad[1].line.sample)["qid"] == "1__a__train"
    assert (tally.n_items, tally.n_questions, tally.n_without_evidence) == (5, 3, 3)


def test_a_named_split_is_that_of_every_file(archive: Path) -> None:
    items = read_published(FORMATS["qampari"], [archive], Tally(), "test")
    assert {item.split for item in items if isinstance(item, Question)} == {"test"}


def test_what_is_unknown_in_a_reject_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "dev.jsonl"
    path.write_text('{"qid": "1", "colour": 1, "question_text": "Q?", "answer_list": []}\n')
    tally = Tally()
    assert len(list(read_published(FORMATS["qampari"], [path], tally))) == 1
    assert (tally.unknown_fields, tally.bad) == ({}, {"bad_field": 1})


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("content", [b"\x00\x01", b"\xff\xfe{", b"{" * 100_000])
def test_what_is_none_of_the_format_is_told_in_every_format(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / "dev.json"
    path.write_bytes(content)
    items = read_published(FORMATS[name], [path], Tally())
    if name == "qampari" or name.startswith("kilt-"):  # Files of lines.
        assert [type(item) for item in items] == [BadItem]
        return
    with pytest.raises(UserError) as caught:
        next(items)
    assert caught.value.subject == f"question set {path}"


@pytest.mark.parametrize(("value", "form"), [
    *[(value, name) for name in ("qampari", "kilt-nq") for value in (None, 1, "x", [], {}, [{}])],
    *[(value, name) for name in ("hotpotqa", "alce-asqa", "alce-qampari", "alce-eli5")
      for value in (None, 1, "x", [], {})],
])
def test_an_item_that_is_no_object_or_empty_is_a_reject(read: Any, value: Any, form: str) -> None:
    found = read(form, "dev.json", [value], lines=form in ("qampari", "kilt-nq"))
    assert [(reason, number) for number, reason, _ in found.places] == [("bad_field", 1)]


def test_a_name_that_is_no_format_is_refused() -> None:
    with pytest.raises(UserError, match=r"format 'eli5': no format of that name; expected one of asqa, "):
        format_named("eli5")
    with pytest.raises(UserError, match="expected one of kilt-nq, "):
        format_named("hotpotqa", KiltPages({}, 0))


def test_the_file_is_read_as_it_is_asked_for(tmp_path: Path) -> None:
    n_items = 20_000
    path = tmp_path / "hotpot_train.json"
    path.write_text(json.dumps([{"_id": str(i), "question": "Q?", "answer": "A", "supporting_facts": [],
                                 "context": [["T", ["word " * 60]]]} for i in range(n_items)]))
    tally = Tally()
    items = read_published(FORMATS["hotpotqa"], [path], tally)
    for _ in range(10):
        next(items)
    assert tally.n_items == 10
    items.close()
