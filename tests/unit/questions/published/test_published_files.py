"""Files of question sets: plain, gzip, zip; what cannot be read; the split that a name tells."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from pipelines.errors import UserError
from pipelines.questions.published.files import opened_files, split_of_name, text_reader
from pipelines.questions.published.json_stream import JsonError

CONTENT = b'[{"a": 1}]'


def contents(path: Path) -> list[tuple[str, bytes]]:
    with opened_files(path) as files:
        return [(name, stream.read()) for name, stream in files]


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("content", [CONTENT, gzip.compress(CONTENT)], ids=["plain", "gzip"])
def test_gzip_is_told_by_its_first_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "set.json"
    path.write_bytes(content)
    assert contents(path) == [(str(path), CONTENT)]


def test_a_zip_is_its_members_that_hold_json(tmp_path: Path) -> None:
    path = zipped(tmp_path / "set.zip", {"data/train_data.jsonl": b"1\n", "data/readme.txt": b"no",
                                         "__MACOSX/data/train_data.jsonl": b"no", "data/.x.json": b"no",
                                         "data/dev.json": b"2"})
    assert contents(path) == [(f"{path}/data/train_data.jsonl", b"1\n"), (f"{path}/data/dev.json", b"2")]


def test_a_zip_without_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no member that ends in \.json"):
        contents(zipped(tmp_path / "set.zip", {"a.txt": b"x"}))


def test_a_tar_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "triviaqa-rc.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        entry = tarfile.TarInfo("qa/wikipedia-dev.json")
        entry.size = len(CONTENT)
        archive.addfile(entry, io.BytesIO(CONTENT))
    with pytest.raises(UserError, match=r"a tar archive; expected a JSON file of it"):
        contents(path)


@pytest.mark.parametrize("cut", [gzip.compress(CONTENT)[:-9], b"PK\x03\x04broken"], ids=["gzip", "zip"])
def test_a_file_that_is_cut_off_is_an_error_of_the_user(tmp_path: Path, cut: bytes) -> None:
    path = tmp_path / "set.json"
    path.write_bytes(cut)
    with pytest.raises(UserError) as caught:
        contents(path)
    assert caught.value.subject == f"question set {path}"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a folder"):
        contents(tmp_path)
    with pytest.raises(UserError, match="No such file"):
        contents(tmp_path / "none.json")


@pytest.mark.parametrize("n", [1, 2, 3, 1000])
def test_text_is_whole_whatever_is_read_at_once(n: int) -> None:
    text = "aé€\U0001f600z" * 3
    read = text_reader(io.BytesIO(b"\xef\xbb\xbf" + text.encode()))
    parts = []
    while part := read(n):
        parts.append(part)
    assert "".join(parts) == text


@pytest.mark.parametrize("content", [b'["\xff"]', b'["\xe2\x82'])
def test_bytes_that_are_no_utf8_are_an_error(content: bytes) -> None:
    read = text_reader(io.BytesIO(content))
    with pytest.raises(JsonError, match="not UTF-8"):
        list(iter(lambda: read(4), ""))


@pytest.mark.parametrize(("name", "split"), [
    ("hotpot_train_v1.1.json", "train"), ("hotpot_dev_distractor_v1.json", "dev"),
    ("wikipedia-test-without-answers.json", "test"), ("verified-wikipedia-dev.json", "dev"),
    ("unfiltered-web-train.json", "train"), ("qampari.zip/data/test_data.jsonl", "test"),
    ("triviaqa-train_id-kilt.jsonl", "train"), ("asqa_eval_gtr_top100.json", "dev"), ("ASQA.json", None),
    ("latest.json", None), ("/data/train/part.json", None), ("VALIDATION.json", "dev"),
])
def test_the_split_that_a_name_tells(name: str, split: str | None) -> None:
    assert split_of_name(name) == split


def test_a_name_that_tells_two_splits_is_refused() -> None:
    with pytest.raises(UserError, match="a name that tells train and dev; expected one split"):
        split_of_name("train_dev.json")


def test_json_of_a_member_can_be_streamed(tmp_path: Path) -> None:
    path = zipped(tmp_path / "set.zip", {"dev.json": json.dumps(["é" * 5000]).encode()})
    with opened_files(path) as files:
        [(_, stream)] = [(name, text_reader(stream)(64)) for name, stream in files]
    assert stream == json.dumps(["é" * 5000])[:64]
