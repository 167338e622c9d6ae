"""A conversation as the token ids of one model: the same for asking it and for training it.

Models mark turns in their own ways; which one a model has is seen by its special tokens. Marks are set as ids,
words are encoded as words: a document cannot end its own turn.

What belongs here: the three ways (ChatML, Llama 3's, plain text for models without marks). What does not: what
is said (it belongs to whoever asks), and running models (`local_llm.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.errors import UserError
from pipelines.models.llm import Message

CHATML = ("<|im_start|>", "<|im_end|>")
"""SmolLM2, Qwen2.5 and many more: begin of a turn, end of a turn."""
LLAMA3 = ("<|start_header_id|>", "<|eot_id|>", "<|end_header_id|>")
"""Llama 3 and later: begin of a role, end of a turn, end of a role. The dates of its template are left out."""


class ChatFormat:
    """Turns conversations into ids. end_id: what ends an answer. May be shared between threads."""

    def __init__(self, tokenizer: Any, config: Any) -> None:
        """tokenizer: of the library `tokenizers`; from here on it takes special tokens in words for words.
        config: of the model in transformers; a model without marks needs its `eos_token_id`.

        Raises UserError for a model with neither.
        """
        # Set once and not a call at a time: a tokenizer is shared, its state must not change.
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self._marks: list[int] = next(
            (ids for marks in (CHATML, LLAMA3) if None not in (ids := [*map(tokenizer.token_to_id, marks)])), [])
        end_id = self._marks[1] if self._marks else _first(config.eos_token_id)
        if end_id is None:
            raise UserError("language model", "no token that ends an answer",
                            "the marks of ChatML or Llama 3, or eos_token_id in config.json", "Take another model.")
        self.end_id: int = end_id
        is_chatml = len(self._marks) == len(CHATML)
        first_id = None if is_chatml else _first(config.bos_token_id)
        self._begin = [] if first_id is None else [first_id]
        newline = self.ids("\n")
        self._closing = [self.end_id, *newline] if is_chatml else [self.end_id] if self._marks else self.ids("\n\n")

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """The conversation, up to where the answer begins."""
        ids = list(self._begin)
        for message in messages:
            ids += [*self._turn(message.role, message.content), *self._closing]
        return [*ids, *self._turn("assistant", "")]

    def ids(self, text: str) -> list[int]:
        """Words as ids, without any mark."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def line(self, text: str) -> list[int]:
        """A line of an answer with its line end."""
        return self.ids(f"{text}\n")

    def _turn(self, role: str, words: str) -> list[int]:
        if not self._marks:
            return self.ids(f"{role.capitalize()}:\n{words}")
        if len(self._marks) == len(CHATML):
            return [self._marks[0], *self.ids(f"{role}\n{words}")]
        return [self._marks[0], *self.ids(role), self._marks[2], *self.ids(f"\n\n{words}")]


def _first(ids: int | Sequence[int] | None) -> int | None:
    """The first of what may be one id or several."""
    return ids if ids is None or isinstance(ids, int) else next(iter(ids), None)
