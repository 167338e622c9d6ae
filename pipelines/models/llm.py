"""What every language model is to the rest: messages in, text, scores or checked values out, and what it cost.

To add a model, write one module beside this one with a class that fits `LanguageModel` and enter it in
`load_llm.py`. What belongs here: the protocol and its values. What does not: the in-process model
(`local_llm.py`), HTTP endpoints (`endpoint.py`), prompts (they belong to whoever asks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel

from pipelines.errors import RunFailure

Value = TypeVar("Value", bound=BaseModel)


class ModelFailure(RunFailure):
    """A model that did not answer, or not usably, after all retries. A step with a fallback takes it.

    Wrong settings (an unknown model, a refused key, a text that is too long) are `UserError` instead: no
    fallback may hide them. usage: what the failed calls took.
    """

    usage: Usage | None = None

    def with_usage(self, usage: Usage) -> ModelFailure:
        """The same failure, with what it took."""
        self.usage = usage
        return self


@dataclass(frozen=True)
class Usage:
    """What calls took. Calls that the cache answered count in full, so that figures do not depend on it.

    calls: requests answered, the second one of a repaired output included. cache_hits: those of them that
    the cache answered. retries: requests sent again after a failure. cost_usd: tokens at the set price.
    """

    calls: int = 0
    cache_hits: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.calls + other.calls, self.cache_hits + other.cache_hits,
                     self.retries + other.retries, self.tokens_in + other.tokens_in,
                     self.tokens_out + other.tokens_out, self.cost_usd + other.cost_usd)

    def to_json(self) -> dict[str, int | float]:
        """What a trace keeps."""
        return {"llm_calls": self.calls, "cache_hits": self.cache_hits, "retries": self.retries,
                "tokens_in": self.tokens_in, "tokens_out": self.tokens_out, "cost_usd": self.cost_usd}


NO_USAGE = Usage()


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str

    def to_json(self) -> dict[str, str]:
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True)
class Completion:
    """A text that a model wrote. is_cut: it reached the limit of tokens before its end."""

    text: str
    usage: Usage
    is_cut: bool = False


@dataclass(frozen=True)
class Scores:
    """Log-probabilities (natural) of candidate continuations, in their order, and their tokens."""

    log_probabilities: tuple[float, ...]
    n_tokens: tuple[int, ...]
    usage: Usage


@dataclass(frozen=True)
class Structured(Generic[Value]):
    """A checked value, and what it took to get it."""

    value: Value
    usage: Usage


@dataclass(frozen=True)
class LineGrammar:
    """The outputs that are allowed: some of `lines`, each at most once, one below the other; or `alone`.

    alone: a line that stands by itself; None: at least one of `lines` must be chosen.
    most_lines: an output ends after so many.
    """

    lines: tuple[str, ...]
    alone: str | None = None
    most_lines: int = 50

    def __post_init__(self) -> None:
        every = [*self.lines, *([] if self.alone is None else [self.alone])]
        if not every or len(set(every)) < len(every) or any(len(line.splitlines()) != 1 for line in every):
            raise ValueError("a grammar needs lines, each once, none empty and none with a line end inside")


class LanguageModel(Protocol):
    """One language model. Instances may be shared between threads.

    Every call raises `ModelFailure` when the model cannot be had, and UserError where its settings, or a
    text that is longer than it takes, are at fault. Decoding is greedy.
    """

    @property
    def name(self) -> str:
        """The model as figures name it: `SmolLM2-135M-Instruct (Q4_1)`."""

    @property
    def parallel(self) -> int:
        """Calls that may usefully be made at the same time."""

    @property
    def context_tokens(self) -> int | None:
        """Tokens of prompt and output together at most; None where that is not known."""

    def complete(self, messages: Sequence[Message], max_tokens: int) -> Completion:
        """Write freely, up to so many tokens."""

    def complete_lines(self, messages: Sequence[Message], grammar: LineGrammar, max_tokens: int) -> Completion:
        """Write an output of the grammar and no other; ends at a line's end once `max_tokens` are reached."""

    def score(self, messages: Sequence[Message], candidates: Sequence[str]) -> Scores:
        """How probable each candidate is as the beginning of the answer. No candidate may be empty."""

    def structured(self, messages: Sequence[Message], kind: type[Value], max_tokens: int) -> Structured[Value]:
        """Write a value of that type as JSON; an output that is none is asked for once more, with its fault."""


@runtime_checkable
class BatchingModel(LanguageModel, Protocol):
    """A model that answers several calls together in less time than one after the other.

    Answers are those of single calls, and so is what they are said to have taken; a failure is that of all, and
    what was answered before it comes from the cache when it is asked again.
    """

    def complete_many(self, conversations: Sequence[Sequence[Message]], max_tokens: int) -> list[Completion]:
        """`complete` for each conversation."""

    def complete_lines_many(self, asked: Sequence[tuple[Sequence[Message], LineGrammar]], max_tokens: int
                            ) -> list[Completion]:
        """`complete_lines` for each conversation with its grammar."""

    def score_many(self, asked: Sequence[tuple[Sequence[Message], Sequence[str]]]) -> list[Scores]:
        """`score` for each conversation with its candidates."""
