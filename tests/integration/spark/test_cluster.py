"""A whole build on a Spark standalone cluster gives the rows of a local build, and its workers made them."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import Built
from cluster import Cluster, standalone_cluster

from pipelines.releases import current_release
from pipelines.schemas import TABLES
from pipelines.settings import CACHE_VARIABLE, DataFolder
from pipelines.storage import TableReader
from spark_jobs import pages
from spark_jobs.runtime import JAR_SHA256, spark_home

pytestmark = pytest.mark.slow
TIMEOUT_S = 300
EXACT = ("pages", "documents", "tree_nodes", "sentences", "units")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers of one core, for this module."""
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def built_on_cluster(cluster: Cluster, small_built: Built, tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """The small wiki, built by the command line with the cluster's address in the environment."""
    data = DataFolder.at(tmp_path_factory.mktemp("on-cluster") / "data")
    done = espalier(cluster.environment, "build", "--data", data.root, "--wikipedia", str(small_built.dump))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return data


def espalier(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "jobs.cli", *arguments], env=environment, capture_output=True,
                          text=True, timeout=TIMEOUT_S, check=False)


def digest(data: DataFolder, name: str) -> str:
    """SHA-256 over the rows of the served release, sorted by key."""
    reader = TableReader(data, current_release(data).tables)
    rows = reader.rows(name, order_by=TABLES[name].key)
    assert rows
    lines = (json.dumps(row, default=str, sort_keys=True) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def events(cluster: Cluster, kind: str) -> list[dict[str, Any]]:
    """What Spark's event logs say of one kind, over all sessions so far."""
    lines = (line for path in sorted(cluster.events.rglob("*")) if path.is_file()
             for line in path.read_text().split("\n") if f'"SparkListener{kind}"' in line)
    return [json.loads(line) for line in lines]


def test_the_rows_are_those_of_a_local_build(built_on_cluster: DataFolder, small_built: Built) -> None:
    for name in EXACT:
        assert digest(built_on_cluster, name) == digest(small_built.data, name), name
    here, there = (TableReader(data).rows("embeddings", order_by=("unit_id",))
                   for data in (small_built.data, built_on_cluster))
    assert [row["unit_id"] for row in here] == [row["unit_id"] for row in there]
    # What is encoded together decides how far products are rounded.
    assert np.abs(np.array([row["vector"] for row in here])
                  - np.array([row["vector"] for row in there])).max() < 1e-3
    assert set(current_release(built_on_cluster).indexes) == set(current_release(small_built.data).indexes)


def test_both_workers_did_the_work(built_on_cluster: DataFolder, cluster: Cluster) -> None:
    ends = [end for end in events(cluster, "TaskEnd") if end["Task End Reason"]["Reason"] == "Success"]
    by_executor = Counter(end["Task Info"]["Executor ID"] for end in ends)
    assert set(by_executor) == {"0", "1"}, "tasks ran on both workers, and none in the driver"
    assert min(by_executor.values()) > 20
    written = Counter[str]()
    for end in ends:
        written[end["Task Info"]["Executor ID"]] += end["Task Metrics"]["Output Metrics"]["Records Written"]
    assert min(written.values()) > 0, "both wrote rows"


def test_what_a_worker_lacks_is_one_line(cluster: Cluster, small_built: Built, tmp_path: Path) -> None:
    """Here the models: the driver finds them in a cache that the workers' setting does not name."""
    configuration = tmp_path / "conf"
    configuration.mkdir()
    defaults = Path(cluster.environment["SPARK_CONF_DIR"], "spark-defaults.conf").read_text()
    (configuration / "spark-defaults.conf").write_text(
        f"{defaults}spark.executorEnv.{CACHE_VARIABLE} {tmp_path / 'nowhere'}\n")
    done = espalier({**cluster.environment, "SPARK_CONF_DIR": str(configuration)}, "build",
                    "--data", str(tmp_path / "data"), "--wikipedia", str(small_built.dump))
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "workers of Spark master spark://127.0.0.1" in done.stderr
    assert str(tmp_path / "nowhere") in done.stderr, last
    assert "Traceback" not in done.stderr


def test_a_stage_by_spark_submit(cluster: Cluster, small_built: Built, tmp_path: Path) -> None:
    """Delta's jars reach the workers unasked, beside those that the command line names."""
    extra = tmp_path / "extra.jar"
    with zipfile.ZipFile(extra, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    script = Path(pages.__file__)
    environment = {key: value for key, value in cluster.environment.items() if key != "ESPALIER_SPARK_MASTER"}
    done = subprocess.run(
        [str(spark_home() / "bin" / "spark-submit"), "--master", cluster.master, "--jars", str(extra), str(script),
         "--data", str(tmp_path / "data"), str(small_built.dump)],
        env={**environment, "PYSPARK_PYTHON": sys.executable}, capture_output=True, text=True, timeout=TIMEOUT_S,
        check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1])["n_inserted"] == 4
    jars = events(cluster, "EnvironmentUpdate")[-1]["Spark Properties"]["spark.jars"].split(",")
    assert [Path(jar).name for jar in jars] == [extra.name, *JAR_SHA256]
