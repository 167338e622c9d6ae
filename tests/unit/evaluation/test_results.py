"""A whole comparison of two methods on one document, its figures worked out by hand; the report."""

from __future__ import annotations

import json
import math
from html.parser import HTMLParser
from typing import Any

import pytest
from evaluation_builders import count_words, make_document, make_prediction, make_question

from pipelines.evaluation.datasets import QuestionSet
from pipelines.evaluation.report import marked_excerpt, render_report
from pipelines.evaluation.results import (
    COMPARED_METRICS,
    RESULT_METRICS,
    MethodOutcome,
    Scorer,
    Settings,
    compare,
)

FARM = make_document("w:1", "Farm", {
    "": ["Napoleon is a pig."],
    "Pigs": ["He is the villain.", "Another text."],
    "Humans": ["Frederick is a man."],
})
QUESTIONS = QuestionSet("farm", (
    make_question("q1", ("Farm", "is the villain"), answers=(("villain",),)),
    make_question("q2", ("Farm", "Frederick is a man"), ("Farm", "Napoleon is a pig"), answers=(("man",),),
                  kind="list"),
    make_question("<q3>", kind="unanswerable"),
    make_question("q4", ("Nowhere", "lost words"), answers=(("lost",),)),
), unknown_fields={"note": 4})
SETTINGS = Settings(3, 100, "words", "none", "similarity", "none", None, {"a": "<b>"}, "0.1", "in process")


@pytest.fixture(scope="module")
def outcomes() -> dict[str, MethodOutcome]:
    scorer = Scorer(QUESTIONS, {"w:1": FARM}, {"Farm": ["w:1"]}, count_words)
    good = [make_prediction("q1", "good", FARM, [3]), make_prediction("q2", "good", FARM, [6, 1]),
            make_prediction("<q3>", "good", FARM, []), make_prediction("q4", "good", FARM, [4])]
    poor = [make_prediction("q1", "flat", FARM, [4, 3]), make_prediction("q2", "flat", FARM, [1, 3]),
            make_prediction("<q3>", "flat", FARM, [1]), make_prediction("q4", "flat", FARM, [])]
    return {"good": scorer.outcome(good, 100, {50: good}), "flat": scorer.outcome(poor, 100, {50: poor})}


@pytest.fixture(scope="module")
def result(outcomes: dict[str, MethodOutcome]) -> dict[str, Any]:
    scorer = Scorer(QUESTIONS, {"w:1": FARM}, {"Farm": ["w:1"]}, count_words)
    return compare(scorer, outcomes, SETTINGS)


def test_the_means_by_hand(result: dict[str, Any]) -> None:
    good, flat = result["methods"]["good"], result["methods"]["flat"]
    assert good["evidence_recall"] == pytest.approx((1 + 1 + 0) / 3)
    assert flat["evidence_recall"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert good["evidence_precision"] == pytest.approx((3 / 4 + 8 / 8 + 0) / 3)
    assert flat["evidence_precision"] == pytest.approx((3 / 6 + 4 / 8 + 0) / 3)
    assert good["n"]["evidence_recall"] == 3
    assert good["refusal_rate_unanswerable"] == 1
    assert flat["refusal_rate_unanswerable"] == 0
    assert good["answer_in_context"] == pytest.approx(2 / 3)
    assert flat["answer_in_context"] == pytest.approx(1 / 3)
    assert good["context_tokens"] == pytest.approx((4 + 8 + 0 + 2) / 4)
    assert good["mrr"] == pytest.approx((1 + 1 + 0) / 3)
    assert flat["mrr"] == pytest.approx((1 + 1 + 0) / 3)
    # q1: one section, the gold one: 0. q2: two of 4 words each: ln 2. q4: one, not gold.
    assert good["section_entropy"] == pytest.approx((0 + math.log(2) + 0) / 3, abs=1e-4)
    assert good["eace"] == pytest.approx((0 + math.log(2) + -math.log(1e-6)) / 3, abs=1e-4)


def test_the_form_of_the_result(result: dict[str, Any]) -> None:
    assert result["n_questions"] == 4
    assert result["n_unanswerable"] == result["n_without_evidence"] == 1
    assert tuple(result["methods"]["good"])[:len(RESULT_METRICS)] == RESULT_METRICS
    assert result["methods"]["good"]["answer_em"] is None
    rows = [(row["id"], row["method"]) for row in result["per_question"]]
    assert rows[:2] == [("q1", "good"), ("q1", "flat")]
    assert result["per_question"][2]["quotes_found"] == [True, True]
    assert result["per_question"][3]["quotes_found"] == [False, True]
    assert result["gold"]["not_in_corpus"] == [
        {"id": "q4", "title": "Nowhere", "quote": "lost words", "problem": "no_document"}]
    assert [point["budget_tokens"] for point in result["curve"]["good"]] == [50, 100]
    assert any("no reader" in line for line in result["not_measured"])
    assert any("note (4 lines)" in line for line in result["not_measured"])
    json.dumps(result, allow_nan=False)


def test_every_difference_has_interval_and_n(result: dict[str, Any]) -> None:
    rows = {row["metric"]: row for row in result["differences"]}
    assert set(rows) < set(COMPARED_METRICS)
    for row in rows.values():
        assert (row["method"], row["baseline"]) == ("good", "flat")
        assert row["n"] >= 1
        assert (row["low"] is None) == (row["n"] == 1)
    assert rows["evidence_recall"]["mean"] == pytest.approx(0.5 / 3)
    assert rows["evidence_recall"]["n"] == 3
    # q4 has no context under flat, so it has no SE there.
    assert rows["section_entropy"]["n"] == 2


class _Page(HTMLParser):
    """Collects what a page refers to, and whether its elements are closed."""

    VOID = frozenset({"meta", "input", "br", "path", "use", "rect", "link", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.references: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.references += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.references += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_the_report_holds_everything_itself(result: dict[str, Any],
                                            outcomes: dict[str, MethodOutcome]) -> None:
    predictions = {name: outcome.predictions for name, outcome in outcomes.items()}
    html = render_report(result, QUESTIONS.questions, predictions)
    page = _Page()
    page.feed(html)
    assert page.open == []
    assert all(reference.startswith("#") for reference in page.references)
    assert html.count("<svg") == 4
    assert "<mark>Frederick is a man</mark>" in html
    assert "&lt;q3&gt;" in html
    assert "a=&lt;b&gt;" in html
    assert "<q3>" not in html
    assert "no interval" in html
    assert "lost words" in html
    assert html == render_report(result, QUESTIONS.questions, predictions)


def test_a_long_text_is_shortened_around_its_quotes() -> None:
    words = " ".join(f"word{i}" for i in range(2000))
    document = make_document("w:2", "Long", {"": [f"{words} the gold quote {words}"]})
    entry = make_prediction("q", "m", document, [1]).evidence[0]
    parts = marked_excerpt(make_question("q", ("Long", "The GOLD quote")), entry)
    assert [kind for kind, _ in parts] == ["gap", "text", "quote", "text", "gap"]
    assert parts[2] == ("quote", "the gold quote")
    assert marked_excerpt(make_question("q"), entry)[-1] == ("gap", "")


def test_one_method_has_no_differences(outcomes: dict[str, MethodOutcome]) -> None:
    scorer = Scorer(QUESTIONS, {"w:1": FARM}, {"Farm": ["w:1"]}, count_words)
    alone = compare(scorer, {"good": outcomes["good"]}, SETTINGS)
    assert alone["differences"] == []
    assert "Differences between methods" not in render_report(
        alone, QUESTIONS.questions, {"good": outcomes["good"].predictions})
