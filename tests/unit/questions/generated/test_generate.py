"""Generated sets of hand-made articles: what is asked of each part, choice, splits, order, other languages."""

from __future__ import annotations

import random

import pytest
from generated_builders import mill, muehle

from pipelines.documents.tree import Document
from pipelines.evaluation.datasets import Question, QuestionSet
from pipelines.evaluation.normalise import normalise_quote
from pipelines.questions.generated.draws import Draws, Lowest, draw
from pipelines.questions.generated.generate import (
    DEFAULT_SHARES,
    RULE_GENERATORS,
    Generated,
    GenerationSettings,
    default_counts,
    generate,
)

ALL = dict.fromkeys(RULE_GENERATORS, 50)


def made(documents: list[Document], **settings: object) -> Generated:
    return generate(lambda: documents, GenerationSettings.model_validate({"counts": ALL, **settings}))


def of(questions: list[Question], generator: str) -> dict[str, Question]:
    return {question.question: question for question in questions if question.generator == generator}


@pytest.fixture(scope="module")
def mills() -> list[Document]:
    return [mill(number, f"{name} Mill") for number, name in enumerate(
        ("Ottery", "Tamar", "Exe", "Plym", "Torridge", "Dart", "Teign", "Avon", "Erme", "Yealm"), start=20)]


def test_a_sentence_asks_for_its_block() -> None:
    # Some seeds draw so few other words that the question is too near to its sentence, and is not taken.
    found = [question for seed in range(10)
             for question in of(made([mill()], seed=seed).questions, "inverse_cloze").values()
             if question.answers == (("1701",),)]
    assert 0 < len(found) < 10
    for question in found:
        assert "did the Devon bakers" in question.question
        assert "1701" not in question.question
        (gold,) = question.evidence
        assert (gold.title, gold.section) == ("Ottery Mill", ("History",))
        assert gold.quote == "In 1701 the Devon bakers rejected an offer of the town of Exeter for Ottery Mill."
        assert (question.type, question.derived, question.generator) == ("fact", True, "inverse_cloze")


def test_back_matter_is_left_alone() -> None:
    questions = made([mill()]).questions
    assert not any("1999" in str(question.to_json()) or "printers" in question.question for question in questions)


def test_table_cells_with_their_headings() -> None:
    found = of(made([mill()]).questions, "table_cell")
    rows = {gold.quote for question in found.values() for gold in question.evidence}
    assert "1811 | 1,201 | Will Cobb 1" in rows
    assert "Year | Sacks of flour | Miller" in rows
    assert "headquarters | Ottery" not in rows  # The question would hold the answer.
    assert found["When was Ottery Mill set up?"].answers == (("1801",),)
    assert not any("img_width" in quote for quote in rows)
    asked = {question.answers[0][0]: question.question for question in found.values()}
    for cell, (year, columns) in {"1,201": ("1811", "sacks of flour"), "Will Cobb 1": ("1811", "miller"),
                                  "901": ("1813", "sacks of flour")}.items():
        if cell in asked:
            assert year in asked[cell]
            assert columns in asked[cell]
    assert "—" not in asked


def test_sections_items_and_definitions() -> None:
    questions = made([mill()]).questions
    sections = of(questions, "heading_chain")
    history = next(question for question in sections.values() if question.evidence[0].section == ("History",))
    assert [gold.quote[:8] for gold in history.evidence] == ["In 1701 ", "Ottery M"]
    assert history.answers == ()
    items = {question.answers: text for text, question in of(questions, "list_item").items()}
    assert "of the bakers" in items[(("Mary Reed",),)]
    assert "of all the bakers 1 of Devon" in items[(("John Cook",),)]
    (runner,) = of(questions, "definition").values()
    assert runner.evidence[0].quote == "The upper one of two stones, which turns, at mill 1."


def test_unanswerable_questions_come_close_and_have_nothing(mills: list[Document]) -> None:
    found = of(made(mills).questions, "unanswerable")
    assert found
    for question in found.values():
        assert question.is_unanswerable
        assert "Mill" in question.question
        assert question.type == "unanswerable"
    # The block names a day of the week: that is no detail that it lacks.
    assert not any("day of the week" in text and "Monday" in text for text in found)


def test_the_order_of_documents_changes_nothing(mills: list[Document]) -> None:
    shuffled = list(mills)
    random.Random(1).shuffle(shuffled)
    few = dict.fromkeys(RULE_GENERATORS, 4)
    assert made(mills, counts=few).questions == made(shuffled, counts=few).questions
    assert made(mills, counts=few).questions != made(mills, counts=few, seed=1).questions


def test_counts_and_caps(mills: list[Document]) -> None:
    generated = made(mills, counts={"table_cell": 5, "heading_chain": 0}, most_per_document=1)
    assert generated.counts() == {"table_cell": 5, "heading_chain": 0}
    assert len({question.evidence[-1].title for question in generated.questions}) == 5
    assert len({question.question_id for question in generated.questions}) == 5


def test_a_document_is_in_one_split_for_every_seed(mills: list[Document]) -> None:
    splits: dict[str, set[str | None]] = {}
    for seed in range(3):
        for question in made(mills, seed=seed, dev_share=0.3, test_share=0.3).questions:
            for gold in question.evidence:
                splits.setdefault(gold.title, set()).add(question.split)
    assert all(len(each) == 1 for each in splits.values())
    assert {split for each in splits.values() for split in each} == {"train", "dev", "test"}
    assert {question.split for question in made(mills, dev_share=0, test_share=0).questions} == {"train"}


@pytest.mark.parametrize(("settings", "titles"), [
    ({"include": {"Exe Mill", "xx:21"}}, {"Exe Mill", "Tamar Mill"}),
    ({"include": {"Exe Mill", "Dart Mill"}, "exclude": {"xx:22"}}, {"Dart Mill"}),
])
def test_articles_can_be_chosen(mills: list[Document], settings: dict[str, set[str]], titles: set[str]) -> None:
    questions = made(mills, **settings).questions
    assert {gold.title for question in questions for gold in question.evidence} == titles


def test_other_languages_get_keyword_queries() -> None:
    questions = made([muehle()]).questions
    assert questions
    words = {word for question in questions for word in question.question.split()}
    assert not words & {"What", "When", "Which", "the", "of", "in"}
    assert all(question.question.startswith("Obermühle ") for question in questions)
    assert not any("?" in question.question for question in questions)
    cloze = of(questions, "inverse_cloze")
    assert cloze
    for text, question in cloze.items():
        quote = question.evidence[0].quote
        assert all(word in quote for word in text.removeprefix("Obermühle ").split())
        assert question.answers == ()
    assert not of(questions, "unanswerable")


def test_a_list_of_meanings_is_no_article() -> None:
    document = mill(1, "Mercury (disambiguation)")
    assert made([document]).questions == []


def test_a_quote_that_stands_twice_is_no_evidence() -> None:
    from pipelines.documents.tree import TreeBuilder

    builder = TreeBuilder("Twice Mill")
    for _ in range(2):
        builder.add("p", text="In 1811 the Devon bakers rejected an offer of the town of Exeter for Twice Mill.")
    assert made([Document("xx:1", builder.finish(), language="en")]).questions == []


def test_questions_do_not_hold_their_answers(mills: list[Document]) -> None:
    for question in made(mills).questions:
        quotes = normalise_quote(" ".join(gold.quote for gold in question.evidence))
        for aliases in question.answers:
            assert normalise_quote(aliases[0]) in quotes
            assert normalise_quote(aliases[0]) not in normalise_quote(question.question)


def test_a_generated_set_is_one(mills: list[Document]) -> None:
    assert QuestionSet("g", tuple(made(mills).questions)).is_generated


def test_an_unknown_generator_is_refused() -> None:
    with pytest.raises(ValueError, match="no such generator: nope"):
        made([mill()], counts={"nope": 1})


@pytest.mark.parametrize("total", [1, 10, 300, 999])
def test_the_default_mix_adds_up(total: int) -> None:
    assert sum(default_counts(total).values()) == total
    assert sum(DEFAULT_SHARES.values()) == pytest.approx(1)


def test_draws_are_even_and_their_own() -> None:
    values = [draw(0, number) for number in range(2_000)]
    assert min(values) >= 0
    assert max(values) < 1
    assert sum(values) / len(values) == pytest.approx(0.5, abs=0.02)
    assert draw(0, "a", "b") != draw(0, "ab")
    picks = [Draws(number).pick("xyz", "p") for number in range(300)]
    assert all(70 < picks.count(each) < 130 for each in "xyz")
    assert 60 < sum(Draws(number).chance(0.3, "c") for number in range(300)) < 120


def test_the_lowest_of_a_stream() -> None:
    ranks = [draw(number) for number in range(200)]
    for order in (ranks, ranks[::-1]):
        lowest: Lowest[float] = Lowest(7)
        for rank in order:
            assert lowest.wants(rank) or rank > sorted(ranks)[6]
            lowest.add(rank, str(rank), rank)
        assert lowest.values() == sorted(ranks)[:7]
    assert not Lowest[int](0).wants(0.0)
