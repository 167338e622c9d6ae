"""Errors keep their four parts, also across processes."""

from __future__ import annotations

import pickle

import pytest

from pipelines.errors import RunFailure, UserError


@pytest.mark.parametrize(("kind", "code"), [(UserError, 2), (RunFailure, 1)])
def test_one_line_with_four_parts_and_its_exit_code(kind: type[UserError], code: int) -> None:
    error = kind("dump a.xml", "cut off at byte 10", "a whole file", "Download it again.")
    assert str(error) == "dump a.xml: cut off at byte 10; expected a whole file. Download it again."
    assert error.exit_code == code


def test_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(UserError("a", "b", "c", "d")))  # noqa: S301
    assert (error.subject, error.found, error.expected, error.next_step) == ("a", "b", "c", "d")
