"""What every asset does around the call of its engine job: report progress, translate errors.

What belongs here: `stage`, and the listeners through which the CLI follows a run in its own process. What
does not: the work of a stage. An `EspalierError` becomes a `dagster.Failure` that is not retried, since
the same input fails again; a conflict of two Delta commits is retried three times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import dagster as dg

from pipelines.errors import EspalierError

CONFLICT_RETRIES = 3
CONFLICT_WAIT_S = 5.0
COMMIT_CONFLICTS = frozenset({
    "DeltaConcurrentModificationException", "ConcurrentWriteException", "MetadataChangedException",
    "ProtocolChangedException", "ConcurrentAppendException", "ConcurrentDeleteReadException",
    "ConcurrentDeleteDeleteException", "ConcurrentTransactionException", "CommitFailedError"})
"""Class names in delta-spark and delta-rs; by name, since neither may be imported before it is needed."""


@dataclass
class StageEvent:
    """A stage of a run began or ended. `facts` is filled by the stage: rows, changed rows, version."""

    name: str
    state: Literal["running", "done", "failed"] = "running"
    seconds: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)


Listener = Callable[[StageEvent], None]
_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send the stage events of runs in this process to `listener` while the block lasts."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def stage(name: str) -> Iterator[StageEvent]:
    """Time a stage and tell the listeners; raise what Dagster should show when it fails."""
    event = StageEvent(name)
    begin = time.perf_counter()
    tell(event)
    try:
        yield event
    except BaseException as error:
        event.state, event.seconds = "failed", time.perf_counter() - begin
        tell(event)
        if isinstance(error, EspalierError):
            raise dg.Failure(str(error), allow_retries=False, metadata={
                "subject": error.subject, "found": error.found, "expected": error.expected,
                "next_step": error.next_step}) from error
        if is_commit_conflict(error):
            raise dg.RetryRequested(CONFLICT_RETRIES, CONFLICT_WAIT_S) from error
        raise
    event.state, event.seconds = "done", time.perf_counter() - begin
    tell(event)


def is_commit_conflict(error: BaseException) -> bool:
    """Whether another writer's Delta commit came first: delta-spark's exceptions, or delta-rs's."""
    return any(kind.__name__ in COMMIT_CONFLICTS for kind in type(error).__mro__)


def tell(event: StageEvent) -> None:
    """Send an event to the listeners, from within a stage too."""
    for listener in _listeners:
        listener(event)
