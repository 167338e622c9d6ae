"""Routing states met again, with the actions that a teacher curated for them and the features of their lines.

What belongs here: going through questions as curation did, and what a scorer is trained and a router is judged
on. States are not read from their rows but met anew, because routers need their trees; a state whose actions
were not curated is left out. What does not: training (`train_scorer.py`) and figures (`evaluate_router.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.curation.class_tags import Tag, class_tag
from pipelines.curation.states import StateSettings, meet_states, state_id
from pipelines.errors import UserError
from pipelines.evaluation.datasets import Question
from pipelines.methods.base import RetrievalCorpus
from pipelines.methods.routing import REFUSAL, Actions, RouterOutput, RouterState, parse_actions
from pipelines.methods.scorer_router import FeatureMaker
from pipelines.settings import DataFolder
from pipelines.storage import TableReader, check_columns, sql_text, table_exists
from training.actors import actors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pipelines.retrieval.corpus import ReleasedCorpus

CHUNK_QUESTIONS = 32
Labels = Mapping[str, tuple[str, ...]]
"""state_id → action lines; none: the subtree is refused."""


class ReplayingTeacher:
    """Says what a teacher said before; of a state that it did not see, a refusal."""

    name = "replay"
    parallel = 1

    def __init__(self, labels: Labels) -> None:
        self._labels = labels

    def route(self, state: RouterState) -> RouterOutput:
        """The curated actions of a state."""
        return RouterOutput("\n".join(self._labels.get(id_of(state), ())) or REFUSAL)


def id_of(state: RouterState) -> str:
    """The state's id in `routing_states`."""
    return state_id(state.question, state.view.document.doc_id, state.text)


def read_labels(data: DataFolder, dataset: str, release: int, teacher: str) -> dict[str, tuple[str, ...]]:
    """Curated actions of a question set, without collapsed ones. Raises UserError when there are none."""
    found: dict[str, tuple[str, ...]] = {}
    if table_exists(data, "routing_actions"):
        check_columns(data, "routing_actions")
        of_set = (f"dataset = {sql_text(dataset)} AND release = {release} AND teacher = {sql_text(teacher)} "
                  "AND NOT collapsed")
        found = {row["state_id"]: tuple(row["actions"])
                 for row in TableReader(data).rows("routing_actions", ("state_id", "actions"), of_set)}
    if not found:
        raise UserError(f"question set {dataset!r}", f"no routing actions of {teacher} at release {release}",
                        "curated actions", "Run python -m training.curate_actions for it first.")
    return found


def labelled_states(corpus: RetrievalCorpus, questions: Sequence[Question], labels: Labels,
                    settings: StateSettings) -> Iterator[tuple[Question, RouterState, Actions]]:
    """Every curated state of these questions with its actions, question by question."""
    teacher = ReplayingTeacher(labels)
    for question in questions:
        for state, output in meet_states(question, corpus, teacher, settings):
            if id_of(state) in labels:
                yield question, state, parse_actions(output.text, state)


@dataclass(frozen=True)
class Sample:
    """One state for a scorer. features: (lines, features). chosen: (lines), whether the teacher took each."""

    question_id: str
    state_id: str
    doc_id: str
    tag: Tag
    lines: tuple[str, ...]
    features: NDArray[np.float32]
    chosen: NDArray[np.bool_]


class Sampler:
    """Makes samples from one open corpus."""

    def __init__(self, corpus: ReleasedCorpus, labels: Labels, settings: StateSettings) -> None:
        self._corpus, self._labels, self._settings = corpus, labels, settings
        self._features = FeatureMaker(corpus)

    def samples(self, questions: Sequence[Question]) -> list[Sample]:
        """The samples of some questions, in their order."""
        import numpy as np

        found = []
        for question, state, actions in labelled_states(self._corpus, questions, self._labels, self._settings):
            lines = state.legal_lines()
            taken = {*((False, node_id) for node_id in actions.answers),
                     *((True, node_id) for node_id in actions.expands)}
            kinds = [False] * len(state.visible) + [True] * len(state.expandable)
            chosen = np.array([pair in taken for pair in zip(kinds, lines.values(), strict=True)])
            found.append(Sample(question.question_id, id_of(state), state.view.document.doc_id,
                                class_tag(actions), tuple(lines), self._features(state), chosen))
        return found


class _Worker:
    """A Ray actor: one process with one open corpus."""

    def __init__(self, data: DataFolder, release: int, labels: Labels, settings: StateSettings) -> None:
        from pipelines.retrieval.corpus import ReleasedCorpus

        self._sampler = Sampler(ReleasedCorpus.open(data, release), labels, settings)

    def samples(self, questions: Sequence[Question]) -> list[Sample]:
        return self._sampler.samples(questions)


def make_samples(corpus: ReleasedCorpus, questions: Sequence[Question], labels: Labels, settings: StateSettings,
                 ray: bool, n_workers: int | None = None) -> list[Sample]:
    """Samples of all questions, in their order; the same on Ray and in process."""
    portions = [questions[begin: begin + CHUNK_QUESTIONS] for begin in range(0, len(questions), CHUNK_QUESTIONS)]
    if ray:
        with actors(_Worker, (corpus.data, corpus.release.number, labels, settings), n_workers) as running:
            found = [sample for part in running.in_order("samples", [(portion,) for portion in portions])
                     for sample in part]
    else:
        found = Sampler(corpus, labels, settings).samples(questions)
    return found
