"""Spreading chunks of work over Ray actors that are each opened once.

What belongs here: making the actors, handing out chunks, collecting results. What does not: what an actor does,
and starting Ray (`ray_cluster.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from training.ray_cluster import ray_session

Worker = TypeVar("Worker")
Spread = Callable[[str, Iterable[tuple[Any, ...]]], Iterator[Any]]
"""(method, arguments of each call) → the method's results."""


@dataclass(frozen=True)
class Actors:
    """Running actors. n: how many work at a time."""

    n: int
    in_order: Spread
    """Results in the order of the calls."""
    as_done: Spread
    """Results in the order in which they are done: none waits in memory for an earlier one."""


@contextmanager
def actors(worker: type[Worker], arguments: tuple[Any, ...], n_workers: int | None) -> Iterator[Actors]:
    """Actors on the cluster of RAY_ADDRESS, else on a local one that ends with the block; one a CPU by default.

    An actor that dies is started again and its call repeated: methods must give the same result twice.
    """
    with ray_session():
        import ray
        from ray.util import ActorPool

        n = n_workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        remote = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(worker)
        handles = [remote.remote(*arguments) for _ in range(n)]

        def spread(collect: str) -> Spread:
            def call(method: str, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
                yield from getattr(ActorPool(handles), collect)(
                    lambda actor, given: getattr(actor, method).remote(*given), list(calls))
            return call

        yield Actors(n, spread("map"), spread("map_unordered"))
