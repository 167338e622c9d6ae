"""Curating routing actions for many questions: in this process, or by workers on Ray, with the same rows.

What belongs here: what one worker does with some questions, and spreading them over Ray actors. What does
not: the teachers' rules and rows (`pipelines/curation`), tables, estimate and progress (`curate_actions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pipelines.curation.gold_teacher import GOLD, GoldTeacher
from pipelines.curation.states import Met, StateSettings, action_row, meet_states, meet_states_together, state_row
from pipelines.evaluation.corpus_text import DocumentCache, ids_by_title
from pipelines.evaluation.datasets import Question
from pipelines.evaluation.gold import GoldLocator
from pipelines.methods.llm_router import Decode, LlmRouter, LlmRouterSettings
from pipelines.methods.router_prompt import router_messages
from pipelines.models.load_llm import load_model
from pipelines.settings import DataFolder
from pipelines.storage import bucket_of
from training.actors import actors

if TYPE_CHECKING:
    from pipelines.retrieval.corpus import ReleasedCorpus

CHUNK_QUESTIONS = 32


@dataclass(frozen=True)
class Curation:
    """What is curated of each question. Everything here is pickled to Ray's workers.

    teacher: `gold`, `local` or the address of an endpoint. decode, max_tokens: of a teacher that is a model.
    """

    dataset: str
    teacher: str = GOLD
    decode: Decode = "constrained"
    max_tokens: int = 256
    states: StateSettings = field(default_factory=StateSettings)


@dataclass
class Curated:
    """What came of one question. skipped: why it gives no sample, None where it gives some.

    paid_usd: price of the calls that no cache answered.
    """

    question_id: str
    states: list[dict[str, Any]] = field(default_factory=list)
    actions: list[dict[str, Any]] = field(default_factory=list)
    skipped: Literal["no_evidence", "not_in_corpus"] | None = None
    paid_usd: float = 0.0


class InProcess:
    """Curates with one open corpus."""

    description = "in process"

    def __init__(self, corpus: ReleasedCorpus, curation: Curation) -> None:
        self._corpus, self._curation = corpus, curation
        self._model_router = None if curation.teacher == GOLD else _model_router(curation)

    def curate(self, questions: Sequence[Question]) -> list[Curated]:
        """One result a question, in their order; a model decides side by side on as many as it takes."""
        if self._model_router is not None:
            router = self._model_router
            states = self._curation.states
            if router.parallel == 1:
                met = meet_states_together(questions, self._corpus, router, states)
            else:
                with ThreadPoolExecutor(router.parallel) as pool:
                    met = list(pool.map(lambda one: meet_states(one, self._corpus, router, states), questions))
            return [self._curated(question, of_question, router.name)
                    for question, of_question in zip(questions, met, strict=True)]
        documents = DocumentCache(self._corpus)
        locator = GoldLocator(ids_by_title(self._corpus.data, self._corpus.release, questions), documents,
                              self._corpus.count_tokens)
        return [self._by_gold(question, locator) for question in questions]

    def _by_gold(self, question: Question, locator: GoldLocator) -> Curated:
        if not question.evidence and not question.is_unanswerable:
            return Curated(question.question_id, skipped="no_evidence")
        nodes = locator.nodes(question)
        # Without the place of its evidence every state would be labelled a refusal.
        if question.evidence and not nodes:
            return Curated(question.question_id, skipped="not_in_corpus")
        met = meet_states(question, self._corpus, GoldTeacher(nodes), self._curation.states)
        return self._curated(question, met, GOLD)

    def _curated(self, question: Question, met: Met, teacher: str) -> Curated:
        curated = Curated(question.question_id)
        known: set[str] = set()
        release = self._corpus.release
        for state, output in met:
            doc_id = state.view.document.doc_id
            row = state_row(state, question, self._curation.dataset, release.number,
                            bucket_of(doc_id, release.n_buckets))
            if row["state_id"] in known:
                continue
            known.add(row["state_id"])
            curated.states.append(row)
            curated.actions.append(action_row(row, state, output, teacher))
            if not output.usage.cache_hits:
                curated.paid_usd += output.usage.cost_usd
        return curated

    def prompt_tokens(self, questions: Sequence[Question]) -> list[int]:
        """Tokens of the prompt of each state of the first turns, by the release's token counter."""
        return [sum(self._corpus.count_tokens(message.content) for message in router_messages(state))
                for question in questions
                for state, _ in meet_states(question, self._corpus, GoldTeacher({}), self._curation.states)]


def _model_router(curation: Curation) -> LlmRouter:
    model = load_model(curation.teacher)
    settings = LlmRouterSettings(decode=curation.decode, max_tokens=curation.max_tokens)
    # No fallback: what another router decides is no sample of this teacher.
    return LlmRouter(model.name, model, settings, None)


class _Worker:
    """A Ray actor: one process with one open corpus."""

    def __init__(self, data: DataFolder, release: int, curation: Curation) -> None:
        from pipelines.retrieval.corpus import ReleasedCorpus

        self._curator = InProcess(ReleasedCorpus.open(data, release), curation)

    def curate(self, questions: Sequence[Question]) -> list[Curated]:
        return self._curator.curate(questions)


Curate = Callable[[Sequence[Question]], Iterator[list[Curated]]]
"""Results of the questions in chunks, in the order in which they are done."""


def chunks(questions: Sequence[Question]) -> list[list[Question]]:
    """The questions in the portions that a worker gets and that are committed together."""
    return [list(questions[begin: begin + CHUNK_QUESTIONS]) for begin in range(0, len(questions), CHUNK_QUESTIONS)]


@contextmanager
def ray_curator(data: DataFolder, release: int, curation: Curation, n_workers: int | None) -> Iterator[Curate]:
    """Curates by workers on Ray."""
    with actors(_Worker, (data, release, curation), n_workers) as running:
        yield lambda questions: running.as_done("curate", [(chunk,) for chunk in chunks(questions)])
