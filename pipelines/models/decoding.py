"""Decoding loops of a causal model: outputs of several prompts side by side, scores of candidates.

Greedy. Prompts are taken in the order of their tokens, so that each is read from where it differs from the one
before; outputs are written together, so that one pass over the weights serves a token of each. Figures differ
from those of one prompt alone by rounding only.

What belongs here: token ids and passes of the model. What does not: caches of keys and values (`key_values.py`),
what may be written (`writing.py`), texts, prompts, caches of answers (`local_llm.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from pipelines.models.candidate_tree import CandidateTree, candidate_trees, step_values
from pipelines.models.key_values import CountedModel, PromptReader, SideBySide
from pipelines.models.writing import Choice, Writer, write_freely, write_lines

SCORED_AT_ONCE = 512
"""Candidate tokens of one pass: logits take 200 KB a token at a vocabulary of 49,152."""
TOGETHER_TOKENS = 4096
"""Prompt tokens side by side at most; a longer prompt goes alone. 46 KB a token of SmolLM2."""
Ids = Sequence[int]
Result = TypeVar("Result")


class Decoder:
    """A causal model with the id that ends an answer. Not for several threads at once.

    The beginning of the last prompt is kept for the next call, unless the model's weights may change
    (`requires_grad`).
    """

    def __init__(self, model: Any, end_id: int) -> None:
        self._model, self._end_id = CountedModel(model), end_id
        self._reader = PromptReader(self._model)

    @property
    def tokens_read(self) -> int:
        """Tokens that the model has computed since this was made: what sharing saves is not among them."""
        return self._model.tokens_read

    def forget(self) -> None:
        """Keep nothing of the prompts read so far."""
        self._reader.forget()

    def generate(self, prompts: Sequence[Ids], max_tokens: int) -> Iterator[tuple[int, tuple[list[int], bool]]]:
        """The most probable token, one after the other; the ids without the end, and whether the limit cut them.

        Yields (place of the prompt, that) as portions are done.
        """
        return self._write(prompts, [write_freely(self._end_id, max_tokens) for _ in prompts])

    def generate_lines(self, prompts: Sequence[Ids], grammars: Sequence[tuple[Sequence[Ids], Ids | None, int]],
                       max_tokens: int) -> Iterator[tuple[int, tuple[list[int], int]]]:
        """Choose lines under a mask of what a grammar allows; their places in order, and the tokens taken.

        grammars: lines, the output that stands alone, most lines, as in `write_lines`. Yields (place of the
        prompt, that) as portions are done.
        """
        return self._write(prompts, [write_lines(lines, alone, self._end_id, max_tokens, most_lines)
                                     for lines, alone, most_lines in grammars])

    def score(self, prompts: Sequence[Ids], candidates: Sequence[Sequence[Ids]]
              ) -> Iterator[tuple[int, list[float]]]:
        """Log-probability of each candidate behind its prompt, as if each were read alone.

        The candidates of a prompt lie one behind the other in one pass, beginnings that they share once: a mask
        lets each token see the prompt and what it follows. Yields (place of the prompt, one a candidate).
        """
        import torch

        try:
            for place in _in_order(prompts):
                totals: list[float] = []
                with torch.inference_mode():
                    logits = self._reader.read(prompts[place])
                    for tree in candidate_trees(candidates[place], SCORED_AT_ONCE):
                        totals += self._score(tree, logits, len(prompts[place]))
                yield place, totals
        finally:
            self._reader.rest()

    def _score(self, tree: CandidateTree, prompt_logits: Any, n_prompt: int) -> list[float]:
        import torch

        logits = None
        if n := len(tree.tokens):
            sees = torch.ones(n, n_prompt + n, dtype=torch.bool)
            sees[:, n_prompt:] = torch.from_numpy(tree.sees())
            cache = self._reader.cache
            logits, _ = self._model(tree.tokens, cache, n, [n_prompt + depth for depth in tree.depths], sees)
            cache.crop(-n)
        return tree.totals(step_values(tree, prompt_logits, logits))

    def _write(self, prompts: Sequence[Ids], writers: Sequence[Writer[Result]]) -> Iterator[tuple[int, Result]]:
        import torch

        portion: list[int] = []
        for place in [*_in_order(prompts), None]:
            if portion and (place is None or sum(len(prompts[other]) for other in [*portion, place])
                            > TOGETHER_TOKENS):
                # No generator may be left inside of inference mode while its caller does something else.
                with torch.inference_mode():
                    found = list(self._write_together(portion, prompts, writers))
                    self._reader.rest()
                yield from found
                portion = []
            if place is not None:
                portion.append(place)

    def _write_together(self, portion: Sequence[int], prompts: Sequence[Ids], writers: Sequence[Writer[Result]]
                        ) -> Iterator[tuple[int, Result]]:
        """Read the prompts one after the other, then write a step of every output in one pass."""
        rows = SideBySide(self._model)
        waiting: dict[int, Choice] = {}
        for place in portion:
            try:
                unread, options = next(writers[place])
                logits = self._reader.read([*prompts[place], *unread])
                waiting[place] = writers[place].send(_best(logits, options))
                rows.add(place, self._reader)
            except StopIteration as done:
                yield place, done.value
        while waiting:
            logits = rows.read({place: unread for place, (unread, _) in waiting.items()})
            for (place, (_, options)), own in zip([*waiting.items()], logits, strict=True):
                try:
                    waiting[place] = writers[place].send(_best(own, options))
                except StopIteration as done:
                    del waiting[place]
                    rows.drop(place)
                    yield place, done.value


def _best(logits: Any, options: list[int] | None) -> int:
    """The most probable of the tokens that may follow; the first of equal ones."""
    return int(logits.argmax()) if options is None else options[int(logits[options].argmax())]


def _in_order(prompts: Sequence[Ids]) -> list[int]:
    """Places of the prompts, those with the same beginning beside each other."""
    return sorted(range(len(prompts)), key=lambda place: list(prompts[place]))
