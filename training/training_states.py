"""Which curated states a training may take: of which questions, without held-out documents, in which balance.

What belongs here: choosing among samples. What does not: making them (`labelled_states.py`), and leaks between
questions (`questions/leakage.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

from pipelines.curation.class_tags import TAGS, most_of_each
from pipelines.curation.states import distinct
from pipelines.errors import UserError
from pipelines.evaluation.datasets import Question, Split
from pipelines.evaluation.question_table import read_question_set
from pipelines.settings import DataFolder
from pipelines.storage import TableReader, sql_text
from training.labelled_states import Labels, Sample

HeldOut = Literal["gold", "met"]
"""Which documents of held-out questions no training state may be of: those that answer one, or all that one of
its states is of."""


def questions_of(data: DataFolder, dataset: str, split: Split | None) -> list[Question]:
    """The questions of a split or of all, each wording once, one without a split counting as train.

    Raises UserError when there is none.
    """
    found = [question for question in distinct(read_question_set(data, dataset).questions)
             if split in (None, question.split or "train")]
    if not found:
        raise UserError(f"question set {dataset!r}", f"no question of the split {split}", "train and dev questions",
                        "Give the set's questions splits, by article.")
    return found


def no_state_met(dataset: str, split: Split | None) -> UserError:
    """The error of a set of whose curated states none is met."""
    of_split = f" {split}" if split else ""
    return UserError(f"question set {dataset!r}", f"no curated state of its{of_split} questions is met",
                     "states met with the settings of curation",
                     "Give k, turns, lengths as there, or curate the questions as they are now.")


def held_out_documents(data: DataFolder, dataset: str, release: int, labels: Labels, which: HeldOut) -> set[str]:
    """The documents of a set's dev and test questions: of their curated states, or of those with an action."""
    held_out = {question.question_id for question in read_question_set(data, dataset).questions
                if (question.split or "train") != "train"}
    rows = TableReader(data).rows("routing_states", ("state_id", "question_id", "doc_id"),
                                  f"dataset = {sql_text(dataset)} AND release = {release}")
    return {row["doc_id"] for row in rows if row["question_id"] in held_out
            and (which == "met" or labels.get(row["state_id"]))}


def balanced(samples: Sequence[Sample], at_most: Mapping[str, float]) -> list[Sample]:
    """The samples of which no class has more than its share, drawn by the hash of their ids, in their order."""
    counts: dict[str, int] = {tag: sum(sample.tag == tag for sample in samples) for tag in TAGS}
    try:
        kept = most_of_each(counts, at_most)
    except ValueError as error:
        raise UserError("at_most", str(error), "shares that can be met", "Raise one.") from None
    ranked = sorted(samples, key=lambda sample: hashlib.sha256(sample.state_id.encode()).digest())
    chosen = {sample.state_id for tag in TAGS
              for sample in [one for one in ranked if one.tag == tag][:kept[tag]]}
    return [sample for sample in samples if sample.state_id in chosen]


def digest(train: Sequence[Sample], dev: Sequence[Sample]) -> str:
    """32 hex of SHA-256 over the ids and the actions of all samples: what a scorer was trained on."""
    found = hashlib.sha256()
    for name, samples in (("train", train), ("dev", dev)):
        for sample in samples:
            found.update(f"{name} {sample.state_id} {sample.chosen.astype(int).tolist()}\n".encode())
    return found.hexdigest()[:32]
