"""Candidates of one prompt as a tree of tokens: a beginning that several share is read once.

What belongs here: ids, which token sees which, and adding up. What does not: passes of a model (`decoding.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PROMPT = -1
"""The place of the prompt's last token, from which every candidate begins."""


class CandidateTree:
    """The tokens that a model must read to score some candidates: all but the last of each, shared ones once.

    tokens, depths (from 0), parents (a place in `tokens`, or PROMPT), in an order in which a token stands
    behind its parent. steps: (place, next token), each once, whose log-probabilities are wanted.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.depths: list[int] = []
        self.parents: list[int] = []
        self.steps: list[tuple[int, int]] = []
        self._children: dict[tuple[int, int], int] = {}
        self._step_numbers: dict[tuple[int, int], int] = {}
        self._paths: list[list[int]] = []

    def add(self, candidate: Sequence[int]) -> None:
        """Enter a candidate; it may not be empty."""
        place, path = PROMPT, []
        for depth, token in enumerate(candidate):
            step = (place, token)
            if step not in self._step_numbers:
                self._step_numbers[step] = len(self.steps)
                self.steps.append(step)
            path.append(self._step_numbers[step])
            if depth < len(candidate) - 1:
                if step not in self._children:
                    self._children[step] = len(self.tokens)
                    self.tokens.append(token)
                    self.depths.append(depth)
                    self.parents.append(place)
                place = self._children[step]
        self._paths.append(path)

    def n_more(self, candidate: Sequence[int]) -> int:
        """Tokens that entering a candidate would add."""
        place = PROMPT
        for depth, token in enumerate(candidate[:-1]):
            if (place, token) not in self._children:
                return len(candidate) - 1 - depth
            place = self._children[place, token]
        return 0

    def sees(self) -> NDArray[np.bool_]:
        """(tokens, tokens): whether the one of the row sees that of the column: itself and what it follows."""
        import numpy as np

        seen = np.eye(len(self.tokens), dtype=bool)
        for place, parent in enumerate(self.parents):
            if parent != PROMPT:
                seen[place] |= seen[parent]
        return seen

    def totals(self, values: Sequence[float]) -> list[float]:
        """The sum of each candidate's steps, in the order of entering. values: one a step."""
        return [math.fsum(values[number] for number in path) for path in self._paths]


def candidate_trees(candidates: Sequence[Sequence[int]], most_tokens: int) -> Iterator[CandidateTree]:
    """Candidates in order, in trees of at most so many tokens; a longer one is a tree alone."""
    tree: CandidateTree | None = None
    for candidate in candidates:
        if tree is None or len(tree.tokens) + tree.n_more(candidate) > most_tokens:
            if tree is not None:
                yield tree
            tree = CandidateTree()
        tree.add(candidate)
    if tree is not None:
        yield tree


def step_values(tree: CandidateTree, prompt_logits: Any, logits: Any) -> list[float]:
    """Log-probability (natural) of each step. prompt_logits (vocabulary); logits (tokens, vocabulary), or None
    where the tree has no tokens."""
    import torch

    values = torch.empty(len(tree.steps))
    for rows, of_prompt in ((prompt_logits[None], True), (logits, False)):
        chosen = [(number, *step) for number, step in enumerate(tree.steps) if (step[0] == PROMPT) == of_prompt]
        if chosen:
            numbers, places, tokens = (torch.tensor(column) for column in zip(*chosen, strict=True))
            places = places.clamp(min=0)
            # The sum alone is kept, not a second table of logits.
            values[numbers] = (rows[places, tokens] - torch.logsumexp(rows, -1)[places]).cpu()
    found: list[float] = values.tolist()
    return found
