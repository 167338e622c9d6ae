"""Counting words."""

from __future__ import annotations

import pytest

from pipelines.documents.words import count_words


@pytest.mark.parametrize(("text", "n"), [
    ("", 0), ("  \n", 0), ("one two\nthree", 3), ("well-known 3.5 –", 3), ("日本語", 2), ("日本語の本", 3),
    ("湖", 1), ("Lake 湖水 is", 3), ("สวัสดี", 3), ("озеро велике", 2), ("彼は行った。", 3),
    ("ឆ្នាំ", 3), ("한국 사람", 2),
])
def test_count(text: str, n: int) -> None:
    assert count_words(text) == n
