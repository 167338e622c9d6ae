"""Asking many questions: in this process, or by workers on Ray, with the same predictions.

What belongs here: opening the corpus at one release, one prediction a question in the order of the questions,
and spreading them over Ray actors. What does not: what is asked and how it is scored (`evaluate.py`).
A worker opens the corpus once. Only latencies depend on where a question was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pipelines.evaluation.datasets import Question
from pipelines.evaluation.predictions import Prediction, RankedPiece
from pipelines.settings import DataFolder
from training.actors import Actors, actors

if TYPE_CHECKING:
    from pipelines.api import Corpus

CHUNK_QUESTIONS = 16


@dataclass(frozen=True)
class Ask:
    """How one method is asked. Everything here is pickled to Ray's workers.

    together: questions that are asked at once; what they take is then shared equally.
    """

    method: str
    budget_tokens: int
    k: int | None = None
    router: str = "similarity"
    reader: str = "none"
    options: Mapping[str, str] = field(default_factory=dict)
    together: int = 1


Progress = Callable[[str, int, int], None]
"""Called with the method, the questions answered so far and how many there are."""


class Answerer(Protocol):
    """Answers questions. `description` says where, for the settings of a result."""

    description: str

    def answer(self, ask: Ask, questions: Sequence[Question], progress: Progress) -> list[Prediction]:
        """One prediction a question, in their order."""


def predict(corpus: Corpus, ask: Ask, questions: Sequence[Question]) -> list[Prediction]:
    """Ask some questions at once."""
    answers = corpus.ask_many([question.question for question in questions], method=ask.method,
                              budget=ask.budget_tokens, k=ask.k, router=ask.router, reader=ask.reader,
                              options=ask.options)
    return [Prediction.from_answer(question.question_id, answer.to_json(), tuple(
        RankedPiece(piece.doc_id, piece.ranges, piece.score) for piece in answer.packed.pieces))
        for question, answer in zip(questions, answers, strict=True)]


class InProcess:
    """Answers with one corpus in this process, one question or batch after the other."""

    description = "in process"

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._warm: set[str] = set()

    def answer(self, ask: Ask, questions: Sequence[Question], progress: Progress) -> list[Prediction]:
        if questions and ask.method not in self._warm:
            # The first question of a method pays for models and indexes; a median over few would too.
            predict(self._corpus, ask, questions[:1])
            self._warm.add(ask.method)
        predictions: list[Prediction] = []
        for begin in range(0, len(questions), ask.together):
            predictions += predict(self._corpus, ask, questions[begin: begin + ask.together])
            progress(ask.method, len(predictions), len(questions))
        return predictions


class OnRay:
    """Answers with one corpus a worker; questions go out in chunks and come back in their order."""

    def __init__(self, running: Actors) -> None:
        self._running = running
        self.description = f"on Ray, {running.n} workers at a time"

    def answer(self, ask: Ask, questions: Sequence[Question], progress: Progress) -> list[Prediction]:
        size = max(CHUNK_QUESTIONS, ask.together)
        calls = [(ask, list(questions[begin: begin + size])) for begin in range(0, len(questions), size)]
        predictions: list[Prediction] = []
        for answered in self._running.in_order("answer", calls):
            predictions += answered
            progress(ask.method, len(predictions), len(questions))
        return predictions


class _Worker:
    """A Ray actor: one process with one open corpus."""

    def __init__(self, data: DataFolder, release: int) -> None:
        from pipelines.api import Corpus

        self._answerer = InProcess(Corpus.open(data, release=release))

    def answer(self, ask: Ask, questions: Sequence[Question]) -> list[Prediction]:
        return self._answerer.answer(ask, questions, lambda *_: None)


@contextmanager
def ray_answerer(data: DataFolder, release: int, n_workers: int | None) -> Iterator[OnRay]:
    """Workers on the cluster of RAY_ADDRESS, else on a local one that ends with the block."""
    with actors(_Worker, (data, release), n_workers) as running:
        yield OnRay(running)
