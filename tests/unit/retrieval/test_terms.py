"""Terms of many scripts, and that a passage and a question give the same ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.retrieval.terms import MAX_TERM_CHARACTERS, terms


@pytest.mark.parametrize(("text", "expected"), [
    ("", []),
    ("Albedo's 2-fold rôle", ["albedo", "s", "2", "fold", "rôle"]),
    ("STRASSE straße", ["strasse", "strasse"]),
    ("ﬁne ＡＢＣ１２ H₂O", ["fine", "abc12", "h2o"]),
    ("e\u0301tude", ["étude"]),
    ("İstanbul", ["i\u0307stanbul"]),
    ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ("Київ — столиця", ["київ", "столиця"]),
    ("東京都", ["東京", "京都"]),
    ("漢", ["漢"]),
    ("GPT4は東京で", ["gpt4", "は東", "東京", "京で"]),
    ("ภาษาไทย", ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]),
    ("የአማርኛ ቋንቋ", ["የአማርኛ", "ቋንቋ"]),
    ("snake_case C++ 3.14", ["snake", "case", "c", "3", "14"]),
    ("a\u200bb", ["a", "b"]),
])
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_long_runs_are_cut() -> None:
    assert terms("x" * 1000 + " é" + "y" * 1000) == ["x" * MAX_TERM_CHARACTERS, "é" + "y" * 63]


@given(st.text())
def test_terms_are_stable_and_free_of_spaces(text: str) -> None:
    found = terms(text)
    assert all(term and not any(character.isspace() for character in term) for term in found)
    # Joined by spaces and cut at spaces, as the index does it, they are the same.
    assert " ".join(found).split() == found


@given(st.text(alphabet="abcß ÀÉé", max_size=40))
def test_case_and_composition_do_not_matter(text: str) -> None:
    import unicodedata

    assert terms(text.upper()) == terms(text)
    assert terms(unicodedata.normalize("NFD", text)) == terms(text)
