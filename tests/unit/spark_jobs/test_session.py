"""What ends a session before it begins, each as one clear error."""

from __future__ import annotations

import socket

import pytest

from pipelines.errors import RunFailure
from pipelines.settings import profile_by_name
from spark_jobs.session import MASTER_VARIABLE, get_spark
from spark_jobs.tables import cause_line


def test_a_master_that_does_not_listen_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_HOME", "PYSPARK_PYTHON"):
        # The session sets them: what it sets is taken back after the test.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        master = f"spark://127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setenv(MASTER_VARIABLE, master)
    with pytest.raises(RunFailure, match=f"Spark master {master}: Connection refused"):
        get_spark(profile_by_name("fast"))


@pytest.mark.parametrize(("trace", "cause"), [
    (": org.apache.spark.SparkException: Could not parse\n\tat a.b(C.java:1)\n\tat c.d(E.java:2)\n",
     "org.apache.spark.SparkException: Could not parse"),
    (": org.SparkException: Aborted\n\tat a.b(C.java:1)\nCaused by: java.io.IOException: No space\n\tat c.d\n",
     "Caused by: java.io.IOException: No space"),
    (": java.lang.Odd\n\tat a.b(C.java:1)\n", "java.lang.Odd"), ("", "no message"),
])
def test_the_line_that_says_why(trace: str, cause: str) -> None:
    assert cause_line(trace) == cause
