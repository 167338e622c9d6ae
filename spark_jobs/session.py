"""The one Spark session of a process, with Delta.

What belongs here: every setting of Spark, and why. What does not: Java and jars (`runtime.py`), tables
(`tables.py`). A local session is bound to 127.0.0.1 and shows no UI. Under `spark-submit` the JVM runs
already: its master, memory and logging stay as the user gave them.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.settings import Profile
from spark_jobs.runtime import delta_jars, prepare_java

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


def under_spark_submit() -> bool:
    """Whether this process was started by spark-submit, so that its JVM runs already."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def get_spark(profile: Profile, app_name: str = "espalier") -> SparkSession:
    """The session of this process, started on the first call.

    The master is spark-submit's, else that of ESPALIER_SPARK_MASTER, else the profile's. Raises RunFailure
    when Java or a jar is missing.
    """
    running = SparkSession.getActiveSession()
    if running is not None and not running.sparkContext._jsc.sc().isStopped():
        return running
    jars = [str(path) for path in delta_jars()]
    builder = SparkSession.builder.appName(app_name)
    if under_spark_submit():
        _add_to_running_jvm(jars)
    else:
        master = os.environ.get(MASTER_VARIABLE) or profile.spark_master
        builder = builder.master(master)
        scratch = _scratch_folder()
        os.environ["JAVA_HOME"] = str(prepare_java())
        settings = {
            "spark.driver.memory": profile.spark_driver_memory,
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={scratch / 'log4j2.properties'} "
                                             + (_FAST_JVM if profile.name == "fast" else ""),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        }
        if master.startswith("local"):
            os.environ["PYSPARK_PYTHON"] = sys.executable
            settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        else:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        for key, value in settings.items():
            builder = builder.config(key, value)
    builder = builder.config("spark.jars", ",".join(jars))
    for key, value in _sql_settings(profile).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _sql_settings(profile: Profile) -> dict[str, str]:
    """Settings that hold wherever the JVM came from."""
    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A page has some 50 KB: Spark's 10,000 rows would be a batch of 500 MB.
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(profile.arrow_batch_rows),
        "spark.sql.parquet.compression.codec": "zstd",
    }
    if profile.name == "fast":
        # Small tables: fifty tasks to read a Delta log of ten lines, or 200 to join it, cost seconds.
        cores = str(max(2, len(os.sched_getaffinity(0))))
        settings |= {"spark.databricks.delta.snapshotPartitions": "2", "spark.sql.shuffle.partitions": cores}
    return settings


def _add_to_running_jvm(jars: list[str]) -> None:
    """Put the jars on the class path of spark-submit's JVM, unless `--jars` or `--packages` did.

    spark-submit loads the jars that it was given into a class loader that takes more of them; without this
    every command line would have to repeat five paths.
    """
    from pyspark import SparkContext

    SparkContext._ensure_initialized()
    jvm = SparkContext._jvm
    assert jvm is not None
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource("io/delta/sql/DeltaSparkSessionExtension.class") is None:
        for jar in jars:
            loader.addURL(jvm.java.io.File(jar).toURI().toURL())


def _scratch_folder() -> Path:
    """A folder for this process alone, removed when it ends; it holds the logging settings."""
    folder = Path(tempfile.mkdtemp(prefix="espalier-spark-"))
    (folder / "log4j2.properties").write_text(_LOGGING)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
