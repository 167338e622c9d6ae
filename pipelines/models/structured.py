"""Checked values out of free text: find the JSON, check it, ask once more with the fault.

What belongs here: what every model without a grammar of its own needs. What does not: grammars of a server
(`endpoint.py`).
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from pipelines.models.llm import NO_USAGE, Completion, Message, ModelFailure, Structured, Value

_DECODER = json.JSONDecoder()
MOST_FAULTS = 3
MOST_STARTS = 100
"""Places of a text that are tried: rubbish of brackets alone must not take minutes."""


class Writer(Protocol):
    """What `structured_by_asking` needs of a model."""

    @property
    def name(self) -> str: ...

    def complete(self, messages: Sequence[Message], max_tokens: int) -> Completion: ...


def structured_by_asking(model: Writer, messages: Sequence[Message], kind: type[Value], max_tokens: int, *,
                         with_schema: bool = True) -> Structured[Value]:
    """Ask for JSON in words and check it; a wrong output goes back once, with what is wrong with it.

    with_schema: put the schema into the prompt. Raises ModelFailure, with what both calls took, when the
    second output is wrong too.
    """
    asked = with_instruction(messages, kind) if with_schema else list(messages)
    first = model.complete(asked, max_tokens)
    try:
        return Structured(read_value(first.text, kind), first.usage)
    except ValueError as error:
        again = [*asked, Message("assistant", first.text),
                 Message("user", f"This is not usable: {error}\nAnswer again, with the JSON alone.")]
    try:
        second = model.complete(again, max_tokens)
    except ModelFailure as error:
        raise error.with_usage(first.usage + (error.usage or NO_USAGE)) from None
    usage = first.usage + second.usage
    try:
        return Structured(read_value(second.text, kind), usage)
    except ValueError as error:
        raise ModelFailure(f"language model {model.name}", f"no usable JSON in two outputs ({error})",
                           "a value of the schema that it was given",
                           "Use a model, or a server, with structured output.").with_usage(usage) from None


def with_instruction(messages: Sequence[Message], kind: type[BaseModel]) -> list[Message]:
    """The conversation, the last message asking for JSON of that type."""
    schema = json.dumps(kind.model_json_schema(), ensure_ascii=False, separators=(",", ":"))
    last = messages[-1]
    return [*messages[:-1], Message(
        last.role, f"{last.content}\n\nAnswer with one JSON value of this schema and nothing else:\n{schema}")]


def read_value(text: str, kind: type[Value]) -> Value:
    """The first JSON object or array in a text, checked. Raises ValueError saying in words what is wrong."""
    found = first_json(text)
    if found is None:
        raise ValueError("it holds no JSON")
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)[:MOST_FAULTS]
        raise ValueError("; ".join(f"{'.'.join(map(str, fault['loc'])) or 'value'}: {fault['msg']}"
                                   for fault in faults)) from None


def first_json(text: str) -> Any:
    """The first JSON object or array that stands in a text, whatever is around it; None for none."""
    starts = (match.start() for match in re.finditer(r"[{\[]", text))
    for place in itertools.islice(starts, MOST_STARTS):
        try:
            return _DECODER.raw_decode(text, place)[0]
        except (ValueError, RecursionError):
            continue
    return None
