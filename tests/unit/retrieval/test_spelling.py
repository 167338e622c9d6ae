"""What may be left out of a term when it is typed, by script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.retrieval.spelling import plain
from pipelines.retrieval.terms import terms


@pytest.mark.parametrize(("text", "expected"), [
    ("café Müller", "cafe muller"),
    ("Hà Nội, Đà Nẵng", "ha noi da nang"),
    ("İstanbul Kadıköy", "istanbul kadikoy"),
    ("Straße Ærø Łódź œuvre", "strasse aero lodz oeuvre"),
    ("Ελλάδα", "ελλαδα"),
    ("Москва́ ёлка", "москва елка"),
    ("й ї", "й ї"),
    ("שָׁלוֹם", "שלום"),
    ("مُحَمَّد كتـــاب", "محمد كتاب"),
    ("हिन्दी", "हिन्दी"),
    ("が한국어", "が한국어"),
])
def test_accents_that_may_be_left_out(text: str, expected: str) -> None:
    assert "".join(map(plain, terms(text))) == expected.replace(" ", "")


@given(st.text(max_size=20))
def test_a_plain_spelling_is_its_own(text: str) -> None:
    for term in terms(text):
        assert plain(term)
        assert plain(plain(term)) == plain(term)
