"""JSON is found in whatever a model writes around it, and what is wrong with it is said in words."""

from __future__ import annotations

from typing import Any

import pytest
from linear import is_linear
from pydantic import BaseModel

from pipelines.models.structured import first_json, read_value


class Labels(BaseModel):
    labels: list[str]


@pytest.mark.parametrize(("text", "found"), [
    ('{"a": 1}', {"a": 1}), ('Sure! Here it is:\n```json\n{"a": [1, 2]}\n```\nAnything else?', {"a": [1, 2]}),
    ('["x"]', ["x"]), ('see [1] and {"a": 1}', [1]), ('{broken {"a": 1}', {"a": 1}), ("none", None), ("", None),
    ('{"a": 1', None), ("{" * 5000, None)])
def test_the_first_json_in_a_text(text: str, found: Any) -> None:
    assert first_json(text) == found


def test_brackets_alone_take_no_time() -> None:
    assert first_json("[" * 3_000_000) is None
    assert is_linear(lambda size: first_json("[" * size), 100_000)


@pytest.mark.parametrize(("text", "fault"), [
    ("I cannot", "holds no JSON"), ("[]", "dictionary"), ('{"labels": [1]}', r"labels\.0: .*string"),
    ('{"label": []}', "labels: Field required")])
def test_faults_are_named(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        read_value(text, Labels)


def test_a_value_is_read() -> None:
    assert read_value('x {"labels": ["chunk7"]}', Labels) == Labels(labels=["chunk7"])
