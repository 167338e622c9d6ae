"""The one Spark session of a process, with Delta.

What belongs here: every setting of Spark, and why. What does not: Java and jars (`runtime.py`), tables
(`tables.py`). A local session is bound to 127.0.0.1 and shows no UI. Under `spark-submit` the JVM runs
already: its master, memory and logging stay as the user gave them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipelines.errors import RunFailure
from pipelines.reachable import refusal
from pipelines.scratch import scratch_folder
from pipelines.settings import CACHE_VARIABLE, DataFolder, Profile
from spark_jobs.runtime import delta_jars, prepare_java
from spark_jobs.tables import LISTED_DOCUMENTS, cause_line
from spark_jobs.workers import check_workers

MASTER_VARIABLE = "ESPALIER_SPARK_MASTER"
LOG_LEVEL_VARIABLE = "ESPALIER_SPARK_LOG_LEVEL"

# An error in a task is raised in Python with its whole cause; Spark's log would print it three times more.
_LOGGING = f"""rootLogger.level = ${{env:{LOG_LEVEL_VARIABLE}:-fatal}}
# The level that PySpark's gateway would otherwise set, and say so.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = ${{env:{LOG_LEVEL_VARIABLE}:-fatal}}
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""
# A build on a laptop ends before the second compiler pays off, and two threads of a parallel collector take
# the cores that Python needs. Neither is right for a long run on a cluster.
_FAST_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

ROWS_OF_A_PAGE = 1_000
JAVA_END_S = 1.0
"""Its connections are gone a moment before it is."""
_TABLE_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
}


def under_spark_submit() -> bool:
    """Whether this process was started by spark-submit, so that its JVM runs already."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def get_spark(profile: Profile, data: DataFolder | None = None, app_name: str = "espalier") -> SparkSession:
    """The session of this process, started on the first call.

    The master is spark-submit's, else that of ESPALIER_SPARK_MASTER, else the profile's. What the user's own
    Spark configuration says (spark-submit's options, `spark-defaults.conf`) is kept, but for what the tables
    need. data: the folder that a cluster's workers must see. Raises RunFailure when Java, a jar or the master
    is missing, or a worker lacks something.
    """
    running = SparkSession.getActiveSession()
    if running is not None and not running.sparkContext._jsc.sc().isStopped():
        return running
    jars = [str(path) for path in delta_jars()]
    launch = {} if under_spark_submit() else _launch_settings(profile)
    master = launch.get("spark.master", "")
    if master.startswith("spark://") and (found := refusal(master)):
        raise RunFailure(f"Spark master {master}", found, "a standalone master that listens there",
                         f"Start it, correct {MASTER_VARIABLE}, or unset it to work on this machine.")
    try:
        SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(list(launch.items())))
        given = dict(SparkConf().getAll())
        defaults = {key: value for key, value in _default_settings(profile).items() if key not in given}
        builder = SparkSession.builder.appName(app_name)
        for key, value in {**defaults, **launch, **_TABLE_SETTINGS, **_with_jars(given, jars)}.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
    except (PySparkException, Py4JJavaError) as error:
        raise RunFailure(
            f"Spark master {master}" if not _is_local(master) else "Spark", cause_line(str(error)),
            f"a session that starts, with memory for it and room in {tempfile.gettempdir()}",
            "Remove the cause and run again (espalier --debug: the whole trace).") from error
    if not _is_local(str(session.sparkContext.master)):
        try:
            check_workers(session, profile, data)
        except RunFailure:
            session.stop()
            raise
    return session


def java_end() -> str | None:
    """How this process's Java has ended by itself, in words; None while it runs, and where none was started."""
    java = getattr(SparkContext._gateway, "proc", None)
    if java is None:
        return None
    try:
        code = java.wait(JAVA_END_S)
    except subprocess.TimeoutExpired:
        return None
    number = -code if code < 0 else code - 128
    return f"it was ended by {signal.Signals(number).name}" if 0 < number < signal.NSIG else f"it ended with {code}"


def _is_local(master: str) -> bool:
    return master.startswith("local") or not master


def _launch_settings(profile: Profile) -> dict[str, str]:
    """What the driver's JVM is started with."""
    master = os.environ.get(MASTER_VARIABLE) or profile.spark_master
    scratch = scratch_folder("spark")
    (scratch / "log4j2.properties").write_text(_LOGGING)
    os.environ["JAVA_HOME"] = str(prepare_java())
    settings = {
        "spark.master": master,
        "spark.driver.memory": profile.spark_driver_memory,
        # All that Java writes beside the tables is below one folder, with the process's lock: what a kill leaves
        # behind is known for ours. Its own folder of figures for tools stays away.
        "spark.driver.extraJavaOptions": f'"-Dlog4j2.configurationFile={scratch / "log4j2.properties"}" '
                                         f'"-Djava.io.tmpdir={scratch}" -XX:-UsePerfData '
                                         + (_FAST_JVM if profile.name == "fast" else ""),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        # Said here, for Spark's launcher takes a session from Python for a shell and would switch it on.
        "spark.ui.showConsoleProgress": "false",
    }
    if _is_local(master):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        return settings | {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return settings


def _default_settings(profile: Profile) -> dict[str, str]:
    """Settings that hold unless the user's own Spark configuration says otherwise."""
    settings = {
        "spark.ui.enabled": "false",
        # A page has some 50 KB: Spark's 10,000 rows would be a batch of 500 MB.
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(profile.arrow_batch_rows),
        "spark.sql.parquet.compression.codec": "zstd",
        # The same of what is kept (`persist`), where 10,000 is the default too.
        "spark.sql.inMemoryColumnarStorage.batchSize": "256",
        # Few documents are named (`tables.within`): of more than 10 values Spark would compare the ends alone.
        "spark.sql.parquet.pushdown.inFilterThreshold": str(LISTED_DOCUMENTS),
        # Of few documents each: nearly every page of 20,000 rows, the default, holds one of those wanted.
        "parquet.page.row.count.limit": str(ROWS_OF_A_PAGE),
    }
    if cache := os.environ.get(CACHE_VARIABLE):
        # Workers look for models where the driver does.
        settings[f"spark.executorEnv.{CACHE_VARIABLE}"] = cache
    if profile.name == "fast":
        # Small tables: fifty tasks to read a Delta log of ten lines, or 200 to join it, cost seconds.
        cores = str(max(2, len(os.sched_getaffinity(0))))
        settings |= {"spark.databricks.delta.snapshotPartitions": "2", "spark.sql.shuffle.partitions": cores}
    return settings


def _with_jars(given: dict[str, str], jars: list[str]) -> dict[str, str]:
    """Delta's jars on the class path of the running JVM, and in the list that Spark sends to the workers.

    The list begins with what `--jars`, `--packages` or `spark-defaults.conf` brought; if Delta is among it,
    or comes with the Spark that is installed, that one counts. Spark loads such jars into a class loader that
    takes more of them.
    """
    jvm = SparkContext._jvm
    assert jvm is not None
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    found = loader.getResource("io/delta/sql/DeltaSparkSessionExtension.class")
    if found is None:
        for jar in jars:
            loader.addURL(jvm.java.io.File(jar).toURI().toURL())
    elif Path(jars[0]).parent.as_uri().removeprefix("file://") not in found.toString():
        return {}
    return {"spark.jars": ",".join([*filter(None, given.get("spark.jars", "").split(",")), *jars])}

