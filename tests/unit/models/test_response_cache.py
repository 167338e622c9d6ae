"""Answers on disk: found again, never mixed up, made again when damaged, no obstacle when they cannot be kept."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.models.response_cache import ResponseCache, cache_key, default_cache


def test_an_answer_is_made_once(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "new" / "folder")
    assert cache.get_or_make("m", "e", {"a": 1}, lambda: {"text": "x"}) == ({"text": "x"}, False)
    assert cache.get_or_make("m", "e", {"a": 1}, lambda: {"text": "y"}) == ({"text": "x"}, True)
    assert not list(tmp_path.rglob("*.tmp"))


def test_the_key_is_made_of_model_endpoint_and_payload() -> None:
    keys = [cache_key(*asked) for asked in (
        ("m", "e", {"a": 1, "b": 2}), ("n", "e", {"a": 1, "b": 2}), ("m", "f", {"a": 1, "b": 2}),
        ("m", "e", {"a": 1, "b": 3}), ("m", "e", {"a": "1", "b": 2}))]
    assert len(set(keys)) == 5
    assert cache_key("m", "e", {"b": 2, "a": 1}) == keys[0]
    assert cache_key("m", "e", {"a": "\udc80"}), "what a terminal passes on undecoded is a key too"


@pytest.mark.parametrize("damage", [
    b"", b"{", b"[]", b"\xff", b'{"key": "other", "answer": {}}', b'{"answer": {}}'])
def test_a_damaged_file_is_made_again(damage: bytes, tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)
    cache.get_or_make("m", "e", {}, lambda: {"text": "x"})
    (path,) = tmp_path.rglob("*.json")
    path.write_bytes(damage)
    assert cache.get_or_make("m", "e", {}, lambda: {"text": "y"}) == ({"text": "y"}, False)
    assert json.loads(path.read_bytes())["answer"] == {"text": "y"}


def test_what_cannot_be_kept_is_answered_all_the_same(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = ResponseCache(tmp_path / "file")
    with caplog.at_level(logging.WARNING):
        assert cache.get_or_make("m", "e", {}, lambda: {"text": "x"}) == ({"text": "x"}, False)
    assert "not stored" in caplog.text


def test_an_error_stores_nothing(tmp_path: Path) -> None:
    def fail() -> dict[str, str]:
        raise LookupError

    with pytest.raises(LookupError):
        ResponseCache(tmp_path).get_or_make("m", "e", {}, fail)
    assert not list(tmp_path.rglob("*.json"))


def test_processes_that_write_the_same_answer_leave_a_whole_one(tmp_path: Path) -> None:
    code = ("from pathlib import Path; from pipelines.models.response_cache import _write\n"
            f"for n in range(200): _write(Path({str(tmp_path / 'x.json')!r}), {{'n': 'y' * 20_000}})")
    writers = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        if (tmp_path / "x.json").exists():
            assert json.loads((tmp_path / "x.json").read_bytes()) == {"n": "y" * 20_000}
            seen += 1
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen > 0


def test_the_cache_lies_with_the_users_other_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path))
    monkeypatch.delenv("ESPALIER_LLM_CACHE")
    assert default_cache() == ResponseCache(tmp_path / "llm")
    monkeypatch.setenv("ESPALIER_LLM_CACHE", "off")
    assert default_cache() is None


def test_of_several_payloads_only_the_unknown_ones_are_made(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)
    cache.get_or_make("m", "e", {"a": 1}, lambda: {"text": "one"})
    asked: list[list[int]] = []

    def make(places: list[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        asked.append(places)
        yield from ((place, {"text": f"of {place}"}) for place in reversed(places))

    payloads = [{"a": 2}, {"a": 1}, {"a": 3}, {"a": 2}]
    found = cache.get_or_make_many("m", "e", payloads, make)
    assert found == [({"text": "of 0"}, False), ({"text": "one"}, True), ({"text": "of 2"}, False),
                     ({"text": "of 0"}, True)]
    assert asked == [[0, 2]]
    again = cache.get_or_make_many("m", "e", payloads, make)
    assert again == [(answer, True) for answer, _ in found]
    assert len(asked) == 1, "nothing is made where all is known"


def test_what_was_made_before_an_error_stays(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)

    def make(places: list[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        yield 1, {"text": "x"}
        raise LookupError

    with pytest.raises(LookupError):
        cache.get_or_make_many("m", "e", [{"a": 1}, {"a": 2}], make)
    assert cache.get_or_make("m", "e", {"a": 2}, lambda: {"text": "y"}) == ({"text": "x"}, True)
    assert cache.get_or_make("m", "e", {"a": 1}, lambda: {"text": "y"}) == ({"text": "y"}, False)
