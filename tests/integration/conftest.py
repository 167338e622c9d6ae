"""Data folders that were built: the sample of Wikipedia once for the whole run, a small wiki for each test.

`built_data` is for reading. A test that changes tables takes `small`.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from built import Built, build_into
from pyspark.sql import SparkSession
from small_wiki import write_wiki

from pipelines.documents.readers.dump import sample_dump_path
from pipelines.settings import DataFolder

# Read by Ray once a process. Without it a Ray that a test starts makes a token in the user's home, and whether a
# later one wants it depends on the order of the tests.
os.environ["RAY_AUTH_MODE"] = "disabled"


LONG_FILES = ("test_pipeline", "test_update", "test_finetune_workers", "test_graphql", "test_spark_build",
              "test_kill_points", "test_routers", "test_updates_in_place")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take minutes begin first: one that began last would keep one process waiting for the other."""
    items.sort(key=lambda item: item.path.stem not in LONG_FILES)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Built:
    """The sample of Wikipedia, built by what `espalier build` calls, in the test run's Spark session."""
    return build_into(tmp_path_factory.mktemp("sample") / "data", sample_dump_path())


@pytest.fixture(scope="session")
def built_data(built: Built) -> DataFolder:
    """The data folder of the sample. Read it, do not change it."""
    return built.data


@pytest.fixture(scope="session")
def small_built(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Built:
    """The small wiki, built once. Read it, do not change it."""
    folder = tmp_path_factory.mktemp("small")
    return build_into(folder / "data", write_wiki(folder / "treewiki.xml"))


@pytest.fixture
def small(small_built: Built, tmp_path: Path) -> Built:
    """A copy of the small wiki's data folder that a test may change."""
    copied = tmp_path / "data"
    shutil.copytree(small_built.data.root, copied, symlinks=True)
    return Built(DataFolder.at(copied), small_built.dump, small_built.summary)
