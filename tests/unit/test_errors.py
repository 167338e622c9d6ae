"""Errors keep their four parts, also across processes."""

from __future__ import annotations

import pickle

import pytest

from pipelines.errors import RunFailure, UserError, UserErrors


@pytest.mark.parametrize(("kind", "code"), [(UserError, 2), (RunFailure, 1)])
def test_one_line_with_four_parts_and_its_exit_code(kind: type[UserError], code: int) -> None:
    error = kind("dump a.xml", "cut off at byte 10", "a whole file", "Download it again.")
    assert str(error) == "dump a.xml: cut off at byte 10; expected a whole file. Download it again."
    assert error.exit_code == code


def test_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(UserError("a", "b", "c", "d")))  # noqa: S301
    assert (error.subject, error.found, error.expected, error.next_step) == ("a", "b", "c", "d")


def test_several_errors_name_the_first_ones_and_count_the_rest() -> None:
    errors = [UserError(f"dump {n}", "cut", "a whole file", "Get it.") for n in range(5)]
    several = pickle.loads(pickle.dumps(UserErrors("dump files", errors, "Run again.")))  # noqa: S301
    assert str(several) == ("5 dump files: dump 0: cut; dump 1: cut; dump 2: cut; and 2 more; "
                            "expected a whole file. Run again.")
    assert [str(error) for error in several.errors] == [str(error) for error in errors]
    assert several.exit_code == 2
