"""Sentences: hard cases in thirty languages, exact offsets in every script, time that grows with the text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear import is_linear

from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.sentence_cases import read_cases, wrong_cases
from pipelines.documents.sentence_rules import rules_of
from pipelines.documents.sentences import split_nodes, split_text
from pipelines.documents.tree import Node

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "sentences"
RIGHT = {
    "en": 48, "de": 31, "fr": 27, "es": 26, "ru": 28, "uk": 28, "pl": 26, "el": 25, "hy": 25, "tr": 25, "vi": 25,
    "ar": 25, "hi": 25, "ja": 25, "zh": 25, "it": 12, "pt": 12, "cs": 12, "nl": 12, "sv": 12, "hu": 12, "fi": 12,
    "ko": 12, "am": 12, "th": 12, "he": 12, "ka": 12, "bn": 12, "fa": 12, "ur": 12,
    # Written after the rules: 25, 20, 20 and 15 texts.
    "en.held": 22, "de.held": 19, "ru.held": 16, "ja.held": 14,
}
"""Texts of each file whose sentences are all found; a better rule raises the figure."""


LANGUAGES = sorted(name for name in RIGHT if "." not in name)


def of(language: str, text: str) -> list[str]:
    return [text[begin:end] for begin, end in split_text(text, language)]


@pytest.mark.parametrize("name", RIGHT)
def test_sentences_of_a_language(name: str) -> None:
    cases = read_cases(FIXTURES / f"{name}.txt")
    wrong = wrong_cases(cases, lambda text: split_text(text, name.partition(".")[0]))
    report = "\n".join(f"expected {expected}\n   found {found}" for expected, found in wrong)
    assert len(cases) - len(wrong) >= RIGHT[name], report


def test_every_file_of_texts_is_counted() -> None:
    assert {path.stem for path in FIXTURES.glob("*.txt")} == set(RIGHT)


def test_no_word_of_a_language_has_two_meanings() -> None:
    for language in LANGUAGES:
        rules = rules_of(language)
        assert rules.late <= rules.abbreviations
        assert not rules.ending & (rules.introducing | rules.late)
        assert not rules.introducing & rules.abbreviations


@pytest.mark.parametrize(("text", "n"), [
    ("1) One case. 2) Two cases .. See Fig. ??", 3), ("Wait... what? No!", 2), ("Only words without a stop", 1),
    ("One line\nand another", 2), ("It cost $3.50. That is all.", 2), ("", 0), ("   \n ", 0), (".", 1),
    ('She said "Go home." Then she left.', 2), ("J. Smith Jr.\nA. Brown", 2), ("  Padded. Text. \n", 2),
    ("No space.No cut", 1), ("(a) One. (b) Two.", 2),
])
def test_number_of_sentences(text: str, n: int) -> None:
    assert len(split_text(text, "en")) == n


def test_an_unknown_language_has_the_rules_of_its_script() -> None:
    assert of("xx", "One. Two? three. Vier!") == ["One.", "Two? three.", "Vier!"]
    assert of("yue", "佢走咗。冇人知！") == ["佢走咗。", "冇人知！"]
    assert of("mr", "तो गेला। ती आली।") == ["तो गेला।", "ती आली।"]


def test_a_variant_of_a_language_has_its_rules() -> None:
    assert of("de-at", "Am 3. Mai kam er. Dann ging er.") == ["Am 3. Mai kam er.", "Dann ging er."]
    assert of("simple", "Dr. Po left. He ran.") == ["Dr. Po left.", "He ran."]


@pytest.mark.parametrize("mark", ["()", '""', "“”", "«»", "„“"])
def test_a_quotation_is_whole_up_to_a_length(mark: str) -> None:
    short = f"He said {mark[0]}It rained. We stayed.{mark[1]} and left."
    assert of("en", short + " She ran.") == [short, "She ran."]
    long = f"He said {mark[0]}It rained. {'We stayed in. ' * 30}Then it stopped.{mark[1]} and left."
    assert len(split_text(long, "en")) > 5
    # Without its end it is none.
    assert of("en", f"He said {mark[0]}It rained. We stayed.") == [f"He said {mark[0]}It rained.", "We stayed."]


def check_cover(text: str, language: str) -> None:
    at = 0
    for begin, end in split_text(text, language):
        assert at <= begin < end <= len(text)
        assert not text[at:begin].strip()
        assert text[begin:end] == text[begin:end].strip()
        at = end
    assert not text[at:].strip()


MARKS = ("aAbB1I .!?…\n\"'”“„«»)(]。！？」「、ー（）։:;।॥؟።፡é\u00a0\u2028\u3000,-—[¿ßя Яґ ა ก 中 ｡ 다 ש ع ह")


@settings(max_examples=600, deadline=None)
@given(st.text(st.sampled_from(MARKS), max_size=80), st.sampled_from([*LANGUAGES, "", "xx"]))
def test_every_character_lies_in_exactly_one_sentence(text: str, language: str) -> None:
    check_cover(text, language)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([
    "Dr. ", "z. B. ", "т. д. ", "«Да. ", "Нет» ", "「はい。", "」と", "(U.S. ", ") ", "3. Mai ", "J. R. ", "... ",
    "X! ", "\n", "etc. ", "कि.मी. ", "։ ", "። ", "\u2003", '"Go. ', 'Now." ', "iPhone ", "l'art. ", "No. ", "IV. ",
    "１．"]), max_size=30),
    st.sampled_from(LANGUAGES))
def test_cover_of_joined_traps(parts: list[str], language: str) -> None:
    check_cover("".join(parts), language)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200), st.sampled_from(LANGUAGES))
def test_cover_of_any_text(text: str, language: str) -> None:
    check_cover(text, language)


def nodes_of(text: str) -> list[Node]:
    return [Node(0, 0, (0,), None, "content", "p", None, text, (), (), {}, None, 0, len(text))]


@given(st.text(st.sampled_from(MARKS), max_size=60), st.sampled_from(LANGUAGES))
@settings(max_examples=300, deadline=None)
def test_nodes_are_split_as_texts(text: str, language: str) -> None:
    sentences = split_nodes(nodes_of(text), language)
    assert [(s.begin, s.end) for s in sentences] == split_text(text, language)
    assert all(s.text == text[s.begin:s.end] for s in sentences)


@pytest.mark.parametrize("unit", [
    "a. b. c. ", "A. ", ". ", "? ! ", "\"'", "Mr. B. C. ", "。", "x.y ", "(", '("a. B ', "“A. ", "...", " . ",
    "\n ", ".\"", "3. ", "«Я. ", "„A. B", "。」", "! \"", "т. д. ", ".[1]", "A.  ", "’", "1.1.1."])
def test_time_grows_with_the_text(unit: str) -> None:
    assert is_linear(lambda size: split_text("(\"“" + unit * (size // len(unit)), "de"), 30_000)


def test_nodes_number_their_sentences_and_skip_headings() -> None:
    nodes = read_wikitext("Title. One", "Lead one. Lead two.\n== Part. A ==\n* item\n{|\n| cell\n|}\n"
                          '<math display="block">a. B</math>', SiteInfo.unknown("en")).nodes
    sentences = split_nodes(nodes, "en")
    assert [s.text for s in sentences] == ["Lead one.", "Lead two.", "item", "cell", "a. B"]
    assert [s.sentence_id for s in sentences] == [0, 1, 2, 3, 4]
    for sentence in sentences:
        assert nodes[sentence.node_id].text[sentence.begin:sentence.end] == sentence.text


@pytest.mark.parametrize(("text", "n"), [
    ('"Good morning?" Harry asked. "Good morning!" Harry exclaimed. He left.', 3),
    ('"Look!" Ann Lee wailed softly. "Go!" the king thundered. "Why?" Ian quietly whispered. It rained.', 4),
    ('"Stop!" The train left.', 2), ('"Stop!" John left. He ran.', 3),
    ("Back to Com. & Adm. by the path. It failed.", 2),
])
def test_speech_tags_and_ampersands_carry_a_sentence_on(text: str, n: int) -> None:
    assert len(split_text(text, "en")) == n
