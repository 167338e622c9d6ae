"""Routers with a language model (paper 2510.04293, section 3.3), decoding freely, constrained, or by scores.

- `free`: the model writes; its lines are mended in form (`action_repair.py`), and what is not legal is counted.
- `constrained`: a grammar of the legal lines; nothing else can be written.
- `score`: every legal line is a candidate; those whose score reaches a threshold are taken, else it refuses.

What belongs here: from a state to actions, and the deterministic fallback where a model fails or nothing
usable comes. What does not: prompts (`router_prompt.py`), models (`pipelines/models`), the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

from pipelines.methods.action_repair import repair
from pipelines.methods.router_prompt import router_messages
from pipelines.methods.routing import EXPAND, REFUSAL, Actions, Router, RouterOutput, RouterState, parse_actions
from pipelines.methods.similarity_router import EXPANDS_A_TURN
from pipelines.models.llm import (
    NO_USAGE,
    BatchingModel,
    Completion,
    LanguageModel,
    LineGrammar,
    ModelFailure,
    Scores,
    Usage,
)

Decode = Literal["free", "constrained", "score"]
DECODES: tuple[Decode, ...] = ("free", "constrained", "score")


@dataclass(frozen=True)
class LlmRouterSettings:
    """decode: see the module. score_threshold: `score` takes a line from this score on, the natural log-odds
    of writing the line against refusing. max_tokens, most_actions: limits of an output."""

    decode: Decode = "constrained"
    score_threshold: float = 0.0
    max_tokens: int = 256
    most_actions: int = 10


class LlmRouter:
    """Asks a language model; `fallback` decides where it fails, None: failures are raised."""

    def __init__(self, name: str, model: LanguageModel, settings: LlmRouterSettings, fallback: Router | None
                 ) -> None:
        self.name, self._model, self._settings, self._fallback = name, model, settings, fallback
        self.parallel = model.parallel

    def route(self, state: RouterState) -> RouterOutput:
        """Decide on one subtree. A state without a legal line is refused without asking.

        Raises UserError for settings or a prompt that the model does not take, and ModelFailure where it
        fails and there is no fallback.
        """
        if not _is_open(state):
            return RouterOutput(REFUSAL, details=self._details(REFUSAL))
        try:
            return self._judged(state, self._decide(state))
        except ModelFailure as error:
            if self._fallback is None:
                raise
            failure = {"failure": f"{error.subject}: {error.found}"}
            return self._fall_back(state, error.usage or NO_USAGE, failure, None)

    def route_many(self, states: Sequence[RouterState]) -> list[RouterOutput]:
        """What `route` says in each state: together by a model that can, else as many at a time as it takes.

        Where the model fails on all together, each is asked alone, so that only those that fail fall back.
        """
        model = self._model
        if isinstance(model, BatchingModel):
            asked = [state for state in states if _is_open(state)]
            try:
                outputs = iter(self._decide_together(model, asked))
            except ModelFailure:
                return [self.route(state) for state in states]
            return [self._judged(state, next(outputs)) if _is_open(state) else self.route(state)
                    for state in states]
        with ThreadPoolExecutor(self.parallel) as pool:
            return list(pool.map(self.route, states))

    def _details(self, said: str) -> dict[str, Any]:
        return {"model": self._model.name, "decode": self._settings.decode, "said": said}

    def _judged(self, state: RouterState, output: RouterOutput) -> RouterOutput:
        """An output as it is, or the fallback's where nothing usable came."""
        actions = parse_actions(output.text, state)
        if actions.is_collapsed and self._fallback is not None:
            return self._fall_back(state, output.usage, {**output.details}, actions)
        return output

    def _fall_back(self, state: RouterState, usage: Usage, details: dict[str, Any], replaced: Actions | None
                   ) -> RouterOutput:
        assert self._fallback is not None
        return replace(self._fallback.route(state), usage=usage, used_fallback=True, replaced=replaced,
                       details={**self._details(""), "fallback": self._fallback.name, **details})

    def _decide(self, state: RouterState) -> RouterOutput:
        model, max_tokens = self._model, self._settings.max_tokens
        if self._settings.decode == "score":
            return self._by_score(state, model.score(router_messages(state), _candidates(state)))
        if self._settings.decode == "free":
            return self._free(model.complete(router_messages(state), max_tokens))
        return self._constrained(model.complete_lines(router_messages(state), self._grammar(state), max_tokens))

    def _decide_together(self, model: BatchingModel, states: Sequence[RouterState]) -> list[RouterOutput]:
        max_tokens = self._settings.max_tokens
        asked = [router_messages(state) for state in states]
        if self._settings.decode == "score":
            scored = model.score_many([*zip(asked, map(_candidates, states), strict=True)])
            return [*map(self._by_score, states, scored)]
        if self._settings.decode == "free":
            return [*map(self._free, model.complete_many(asked, max_tokens))]
        grammars = map(self._grammar, states)
        return [*map(self._constrained,
                     model.complete_lines_many([*zip(asked, grammars, strict=True)], max_tokens))]

    def _grammar(self, state: RouterState) -> LineGrammar:
        return LineGrammar(tuple(state.legal_lines()), REFUSAL if state.can_refuse else None,
                           self._settings.most_actions)

    def _constrained(self, said: Completion) -> RouterOutput:
        return RouterOutput(said.text, said.usage, details=self._details(said.text))

    def _free(self, said: Completion) -> RouterOutput:
        text, n_repaired = repair(_whole_lines(said))
        return RouterOutput(text, said.usage, details={
            **self._details(said.text), "repaired": n_repaired, "is_cut": said.is_cut})

    def _by_score(self, state: RouterState, scored: Scores) -> RouterOutput:
        lines = list(state.legal_lines())
        *values, refusal = scored.log_probabilities
        odds = [value - refusal for value in values]
        chosen = choose_by_score(lines, odds, self._settings.score_threshold, self._settings.most_actions,
                                 state.can_refuse)
        text = "\n".join(chosen) or REFUSAL
        return RouterOutput(text, scored.usage, details={
            **self._details(text), "score_threshold": self._settings.score_threshold,
            "scores": {line: round(value, 4) for line, value in zip(lines, odds, strict=True)}})


def _is_open(state: RouterState) -> bool:
    """Whether there is anything to decide."""
    return bool(state.visible or state.expandable)


def _candidates(state: RouterState) -> list[str]:
    """Every legal line, and refusing."""
    return [*state.legal_lines(), REFUSAL]


def choose_by_score(lines: Sequence[str], scores: Sequence[float], threshold: float, most_lines: int,
                    can_refuse: bool) -> list[str]:
    """The best lines from the threshold on, in their order; at most two headings are expanded.

    Where refusing is not legal, the best line is taken whatever its score; the earlier of two equal ones.
    """
    ranked = sorted(range(len(lines)), key=lambda place: (-scores[place], place))
    taken: list[int] = []
    n_expands = 0
    for place in ranked:
        is_expand = lines[place].startswith(EXPAND)
        is_forced = not can_refuse and not taken
        if len(taken) == most_lines or (scores[place] < threshold and not is_forced):
            break
        if is_expand and n_expands == EXPANDS_A_TURN:
            continue
        n_expands += is_expand
        taken.append(place)
    return [lines[place] for place in sorted(taken)]


def _whole_lines(said: Completion) -> str:
    """What was written, without a last line that the limit of tokens has cut."""
    if not said.is_cut:
        return said.text
    lines = said.text.splitlines()
    return "\n".join(lines[:-1]) if len(lines) > 1 else said.text
