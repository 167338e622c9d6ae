"""What Dagster and the listeners are told of a stage."""

import dagster as dg
import pytest

from assets.stages import StageEvent, listening, stage
from pipelines.errors import UserError


def test_a_clear_error_becomes_a_failure_that_is_not_retried() -> None:
    events: list[StageEvent] = []
    with listening(events.append), pytest.raises(dg.Failure) as caught, stage("pages"):
        raise UserError("dump x", "it is cut", "a whole dump", "Download it again.")
    assert caught.value.allow_retries is False
    assert caught.value.description == "dump x: it is cut; expected a whole dump. Download it again."
    assert isinstance(caught.value.__cause__, UserError)
    assert [event.state for event in events] == ["failed", "failed"]


def test_a_conflict_of_commits_is_retried_and_other_errors_are_not() -> None:
    class ConcurrentAppendException(Exception):
        """Named as delta-spark's."""

    with pytest.raises(dg.RetryRequested) as caught, stage("units"):
        raise ConcurrentAppendException
    assert caught.value.max_retries == 3
    with pytest.raises(ZeroDivisionError), stage("units"):
        raise ZeroDivisionError


def test_listeners_hear_a_stage_only_while_they_listen() -> None:
    heard: list[str] = []
    with listening(lambda event: heard.append(event.state)), stage("units") as event:
        event.facts["rows"] = 3
    with stage("later"):
        pass
    assert heard == ["running", "done"]
