"""The two normal forms, against cases worked out by hand, and the quote rule's place in a text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.evaluation.normalise import (
    AnswerText,
    QuotedText,
    answer_tokens,
    merge_ranges,
    normalise_answer,
    normalise_quote,
    normalise_title,
)


@pytest.mark.parametrize(("text", "expected"), [
    ("Asian | 0.9% | 3.6%", "asian0936"),
    ("“Straße”, m²", "strassem2"),
    ("Ⅳ ﬁne", "ivfine"),
    ("1986–1990", "19861990"),
    ("東京（とうきょう）", "東京とうきょう"),
    ("— … !", ""),
])
def test_quotes_keep_letters_and_digits_only(text: str, expected: str) -> None:
    assert normalise_quote(text) == expected


@given(st.text())
@example("e\u0301\u0327x")  # marks that NFKC orders and composes
@example("\u1112\u1161\u11ab")  # Hangul jamo that compose to one syllable
@example("\uff76\uff9e")  # half-width kana with its sound mark
@example("\u09c7\u09be")  # Bengali vowel signs that compose
def test_a_text_and_its_places_have_one_normal_form(text: str) -> None:
    assert QuotedText(text).normalised == normalise_quote(text)


def test_a_quote_is_found_where_it_stands() -> None:
    text = QuotedText("He said: “The ﬁrst   man”, in 1969.")
    begin, end = text.find(normalise_quote("the first man")) or (0, 0)
    assert text.text[begin:end] == "The ﬁrst   man"
    assert text.find(normalise_quote("the second man")) is None
    assert text.find("") is None


def test_a_found_place_takes_marks_along() -> None:
    text = QuotedText("un cafe\u0301 noir")
    begin, end = text.find(normalise_quote("café")) or (0, 0)
    assert text.text[begin:end] == "cafe\u0301"


def test_overlapping_ranges_merge() -> None:
    assert merge_ranges([(5, 9), (0, 3), (3, 4), (8, 12)]) == [(0, 4), (5, 12)]


@pytest.mark.parametrize(("text", "expected"), [
    ("The Answer, a  test!", "answer test"),
    ("3.6%", "36"),
    ("an", "an"),
    ("The A", "the a"),
    ("Théâtre", "théâtre"),
    ("e\u0301", "é"),
    ("the-cat", "thecat"),
])
def test_answers_drop_case_ascii_punctuation_and_articles(text: str, expected: str) -> None:
    assert normalise_answer(text) == expected


@pytest.mark.parametrize(("text", "alias", "holds"), [
    ("It was 1,969 miles.", "1969", True),
    ("In 19690 years", "1969", False),
    ("He lived in New York City.", "new york", True),
    ("Newer Yorkers", "New York", False),
    ("costs $35 million", "35 million", True),
    ("costs US$35 million", "35 million", False),  # `$` is dropped, so `us35` is one word
    ("1986–1990", "1990", True),
    ("首都は東京です", "東京", True),
    ("約300人が", "300", True),
    ("1300人", "300", False),
    ("กรุงเทพมหานคร", "เทพ", True),
    ("서울은 수도", "서울", True),
    ("कमल के", "कम", False),  # a part of a word of a spaced script
    ("किताब", "कि", False),
    ("vitamin A is", "A", True),
    ("vitamin is", "A", False),
    ("nothing", "!", False),
])
def test_answers_are_matched_on_word_borders(text: str, alias: str, holds: bool) -> None:
    assert AnswerText(text).holds(alias) is holds


def test_tokens_of_unspaced_scripts_are_characters() -> None:
    assert answer_tokens("The 東京 tower") == ["東", "京", "tower"]


def test_titles_ignore_underscores_and_spacing_but_not_case() -> None:
    assert normalise_title(" Animal_Farm ") == normalise_title("Animal  Farm") == "Animal Farm"
    assert normalise_title("AIDS") != normalise_title("Aids")
