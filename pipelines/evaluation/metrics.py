"""Metrics of one question and their means over a set (docs/evaluation.md).

What belongs here: evidence recall, precision and F1 under the quote rule, answers in the context, answer EM
and F1, refusals, costs, and how they are averaged: a question counts in a mean only where the metric has a
value for it, and every mean comes with its n. What does not: ranking metrics (`trec.py`), section diagnostics
(`diagnostics.py`), differences between methods (`bootstrap.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.evaluation.datasets import GoldEvidence, Question
from pipelines.evaluation.normalise import (
    AnswerText,
    QuotedText,
    answer_tokens,
    merge_ranges,
    normalise_answer,
    normalise_quote,
    normalise_title,
)
from pipelines.evaluation.predictions import EvidenceDocument, Prediction

REFUSAL = "Cannot answer"
_ITEM_BORDER = re.compile(r"[;,\n]")


@dataclass(frozen=True)
class EvidenceScore:
    """Which gold quotes the evidence holds, in their order, and how much of the context they are."""

    found: tuple[bool, ...]
    tokens_in_quotes: int
    context_tokens: int

    @property
    def recall(self) -> float:
        """Found quotes ÷ all quotes."""
        return sum(self.found) / len(self.found)

    @property
    def precision(self) -> float:
        """Context tokens inside found quotes ÷ context tokens; 0 for an empty context."""
        return self.tokens_in_quotes / self.context_tokens if self.context_tokens else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of the two; 0 where both are."""
        total = self.recall + self.precision
        return 2 * self.recall * self.precision / total if total else 0.0


def score_evidence(gold: Sequence[GoldEvidence], evidence: Iterable[EvidenceDocument], context_tokens: int,
                   count_tokens: Callable[[str], int]) -> EvidenceScore | None:
    """Apply the quote rule; None for a question without gold evidence.

    A quote is looked up in the plain text of the evidence whose document has its title. Tokens inside found
    quotes are those of the quotes' first places in that text, overlaps counted once.
    """
    if not gold:
        return None
    texts: dict[str, list[QuotedText]] = {}
    for entry in evidence:
        texts.setdefault(normalise_title(entry.title), []).append(QuotedText(entry.text))
    places: dict[int, tuple[QuotedText, list[tuple[int, int]]]] = {}
    found = []
    for quote in gold:
        wanted = normalise_quote(quote.quote)
        for text in texts.get(normalise_title(quote.title), ()):
            place = text.find(wanted)
            if place is not None:
                places.setdefault(id(text), (text, []))[1].append(place)
                found.append(True)
                break
        else:
            found.append(False)
    in_quotes = sum(count_tokens(text.text[begin:end])
                    for text, ranges in places.values() for begin, end in merge_ranges(ranges))
    return EvidenceScore(tuple(found), min(in_quotes, context_tokens), context_tokens)


def answers_in_text(answers: Sequence[Sequence[str]], text: str) -> tuple[bool, ...]:
    """For each required answer, whether one of its aliases stands in the text."""
    looked_up = AnswerText(text)
    return tuple(any(looked_up.holds(alias) for alias in aliases) for aliases in answers)


def is_refusal(answer: str | None, n_evidence: int) -> bool:
    """Whether the question was refused: no evidence, or the answer `Cannot answer`."""
    return n_evidence == 0 or (answer is not None and normalise_answer(answer) == normalise_answer(REFUSAL))


def answer_exact_match(answers: Sequence[Sequence[str]], answer: str) -> float:
    """EM recall: share of the required answers that the answer states.

    One required answer must equal the whole answer; several must each equal one of its items (split at
    commas, semicolons and line ends) or the whole; all after normalisation, by any alias.
    """
    stated = {normalise_answer(answer)}
    if len(answers) > 1:
        stated |= {normalise_answer(item) for item in _ITEM_BORDER.split(answer)}
    return sum(any(normalise_answer(a) in stated for a in aliases) for aliases in answers) / len(answers)


def answer_token_f1(answers: Sequence[Sequence[str]], answer: str) -> float:
    """Token F1 with the best alias; several required answers are one gold text of their best aliases."""
    given = Counter(answer_tokens(answer))
    wanted: Counter[str] = Counter()
    for aliases in answers:
        wanted += Counter(answer_tokens(max(aliases, key=lambda alias: _token_f1(
            Counter(answer_tokens(alias)), given))))
    return _token_f1(wanted, given)


def _token_f1(wanted: Counter[str], given: Counter[str]) -> float:
    shared = (wanted & given).total()
    return 2 * shared / (wanted.total() + given.total()) if shared else 0.0


def question_metrics(question: Question, prediction: Prediction,
                     count_tokens: Callable[[str], int]) -> dict[str, float | None]:
    """Metrics of one prediction by name; None where the question has no value for a metric."""
    evidence = score_evidence(question.evidence, prediction.evidence, prediction.context_tokens, count_tokens)
    covered = answers_in_text(question.answers, prediction.context)
    read = prediction.answer is not None and bool(question.answers)
    refused = is_refusal(prediction.answer, len(prediction.evidence))
    routed = {name: float(value) for name, value in route_counts(prediction.trace).items()}
    return {
        "evidence_recall": None if evidence is None else evidence.recall,
        "evidence_precision": None if evidence is None else evidence.precision,
        "evidence_f1": None if evidence is None else evidence.f1,
        "answer_in_context": float(all(covered)) if covered else None,
        "answer_recall_in_context": sum(covered) / len(covered) if covered else None,
        "answer_em": answer_exact_match(question.answers, prediction.answer or "") if read else None,
        "answer_f1": answer_token_f1(question.answers, prediction.answer or "") if read else None,
        "refusal_rate_unanswerable": float(refused) if question.is_unanswerable else None,
        "refusal_rate_answerable": None if question.is_unanswerable else float(refused),
        "context_tokens": float(prediction.context_tokens), "llm_calls": float(prediction.llm_calls),
        "tokens_in": float(prediction.tokens_in), "tokens_out": float(prediction.tokens_out),
        "cost_usd": prediction.cost_usd, **routed, "latency_s": prediction.latency_s,
    }


def route_counts(trace: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """What a trace says of routing and of models: actions expelled, outputs collapsed, turns that the fallback
    decided, answers of models that came from the cache, and requests sent again.

    Unknown ids count as expelled: in both cases an action on a node that it cannot be taken on.
    """
    def total(*names: str) -> int:
        return sum(int(step.get(name) or 0) for step in trace for name in names)

    return {"expelled": total("expelled", "unknown"), "collapsed": total("collapsed"),
            "fallbacks": total("used_fallback"), "llm_cache_hits": total("cache_hits"),
            "llm_retries": total("retries")}


def summarise(rows: Iterable[Mapping[str, float | None]]) -> tuple[dict[str, float | None], dict[str, int]]:
    """Means over the questions that have a value, and their n; latency as percentiles 50 and 95.

    The order of the questions does not change the result.
    """
    import math

    import numpy as np

    rows = list(rows)
    means: dict[str, float | None] = {}
    counts: dict[str, int] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [value for row in rows if (value := row.get(name)) is not None]
        if name == "latency_s":
            for percent in (50, 95):
                means[f"latency_p{percent}_s"] = float(np.percentile(values, percent)) if values else None
                counts[f"latency_p{percent}_s"] = len(values)
            continue
        means[name] = math.fsum(values) / len(values) if values else None
        counts[name] = len(values)
    return means, counts
