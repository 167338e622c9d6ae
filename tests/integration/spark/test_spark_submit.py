"""A stage started by the real `spark-submit`, as on a cluster, without naming a jar."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from dump_builder import PageSource, write_dump

import spark_jobs
from pipelines.settings import DataFolder
from pipelines.storage import TableReader
from spark_jobs.runtime import prepare_java, spark_home

TIMEOUT_S = 300


def submit(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "JAVA_HOME": str(prepare_java()), "PYSPARK_PYTHON": sys.executable}
    environment.pop("PYSPARK_GATEWAY_PORT", None)
    path = Path(spark_jobs.__file__).with_name(script)
    return subprocess.run(
        [str(spark_home() / "bin" / "spark-submit"), "--master", "local[2]",
         "--conf", "spark.driver.bindAddress=127.0.0.1", "--conf", "spark.driver.host=127.0.0.1", str(path),
         *arguments], capture_output=True, text=True, env=environment, timeout=TIMEOUT_S, check=False)


def test_stages_run_by_spark_submit(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "a.xml", [PageSource(1, "Owl", "Owls hunt."), PageSource(2, "Heron")])
    data = tmp_path / "data"
    pages = submit("pages.py", "--data", str(data), "--profile", "fast", str(dump))
    assert pages.returncode == 0, pages.stderr[-3000:]
    assert json.loads(pages.stdout.splitlines()[-1])["n_inserted"] == 2
    trees = submit("nodes.py", "--data", str(data), "--profile", "fast")
    assert trees.returncode == 0, trees.stderr[-3000:]
    results = [json.loads(line) for line in trees.stdout.splitlines() if line.startswith("{")]
    assert [(result["table"], result["n_processed"]) for result in results] == [
        ("tree_nodes", 2), ("documents", 2)]
    assert TableReader(DataFolder.at(data)).row_count("documents", "status = 'parsed'") == 2


def test_an_error_is_one_line_and_the_exit_code_of_its_kind(tmp_path: Path) -> None:
    run = submit("sentences.py", "--data", str(tmp_path / "empty"), "--profile", "fast")
    assert run.returncode == 1
    # spark-submit shows a script's stderr among its output.
    lines = [line for line in (run.stdout + run.stderr).splitlines() if line.startswith("espalier: ")]
    assert len(lines) == 1
    assert "tree_nodes" in lines[0]
    assert "Traceback" not in run.stdout + run.stderr
