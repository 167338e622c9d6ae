"""What a model may write next: freely, or lines of a grammar. Token ids alone, without a model.

A writer is a generator: it yields tokens to read and the tokens that may follow (None: any), and is sent the one
that was chosen. So several outputs can be written side by side. What belongs here: the rules. What does not:
passes of a model (`decoding.py`) and texts (`local_llm.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

Result = TypeVar("Result")
Choice = tuple[list[int], list[int] | None]
"""Tokens to read, and those of which the next one is chosen, in ascending order; None: any."""
Writer = Generator[Choice, int, Result]


def write_freely(end_id: int, max_tokens: int) -> Writer[tuple[list[int], bool]]:
    """Any token until the end; the ids without the end, and whether the limit cut them."""
    ids: list[int] = []
    while len(ids) < max_tokens:
        token = yield ids[-1:], None
        if token == end_id:
            return ids, False
        ids.append(token)
    return ids, True


def write_lines(lines: Sequence[Sequence[int]], alone: Sequence[int] | None, end_id: int, max_tokens: int,
                most_lines: int) -> Writer[tuple[list[int], int]]:
    """Lines under a grammar, each at most once; their places in order, and the tokens taken.

    lines: token ids, each closed by its line end, so that none is the beginning of another. alone: the
    output that stands by itself; chosen, no place is returned. Tokens that are the only ones allowed are
    read together with the next choice.
    """
    chosen: list[int] = []
    n_tokens = 0
    left = dict(enumerate(lines))
    # Closed by the end of the answer, so that it is no beginning of a line either.
    closed = None if alone is None else [*alone, end_id]
    unread: list[int] = []
    while left and len(chosen) < most_lines and n_tokens < max_tokens:
        live, depth = dict(left), 0
        apart = None if chosen else closed
        while True:
            allowed = {ids[depth] for ids in live.values()}
            if apart is not None:
                allowed.add(apart[depth])
            if chosen and depth == 0:
                allowed.add(end_id)
            token = next(iter(allowed))
            if len(allowed) > 1:
                token = yield unread, sorted(allowed)
                unread = []
            if token == end_id and chosen and depth == 0:
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
