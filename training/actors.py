"""Spreading chunks of work over Ray actors that are each opened once.

What belongs here: making the actors, handing out chunks, results in the order in which they are done. What does
not: what an actor does, and starting Ray (`ray_cluster.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from training.ray_cluster import ray_session

Worker = TypeVar("Worker")
Spread = Callable[[str, Iterable[Any]], Iterator[Any]]
"""(method, chunks) → the method's result for each chunk."""


@contextmanager
def actors(worker: type[Worker], arguments: tuple[Any, ...], n_workers: int | None) -> Iterator[Spread]:
    """Actors on the cluster of RAY_ADDRESS, else on a local one that ends with the block; one a CPU by default.

    An actor that dies is started again and its chunk repeated: methods must give the same result twice.
    """
    with ray_session():
        import ray
        from ray.util import ActorPool

        n = n_workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        remote = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(worker)
        handles = [remote.remote(*arguments) for _ in range(n)]

        def spread(method: str, chunks: Iterable[Any]) -> Iterator[Any]:
            yield from ActorPool(handles).map_unordered(
                lambda actor, chunk: getattr(actor, method).remote(chunk), list(chunks))

        yield spread
