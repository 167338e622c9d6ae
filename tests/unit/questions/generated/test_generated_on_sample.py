"""Questions generated from articles of the sample: every quote is where the gold rule says, every answer in it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from pipelines.documents.readers.dump import iter_pages, read_site_info, sample_dump_path
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.tree import Document
from pipelines.evaluation.datasets import Question, load_questions
from pipelines.evaluation.gold import GoldLocator
from pipelines.evaluation.normalise import AnswerText, normalise_quote, normalise_title
from pipelines.questions.generated.generate import RULE_GENERATORS, GenerationSettings, generate

N_ARTICLES = 40


@pytest.fixture(scope="module")
def articles() -> dict[str, Document]:
    path = sample_dump_path()
    site = read_site_info(path)
    pages = (page for page in iter_pages(path) if page.namespace == 0 and page.redirect_to is None)
    found = {}
    for page in itertools.islice(pages, N_ARTICLES):
        nodes = read_wikitext(page.title, page.text, site).nodes
        found[f"enwiki:{page.page_id}"] = Document(f"enwiki:{page.page_id}", nodes, language="en")
    return found


@pytest.fixture(scope="module")
def questions(articles: dict[str, Document]) -> list[Question]:
    return generate(articles.values, GenerationSettings(counts=dict.fromkeys(RULE_GENERATORS, 60))).questions


def test_every_generator_finds_something(questions: list[Question]) -> None:
    # The first articles have no definitions.
    assert {question.generator for question in questions} == set(RULE_GENERATORS) - {"definition"}
    assert len(questions) > 150


def test_quotes_are_found_in_their_sections(articles: dict[str, Document], questions: list[Question]) -> None:
    ids: dict[str, list[str]] = {}
    for doc_id, document in articles.items():
        ids.setdefault(normalise_title(document.title), []).append(doc_id)
    locator = GoldLocator(ids, articles, lambda text: len(text.split()))
    for question in questions:
        for located in locator.locate(question):
            assert located.problem is None, question
            (section,) = located.tokens_by_section
            doc_id, path = section.split("#/")
            node = articles[doc_id].at([int(step) for step in path.split("/") if step])
            headings = (*node.heading_path, node.text) if node.tag == "section" else ()
            assert headings == located.gold.section, question


def test_answers_are_in_the_quotes_and_not_in_the_question(questions: list[Question]) -> None:
    for question in questions:
        quotes = normalise_quote(" ".join(gold.quote for gold in question.evidence))
        for aliases in question.answers:
            assert normalise_quote(aliases[0]) in quotes, question
            if question.generator == "inverse_cloze":
                assert not AnswerText(question.question).holds(aliases[0]), question


def test_kinds_hold_what_they_should(questions: list[Question]) -> None:
    for question in questions:
        if question.generator == "unanswerable":
            assert question.is_unanswerable
        elif question.generator == "joined_cloze":
            assert len(question.answers) == len(question.evidence) == 2
            assert question.evidence[0].section != question.evidence[1].section
        else:
            assert question.evidence
            assert len({gold.title for gold in question.evidence}) == 1


def test_questions_read_like_questions(questions: list[Question]) -> None:
    for question in questions:
        words = question.question.split()
        assert 2 <= len(words) <= 60, question
        if question.generator != "heading_chain":
            assert question.question.endswith("?"), question
        assert "  " not in question.question
        assert "??" not in question.question
        assert question.question[0].isupper() or question.generator == "heading_chain", question


def test_few_words_are_the_sentence_s_own(questions: list[Question]) -> None:
    from pipelines.questions.generated.cloze import MOST_SHARED, SMALL_TERMS
    from pipelines.retrieval.terms import terms

    for question in questions:
        if question.generator == "inverse_cloze":
            own = [term for term in terms(question.question) if term not in SMALL_TERMS]
            said = set(terms(question.evidence[0].quote))
            assert sum(term in said for term in own) <= MOST_SHARED * len(own), question


def test_the_set_can_be_written_and_read(questions: list[Question], tmp_path: Path) -> None:
    path = tmp_path / "generated.jsonl"
    lines = [json.dumps(question.to_json(), ensure_ascii=False) for question in questions]
    path.write_text("\n".join(lines), "utf-8")
    loaded = load_questions(path)
    assert list(loaded.questions) == questions
    assert loaded.is_generated
    assert loaded.unknown_fields == {}
