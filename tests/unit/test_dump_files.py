"""The register of dump files: keys by content, hashed once, refused before anything is remembered."""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipelines import dump_files
from pipelines.dump_files import (
    dump_file_key,
    known_dump_file,
    register_dump_files,
    registered_dump_files,
    take_dump_files,
)
from pipelines.errors import UserError, UserErrors
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


def test_what_stands_beside_dumps_is_passed_over_with_a_reason_each(data: DataFolder, tmp_path: Path) -> None:
    good = tmp_path / "good.xml"
    good.write_bytes(b"x")
    (tmp_path / "folder.xml").mkdir()
    (tmp_path / "loop.xml").symlink_to(tmp_path / "loop.xml")
    (tmp_path / "nowhere.xml").symlink_to(tmp_path / "gone")
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.xml"))
    odd.write_bytes(b"x")
    taken, refused = take_dump_files(data, [tmp_path / "folder.xml", good, tmp_path / "loop.xml",
                                            tmp_path / "nowhere.xml", odd])
    assert [file.path for file in taken] == [str(good)]
    assert [(error.subject.rpartition("/")[2], error.found) for error in refused] == [
        ("folder.xml", "a folder"), ("loop.xml", "Too many levels of symbolic links"),
        ("nowhere.xml", "No such file or directory"), ("\\xff.xml", "its name is not UTF-8")]
    assert list(registered_dump_files(data).values()) == taken


def test_the_stream_index_of_a_dump_that_is_given_too_is_no_dump(data: DataFolder, tmp_path: Path) -> None:
    dump = tmp_path / "xxwiki-pages-articles-multistream1.xml-p1p9.bz2"
    index = tmp_path / "xxwiki-pages-articles-multistream-index1.txt-p1p9.bz2"
    for path in (dump, index):
        path.write_bytes(path.name.encode())
    taken, refused = take_dump_files(data, sorted(tmp_path.glob("*.bz2")))
    assert ([file.path for file in taken], refused) == ([str(dump)], [])
    assert [file.path for file in register_dump_files(data, [index])] == [str(index)], "alone it is what was asked"


def test_every_path_that_does_not_exist_is_named_before_anything_is_remembered(
        data: DataFolder, tmp_path: Path) -> None:
    good = tmp_path / "good.xml"
    good.write_bytes(b"x")
    named = r"2 dump files: dump .*/a\.xml: No such.*; dump .*/b\.xml: No such"
    with pytest.raises(UserErrors, match=named) as caught:
        take_dump_files(data, [good, tmp_path / "a.xml", tmp_path / "b.xml"])
    assert len(caught.value.errors) == 2
    assert registered_dump_files(data) == {}


@pytest.mark.parametrize(("name", "key"), [
    ("a\nb.xml", "a_b.xml-0123abcd"), ("dots...xml", "dots_xml-0123abcd"), ("-x.xml", "-x.xml-0123abcd"),
    ("x" * 255, "x" * 150 + "-0123abcd"), ("Größe 📚.xml", "Größe 📚.xml-0123abcd")])
def test_a_key_is_one_that_dagster_takes(name: str, key: str) -> None:
    assert dump_file_key(name, "0123abcdef") == key


def test_a_file_is_known_by_size_and_time_without_being_read(data: DataFolder, tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    dump = tmp_path / "wiki.xml"
    dump.write_bytes(b"one")
    assert known_dump_file(data, dump) is None
    [file] = register_dump_files(data, [dump])
    monkeypatch.setattr(dump_files.hashlib, "file_digest", lambda *_: pytest.fail("hashed"))
    assert known_dump_file(data, dump) == file
    os.utime(dump, ns=(0, file.changed_ns - 10 ** 15))
    assert known_dump_file(data, dump) is None


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"k": {"path": "x"}}', b"\xff"])
def test_a_damaged_register_only_costs_hashing_again(data: DataFolder, tmp_path: Path, content: bytes) -> None:
    dump = tmp_path / "wiki.xml"
    dump.write_bytes(b"one")
    [file] = register_dump_files(data, [dump])
    (data.state / "dump_files.json").write_bytes(content)
    assert registered_dump_files(data) == {}
    assert register_dump_files(data, [dump]) == [file]


def test_two_that_register_at_once_both_stay_registered(data: DataFolder, tmp_path: Path) -> None:
    dumps = [tmp_path / f"{n}.xml" for n in range(24)]
    for dump in dumps:
        dump.write_bytes(dump.name.encode())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda dump: register_dump_files(data, [dump]), dumps))
    assert {file.path for file in registered_dump_files(data).values()} == {str(dump) for dump in dumps}


def test_two_files_of_one_name_whose_hashes_begin_alike_both_have_a_key(data: DataFolder, tmp_path: Path) -> None:
    seen: dict[str, bytes] = {}
    for n in range(1 << 20):
        content = b"<mediawiki>%d</mediawiki>" % n
        digits = hashlib.sha256(content).hexdigest()[:8]
        if digits in seen:
            break
        seen[digits] = content
    paths = [tmp_path / folder / "wiki.xml" for folder in "ab"]
    for path, content_of in zip(paths, (seen[digits], content), strict=True):
        path.parent.mkdir()
        path.write_bytes(content_of)
    both = register_dump_files(data, paths)
    assert [file.path for file in both] == [str(path) for path in paths]
    assert both[0].key == f"wiki.xml-{digits}"
    assert both[1].key.startswith(f"wiki.xml-{digits}")
    assert len({file.key for file in both}) == 2
    assert register_dump_files(data, paths) == both
    for path in paths:
        os.utime(path, ns=(0, 10 ** 18))
    assert [file.key for file in register_dump_files(data, reversed(paths))] == [file.key for file in both[::-1]]
