"""What of a server's answer, or of a file of the cache, is taken: checked forms, and text that can be stored.

What belongs here: types, ranges and lengths. What does not: asking (`endpoint.py`) and keeping
(`response_cache.py`). Nothing from outside is used or stored before it has passed here.
"""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, NonNegativeInt, PositiveInt

MOST_TOKENS = 1_000_000_000
"""Of one call. A count above it is rubbish: no model's context comes near."""


def most_characters(max_tokens: int) -> int:
    """Longest text that is taken of an answer of so many tokens; a server that writes on is cut there."""
    return 1_000 + 32 * max_tokens


def told_tokens(body: dict[str, Any], key: str) -> int | None:
    """A count of tokens in an answer's `usage`; None unless it is a whole number that can be one."""
    usage = body.get("usage")
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def storable(text: str) -> str:
    """The text with NUL and half surrogate pairs, which tables and UTF-8 cannot hold, as U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    tokens_in: NonNegativeInt = Field(le=MOST_TOKENS)
    tokens_out: NonNegativeInt = Field(le=MOST_TOKENS)


class TextAnswer(_Answer):
    """A written text, as the cache keeps it."""

    text: str
    is_cut: bool


class LocalScores(_Answer):
    """Log-probabilities of candidates by the model in process, as the cache keeps them."""

    scores: list[FiniteFloat]


class ScoreAnswer(_Answer):
    """(log-probability, tokens) of each candidate, as the cache keeps it; None: the server gives none."""

    scores: list[tuple[FiniteFloat, PositiveInt]] | None


def choices_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The choices of an answer. Raises KeyError where it has none, ValueError for another form."""
    choices = body["choices"]
    if not isinstance(choices, list) or not choices or not all(isinstance(choice, dict) for choice in choices):
        raise ValueError("its choices are no list of objects")
    return choices


def text_of(choice: dict[str, Any]) -> str:
    """The text of a chat's choice. Raises ValueError where there is none, with a refusal's words."""
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ValueError("a choice without a message")
    if not isinstance(text := message.get("content"), str):
        refusal = message.get("refusal")
        raise ValueError(f"the model refuses: {refusal}" if isinstance(refusal, str) else "no text in its message")
    return text


def number(value: Any) -> float:
    """A finite number. Raises ValueError for anything else, true and texts included."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("a log-probability that is no number")
    return float(value)
