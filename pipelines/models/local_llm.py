"""A language model in this process, by transformers: completing, scoring and choosing among given lines.

What belongs here: loading, the prompt as token ids, and the protocol of `llm.py`. What does not: decoding
loops (`decoding.py`), converting the weights (`export_llm.py`). Greedy in float32: the same prompt gives the
same text on every run. Words of a prompt never become control tokens: a document cannot end its own turn.
"""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from pipelines.errors import RunFailure, UserError, argument
from pipelines.models.answers import LocalScores, TextAnswer
from pipelines.models.chat_format import ChatFormat
from pipelines.models.decoding import Decoder
from pipelines.models.export_llm import check_export, known_weights
from pipelines.models.llm import Completion, LineGrammar, Message, Scores, Structured, Usage, Value
from pipelines.models.response_cache import ResponseCache, default_cache
from pipelines.models.structured import structured_by_asking
from pipelines.settings import LANGUAGE_MODEL_NAME

Answer = dict[str, Any]
"""Of one call, as the cache keeps it."""


class LocalModel:
    """One loaded model; a `BatchingModel`. Calls wait for each other: one already works on all cores."""

    parallel = 1

    def __init__(self, name: str, model: Any, tokenizer: Any, cache: ResponseCache | None) -> None:
        self.name = name
        self.context_tokens: int | None = int(model.config.max_position_embeddings)
        self._format = ChatFormat(tokenizer, model.config)
        self._tokenizer = tokenizer
        self.decoder = Decoder(model, self._format.end_id)
        self._cache = cache
        self._lock = threading.Lock()

    def with_cache(self, cache: ResponseCache | None) -> LocalModel:
        """The same loaded model with another cache of answers, or none."""
        other = copy.copy(self)
        other._cache = cache
        return other

    def complete(self, messages: Sequence[Message], max_tokens: int) -> Completion:
        """See `LanguageModel`."""
        return self.complete_many([messages], max_tokens)[0]

    def complete_lines(self, messages: Sequence[Message], grammar: LineGrammar, max_tokens: int) -> Completion:
        """See `LanguageModel`. Tokens outside the grammar are masked; forced ones cost no pass of their own."""
        return self.complete_lines_many([(messages, grammar)], max_tokens)[0]

    def score(self, messages: Sequence[Message], candidates: Sequence[str]) -> Scores:
        """See `LanguageModel`. All candidates share one pass over the prompt."""
        return self.score_many([(messages, candidates)])[0]

    def complete_many(self, conversations: Sequence[Sequence[Message]], max_tokens: int) -> list[Completion]:
        """See `BatchingModel`."""
        def run(places: list[int], prompts: list[list[int]]) -> Iterator[tuple[int, Answer]]:
            for n, (ids, is_cut) in self.decoder.generate(prompts, max_tokens):
                yield places[n], {"text": self._tokenizer.decode(ids).strip(), "is_cut": is_cut,
                                  "tokens_out": len(ids)}

        asked = [(messages, {"max_tokens": max_tokens}, max_tokens) for messages in conversations]
        return [Completion(answer["text"], usage, answer["is_cut"])
                for answer, usage in self._answer("complete", asked, run, TextAnswer)]

    def complete_lines_many(self, asked: Sequence[tuple[Sequence[Message], LineGrammar]], max_tokens: int
                            ) -> list[Completion]:
        """See `BatchingModel`."""
        def run(places: list[int], prompts: list[list[int]]) -> Iterator[tuple[int, Answer]]:
            grammars = [asked[place][1] for place in places]
            encoded = [([self._format.line(line) for line in grammar.lines],
                        None if grammar.alone is None else self._ids(grammar.alone), grammar.most_lines)
                       for grammar in grammars]
            for n, (chosen, n_tokens) in self.decoder.generate_lines(prompts, encoded, max_tokens):
                words = [grammars[n].lines[line] for line in chosen] or [grammars[n].alone or ""]
                yield places[n], {"text": "\n".join(words), "is_cut": False, "tokens_out": n_tokens}

        calls = [(messages, {"lines": grammar.lines, "alone": grammar.alone, "most_lines": grammar.most_lines,
                             "max_tokens": max_tokens}, max_tokens) for messages, grammar in asked]
        return [Completion(answer["text"], usage) for answer, usage in self._answer("complete_lines", calls, run,
                                                                                               TextAnswer)]

    def score_many(self, asked: Sequence[tuple[Sequence[Message], Sequence[str]]]) -> list[Scores]:
        """See `BatchingModel`."""
        encoded = [[self._ids(candidate) for candidate in candidates] for _, candidates in asked]

        def run(places: list[int], prompts: list[list[int]]) -> Iterator[tuple[int, Answer]]:
            for n, scores in self.decoder.score(prompts, [encoded[place] for place in places]):
                yield places[n], {"scores": scores, "tokens_out": 0}

        calls = [(messages, {"candidates": candidates}, max(map(len, ids), default=0))
                 for (messages, candidates), ids in zip(asked, encoded, strict=True)]
        answers = self._answer("score", calls, run, LocalScores)
        return [Scores(tuple(answer["scores"]), tuple(map(len, ids)),
                       usage + Usage(tokens_in=sum(map(len, ids))))
                for (answer, usage), ids in zip(answers, encoded, strict=True)]

    def structured(self, messages: Sequence[Message], kind: type[Value], max_tokens: int) -> Structured[Value]:
        """See `LanguageModel`."""
        return structured_by_asking(self, messages, kind, max_tokens)

    def _answer(self, call: str, asked: Sequence[tuple[Sequence[Message], dict[str, Any], int]],
                run: Callable[[list[int], list[list[int]]], Iterator[tuple[int, Answer]]], form: type[BaseModel]
                ) -> list[tuple[Answer, Usage]]:
        """Answer what the cache has from there, and run the rest together.

        asked: messages, the other facts of a call, tokens of its output at most. run: from the places of calls
        and their prompts to (place, answer), as they are done. form: of a stored answer that counts.
        """
        prompts = [self._prompt(messages, max_tokens) for messages, _, max_tokens in asked]
        payloads = [{"call": call, "messages": [message.to_json() for message in messages], **facts}
                    for messages, facts, _ in asked]

        def answers(places: list[int]) -> Iterator[tuple[int, Answer]]:
            with self._lock:
                yield from run(places, [prompts[place] for place in places])

        if self._cache is None:
            made = dict(answers([*range(len(asked))]))
            found = [(made[place], False) for place in range(len(asked))]
        else:
            found = self._cache.get_or_make_many(self.name, "in process", payloads, answers,
                                                 lambda answer: form.model_validate({"tokens_in": 0, **answer}))
        # Tokens as a server would count them: what sharing a beginning saves is time alone.
        return [(answer, Usage(1, int(is_hit), 0, len(prompt), int(answer["tokens_out"])))
                for prompt, (answer, is_hit) in zip(prompts, found, strict=True)]

    def _prompt(self, messages: Sequence[Message], max_tokens: int) -> list[int]:
        """The conversation as ids, up to where the answer begins. Raises UserError when it is too long."""
        ids = self._format.prompt(messages)
        most = (self.context_tokens or 0) - max_tokens
        if len(ids) > most:
            raise UserError(f"prompt for {self.name}", f"{len(ids)} tokens",
                            f"at most {most} beside an output of {max_tokens}",
                            f"Lower {argument('budget')} or {argument('set', 'router_text_tokens=N')}, or take a "
                            "model with a longer context.")
        return ids

    def _ids(self, text: str) -> list[int]:
        return self._format.ids(text)


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
    # Frozen: a decoder keeps what it has read of weights that stay as they are.
    return LocalModel(known_weights(name).title, model.eval().requires_grad_(False), tokenizer, cache)
