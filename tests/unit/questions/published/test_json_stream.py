"""Streaming JSON: the same values as a whole reading gives, whatever the chunks; errors with their place."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from pipelines.questions.published.json_stream import BadText, JsonError, JsonStream, Repeated, json_lines

VALUES = [{"a": [1, -2.5e3, "x"], "b": {"c": None}}, "wörd \"q\" \\ \n \U0001f600", 123456, [], {}, True, "", [[1]]]


def stream(text: str, chunk: int = 3, most: int = 1 << 20) -> JsonStream:
    return JsonStream(io.StringIO(text).read, chunk, most)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64, 1 << 16])
@pytest.mark.parametrize("indent", [None, 4])
def test_items_are_those_of_a_whole_reading(chunk: int, indent: int | None) -> None:
    text = json.dumps(VALUES, indent=indent)
    reader = stream(text, chunk)
    assert list(reader.items()) == VALUES
    reader.end()
    assert reader.position == len(text)


@pytest.mark.parametrize("chunk", [1, 5, 1 << 16])
def test_an_object_of_arrays_is_walked_through_member_by_member(chunk: int) -> None:
    whole = {"Data": VALUES, "Version": 1.0, "more": {"k": "v"}}
    reader = stream(json.dumps(whole, ensure_ascii=True), chunk)
    found: dict[str, Any] = {}
    for key in reader.members():
        found[key] = list(reader.items()) if key == "Data" else reader.value()
    assert found == whole
    reader.end()


@pytest.mark.parametrize(("text", "found", "position"), [
    ("[1, 2", "it ends in the middle", 5),
    ("[1, ", "it ends in the middle", 4),
    ('[{"a": "never', "it ends in the middle", 7),
    ('[1, {"a": "never', "it ends in the middle", 10),
    ("[1 2]", "no , or ]", 3),
    ("", "it ends in the middle", 0),
    ('{"a": 1}', "no [", 0),
    ('[{"a" 1}, "much more text than an escape is long"]', "Expecting ':' delimiter", 6),
    ('["bad \\x escape, and much more text than an escape is long"]', "Invalid \\escape", 6),
])
@pytest.mark.parametrize("chunk", [1, 4096])
def test_what_is_no_json_is_told_with_its_place(text: str, found: str, position: int, chunk: int) -> None:
    with pytest.raises(JsonError) as caught:
        list(stream(text, chunk).items())
    assert (caught.value.found, caught.value.position) == (found, position)


def test_items_before_an_error_are_given() -> None:
    items = stream('[1, {"a": 2}, oops]').items()
    assert (next(items), next(items)) == (1, {"a": 2})
    with pytest.raises(JsonError):
        next(items)


def test_more_after_the_end_is_an_error() -> None:
    reader = stream("[1] [2]")
    assert list(reader.items()) == [1]
    with pytest.raises(JsonError, match="more after its end"):
        reader.end()


def test_a_key_must_be_a_string() -> None:
    with pytest.raises(JsonError, match="no key"):
        list(stream("{1: 2}").members())


@pytest.mark.parametrize("text", ["[" * 100_000, "[" + "9" * 5000 + "]"])
def test_nesting_and_numbers_beyond_python_are_errors_of_the_file(text: str) -> None:
    with pytest.raises(JsonError):
        list(stream(text, 1 << 20).items())


def test_no_more_than_one_value_and_a_chunk_is_held() -> None:
    n_items, chunk = 5000, 4096
    text = "[" + ",".join(json.dumps({"text": "x" * 100}) for _ in range(n_items)) + "]"
    reader, most_held = stream(text, chunk), 0
    for _ in reader.items():
        most_held = max(most_held, len(reader._buffer))
    assert most_held < 2 * chunk < len(text) / 50


def test_a_value_larger_than_the_limit_is_an_error_and_not_held() -> None:
    text = '["' + "x" * 100_000 + '"]'
    reader = stream(text, 1000, most=5000)
    with pytest.raises(JsonError, match="more than 5,000 characters"):
        list(reader.items())
    assert len(reader._buffer) < 20_000


def test_a_repeated_key_is_marked() -> None:
    [value] = stream('[{"a": 1, "b": 2, "a": 3}]').items()
    assert isinstance(value, Repeated)
    assert (value.key, value["a"]) == ("a", 3)


def test_lines_are_read_one_by_one_and_a_bad_one_is_one() -> None:
    content = b'\xef\xbb\xbf{"a": 1}\r\n\n{"a": \n"\xff"\n[2]\n' + b"[" * 100_000 + b"\n3"
    found = list(json_lines(io.BytesIO(content)))
    assert [number for number, _ in found] == [1, 3, 4, 5, 6, 7]
    values = [value for _, value in found]
    assert values[0] == {"a": 1}
    assert [(bad.reason, bad.found[:13]) for bad in values if isinstance(bad, BadText)] == [
        ("not_json", "not JSON (Exp"), ("not_utf8", "byte 1 is not"), ("not_json", "JSON nested t")]
    assert values[3] == [2]
    assert values[5] == 3


def test_a_line_too_long_is_left_out_whole() -> None:
    content = b'"' + b"x" * 500 + b'"\n"next"\n'
    first, second = json_lines(io.BytesIO(content), most_bytes=100)
    assert isinstance(first[1], BadText)
    assert first[1].found == "a line of more than 100 bytes"
    assert second == (2, "next")
