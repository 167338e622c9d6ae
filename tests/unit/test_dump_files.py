"""The register of dump files: keys by content, hashed once, refused before anything is remembered."""

import hashlib
import os
from pathlib import Path

import pytest

from pipelines import dump_files
from pipelines.dump_files import register_dump_files, registered_dump_files
from pipelines.errors import UserError
from pipelines.settings import DataFolder


def test_the_key_is_the_name_with_eight_digits_of_the_hash(data: DataFolder, tmp_path: Path) -> None:
    dump = tmp_path / "wiki.xml"
    dump.write_bytes(b"<mediawiki/>")
    [file] = register_dump_files(data, [dump])
    digest = hashlib.sha256(b"<mediawiki/>").hexdigest()
    assert (file.key, file.sha256, file.size_bytes) == (f"wiki.xml-{digest[:8]}", digest, 12)
    assert registered_dump_files(data) == {file.key: file}


def test_a_changed_file_gets_another_key_and_the_old_one_stays(data: DataFolder, tmp_path: Path) -> None:
    dump = tmp_path / "wiki.xml"
    dump.write_bytes(b"one")
    [old] = register_dump_files(data, [dump])
    dump.write_bytes(b"two")
    os.utime(dump, ns=(0, old.changed_ns + 1))
    [new] = register_dump_files(data, [dump])
    assert new.key != old.key
    assert set(registered_dump_files(data)) == {old.key, new.key}


def test_an_unchanged_file_is_not_hashed_again(data: DataFolder, tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    dump = tmp_path / "wiki.xml"
    dump.write_bytes(b"one")
    first = register_dump_files(data, [dump])
    monkeypatch.setattr(dump_files.hashlib, "file_digest", lambda *_: pytest.fail("hashed again"))
    assert register_dump_files(data, [dump, dump]) == first


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir(), os.mkfifo])
def test_a_bad_path_is_named_and_nothing_is_remembered(data: DataFolder, tmp_path: Path, make) -> None:
    good, bad = tmp_path / "good.xml", tmp_path / "bad.xml"
    good.write_bytes(b"x")
    make(bad)
    with pytest.raises(UserError, match=r"bad\.xml"):
        register_dump_files(data, [good, bad])
    assert registered_dump_files(data) == {}
