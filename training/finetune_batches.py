"""Which samples a step takes, and how they are dealt to workers and passes of the model.

The global batch of a step depends on seed and step alone. Within it samples of like length share a pass, so that
hardly anything is padded: a sample joins a longer one only where it fills four fifths of its room.

What belongs here: orders and plans, as places of samples. What does not: tensors and losses (`finetune_step.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEAST_FILL = 0.8
"""Length of a sample by that of the longest of its pass."""


@dataclass(frozen=True)
class MicroBatch:
    """Places of samples of one pass. counts: whether they have a loss; else the pass only keeps workers even."""

    places: tuple[int, ...]
    counts: bool = True


class Order:
    """The samples of each step: a new permutation each epoch, the last batch of an epoch may be smaller."""

    def __init__(self, n_samples: int, batch: int, seed: int) -> None:
        if n_samples < 1:
            raise ValueError("no samples")
        self._n, self._batch, self._seed = n_samples, batch, seed
        self.steps_an_epoch = -(-n_samples // batch)

    def steps(self, epochs: float) -> int:
        """Steps of so many epochs, rounded up."""
        whole, part = divmod(epochs, 1)
        return int(whole) * self.steps_an_epoch + -(-round(part * self._n) // self._batch)

    def of_step(self, step: int) -> list[int]:
        """Places of the samples of a step, counted from 0."""
        import torch

        epoch, place = divmod(step, self.steps_an_epoch)
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + epoch)
        permutation: list[int] = torch.randperm(self._n, generator=generator).tolist()
        return permutation[place * self._batch: (place + 1) * self._batch]


def plan(places: Sequence[int], lengths: Sequence[int], micro_tokens: int, n_workers: int,
         is_even: bool) -> list[list[MicroBatch]]:
    """For each worker its passes over the samples of a step; lengths: of all samples, by place.

    Every worker has one pass at least, without a loss where there are too few samples. is_even: all have equally
    many, as sharded weights need.
    """
    by_worker: list[list[int]] = [[] for _ in range(n_workers)]
    loads = [0] * n_workers
    for place in sorted(places, key=lambda place: (-lengths[place], place)):
        # The longest first, each to who has least to do; with equal loads to the one with fewer samples.
        worker = min(range(n_workers), key=lambda n: (loads[n], len(by_worker[n]), n))
        by_worker[worker].append(place)
        loads[worker] += lengths[place]
    passes = [_passes(own, lengths, micro_tokens) for own in by_worker]
    most = max(map(len, passes)) if is_even else 1
    shortest = min(places, key=lambda place: (lengths[place], place))
    return [[*own, *[MicroBatch((shortest,), counts=False)] * (most - len(own))] for own in passes]


def _passes(places: Sequence[int], lengths: Sequence[int], micro_tokens: int) -> list[MicroBatch]:
    """Samples, the longest first, in passes of at most so many tokens with their padding."""
    groups: list[list[int]] = []
    for place in places:
        longest = lengths[groups[-1][0]] if groups else 0
        if groups and (len(groups[-1]) + 1) * longest <= micro_tokens and lengths[place] >= LEAST_FILL * longest:
            groups[-1].append(place)
        else:
            groups.append([place])
    return [MicroBatch(tuple(group)) for group in groups]
