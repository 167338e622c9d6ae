"""What counts as a leak, on questions whose indices are worked out by hand."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pipelines.errors import UserError
from pipelines.evaluation.datasets import GoldEvidence, Question, QuestionSet
from pipelines.evaluation.question_table import write_question_set
from pipelines.questions.leakage import LEAKAGE_RULES, NEAR, Asked, check_leakage, find_leaks, refuse_leakage, sides
from pipelines.retrieval.terms import terms
from pipelines.settings import DataFolder

QUOTE = "The old stone bridge was swept away by the flood of that year."


def asked(question: str = "Who?", question_id: str = "a", dataset: str = "train", title: str = "",
          quote: str = "1911", split: str | None = None) -> Asked:
    evidence = (GoldEvidence(title, (), quote),) if title else ()
    return Asked(dataset, Question(question_id, question, (), evidence, split=split))  # type: ignore[arg-type]


def rules(train: Asked, held_out: Asked) -> set[str]:
    return {leak.rule for leak in find_leaks([train], [held_out])}


@pytest.mark.parametrize(("train_id", "held_out_id", "held_out_set", "is_leak"), [
    ("sample-001", "sample-001", "test", False),  # every list counts like that
    ("sample-001", "sample-001", "train", True),
    ("5a7a06935542990198eaf050", "5a7a06935542990198eaf050", "test", True),
    ("7089015503030534144", "7089015503030534144", "test", True),
    ("definition-13f61f6f4961", "definition-13f61f6f4962", "test", False),
    ("deadbeef", "deadbeef", "test", False),  # a word, without a digit
])
def test_ids_are_compared_across_sets_only_where_they_tell_a_question(
        train_id: str, held_out_id: str, held_out_set: str, is_leak: bool) -> None:
    found = rules(asked("What is red?", train_id), asked("Who went home?", held_out_id, held_out_set))
    assert ("id_is_held_out" in found) == is_leak


RIVER = "On which river does the old stone bridge of the small town stand"


@pytest.mark.parametrize(("one", "other", "is_leak"), [
    ("Who built the ARK?", "who   built the ark", True),
    # 12 terms in both, each ln(1 + 2/2); one more of ln(1 + 2/1): 12 ln 2 / (12 ln 2 + ln 3) = 0.883.
    (RIVER, f"{RIVER} exactly", True),
    # 5 in both and one more in each: 5 ln 2 / (5 ln 2 + 2 ln 3) = 0.612.
    ("when was the old bridge built", "when was the old bridge constructed", False),
    # 12 in both and two in one: 12 ln 2 / (12 ln 2 + 2 ln 3) = 0.791.
    (RIVER, f"{RIVER} right now", False),
    # 0.883 again, but one of them names what the other does not, with a capital or as a number.
    (RIVER, f"{RIVER} Exeter", False),
    (RIVER, f"{RIVER} 1911", False),
    (f"{RIVER} Exeter", f"{RIVER} exeter", True),
    ("???", "!!!", False),
])
def test_questions_are_near_by_their_terms_and_names(one: str, other: str, is_leak: bool) -> None:
    train, held_out = asked(one), asked(other, "b", "test")
    assert ("question_is_held_out" in rules(train, held_out)) == is_leak
    assert ("question_is_held_out" in rules(held_out, train)) == is_leak


@pytest.mark.parametrize(("title", "quote", "expected"), [
    ("Old_Bridge", "1911", {"document_is_held_out"}),
    ("Other", QUOTE.upper(), {"evidence_is_held_out"}),
    ("Old Bridge", QUOTE, {"document_is_held_out", "evidence_is_held_out"}),
    ("Other", "1912", set()),
])
def test_documents_and_long_quotes_are_shared(title: str, quote: str, expected: set[str]) -> None:
    train = asked("What fell?", "a", title=title, quote=quote)
    assert rules(train, asked("Who went home?", "b", "test", "Old Bridge", QUOTE)) == expected


def test_a_short_quote_is_equal_by_chance() -> None:
    assert rules(asked("What fell?", "a", title="Ash", quote="1911"),
                 asked("Who went home?", "b", "test", "Oak", "1911")) == set()


def test_near_questions_are_all_found_and_no_other_by_comparing_every_pair() -> None:
    """Against the definition: all pairs, without prefixes."""
    import math

    draw = random.Random(3)
    words = [f"w{n}" for n in range(40)]
    texts = [" ".join(draw.choices(words, [1 / (n + 1) for n in range(40)], k=draw.randint(3, 9)))
             for _ in range(300)]
    train = [asked(text, f"t{n}") for n, text in enumerate(texts[:200])]
    held_out = [asked(text, f"h{n}", "test") for n, text in enumerate(texts[200:])]
    sets = [set(terms(text)) for text in texts]
    weight = {word: math.log(1 + 300 / n) for word in words if (n := sum(word in one for one in sets))}

    def index(one: set[str], other: set[str]) -> float:
        return sum(weight[word] for word in one & other) / sum(weight[word] for word in one | other)

    expected = {f"train/t{place}" for place, one in enumerate(sets[:200])
                if any(index(one, other) >= NEAR for other in sets[200:])}
    found = {leak.train.name for leak in find_leaks(train, held_out) if leak.rule == "question_is_held_out"}
    assert found == expected
    assert 5 < len(expected) < 150


def test_the_error_names_rules_questions_and_the_way_out() -> None:
    train = [asked("What fell?", "a", title="Old Bridge", quote=QUOTE), asked("What is red?", "c")]
    held_out = [asked("Who went home?", "b", "test", "Old Bridge", QUOTE)]
    with pytest.raises(UserError, match=r"1 of 2 leak held-out ones \(evidence_is_held_out 1, "
                                        r"document_is_held_out 1\): train/a and test/b.*allow_leakage: true"):
        check_leakage(train, held_out)
    assert [leak.rule for leak in check_leakage(train, held_out, allow_leakage=True)] == \
        list(LEAKAGE_RULES)[2:]


def test_a_training_takes_the_train_split_and_everything_held_out_of_all_its_sets(tmp_path: Path) -> None:
    data = DataFolder.at(tmp_path / "data")
    write_question_set(data, QuestionSet("own", (
        Question("q1", "What is red?", (), ()),
        Question("q2", "What is blue?", (), (), split="train"),
        Question("q3", "What is green?", (), (), split="dev"))))
    write_question_set(data, QuestionSet("other", (
        Question("q1", "What is red?", (), (), split="train"),
        Question("q2", "what is BLUE", (), (), split="test"))))
    train, held_out = sides(data, "own", ["other", None, "own"])
    assert [one.name for one in train] == ["own/q1", "own/q2"]
    assert [one.name for one in held_out] == ["own/q3", "other/q2"]
    assert refuse_leakage(data, "own") == []
    with pytest.raises(UserError, match="own/q2 and other/q2"):
        refuse_leakage(data, "own", ["other"])
    with pytest.raises(UserError, match="question set 'none'"):
        refuse_leakage(data, "own", ["none"])
