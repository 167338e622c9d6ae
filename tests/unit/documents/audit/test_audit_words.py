"""Words and bags of the audit."""

from __future__ import annotations

from collections import Counter

import pytest

from pipelines.documents.audit.words import bag_of, find_words, glued


@pytest.mark.parametrize(("text", "expected"), [
    ("A lake, 2½ km² (deep).", ["A", "lake", "2½", "km²", "deep"]),
    ("rock 'n' roll, Iliad's, L'''amour", ["rock", "n", "roll", "Iliads", "Lamour"]),
    ("हिन्दी में", ["हिन्दी", "में"]),
    ("東京 is ไทย", ["東", "京", "is", "ไ", "ท", "ย"]),
    ("a_b|c—d", ["a", "b", "c", "d"]),
    ("Äpfel, Äpfel", ["Äpfel", "Äpfel"]),
])
def test_words(text: str, expected: list[str]) -> None:
    assert [word for _, word in find_words(text)] == expected
    assert bag_of(text) == Counter(expected)


def test_offsets_count_code_points() -> None:
    assert list(find_words("𐌰𐌱 b")) == [(0, "𐌰𐌱"), (3, "b")]


def test_words_run_together_are_found_and_taken_out_of_both_bags() -> None:
    missing, extra = Counter({"two": 1, "words": 1, "gone": 1}), Counter({"twowords": 1, "new": 1})
    assert glued(["all", "two", "words", "gone"], missing, extra) == [("two", "words")]
    assert (missing, extra) == (Counter({"gone": 1}), Counter({"new": 1}))


def test_a_word_that_is_lost_once_is_not_run_together_with_itself() -> None:
    missing, extra = Counter({"ha": 1}), Counter({"haha": 1})
    assert glued(["ha", "ha"], missing, extra) == []
    assert glued(["ha", "ha"], Counter({"ha": 2}), Counter({"haha": 1})) == [("ha", "ha")]
