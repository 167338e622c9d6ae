"""Decoding loops of a causal model: greedy text, greedy choice among given lines, scores of candidates.

What belongs here: token ids and passes of the model. What does not: texts, prompts, caches
(`local_llm.py`). A prompt is read once; what follows works on its key-value cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

SCORED_AT_ONCE = 512
"""Candidate tokens of one pass: logits take 200 KB a token at a vocabulary of 49,152."""


class Decoder:
    """A causal model with the id that ends an answer. Not for several threads at once."""

    def __init__(self, model: Any, end_id: int) -> None:
        self._model, self._end_id = model, end_id

    def generate(self, prompt: Sequence[int], max_tokens: int) -> tuple[list[int], bool]:
        """The most probable token, one after the other; the ids without the end, and whether it was cut."""
        import torch

        ids: list[int] = []
        with torch.inference_mode():
            logits, cache = self._read(prompt, None)
            while len(ids) < max_tokens:
                token = int(logits.argmax())
                if token == self._end_id:
                    return ids, False
                ids.append(token)
                if len(ids) < max_tokens:
                    logits, cache = self._read([token], cache)
        return ids, True

    def generate_lines(self, prompt: Sequence[int], lines: Sequence[Sequence[int]],
                       alone: Sequence[int] | None, max_tokens: int, most_lines: int) -> tuple[list[int], int]:
        """Choose lines under a mask of what the grammar allows; their places in order, and the tokens taken.

        lines: token ids, each closed by its line end, so that none is the beginning of another. alone: the
        output that stands by itself; chosen, no place is returned. Tokens that are the only ones allowed are
        read together with the next choice.
        """
        import torch

        chosen: list[int] = []
        n_tokens = 0
        left = dict(enumerate(lines))
        # Closed by the end of the answer, so that it is no beginning of a line either.
        closed = None if alone is None else [*alone, self._end_id]
        unread: list[int] = list(prompt)
        cache = None
        with torch.inference_mode():
            while left and len(chosen) < most_lines and n_tokens < max_tokens:
                live, depth = dict(left), 0
                apart = None if chosen else closed
                while True:
                    allowed = {ids[depth] for ids in live.values()}
                    if apart is not None:
                        allowed.add(apart[depth])
                    if chosen and depth == 0:
                        allowed.add(self._end_id)
                    token = next(iter(allowed))
                    if len(allowed) > 1:
                        logits, cache = self._read(unread, cache)
                        unread = []
                        options = sorted(allowed)
                        token = options[int(logits[options].argmax())]
                    if token == self._end_id and chosen and depth == 0:
                        return chosen, n_tokens
                    n_tokens += 1
                    unread.append(token)
                    live = {place: ids for place, ids in live.items() if ids[depth] == token}
                    apart = apart if apart is not None and apart[depth] == token else None
                    depth += 1
                    if not live:
                        return [], len(closed or ())
                    if len(live) == 1 and apart is None:
                        ((place, ids),) = live.items()
                        unread += ids[depth:]
                        n_tokens += len(ids) - depth
                        chosen.append(place)
                        del left[place]
                        break
        return chosen, n_tokens

    def score(self, prompt: Sequence[int], candidates: Sequence[Sequence[int]]) -> list[float]:
        """Log-probability of each candidate behind the prompt, as if each were read alone.

        The prompt is read once. The candidates then lie one behind the other in one pass: a mask lets each
        see the prompt and itself, and positions start again behind the prompt.
        """
        import torch

        totals = [0.0] * len(candidates)
        with torch.inference_mode():
            logits, cache = self._read(prompt, None)
            first = torch.log_softmax(logits.float(), dim=-1)
            for place, ids in enumerate(candidates):
                totals[place] = float(first[ids[0]])
            for group in _groups([place for place, ids in enumerate(candidates) if len(ids) > 1],
                                 [len(ids) - 1 for ids in candidates]):
                for place, value in zip(group, self._score_group(
                        len(prompt), cache, [candidates[place] for place in group]), strict=True):
                    totals[place] += value
                cache.crop(-sum(len(candidates[place]) - 1 for place in group))
        return totals

    def _score_group(self, n_prompt: int, cache: Any, group: Sequence[Sequence[int]]) -> list[float]:
        """Sum of the log-probabilities of each candidate's tokens from the second on."""
        import torch

        lengths = [len(ids) - 1 for ids in group]
        n_tokens = sum(lengths)
        inputs = torch.tensor([[token for ids in group for token in ids[:-1]]])
        targets = torch.tensor([token for ids in group for token in ids[1:]])
        positions = torch.tensor([[n_prompt + offset for n in lengths for offset in range(n)]])
        mask = torch.zeros(n_tokens, n_prompt + n_tokens, dtype=torch.bool)
        mask[:, :n_prompt] = True
        begin = 0
        for n in lengths:
            own = torch.ones(n, n, dtype=torch.bool).tril()
            mask[begin: begin + n, n_prompt + begin: n_prompt + begin + n] = own
            begin += n
        output = self._model(input_ids=inputs, position_ids=positions, attention_mask=mask[None, None],
                             cache=cache, use_cache=True)
        values = torch.log_softmax(output.logits[0].float(), dim=-1)[torch.arange(n_tokens), targets]
        return [math.fsum(part.tolist()) for part in values.split(lengths)]

    def _read(self, ids: Sequence[int], cache: Any) -> tuple[Any, Any]:
        """Read tokens; the logits of the next one `(vocabulary,)`, and the cache with them."""
        import torch

        output = self._model(input_ids=torch.tensor([list(ids)]), cache=cache, use_cache=True,
                             logits_to_keep=1)
        return output.logits[0, -1], output.cache


def _groups(places: Sequence[int], costs: Sequence[int]) -> list[list[int]]:
    """Candidates in order, in groups of at most `SCORED_AT_ONCE` tokens; a longer one is a group alone."""
    groups: list[list[int]] = []
    size = 0
    for place in places:
        if not groups or size + costs[place] > SCORED_AT_ONCE:
            groups.append([])
            size = 0
        groups[-1].append(place)
        size += costs[place]
    return groups
