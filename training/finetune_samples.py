"""From curated states to what a language model is trained and measured on: token ids, and dev states as texts.

A sample is the prompt, built by what asks the model (`router_prompt.py`, `chat_format.py`), and the teacher's
lines behind it, each closed by a line end, as `constrained` writes them; the end of the turn closes the output.

What belongs here: samples, what is too long for them, and the digest of all. What does not: which states there
are (`labelled_states.py`), and batches (`finetune_batches.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.curation.class_tags import Tag, class_tag
from pipelines.evaluation.datasets import Question
from pipelines.methods.router_prompt import router_messages
from pipelines.methods.routing import ANSWER, EXPAND, REFUSAL, Actions, RouterState, format_action
from pipelines.models.chat_format import ChatFormat
from pipelines.models.llm import Message
from training.labelled_states import id_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Labelled = tuple[Question, RouterState, Actions]


@dataclass(frozen=True)
class TextState:
    """A state as a language model meets it. lines: all legal ones, gold: the teacher's, none: it refuses."""

    state_id: str
    doc_id: str
    tag: Tag
    messages: tuple[Message, ...]
    lines: tuple[str, ...]
    gold: tuple[str, ...]
    can_refuse: bool


@dataclass(frozen=True)
class TrainSample:
    """ids: (prompt + output), int32. n_output: how many of them, at the end, are output and have a loss."""

    state_id: str
    tag: Tag
    ids: NDArray[np.int32]
    n_output: int


def n_tokens(samples: Iterable[TrainSample]) -> int:
    """Tokens of samples without any padding."""
    return sum(len(sample.ids) for sample in samples)


def text_state(labelled: Labelled) -> TextState:
    """A curated state without its tree."""
    _, state, actions = labelled
    gold = [*(format_action(ANSWER, state.view, node_id) for node_id in actions.answers),
            *(format_action(EXPAND, state.view, node_id) for node_id in actions.expands)]
    return TextState(id_of(state), state.view.document.doc_id, class_tag(actions), tuple(router_messages(state)),
                     tuple(state.legal_lines()), tuple(gold), state.can_refuse)


def output_ids(chat: ChatFormat, gold: Sequence[str]) -> list[int]:
    """What the model should write: the teacher's lines or the refusal, and the end of its turn."""
    words = [token for line in gold for token in chat.line(line)] if gold else chat.ids(REFUSAL)
    return [*words, chat.end_id]


def train_sample(chat: ChatFormat, state: TextState) -> TrainSample:
    """Prompt and output as ids."""
    import numpy as np

    output = output_ids(chat, state.gold)
    return TrainSample(state.state_id, state.tag,
                       np.array([*chat.prompt(state.messages), *output], dtype=np.int32), len(output))


def train_samples(chat: ChatFormat, states: Iterable[TextState], max_tokens: int) -> tuple[list[TrainSample], int]:
    """The samples of at most so many tokens, in their order, and how many were longer."""
    every = [train_sample(chat, state) for state in states]
    kept = [sample for sample in every if len(sample.ids) <= max_tokens]
    return kept, len(every) - len(kept)


def dev_states(chat: ChatFormat, states: Iterable[TextState], max_tokens: int) -> tuple[list[TextState], int]:
    """The states whose prompt with the longest line has at most so many tokens, and how many are longer."""
    every = list(states)
    kept = [state for state in every if len(chat.prompt(state.messages)) + max(
        len(chat.line(line)) for line in (*state.lines, REFUSAL)) <= max_tokens]
    return kept, len(every) - len(kept)


def drawn(states: Sequence[Any], most: int | None) -> list[Any]:
    """At most so many of states or samples, by the hash of their ids, in their order."""
    ranked = sorted(states, key=lambda state: hashlib.sha256(state.state_id.encode()).digest())
    chosen = {state.state_id for state in ranked[:most]}
    return [state for state in states if state.state_id in chosen]


def digest(samples: Sequence[TrainSample], dev: Sequence[TextState]) -> str:
    """SHA-256 over all that is trained and measured on, in order, in hex."""
    found = hashlib.sha256()
    for sample in samples:
        found.update(f"{sample.state_id} {sample.n_output} ".encode() + sample.ids.tobytes())
    for state in dev:
        found.update("\n".join((state.state_id, *state.lines, "", *state.gold)).encode())
    return found.hexdigest()
