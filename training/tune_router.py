"""Tune the thresholds of a router on dev questions (docs/methods.md).

The router `similarity` has a pair, ANSWER and EXPAND; routers with a language model have one, from which on
`decode=score` takes a line, and below which it refuses. Every point of a grid is tried: all questions are
asked under the same budget and scored by the evaluation's own metrics. The best point maximises the chosen
mean; of equal ones the higher thresholds win. The chosen point is the most selective one within one standard
error of the best mean (the one-standard-error rule of Breiman et al. 1984): on a few dozen questions the last
hundredth of recall is noise, while every threshold that is too low buries the evidence and refuses nothing.
It prints a line a point, the best, the chosen one, and what the release has. It changes nothing: thresholds
go into the profile (`router_answer_threshold`, `router_expand_threshold`, `router_score_threshold`), and the
next build stores them with the release. A model scores each state once; the cache answers the other points.

Run: `python -m training.tune_router --config FILE` with YAML or JSON as `TuneRouterConfig`.
"""

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from pipelines.api import Corpus, answer, make_request
from pipelines.documents.tree import Document, Sentence
from pipelines.errors import UserError
from pipelines.evaluation.datasets import Question, load_questions
from pipelines.evaluation.metrics import question_metrics, summarise
from pipelines.evaluation.predictions import Prediction
from pipelines.methods.base import Filters, Hit, RetrievalCorpus
from pipelines.methods.similarity_router import SimilarityRouter
from training.command import run_command

SHOWN = ("evidence_recall", "evidence_precision", "evidence_f1", "answer_in_context",
         "refusal_rate_unanswerable", "context_tokens")


class TuneRouterConfig(BaseModel):
    """What is tuned, on what, and which pairs are tried."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str | None = Field(None, description="Data folder; none: ESPALIER_DATA")
    release: int | None = Field(None, ge=1, description="Release; none: the served one")
    questions: Path = Field(description="Dev questions, JSON Lines")
    split: Literal["train", "dev", "test"] | None = Field(
        None, description="Only the questions of this split; none: all")
    method: str = Field("rdr2", description="Method that routes")
    router: str = Field("similarity", description="Router that is tuned: similarity, local or a URL")
    set: dict[str, str] = Field(default_factory=dict, description="Other options of the method")
    budget_tokens: int = Field(1000, ge=1, description="Budget of every context, in tokens")
    metric: Literal["evidence_f1", "evidence_recall", "answer_in_context"] = Field(
        "evidence_recall", description="Mean that is maximised")
    answer_thresholds: tuple[FiniteFloat, ...] = Field(
        (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5), min_length=1, description="ANSWER thresholds that are tried")
    expand_thresholds: tuple[FiniteFloat, ...] = Field(
        (0.1, 0.15, 0.2, 0.25, 0.3, 0.4), min_length=1, description="EXPAND thresholds that are tried")
    score_thresholds: tuple[FiniteFloat, ...] = Field(
        (-20.0, -15.0, -12.0, -10.0, -8.0, -6.0, -4.0, -2.0, 0.0, 2.0), min_length=1,
        description="Score thresholds that are tried, where the router has a language model")


Point = tuple[tuple[str, float], ...]
"""Thresholds by name, in the order in which equal points are compared: the higher one wins."""


@dataclass(frozen=True)
class Trial:
    """A point of thresholds, the means that it gives, and the standard error of the metric that is tuned."""

    point: Point
    means: Mapping[str, float | None]
    standard_error: float = 0.0

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(value for _, value in self.point)


class RememberingCorpus:
    """A corpus that searches each question once: thresholds change nothing before routing."""

    def __init__(self, corpus: RetrievalCorpus) -> None:
        self._corpus = corpus
        self._dense: dict[tuple[str, int, Filters], list[Hit]] = {}
        self._documents: dict[str, Document] = {}
        self._idf: dict[str, float] = {}
        self._tokens: dict[str, int] = {}

    def search_dense(self, question: str, k: int, filters: Filters = Filters()) -> list[Hit]:  # noqa: B008
        """As the corpus; remembered."""
        key = (question, k, filters)
        if key not in self._dense:
            self._dense[key] = self._corpus.search_dense(question, k, filters)
        return self._dense[key]

    def search_sparse(self, question: str, k: int, filters: Filters = Filters()) -> list[Hit]:  # noqa: B008
        """As the corpus."""
        return self._corpus.search_sparse(question, k, filters)

    def cosines(self, question: str, hits: Sequence[Hit]) -> dict[str, float]:
        """As the corpus."""
        return self._corpus.cosines(question, hits)

    def document(self, doc_id: str) -> Document:
        """As the corpus; remembered."""
        return self.documents([doc_id])[doc_id]

    def documents(self, doc_ids: Sequence[str]) -> dict[str, Document]:
        """As the corpus; remembered."""
        self._documents |= self._corpus.documents([name for name in doc_ids if name not in self._documents])
        return {doc_id: self._documents[doc_id] for doc_id in doc_ids}

    def sentences(self, doc_id: str) -> Sequence[Sentence]:
        """As the corpus."""
        return self._corpus.sentences(doc_id)

    def sentences_of(self, doc_ids: Sequence[str]) -> Mapping[str, Sequence[Sentence]]:
        """As the corpus."""
        return self._corpus.sentences_of(doc_ids)

    def inverse_document_frequency(self, term: str) -> float:
        """As the corpus; remembered."""
        if term not in self._idf:
            self._idf[term] = self._corpus.inverse_document_frequency(term)
        return self._idf[term]

    def count_tokens(self, text: str) -> int:
        """As the corpus; remembered."""
        if text not in self._tokens:
            self._tokens[text] = self._corpus.count_tokens(text)
        return self._tokens[text]

    def router_thresholds(self) -> Mapping[str, float]:
        """As the corpus."""
        return self._corpus.router_thresholds()


def grid(config: TuneRouterConfig) -> list[Point]:
    """Every point that is tried."""
    if config.router == SimilarityRouter.name:
        pairs = itertools.product(config.answer_thresholds, config.expand_thresholds)
        return [(("answer", answer), ("expand", expand)) for answer, expand in pairs]
    return [(("score", score),) for score in config.score_thresholds]


def try_point(corpus: RetrievalCorpus, release: int, questions: Sequence[Question], config: TuneRouterConfig,
              point: Point) -> Trial:
    """Ask all questions with these thresholds. Raises UserError for a method without them."""
    options = {**config.set, **{f"{name}_threshold": str(value) for name, value in point}}
    if config.router != SimilarityRouter.name:
        # What another router decides in place of one that fails would be taken for this one's.
        options |= {"decode": "score", "router_fallback": "false"}
    rows = []
    for question in questions:
        request = make_request(question.question, config.budget_tokens, router=config.router, options=options)
        given = answer(request, config.method, corpus, release)
        prediction = Prediction.from_answer(question.question_id, given.to_json())
        rows.append(question_metrics(question, prediction, corpus.count_tokens))
    values = [value for row in rows if (value := row[config.metric]) is not None]
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return Trial(point, summarise(rows)[0], error)


def tune(corpus: RetrievalCorpus, release: int, questions: Sequence[Question],
         config: TuneRouterConfig) -> list[Trial]:
    """All points of the grid, the best first. Raises UserError when no question has what the metric needs."""
    remembering = RememberingCorpus(corpus)
    trials = [try_point(remembering, release, questions, config, point) for point in grid(config)]

    def rank(trial: Trial) -> tuple[float, ...]:
        value = trial.means.get(config.metric)
        if value is None:
            raise UserError(f"questions {config.questions}", f"none has a value for {config.metric}",
                            "questions with gold evidence and answers", "Choose another metric or file.")
        return (-value, *(-threshold for threshold in trial.values))

    return sorted(trials, key=rank)


def choose(trials: Sequence[Trial], metric: str) -> Trial:
    """The most selective point whose mean is within one standard error of the best. trials: best first."""
    least = (trials[0].means[metric] or 0.0) - trials[0].standard_error
    close = [trial for trial in trials if (trial.means[metric] or 0.0) >= least]
    return max(close, key=lambda trial: trial.values)


def describe(trial: Trial) -> str:
    """One line: the point and its means."""
    known = {name: trial.means.get(name) for name in SHOWN}
    values = " ".join(f"{name}={value:.3f}" for name, value in known.items() if value is not None)
    return " ".join([*(f"{name}={value:.3f}" for name, value in trial.point), values])


def run(config: TuneRouterConfig) -> str:
    """Try every point of the grid, and say what each gives and which is chosen."""
    corpus = Corpus.open(config.data, config.release)
    questions = [question for question in load_questions(config.questions).questions
                 if config.split in (None, question.split)]
    if not questions:
        raise UserError(f"questions {config.questions}", f"none of the split {config.split}", "dev questions",
                        "Choose another split or file.")
    trials = tune(corpus.retrieval, corpus.release, questions, config)
    stored = corpus.retrieval.router_thresholds()
    present = [try_point(corpus.retrieval, corpus.release, questions, config, point)
               for point in {tuple((name, stored[name]) for name, _ in grid(config)[0] if name in stored)} if point]
    return "\n".join([*map(describe, reversed(trials)), *(f"release: {describe(trial)}" for trial in present),
                      f"best:    {describe(trials[0])}",
                      f"chosen:  {describe(choose(trials, config.metric))}"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Tune from a config file and print. Returns the exit code."""
    return run_command("tune_router", "Tune the thresholds of a router on dev questions.", TuneRouterConfig, run,
                       arguments)


if __name__ == "__main__":
    sys.exit(main())
