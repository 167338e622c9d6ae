"""Draws by hash: what is chosen depends on the seed and on the thing itself, never on what came before it.

What belongs here: numbers of a seed and names, and the few best of a stream. What does not: what is drawn.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Sequence
from typing import Generic, TypeVar

Value = TypeVar("Value")


def draw(*names: object) -> float:
    """A number in [0, 1) that is the same for the same names, and evenly spread over different ones."""
    digest = hashlib.blake2b("\x1f".join(map(str, names)).encode("utf-8", "surrogatepass"), digest_size=8)
    return (int.from_bytes(digest.digest(), "big") >> 11) / (1 << 53)


class Draws:
    """The draws for one thing, each under a name of its own."""

    def __init__(self, *names: object) -> None:
        self._names = names

    def chance(self, share: float, name: str) -> bool:
        """True in that share of all things."""
        return draw(*self._names, name) < share

    def pick(self, choices: Sequence[Value], name: str) -> Value:
        """One of the choices, each as likely. Raises IndexError where there is none."""
        return choices[int(draw(*self._names, name) * len(choices))]


class Lowest(Generic[Value]):
    """The `size` values with the lowest ranks of a stream, whatever its order; ties go by the values' keys."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._heap: list[tuple[_Reversed, Value]] = []

    def wants(self, rank: float) -> bool:
        """Whether a value of that rank would be kept: what makes values may ask before it works."""
        return self._size > 0 and (len(self._heap) < self._size or rank <= self._heap[0][0].rank)

    def add(self, rank: float, key: str, value: Value) -> None:
        """Offer a value. Keys are unique."""
        entry = (_Reversed(rank, key), value)
        if len(self._heap) < self._size:
            heapq.heappush(self._heap, entry)
        elif self._size and self._heap[0][0] < entry[0]:
            heapq.heapreplace(self._heap, entry)

    def values(self) -> list[Value]:
        """What was kept, by rank."""
        return [value for _, value in sorted(self._heap, key=lambda entry: entry[0].order)]


class _Reversed:
    """The highest rank first, as a heap of the lowest ones needs it."""

    __slots__ = ("order", "rank")

    def __init__(self, rank: float, key: str) -> None:
        self.rank = rank
        self.order = (rank, key)

    def __lt__(self, other: _Reversed) -> bool:
        return self.order > other.order
