"""Superscripts and subscripts: digits, signs, single letters are Unicode characters, other letters stay plain."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wikitext_trees import read, words

from pipelines.documents.readers.superscripts import with_superscripts
from pipelines.documents.tree import Span


@pytest.mark.parametrize(("markup", "shown"), [
    ("10<sup>18</sup> atoms of SO<sub>4</sub><sup>2−</sup>", "10¹⁸ atoms of SO₄²⁻"),
    ("{{val|3.5|0.2|e=18|u=km}}, on the 1<sup>st</sup> try", "(3.5±0.2)×10¹⁸ km, on the 1st try"),
    ("x<sup>n</sup>, 2<sup>n+1</sup>, a<sub>i</sub>, x<sup>''n''</sup>", "xⁿ, 2ⁿ⁺¹, aᵢ, xⁿ"),
    ("v<sub>max</sub>, e<sup>iπ</sup>, x<sup>2π</sup>, M<sup>me</sup>", "vmax, eiπ, x2π, Mme"),
    ("10<sup>&minus;3</sup>, 10<sup>-3</sup>, 10<sup>–3</sup>, 10<sup>−3/2</sup>", "10⁻³, 10⁻³, 10⁻³, 10⁻³/²"),
    ("Fe<sup>[[Ion|3+]]</sup>, a<sub>i<sup>2</sup></sub>, x<sup>(2)</sup>", "Fe³⁺, aᵢ², x⁽²⁾"),
    ("a<sub>1 max 2</sub>", "a₁ max ₂"),
    ("{{val|5|u=kg/m3}}, {{val|2|u=m^2}}, {{su|p=+1|b=−2}}", "5 kg/m³, 2 m², ⁺¹₋₂"),
    ("{{sup|2}}{{sub|4}}, {{10^|−5}}, {{nuclide|U|235}}", "²₄, 10⁻⁵, ²³⁵U"),
])
def test_raised_and_lowered_characters(markup: str, shown: str) -> None:
    assert words(markup) == shown


def test_a_tag_that_is_not_closed_raises_nothing() -> None:
    assert words("10<sup>18 atoms of 2016") == "1018 atoms of 2016"


def test_in_headings_cells_captions_and_lines_of_code() -> None:
    texts = [node.text for node in read("== CO<sub>2</sub> ==\n{|\n| m<sup>2</sup>\n|}\n"
                                        "[[File:A.png|thumb|10<sup>6</sup>]]\n x<sup>2</sup>\n").nodes]
    assert [text for text in texts if text] == ["T", "CO₂", "m²", "10⁶", "x²"]


@given(st.text(max_size=30), st.lists(st.tuples(st.sampled_from(("sup", "sub", "link")), st.integers(0, 30),
                                               st.integers(0, 30)), max_size=4))
def test_no_offset_moves_and_no_letter_changes(text: str, places: list[tuple[str, int, int]]) -> None:
    spans = [Span(min(begin, end, len(text)), min(max(begin, end), len(text)), kind, None)
             for kind, begin, end in places]
    shown = with_superscripts(text, spans)
    assert len(shown) == len(text)
    signs = str.maketrans("-–", "−−")
    for before, after in zip(text, shown, strict=True):
        assert before == after or unicodedata.normalize("NFKC", after) == before.translate(signs)
