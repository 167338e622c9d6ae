"""A Spark standalone cluster on 127.0.0.1: a master and workers of one core each, in processes of their own.

What belongs here: starting them as an administrator would, from the package pyspark, and ending exactly them.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.runtime import prepare_java, spark_home

START_S, STOP_S = 60, 20
N_WORKERS = 2
WORKER_MEMORY = "700m"
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of a JVM that ends before its second compiler pays off."""


@dataclass(frozen=True)
class Cluster:
    """A running cluster. environment: for processes that use it; events: folder of Spark's event logs."""

    master: str
    environment: dict[str, str]
    events: Path


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[Cluster]:
    """Master and workers within the block, with ports that the system chooses; their files are in `folder`."""
    events = folder / "events"
    events.mkdir()
    configuration = folder / "conf"
    configuration.mkdir()
    # As an administrator would write it for this cluster: a driver waits for both workers.
    (configuration / "spark-defaults.conf").write_text(
        f"spark.executor.memory {WORKER_MEMORY}\nspark.executor.cores 1\nspark.cores.max {N_WORKERS}\n"
        f"spark.driver.extraJavaOptions {SHORT_LIVED}\nspark.executor.extraJavaOptions {SHORT_LIVED}\n"
        "spark.scheduler.minRegisteredResourcesRatio 1.0\n"
        f"spark.eventLog.enabled true\nspark.eventLog.compress false\nspark.eventLog.dir file://{events}\n")
    environment = {**os.environ, "SPARK_HOME": str(spark_home()), "JAVA_HOME": str(prepare_java()),
                   "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(configuration)}
    daemons = {**environment, "SPARK_DAEMON_MEMORY": "256m",
               "SPARK_DAEMON_JAVA_OPTS": f"{SHORT_LIVED} -Dspark.master.rest.enabled=false"}
    with ExitStack() as stack:
        log = folder / "master.log"
        _start(stack, log, daemons, ["master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"])
        master = _wait_for(log, r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        for number in range(N_WORKERS):
            _start(stack, folder / f"worker{number}.log", daemons, [
                "worker.Worker", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0", "--cores", "1",
                "--memory", "1g", "--work-dir", str(folder / f"work{number}"), master])
        for number in range(N_WORKERS):
            _wait_for(folder / f"worker{number}.log", r"Successfully registered with (master)")
        yield Cluster(master, {**environment, "ESPALIER_SPARK_MASTER": master}, events)


def _start(stack: ExitStack, log: Path, environment: dict[str, str], arguments: Sequence[str]) -> None:
    command = [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{arguments[0]}", *arguments[1:]]
    with log.open("wb") as output:
        # A session of its own, so that its executors can be ended with it.
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT,
                                   start_new_session=True)
    stack.callback(_stop, process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a daemon, then whatever is left of the session that it led."""
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _wait_for(log: Path, pattern: str) -> str:
    """The first group of a pattern, once a daemon has written it into its log."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if match := re.search(pattern, log.read_text(errors="replace")):
            return match[1]
        time.sleep(0.2)
    raise TimeoutError(f"{log}: no {pattern!r} within {START_S} s:\n{log.read_text(errors='replace')[-2000:]}")
