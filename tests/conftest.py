"""Fixtures that every test may use: one Spark session for the whole run, and state away from the user's.

Tests that need a built data folder take `built_data` (tests/integration/conftest.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.models.llm_settings import CACHE_VARIABLE as LLM_CACHE_VARIABLE
from pipelines.models.llm_settings import PREFIX as LLM_PREFIX
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
    """No test may use the data folder, the state, the keys or the cache of answers of the user's shell."""
    names = (DATA_VARIABLE, PROFILE_VARIABLE, STATE_VARIABLE)
    kept = {name: os.environ.pop(name) for name in list(os.environ)
            if name in names or name.startswith(LLM_PREFIX)}
    os.environ[LLM_CACHE_VARIABLE] = "off"
    yield
    for name in (*names, LLM_CACHE_VARIABLE):
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

    session = get_spark(profile, app_name="espalier tests")
    yield session
    session.stop()


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """An empty data folder of this test, its state inside."""
    return DataFolder.at(tmp_path / "data")
