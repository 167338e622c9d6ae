"""The report: one HTML page that holds everything of a comparison, without any file beside it.

What belongs here: the values that the template shows, quotes marked in the retrieved text. What does not:
figures (`results.py`), plots (`plots.py`) and layout (`report.html.jinja`, autoescaped).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from pipelines.evaluation import plots
from pipelines.evaluation.datasets import Question
from pipelines.evaluation.metrics import answers_in_text
from pipelines.evaluation.normalise import QuotedText, merge_ranges, normalise_quote, normalise_title
from pipelines.evaluation.predictions import EvidenceDocument, Prediction

QUESTIONS_SHOWN = 300
EXCERPT_CHARACTERS = 1_600
MARGIN_CHARACTERS = 240


@dataclass(frozen=True)
class Column:
    """A metric as the report shows it. higher: whether more is better; None where neither is."""

    name: str
    title: str
    meaning: str
    higher: bool | None
    digits: int = 3
    factor: float = 1.0


COLUMNS = (
    Column("evidence_recall", "recall", "Gold quotes found in the evidence ÷ all gold quotes", True),
    Column("evidence_precision", "precision", "Context tokens inside found quotes ÷ context tokens", True),
    Column("evidence_f1", "F1", "Harmonic mean of both per question, then the mean", True),
    Column("answer_in_context", "answer in context", "Share of questions all of whose required answers stand "
           "in the context", True),
    Column("answer_em", "answer EM", "Required answers that the reader states exactly", True),
    Column("answer_f1", "answer F1", "Token F1 of the reader's answer", True),
    Column("recall_at_5", "Recall@5", "Relevant sections among the first five shown", True),
    Column("ndcg_at_10", "nDCG@10", "Relevant sections, discounted by rank", True),
    Column("mrr", "MRR", "1 ÷ rank of the first relevant section", True),
    Column("section_entropy", "SE", "Section Entropy, nats: how far the context is spread", False, 2),
    Column("eace", "EACE", "Evidence Alignment Cross Entropy, nats: how far the context is from the gold "
           "sections", False, 2),
    Column("refusal_rate_unanswerable", "refused, unanswerable", "Unanswerable questions that were refused",
           True, 2),
    Column("refusal_rate_answerable", "refused, answerable", "Answerable questions that were refused",
           False, 2),
    Column("llm_calls", "LLM calls", "Calls of a language model per question", False, 1),
    Column("latency_p50_s", "p50, ms", "Median latency of a question", False, 0, 1000.0),
    Column("latency_p95_s", "p95, ms", "95th percentile of latency", False, 0, 1000.0),
)
TYPE_COLUMNS = ("evidence_recall", "evidence_f1", "answer_in_context")
PLOTTED_DIFFERENCES = ("evidence_recall", "evidence_f1")
COMPARED = {
    "evidence_recall": "evidence recall", "evidence_precision": "evidence precision",
    "evidence_f1": "evidence F1", "answer_in_context": "answer in context", "answer_em": "answer EM",
    "answer_f1": "answer F1", "recall_at_5": "Recall@5", "ndcg_at_10": "nDCG@10", "mrr": "MRR",
    "section_entropy": "SE, nats", "eace": "EACE, nats", "context_tokens": "context, tokens",
    "latency_s": "latency, ms", "refusal_rate_unanswerable": "refused, unanswerable",
}
_LOWER_IS_BETTER = ("section_entropy", "eace", "latency_s")
_DIFFERENCE_FORM = {"context_tokens": (0, 1.0), "latency_s": (1, 1000.0), "section_entropy": (2, 1.0),
                    "eace": (2, 1.0)}


def render_report(result: Mapping[str, Any], questions: Sequence[Question],
                  predictions: Mapping[str, Sequence[Prediction]]) -> str:
    """The page for a result of `results.compare`, with what each method retrieved for each question.

    Above `QUESTIONS_SHOWN` questions, those on which the methods differ most are shown, and the page says so.
    """
    from jinja2 import Environment, StrictUndefined

    source = files("pipelines.evaluation").joinpath("report.html.jinja").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True)
    methods = list(result["methods"])
    columns = [c for c in COLUMNS
               if any(values.get(c.name) is not None for values in result["methods"].values())
               and (c.name != "llm_calls" or any(v["llm_calls"] for v in result["methods"].values()))]
    baselines = list(dict.fromkeys(row["baseline"] for row in result["differences"]))
    return environment.from_string(source).render(
        result=result, settings=result["settings"], methods=methods,
        colours=plots.method_colours(methods), columns=columns, rows=_method_rows(result, columns),
        pairs=_pairs(result), types=_type_rows(result),
        type_columns=[c for c in COLUMNS if c.name in TYPE_COLUMNS],
        curve_svg=plots.recall_against_budget(result), latency_svg=plots.latencies(result),
        difference_svgs=[plots.differences(result, metric, baselines[0])
                         for metric in PLOTTED_DIFFERENCES if baselines],
        questions=_question_cards(result, questions, predictions), n_shown=QUESTIONS_SHOWN)


def _form(value: float | None, column: Column) -> str:
    return "–" if value is None else f"{value * column.factor:,.{column.digits}f}"


def _method_rows(result: Mapping[str, Any], columns: Sequence[Column]) -> list[dict[str, Any]]:
    best = {}
    for column in columns:
        shown = [_form(values.get(column.name), column) for values in result["methods"].values()
                 if values.get(column.name) is not None]
        if column.higher is not None and len(set(shown)) > 1:
            pick = max if column.higher else min
            best[column.name] = pick(shown, key=lambda text: float(text.replace(",", "")))
    rows = []
    for method, values in result["methods"].items():
        cells = []
        for column in columns:
            value = values.get(column.name)
            text = _form(value, column)
            is_share = column.higher and value is not None and 0 <= value <= 1
            cells.append({
                "text": text, "n": values["n"].get(column.name), "best": text == best.get(column.name),
                "percent": round(100 * value) if is_share and value is not None else None})
        rows.append({"method": method, "context_tokens": values["context_tokens"], "cells": cells})
    return rows


def _signed(value: float, digits: int) -> str:
    """With its sign, a true minus; without one where it rounds to zero."""
    text = f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")
    return text if any(digit in text for digit in "123456789") else text[1:]


def _pairs(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Differences by pair of methods, with the context tokens of both."""
    pairs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in result["differences"]:
        digits, factor = _DIFFERENCE_FORM.get(row["metric"], (3, 1.0))
        mean, low, high = (None if row[key] is None else _signed(row[key] * factor, digits)
                           for key in ("mean", "low", "high"))
        certain = row["low"] is not None and (row["low"] > 0 or row["high"] < 0)
        better = (row["mean"] > 0) == (row["metric"] not in _LOWER_IS_BETTER)
        mark = "" if not certain or row["metric"] == "context_tokens" else "up" if better else "down"
        pairs.setdefault((row["method"], row["baseline"]), []).append({
            "title": COMPARED[row["metric"]], "mean": mean, "low": low, "high": high, "n": row["n"],
            "certain": certain, "mark": mark})
    return [{"method": method, "baseline": baseline, "rows": rows,
             "tokens": [result["methods"][name]["context_tokens"] for name in (method, baseline)]}
            for (method, baseline), rows in pairs.items()]


def _type_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    columns = {column.name: column for column in COLUMNS}
    return [
        {"type": row["type"] or "without type", "n_questions": row["n_questions"],
         "n": [max((values["n"].get(name, 0) for values in row["methods"].values()), default=0)
               for name in TYPE_COLUMNS],
         "methods": {method: [{"text": _form(values.get(name), columns[name]), "value": values.get(name)}
                              for name in TYPE_COLUMNS] for method, values in row["methods"].items()}}
        for row in result["by_type"]]


def _question_cards(result: Mapping[str, Any], questions: Sequence[Question],
                    predictions: Mapping[str, Sequence[Prediction]]) -> list[dict[str, Any]]:
    by_id = {method: {p.question_id: p for p in rows} for method, rows in predictions.items()}
    figures = {(row["id"], row["method"]): row for row in result["per_question"]}
    cards: list[dict[str, Any]] = []
    for place, question in enumerate(questions):
        shown = []
        for method, found in by_id.items():
            if (prediction := found.get(question.question_id)) is not None:
                shown.append(_method_card(question, prediction, figures[question.question_id, method]))
        recalls = [card["recall"] for card in shown if card["recall"] is not None]
        cards.append({
            "question": question, "methods": shown, "place": place,
            "spread": max(recalls, default=0.0) - min(recalls, default=0.0),
            "differs": len(set(recalls)) > 1, "missed": any(recall < 1 for recall in recalls)})
    if len(cards) > QUESTIONS_SHOWN:
        cards = sorted(cards, key=lambda card: -card["spread"])[:QUESTIONS_SHOWN]
        cards.sort(key=lambda card: card["place"])
    return cards


def _method_card(question: Question, prediction: Prediction, figures: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "method": prediction.method, "recall": figures["evidence_recall"], "f1": figures["evidence_f1"],
        "found": figures["quotes_found"], "tokens": prediction.context_tokens,
        "answers": answers_in_text(question.answers, prediction.context),
        "latency_ms": prediction.latency_s * 1000, "answer": prediction.answer,
        "evidence": [{"title": entry.title, "doc_id": entry.doc_id, "score": entry.score,
                      "citations": [citation.uri for citation in entry.citations],
                      "excerpt": marked_excerpt(question, entry)} for entry in prediction.evidence]}


def marked_excerpt(question: Question, entry: EvidenceDocument) -> list[tuple[str, str]]:
    """The evidence's text in parts: (`quote`, words of a gold quote), (`text`, others), (`gap`, "").

    A long text is shortened to what surrounds its quotes, or to its begin where it has none.
    """
    text = QuotedText(entry.text)
    title = normalise_title(entry.title)
    quotes = merge_ranges([place for gold in question.evidence if normalise_title(gold.title) == title
                           if (place := text.find(normalise_quote(gold.quote))) is not None])
    if len(entry.text) <= EXCERPT_CHARACTERS:
        windows = [(0, len(entry.text))]
    elif quotes:
        windows = merge_ranges([(max(0, begin - MARGIN_CHARACTERS),
                                 min(len(entry.text), end + MARGIN_CHARACTERS)) for begin, end in quotes])
    else:
        windows = [(0, EXCERPT_CHARACTERS // 2)]
    parts: list[tuple[str, str]] = []
    for begin, end in windows:
        if begin > 0:
            parts.append(("gap", ""))
        cursor = begin
        for quote_begin, quote_end in quotes:
            if quote_begin >= begin and quote_end <= end:
                parts += [("text", entry.text[cursor:quote_begin]),
                          ("quote", entry.text[quote_begin:quote_end])]
                cursor = quote_end
        parts.append(("text", entry.text[cursor:end]))
    if windows and windows[-1][1] < len(entry.text):
        parts.append(("gap", ""))
    return [part for part in parts if part[1] or part[0] == "gap"]
