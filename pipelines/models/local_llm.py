"""A language model in this process, by transformers: completing, scoring and choosing among given lines.

What belongs here: loading, the prompt as token ids, and the protocol of `llm.py`. What does not: decoding
loops (`decoding.py`), converting the weights (`export_llm.py`). Greedy in float32: the same prompt gives the
same text on every run. Words of a prompt never become control tokens: a document cannot end its own turn.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipelines.errors import RunFailure, UserError
from pipelines.models.decoding import Decoder
from pipelines.models.export_llm import check_export, known_weights
from pipelines.models.llm import Completion, LineGrammar, Message, Scores, Structured, Usage, Value
from pipelines.models.response_cache import ResponseCache, default_cache
from pipelines.models.structured import structured_by_asking
from pipelines.settings import LANGUAGE_MODEL_NAME

TURN_BEGIN, TURN_END = "<|im_start|>", "<|im_end|>"
"""The marks of ChatML, which the model was trained on."""


class LocalModel:
    """One loaded model. Calls wait for each other: one already works on all cores."""

    parallel = 1

    def __init__(self, name: str, model: Any, tokenizer: Any, cache: ResponseCache | None) -> None:
        self.name = name
        self.context_tokens: int | None = int(model.config.max_position_embeddings)
        # Set once and not a call at a time: a tokenizer is shared, its state must not change.
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self._begin_id = tokenizer.token_to_id(TURN_BEGIN)
        self._end_id = tokenizer.token_to_id(TURN_END)
        self._decoder = Decoder(model, self._end_id)
        self._cache = cache
        self._lock = threading.Lock()

    def complete(self, messages: Sequence[Message], max_tokens: int) -> Completion:
        """See `LanguageModel`."""
        def run(prompt: list[int]) -> dict[str, Any]:
            ids, is_cut = self._decoder.generate(prompt, max_tokens)
            return {"text": self._tokenizer.decode(ids).strip(), "is_cut": is_cut, "tokens_out": len(ids)}

        answer, usage = self._call("complete", messages, {"max_tokens": max_tokens}, max_tokens, run)
        return Completion(answer["text"], usage, answer["is_cut"])

    def complete_lines(self, messages: Sequence[Message], grammar: LineGrammar, max_tokens: int) -> Completion:
        """See `LanguageModel`. Tokens outside the grammar are masked; forced ones cost no pass of their own."""
        def run(prompt: list[int]) -> dict[str, Any]:
            lines = [self._ids(f"{line}\n") for line in grammar.lines]
            alone = None if grammar.alone is None else self._ids(grammar.alone)
            chosen, n_tokens = self._decoder.generate_lines(prompt, lines, alone, max_tokens, grammar.most_lines)
            words = [grammar.lines[place] for place in chosen] or [grammar.alone or ""]
            return {"text": "\n".join(words), "is_cut": False, "tokens_out": n_tokens}

        facts = {"lines": grammar.lines, "alone": grammar.alone, "most_lines": grammar.most_lines,
                 "max_tokens": max_tokens}
        answer, usage = self._call("complete_lines", messages, facts, max_tokens, run)
        return Completion(answer["text"], usage)

    def score(self, messages: Sequence[Message], candidates: Sequence[str]) -> Scores:
        """See `LanguageModel`. All candidates share one pass over the prompt."""
        encoded = [self._ids(candidate) for candidate in candidates]

        def run(prompt: list[int]) -> dict[str, Any]:
            return {"scores": self._decoder.score(prompt, encoded), "tokens_out": 0}

        longest = max((len(ids) for ids in encoded), default=0)
        answer, usage = self._call("score", messages, {"candidates": candidates}, longest, run,
                                   sum(map(len, encoded)))
        return Scores(tuple(answer["scores"]), tuple(map(len, encoded)), usage)

    def structured(self, messages: Sequence[Message], kind: type[Value], max_tokens: int) -> Structured[Value]:
        """See `LanguageModel`."""
        return structured_by_asking(self, messages, kind, max_tokens)

    def _call(self, call: str, messages: Sequence[Message], facts: dict[str, Any], max_tokens: int,
              run: Callable[[list[int]], dict[str, Any]], more_tokens_in: int = 0) -> tuple[dict[str, Any], Usage]:
        """Answer from the cache, else run."""
        prompt = self._prompt(messages, max_tokens)
        payload = {"call": call, "messages": [message.to_json() for message in messages], **facts}

        def answer() -> dict[str, Any]:
            with self._lock:
                return run(prompt)

        if self._cache is None:
            found, is_hit = answer(), False
        else:
            found, is_hit = self._cache.get_or_make(self.name, "in process", payload, answer)
        usage = Usage(1, int(is_hit), 0, len(prompt) + more_tokens_in, int(found["tokens_out"]))
        return found, usage

    def _prompt(self, messages: Sequence[Message], max_tokens: int) -> list[int]:
        """The conversation as ids, up to where the answer begins. Raises UserError when it is too long."""
        ids: list[int] = []
        newline = self._ids("\n")
        for message in messages:
            ids += [self._begin_id, *self._ids(f"{message.role}\n{message.content}"), self._end_id, *newline]
        ids += [self._begin_id, *self._ids("assistant\n")]
        most = (self.context_tokens or 0) - max_tokens
        if len(ids) > most:
            raise UserError(f"prompt for {self.name}", f"{len(ids)} tokens",
                            f"at most {most} beside an output of {max_tokens}",
                            "Lower --budget or --set router_text_tokens, or take a model with a longer context.")
        return ids

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)


def load_local_model(name: str = LANGUAGE_MODEL_NAME) -> LocalModel:
    """The local model of that name, loaded once a process (seconds), on all cores that it may use.

    Raises UserError for an unknown name, RunFailure when the converted files are missing or damaged.
    """
    known_weights(name)
    return _load(name, check_export(name), default_cache())


@lru_cache(maxsize=1)
def _load(name: str, folder: Path, cache: ResponseCache | None) -> LocalModel:
    import torch
    from safetensors import SafetensorError
    from tokenizers import Tokenizer
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    try:
        model = AutoModelForCausalLM.from_pretrained(str(folder), dtype=torch.float32, local_files_only=True)
        tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
    except (OSError, ValueError, SafetensorError) as error:
        raise RunFailure(f"language model {name}", f"{folder} is damaged ({str(error).splitlines()[0]})",
                         "the files converted at set-up", "Delete the folder and run `make setup`.") from error
    return LocalModel(known_weights(name).title, model.eval(), tokenizer, cache)
