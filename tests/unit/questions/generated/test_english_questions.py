"""English questions of clauses: what can be asked, the other words, forms of verbs and nouns."""

from __future__ import annotations

import pytest

from pipelines.questions.generated.draws import Draws
from pipelines.questions.generated.english_clauses import clause_of
from pipelines.questions.generated.english_phrases import forms, words
from pipelines.questions.generated.english_questions import Asked, is_person, questions_of
from pipelines.questions.generated.english_verbs import (
    base_form,
    finite_verb,
    other_verb,
    participle_of,
)
from pipelines.questions.generated.english_words import _others, _plural, in_other_words


def asked(sentence: str, *links: str, seed: int = 0) -> list[Asked]:
    clause = clause_of(sentence)
    assert clause is not None
    return list(questions_of(clause, links, Draws(seed, sentence)))


@pytest.mark.parametrize(("sentence", "links", "question", "answer"), [
    ("In June 1911 the bakers sold the old mill to Leeds.", (),
     "When did the bakers sell the old mill to Leeds?", "June 1911"),
    ("The bakers have owned the old mill since 1911.", (),
     "Since when have the bakers owned the old mill?", "1911"),
    ("Ann Lee was born in the north of Leeds in May 1850.", (),
     "When was Ann Lee born in the north of Leeds?", "May 1850"),
    ("Ann Lee studied law at Leeds in the autumn.", (), "Where did Ann Lee study law in the autumn?", "Leeds"),
    ("The mill employed 1,200 women from the villages.", (),
     "How many women did the mill employ from the villages?", "1,200"),
    ("Barn owls use four old nests near barns.", (), "How many old nests do Barn owls use near barns?", "four"),
    ("The old mill was edited by Ann Lee for the town.", (), "Who edited the old mill for the town?", "Ann Lee"),
    ("The old paper was edited by the English writer Ann Lee.", (),
     "Which English writer edited the old paper?", "Ann Lee"),
    ("The baker Ann Lee sold the old mill to Leeds.", (),
     "Which baker sold the old mill to Leeds?", "Ann Lee"),
    ("Historian Ann Lee edited the papers of the mill.", (),
     "Which historian edited the papers of the mill?", "Ann Lee"),
    ("The bakers sold the Old Mill to the town in autumn.", ("Old Mill",),
     "What did the bakers sell to the town in autumn?", "Old Mill"),
    ("The mill has a new roof because the storm of 1911 took the old one.", (),
     "Why does the mill have a new roof?", "the storm of 1911 took the old one"),
])
def test_questions(sentence: str, links: tuple[str, ...], question: str, answer: str) -> None:
    # The wh-word of a date and other words for a verb are drawn: among some seeds each has its turn.
    found = {(each.question, each.answer) for seed in range(20) for each in asked(sentence, *links, seed=seed)}
    assert (question, answer) in found


def test_what_a_thing_is_asks_for_its_name() -> None:
    found = {each.question: each.answer for seed in range(30)
             for each in asked("Milling is the art of grinding wheat between two stones.", seed=seed)}
    assert found == {
        "What is the art of grinding wheat between two stones called?": "Milling",
        "What is the name for the art of grinding wheat between two stones?": "Milling",
        "What do you call the art of grinding wheat between two stones?": "Milling"}


def test_other_words_stand_in_the_same_frame() -> None:
    found = {each.question for seed in range(60)
             for each in asked("The bakers rejected the plan of Leeds in May 1911.", seed=seed)}
    assert found == {"When did the bakers reject the plan of Leeds?",
                     "When did the bakers turn down the plan of Leeds?"}


@pytest.mark.parametrize(("name", "is_one"), [
    ("Ann Lee", True), ("J. R. Smith", True), ("Ludwig van Beethoven", True), ("Ann", False),
    ("Leeds University", False), ("Northern Alberta", False), ("Mahayana Buddhism", False), ("Lee's Mill", False),
    ("the bakers", False), ("Treaty of Leeds", False),
])
def test_names_of_people(name: str, is_one: bool) -> None:
    assert is_person(name) is is_one


@pytest.mark.parametrize(("word", "base", "tense"), [
    ("wrote", "write", "past"), ("planned", "plan", "past"), ("carried", "carry", "past"), ("used", "use", "past"),
    ("visited", "visit", "past"), ("goes", "go", "present"), ("carries", "carry", "present"),
    ("has", "have", "present"), ("buys", "buy", "present"), ("reaches", "reach", "present"),
])
def test_forms_of_verbs(word: str, base: str, tense: str) -> None:
    found = finite_verb(word)
    assert found is not None
    assert (found[0].base, found[1]) == (base, tense)


def test_participles_and_bases() -> None:
    write = participle_of("written")
    assert write is not None
    assert write.base == "write"
    assert participle_of("wrote") is None
    assert base_form("written") is None
    assert (other_verb("bring out").past, other_verb("bring out").participle) == ("brought out", "brought out")
    with pytest.raises(KeyError):
        other_verb("frobnicate")


def test_every_other_verb_has_its_forms() -> None:
    from pipelines.questions.generated.english_verbs import _table

    for verb in _table().values():
        for other in verb.others:
            assert other_verb(other).base == other
            assert other != verb.base


def test_every_other_word_is_another_one() -> None:
    for word, others in _others().items():
        assert word not in others
        assert others == tuple(filter(None, others))


@pytest.mark.parametrize(("one", "many"), [
    ("city", "cities"), ("church", "churches"), ("work of fiction", "works of fiction"),
    ("fighting man", "fighting men"), ("male child", "male children"), ("day", "days"),
    ("bus stop", "bus stops"), ("headquarters", "headquarters"),
])
def test_plurals(one: str, many: str) -> None:
    assert _plural(one) == many


def test_words_are_replaced_but_in_names_and_quotations() -> None:
    question = 'When did the army of the Isle in Kent sing "a large city" to the large army?'
    found = {in_other_words(question, Draws(seed)) for seed in range(50)}
    assert 'When did the army of the Isle in Kent sing "a large city" to the big army?' in found
    assert any("military force of the Isle" in each and "the sizeable military force?" in each for each in found)
    assert all('"a large city"' in each and "Isle in Kent" in each for each in found)
    assert in_other_words("Who saw a huge owl?", Draws(3)) in ("Who saw a huge owl?", "Who saw an enormous owl?")


def test_sets_and_forms() -> None:
    assert "May" in words("month")
    assert "see also" in words("back_matter")
    with pytest.raises(KeyError, match="nope"):
        words("nope")
    assert all("{name}" in form and form.endswith("?") for kind in ("key", "heading")
               for each in forms(kind).values() for form in each)
