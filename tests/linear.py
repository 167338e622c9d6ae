"""Whether work grows with its input and not with the square of it, on a machine that others use too."""

from __future__ import annotations

import time
from collections.abc import Callable

ATTEMPTS = 4
FLOOR_S = 0.02


def is_linear(work: Callable[[int], object], size: int) -> bool:
    """Whether four times `size` takes at most eight times the CPU time, where a square would take sixteen.

    A neighbour may slow one of the two down; of what grows with the square no attempt is fast.
    """
    def seconds(n: int) -> float:
        begin = time.process_time()
        work(n)
        return time.process_time() - begin

    return any(min(seconds(4 * size) for _ in range(2)) <= 8 * min(seconds(size) for _ in range(2)) + FLOOR_S
               for _ in range(ATTEMPTS))
