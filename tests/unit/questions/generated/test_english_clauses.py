"""Clauses of English sentences: subject, verb, rest; and the sentences that are left alone."""

from __future__ import annotations

import pytest

from pipelines.questions.generated.english_clauses import clause_of


@pytest.mark.parametrize(("sentence", "subject", "finite", "rest", "lead"), [
    ("In 1911 the bakers founded a union in Leeds.", "the bakers", "founded", "a union in Leeds", "In 1911"),
    ("On May 3, 1911, Ann Lee sold the mill (and its pond) to Leeds.", "Ann Lee", "sold", "the mill to Leeds",
     "On May 3, 1911"),
    ("The old mill was built in 1820, when wheat was cheap.", "the old mill", "was", "built in 1820", ""),
    ("He later taught French at the school and married Ann Lee.", "He", "taught", "French at the school", ""),
    ("Owls hunt field mice near barns at night.", "", "", "", ""),
    ("Barn owls use old nests of crows near barns.", "Barn owls", "use", "old nests of crows near barns", ""),
    ("The mill employed 1,200 people in March 1911.", "the mill", "employed", "1,200 people in March 1911", ""),
    ("The United Bakers had 12 shops in the north of the town.", "the United Bakers", "had",
     "12 shops in the north of the town", ""),
])
def test_the_parts_of_a_clause(sentence: str, subject: str, finite: str, rest: str, lead: str) -> None:
    clause = clause_of(sentence)
    if not subject:  # "hunt" is no verb of the table.
        assert clause is None
    else:
        assert clause is not None
        assert (clause.subject, clause.finite, clause.rest, clause.lead) == (subject, finite, rest, lead)


@pytest.mark.parametrize(("sentence", "do"), [
    ("Barn owls use old nests of crows near barns.", "do"), ("The barn owl uses old nests of crows.", "does"),
    ("The barn owl used old nests of crows.", "did"),
])
def test_the_form_of_do(sentence: str, do: str) -> None:
    clause = clause_of(sentence)
    assert clause is not None
    assert clause.do == do


def test_a_reason_is_kept_apart() -> None:
    clause = clause_of("The mill was closed in 1931 because of the flood of the river, and stood empty.")
    assert clause is not None
    assert (clause.rest, clause.reason) == ("closed in 1931", "the flood of the river")


@pytest.mark.parametrize("sentence", [
    "It was built in 1820 by the bakers of Leeds.",  # It: who knows what.
    "This mill was built in 1820 by the bakers of Leeds.",
    "The mill, built in 1820, was sold to the bakers.",  # A comma in the subject.
    "The mill was built in the same year as the bridge.",  # Points back.
    "The bakers believed that the mill belonged to them.",  # What they believed would be cut off.
    "The mill was not sold to the bakers of Leeds.",
    "The mill did grind wheat for the bakers of Leeds.",
    "Famine caused by the flood of 1911 struck the bakers of Leeds.",  # A participle in front of the verb.
    "The first baker was Ann Lee of the town of Leeds.",  # Turned round.
    "The codes 80–9F and more were sold to Leeds",  # No stop.
    "The mill was sold.",
    'The mill was called "the bread of Leeds by the bakers.',  # An open quotation.
])
def test_a_sentence_that_is_not_surely_understood_gives_none(sentence: str) -> None:
    assert clause_of(sentence) is None
