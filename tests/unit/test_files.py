"""Small files, on a local path and behind an address."""

from __future__ import annotations

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipelines import files


@pytest.fixture(params=["local", "address"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path) if request.param == "local" else f"file://{tmp_path}"


def test_written_values_are_read_back(root: str) -> None:
    files.write_json(f"{root}/a.json", {"b": "ü", "a": [1, None]})
    assert files.read_json(f"{root}/a.json") == {"a": [1, None], "b": "ü"}
    assert files.read_text(f"{root}/a.json").startswith('{\n "a"')
    files.write_text(f"{root}/a.json", "[]")
    assert files.read_bytes(f"{root}/a.json") == b"[]"


def test_folders(root: str) -> None:
    assert files.list_folder(f"{root}/nothing") == []
    files.write_text(f"{root}/f/one", "1")
    files.write_text(f"{root}/f/two", "2")
    assert files.list_folder(f"{root}/f") == ["one", "two"]
    assert files.exists(f"{root}/f/one")
    assert not files.exists(f"{root}/f/three")
    assert files.present(f"{root}/f", ["two", "three"]) == ["two"]
    files.remove_files(f"{root}/f", ["two"])
    assert files.list_folder(f"{root}/f") == ["one"]
    files.remove_folder(f"{root}/f")
    files.remove_folder(f"{root}/f")
    assert files.list_folder(f"{root}/f") == []


def test_a_missing_file_is_said_to_be_missing(root: str) -> None:
    with pytest.raises(FileNotFoundError):
        files.read_bytes(f"{root}/missing")


def test_create_refuses_an_existing_file(root: str) -> None:
    files.create_bytes(f"{root}/1.json", b"first")
    with pytest.raises(FileExistsError):
        files.create_bytes(f"{root}/1.json", b"second")
    assert files.read_bytes(f"{root}/1.json") == b"first"


def test_a_file_is_created_where_there_are_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    files.create_bytes(f"{tmp_path}/1.json", b"first")
    with pytest.raises(FileExistsError):
        files.create_bytes(f"{tmp_path}/1.json", b"second")
    assert os.listdir(tmp_path) == ["1.json"]
    assert files.read_bytes(f"{tmp_path}/1.json") == b"first"


def test_of_many_creators_exactly_one_succeeds(tmp_path: Path) -> None:
    def create(number: int) -> bool:
        try:
            files.create_bytes(f"{tmp_path}/n.json", str(number).encode())
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        won = list(pool.map(create, range(64)))
    assert won.count(True) == 1
    assert files.read_text(f"{tmp_path}/n.json") == str(won.index(True))


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write_text(f"{tmp_path}/current", "1")

    def fail(source: str, target: str) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        files.write_text(f"{tmp_path}/current", "2")
    assert os.listdir(tmp_path) == ["current"]
    assert files.read_text(f"{tmp_path}/current") == "1"


@pytest.mark.parametrize("size", [0, 1, (8 << 20) + 3])
def test_large_files_go_both_ways(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "source").write_bytes(content)
    files.upload(tmp_path / "source", f"file://{tmp_path}/store/there")
    files.download(f"file://{tmp_path}/store/there", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == content


def test_names_with_dots_in_front_are_not_listed(root: str) -> None:
    files.write_text(f"{root}/f/.hidden", "")
    files.write_text(f"{root}/f/seen", "")
    assert files.list_folder(f"{root}/f") == ["seen"]




def test_a_link_is_followed_and_others_may_read(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "inner" / "there.json")
    files.write_json(str(link), {"a": 1})
    assert link.is_symlink()
    assert json.loads((tmp_path / "inner" / "there.json").read_text()) == {"a": 1}
    assert (tmp_path / "inner" / "there.json").stat().st_mode & 0o777 == 0o644
