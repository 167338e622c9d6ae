"""Sentences: exact offsets in every script, abbreviations, initials, quotations, lines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.sentences import split_nodes, split_text

SAMPLES = {
    "en": ["Ng et al. [2011] found 2.5 m in Fig. 3.", "Then Dr. Po left.", "The U.S. Army came.",
           "J. R. R. Tolkien wrote it.", "Is it 3.14?", "Yes!", "No. 7 won, e.g. on Mt. Elbe."],
    "de": ["Am 3. Oktober kam er z. B. mit Dr. Po.", "Er blieb bis zum 19. Jahrhundert.", "Warum?",
           "Das weiß niemand."],
    "fr": ["Né av. J.-C. à Rome, M. Po partit.", "Il revint.", "Pourquoi ?", "Nul ne sait."],
    "es": ["El Sr. Po vive en EE. UU. desde 1990.", "¿Por qué?", "Nadie lo sabe.", "¡Qué cosa!"],
    "ru": ["Родился в 1900 г. в г. Киеве.", "А. С. Пушкин писал стихи.", "Почему?", "Никто не знает."],
    "uk": ["Народився 5 р. в м. Київ.", "Помер 1900 р. у Львові.", "Т. Г. Шевченко писав вірші."],
    "hy": ["Ես գնացի տուն։", "Նա եկավ։", "Ջուրը սառն էր։"],
    "hi": ["राम घर गया।", "सीता आई।", "क्या वह जाएगी?", "हाँ।"],
    "ja": ["彼は行った。", "「はい。」と彼女は言った。", "次の日！", "雨だった。"],
    "zh": ["他走了。", "她问：“为什么？”", "没有人知道！"],
    "ar": ["هل ذهبت؟", "نعم ذهبت.", "ثم عاد إلى البيت."],
    "el": ["Ο Δρ. Πο έφυγε.", "Γεννήθηκε το 300 π.Χ. στην Αθήνα.", "Γιατί;", "Δεν ξέρω."],
    "vi": ["Ông sống ở TP. Huế.", "Vì sao?", "Không ai biết."],
    "pl": ["Urodził się w 1900 r. w Łodzi.", "Prof. Po uczył m.in. fizyki.", "Dlaczego?", "Nikt nie wie."],
    "ko": ["그는 갔다.", "왜?", "아무도 모른다."],
}
# The Greek question mark is the semicolon, which also parts clauses: it ends no sentence here.
JOINED = {"el": {2}}


@pytest.mark.parametrize("language", SAMPLES)
def test_sentences_of_a_language(language: str) -> None:
    expected: list[str] = []
    for number, sentence in enumerate(SAMPLES[language]):
        if number - 1 in JOINED.get(language, ()):
            expected[-1] += " " + sentence
        else:
            expected.append(sentence)
    joint = "" if language in ("ja", "zh") else " "
    text = joint.join(SAMPLES[language])
    assert [text[begin:end] for begin, end in split_text(text, language)] == expected


@pytest.mark.parametrize(("text", "n"), [
    ("1) One case. 2) Two cases .. See Fig. ??", 3), ("Wait... what? No!", 2), ("Only words without a stop", 1),
    ("One line\nand another", 2), ("It cost $3.50. That is all.", 2), ("", 0), ("   \n ", 0), (".", 1),
    ('She said "Go home." Then she left.', 2),
])
def test_number_of_sentences(text: str, n: int) -> None:
    assert len(split_text(text, "en")) == n


def check_cover(text: str, language: str) -> None:
    at = 0
    for begin, end in split_text(text, language):
        assert at <= begin < end <= len(text)
        assert not text[at:begin].strip()
        assert text[begin:end] == text[begin:end].strip()
        at = end
    assert not text[at:].strip()


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("aA1 .!?…\n\"'”)»。「」？։।؟é\u00a0\u2028,-(["), max_size=80),
       st.sampled_from(sorted(SAMPLES)))
def test_every_character_lies_in_exactly_one_sentence(text: str, language: str) -> None:
    check_cover(text, language)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_cover_of_any_text(text: str) -> None:
    check_cover(text, "en")
    check_cover(text, "xx")


def test_long_texts_are_linear() -> None:
    for unit in ("A. ", ". ", "? ! ", "\"'", "Mr. B. C. ", "。", "x.y "):
        check_cover(unit * 20_000, "en")


def test_nodes_number_their_sentences_and_skip_headings() -> None:
    nodes = read_wikitext("Title. One", "Lead one. Lead two.\n== Part. A ==\n* item\n{|\n| cell\n|}\n"
                          '<math display="block">a. B</math>', SiteInfo.unknown("en")).nodes
    sentences = split_nodes(nodes, "en")
    assert [s.text for s in sentences] == ["Lead one.", "Lead two.", "item", "cell", "a. B"]
    assert [s.sentence_id for s in sentences] == [0, 1, 2, 3, 4]
    for sentence in sentences:
        assert nodes[sentence.node_id].text[sentence.begin:sentence.end] == sentence.text
