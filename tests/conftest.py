"""Fixtures that every test may use: one Spark session for the whole run, and state away from the user's.

Tests that need a built data folder take `built_data` (tests/integration/conftest.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.settings import (
    DATA_VARIABLE,
    PROFILE_VARIABLE,
    STATE_VARIABLE,
    DataFolder,
    Profile,
    profile_by_name,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session", autouse=True)
def _own_environment() -> Iterator[None]:
    """No test may read or write the data folder or the state that the user's shell names."""
    names = (DATA_VARIABLE, PROFILE_VARIABLE, STATE_VARIABLE)
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    yield
    for name in names:
        os.environ.pop(name, None)
    os.environ.update(kept)


@pytest.fixture(scope="session")
def profile() -> Profile:
    """The profile `fast`."""
    return profile_by_name("fast")


@pytest.fixture(scope="session")
def spark(profile: Profile) -> Iterator[SparkSession]:
    """The one session of the test run, with the settings that a build has."""
    from spark_jobs.session import get_spark

    session = get_spark(profile, "espalier tests")
    yield session
    session.stop()


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """An empty data folder of this test, its state inside."""
    return DataFolder.at(tmp_path / "data")
