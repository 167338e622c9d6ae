"""Any OpenAI-compatible endpoint (vLLM, Ollama, llama.cpp, hosted ones) as a language model.

What belongs here: the payloads of `/chat/completions`, `/completions` and `/models`, and what a server
cannot do. What does not: HTTP (`http_client.py`), prompts. Lines and values are asked for by JSON schema; a
server that refuses that is asked in words, and every output is checked in both cases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, create_model

from pipelines.errors import UserError, argument
from pipelines.models.answers import (
    ScoreAnswer,
    TextAnswer,
    choices_of,
    most_characters,
    number,
    storable,
    text_of,
    told_tokens,
)
from pipelines.models.http_client import JsonClient, Refused
from pipelines.models.llm import Completion, LineGrammar, Message, ModelFailure, Scores, Structured, Usage, Value
from pipelines.models.llm_settings import (
    EndpointAddress,
    EndpointSettings,
    parse_endpoint,
    settings_from_environment,
)
from pipelines.models.response_cache import ResponseCache, default_cache
from pipelines.models.structured import structured_by_asking, with_instruction
from pipelines.models.tokens import load_token_counter
from pipelines.settings import TOKEN_COUNTER_NAME

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_LINES_FORM = 'Answer with JSON alone: {"lines": ["one line", "another line"]}'
_SCHEMA_WORDS = ("response_format", "json_schema", "guided", "grammar", "structured", "schema")
_RENAMED = {"max_tokens": "max_completion_tokens"}
"""Parameters that some servers know by another name only."""
_LEFT_OUT = ("temperature",)
"""Parameters that some models do not take."""


class Endpoint:
    """One model of one endpoint. What its server was found unable to do is remembered."""

    context_tokens: int | None = None

    def __init__(self, address: EndpointAddress, settings: EndpointSettings, cache: ResponseCache | None = None
                 ) -> None:
        self.address, self.settings = address, settings
        self.parallel = settings.concurrency
        self._client = JsonClient(address, settings)
        self._cache = cache
        self._model = address.model
        self._has_schemas = True
        self._unknown_parameters: set[str] = set()

    @property
    def name(self) -> str:
        """The model; with the address in front where it is not known yet."""
        return self._model or self.address.url

    def complete(self, messages: Sequence[Message], max_tokens: int) -> Completion:
        """See `LanguageModel`."""
        return self._chat(messages, max_tokens, None)

    def complete_lines(self, messages: Sequence[Message], grammar: LineGrammar, max_tokens: int) -> Completion:
        """See `LanguageModel`. `alone` beside other lines is left out: they say more."""
        # The messages say which lines there are; only how they come back is added.
        asked = [*messages[:-1], Message(messages[-1].role, f"{messages[-1].content}\n\n{_LINES_FORM}")]
        answer = self._structured(asked, _lines_type(grammar), max_tokens)
        lines = list(dict.fromkeys(answer.value.model_dump()["lines"]))
        others = [line for line in lines if line != grammar.alone][: grammar.most_lines]
        if not others and grammar.alone is None:
            raise ModelFailure(f"endpoint {self.address.url}", "no line chosen", "at least one line",
                               "Use another model.").with_usage(answer.usage)
        return Completion("\n".join(others) or grammar.alone or "", answer.usage)

    def structured(self, messages: Sequence[Message], kind: type[Value], max_tokens: int) -> Structured[Value]:
        """See `LanguageModel`."""
        return self._structured(with_instruction(messages, kind), kind, max_tokens)

    def _structured(self, asked: Sequence[Message], kind: type[Value], max_tokens: int) -> Structured[Value]:
        """The value that these messages ask for, by schema where the server can."""
        endpoint = self

        class Writer:
            """This endpoint, asked for the value."""

            name = endpoint.name

            def complete(self, messages: Sequence[Message], max_tokens: int) -> Completion:
                return endpoint._chat(messages, max_tokens, kind)

        return structured_by_asking(Writer(), asked, kind, max_tokens, with_schema=False)

    def score(self, messages: Sequence[Message], candidates: Sequence[str]) -> Scores:
        """See `LanguageModel`. One request for all candidates, to `/completions` with `echo` and `logprobs`.

        The prompt is the messages' words without a chat template, which that address does not apply. Raises
        UserError where the server does not give the log-probabilities of a prompt.
        """
        prompt = "\n\n".join(message.content for message in messages) + "\n"
        prompts = [prompt + candidate for candidate in candidates]
        payload = {"model": self._chosen_model(), "prompt": prompts, "max_tokens": 1, "temperature": 0,
                   "echo": True, "logprobs": 1}

        def read(body: dict[str, Any]) -> dict[str, Any]:
            choices = sorted(choices_of(body), key=lambda choice: int(choice.get("index", 0)))
            if len(choices) != len(candidates):
                raise ValueError(f"{len(choices)} choices for {len(candidates)} prompts")
            if any(not (choice.get("logprobs") or {}).get("text_offset") for choice in choices):
                return {"scores": None, "tokens_in": 0, "tokens_out": 0}
            scores = [_candidate_score(choice["logprobs"], len(prompt), len(candidate))
                      for choice, candidate in zip(choices, candidates, strict=True)]
            return {"scores": scores, **self._tokens(body, "".join(prompts), "")}

        def check(answer: dict[str, Any]) -> None:
            scores = ScoreAnswer.model_validate(answer, strict=False).scores
            if scores is not None and len(scores) != len(candidates):
                raise ValueError("scores of other candidates")

        answer, usage = self._ask("/completions", payload, read, check)
        if answer["scores"] is None:
            raise UserError(f"endpoint {self.address.url}", "no log-probabilities of the prompt's tokens",
                            "a server with echo and logprobs in /completions, such as vLLM",
                            f"Choose {argument('set', 'decode=constrained')}.")
        values, lengths = zip(*answer["scores"], strict=True)
        return Scores(tuple(values), tuple(lengths), usage)

    def _chat(self, messages: Sequence[Message], max_tokens: int, kind: type[BaseModel] | None) -> Completion:
        """One answer. kind: the type whose schema the server shall enforce, where it can."""
        longest = most_characters(max_tokens)
        payload: dict[str, Any] = {
            "model": self._chosen_model(), "messages": [message.to_json() for message in messages],
            "max_tokens": max_tokens, "temperature": 0}
        if kind is not None:
            payload["response_format"] = {"type": "json_schema", "json_schema": {
                "name": "answer", "strict": True, "schema": strict_schema(kind)}}

        def read(body: dict[str, Any]) -> dict[str, Any]:
            choice = choices_of(body)[0]
            whole = text_of(choice)
            # The key has no place in a text that is stored and shown.
            text = self._client.masked(storable(whole[:longest]))
            prompt = "\n".join(message.content for message in messages)
            is_cut = len(whole) > longest or choice.get("finish_reason") == "length"
            return {"text": _THOUGHT.sub("", text).strip(), "is_cut": is_cut, **self._tokens(body, prompt, text)}

        answer, usage = self._ask("/chat/completions", payload, read, TextAnswer.model_validate)
        return Completion(answer["text"], usage, answer["is_cut"])

    def _tokens(self, body: dict[str, Any], prompt: str, text: str) -> dict[str, int]:
        """Tokens as the server counts them, else as the project's counter does."""
        count = load_token_counter(TOKEN_COUNTER_NAME).count
        return {name: count(words) if (told := told_tokens(body, key)) is None else told
                for name, key, words in (("tokens_in", "prompt_tokens", prompt),
                                         ("tokens_out", "completion_tokens", text))}

    def _ask(self, path: str, payload: dict[str, Any], read: Callable[[dict[str, Any]], dict[str, Any]],
             check: Callable[[dict[str, Any]], object]) -> tuple[dict[str, Any], Usage]:
        """Answer from the cache, else ask. The key is what was meant, not what the server could take of it.

        check: raises ValueError for a stored answer that cannot be one.
        """
        retries = 0

        def make() -> dict[str, Any]:
            nonlocal retries
            answer, retries = self._send(path, payload, read)
            return answer

        if self._cache is None:
            answer, is_hit = make(), False
        else:
            answer, is_hit = self._cache.get_or_make(str(payload["model"]), self.address.url + path, payload, make,
                                                     check)
        tokens_in, tokens_out = int(answer["tokens_in"]), int(answer["tokens_out"])
        return answer, Usage(1, int(is_hit), retries, tokens_in, tokens_out,
                             self.settings.cost_usd(tokens_in, tokens_out))

    def _send(self, path: str, payload: dict[str, Any], read: Callable[[dict[str, Any]], dict[str, Any]]
              ) -> tuple[dict[str, Any], int]:
        """Send what the server takes of a payload; what it refuses by name is left out from then on."""
        total = 0
        while True:
            try:
                answer, retries = self._client.request(path, self._taken(payload), read)
                return answer, total + retries
            except Refused as error:
                if not self._learn(payload, error.words):
                    raise UserError(f"endpoint {self.address.url}", f"it refuses the request: {error}",
                                    "a request that its model takes",
                                    f"Lower {argument('budget')} or {argument('set', 'router_text_tokens=N')} "
                                    "where it is too long, or choose another model.") from None
                total += 1

    def _taken(self, payload: dict[str, Any]) -> dict[str, Any]:
        taken = dict(payload)
        if not self._has_schemas:
            taken.pop("response_format", None)
        for name in self._unknown_parameters & taken.keys():
            value = taken.pop(name)
            if name in _RENAMED:
                taken[_RENAMED[name]] = value
        return taken

    def _learn(self, payload: dict[str, Any], words: str) -> bool:
        """Note what a refusal names; whether there was something new."""
        said = words.lower()
        for name in (*_RENAMED, *_LEFT_OUT):
            if name in said and name in payload and name not in self._unknown_parameters:
                self._unknown_parameters.add(name)
                return True
        if "response_format" in payload and self._has_schemas and any(word in said for word in _SCHEMA_WORDS):
            self._has_schemas = False
            return True
        return False

    def _chosen_model(self) -> str:
        """The model's name. Raises UserError where none was given and the server has not exactly one."""
        if self._model is None:
            try:
                names, _ = self._client.request("/models", None, _model_names)
            except Refused as error:
                raise UserError(f"endpoint {self.address.url}", f"it refuses to list its models: {error}",
                                "the model's name", f"Write {self.address.url}#MODEL.") from None
            if len(names) != 1:
                listed = self._client.shown(", ".join(names[:10]))
                found = f"{len(names)} models ({listed})" if names else "no model"
                raise UserError(f"endpoint {self.address.url}", found, "the name of one",
                                f"Write {self.address.url}#MODEL.")
            self._model = names[0]
        return self._model


def _model_names(body: dict[str, Any]) -> list[str]:
    names = [model["id"] for model in body["data"]]
    if not all(isinstance(name, str) and name and name.isprintable() for name in names):
        raise ValueError("a model without a name that can be shown")
    return names


def _candidate_score(logprobs: dict[str, Any], begin: int, length: int) -> tuple[float, int]:
    """Sum over the tokens that begin in the candidate's characters, and how many those are."""
    tokens = zip(logprobs["text_offset"], logprobs["token_logprobs"], strict=True)
    values = [number(value) for offset, value in tokens
              if begin <= offset < begin + length and value is not None]
    if not values:
        raise ValueError("no tokens of a candidate")
    return sum(values), len(values)


@lru_cache(maxsize=256)
def _lines_type(grammar: LineGrammar) -> type[BaseModel]:
    """`{"lines": […]}` of a grammar's lines, checked and in its schema."""
    allowed = (*grammar.lines, *([] if grammar.alone is None else [grammar.alone]))
    return create_model("Lines", lines=(list[Literal[allowed]], ...))  # type: ignore[valid-type]


def strict_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a type as strict servers want it: every property required, no others."""
    schema: dict[str, Any] = json.loads(json.dumps(kind.model_json_schema()))
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if part.get("type") == "object" and "properties" in part:
                part |= {"required": list(part["properties"]), "additionalProperties": False}
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return schema


def load_endpoint(text: str) -> Endpoint:
    """The endpoint at `URL` or `URL#MODEL`, with the settings of the environment; one a process.

    Raises UserError for an address or a setting that cannot be.
    """
    return _load(parse_endpoint(text), settings_from_environment(), default_cache())


@lru_cache(maxsize=16)
def _load(address: EndpointAddress, settings: EndpointSettings, cache: ResponseCache | None) -> Endpoint:
    return Endpoint(address, settings, cache)
