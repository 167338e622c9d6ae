"""A folder of a hundred junk files: a reason for each, no crash, bounded memory, and a good dump beside is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import junk
import pytest
from pyspark.sql import SparkSession
from small_wiki import write_wiki

from jobs.cli import main
from pipelines.dump_files import REFUSED
from pipelines.releases import served_number
from pipelines.settings import DataFolder
from pipelines.status import read_status
from pipelines.storage import TableReader

MEMORY_BYTES = 3 << 29
"""Address space of a process that reads every file to its end: 1.5 GiB."""
READ_ALL = """
import os, resource, sys
from pipelines.documents.readers.dump import iter_pages
from pipelines.errors import UserError
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), int(sys.argv[2])))
for name in sorted(os.listdir(os.fsencode(sys.argv[1]))):
    path = os.fsdecode(os.fsencode(sys.argv[1]) + b"/" + name)
    if not os.path.isfile(path):
        continue
    try:
        print("pages", sum(1 for page in iter_pages(path)), ascii(name))
    except UserError as error:
        print("refused", error.found[:60].encode("ascii", "replace").decode())
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("j") / "dumps"
    before = Path.cwd()
    # A socket's path may have a hundred characters: it is made from the folder beside.
    os.chdir(folder.parent)
    try:
        return junk.write_junk(folder)
    finally:
        os.chdir(before)


def shown(path: Path) -> str:
    """A path as an error shows it: in one line, and with bytes that are no UTF-8 written out."""
    return " ".join(os.fsencode(path).decode(errors="backslashreplace").split())


def test_every_file_ends_with_a_reason_in_bounded_memory(files: list[Path]) -> None:
    done = subprocess.run([sys.executable, "-c", READ_ALL, str(files[0].parent), str(MEMORY_BYTES)],
                          capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == sum(path.is_file() for path in files)
    # Two are dumps by their bytes: their wiki is at fault, which only a build needs.
    assert sorted(line for line in lines if not line.startswith("refused")) == [
        "pages 1 b'evil-wiki.xml'", "pages 1 b'no-wiki.xml'"]


def test_a_build_of_a_hundred_junk_files_gives_a_hundred_reasons_and_reads_the_dump_beside_them(
        files: list[Path], data: DataFolder, tmp_path: Path, spark: SparkSession,
        capsys: pytest.CaptureFixture[str]) -> None:
    good = write_wiki(tmp_path / "good.xml")
    given = [str(path) for path in files]
    assert main(["build", "--data", data.root, "--wikipedia", *given[:50], str(good), *given[50:]]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("espalier: ")]
    told = {path: [line for line in lines if line.startswith((f"espalier: dump {shown(path)}:",
                                                              f"espalier: dump {shown(path)},"))]
            for path in files}
    assert {shown(path): len(found) for path, found in told.items() if len(found) != 1} == {}
    assert all("; expected " in line for line in lines)
    assert lines[-1].startswith("espalier: 100 dump files: ")
    assert "The other 1 are in the table pages" in lines[-1]
    assert not any("Traceback" in line or "unexpected" in line for line in lines)

    reader = TableReader(data)
    rejects = reader.rows("rejects", ("reason", "detail"))
    assert [row["reason"] for row in rejects] == [REFUSED] * 100
    assert all(row["detail"] for row in rejects)
    assert sorted(row["revision_id"] for row in reader.rows("pages", ("revision_id",))) == [101, 102, 103, 104]
    assert [row["path"] for row in reader.rows("dump_files", ("path",))] == [str(good)]
    assert served_number(data) is None
    status = read_status(data)
    n_hashed = sum(path.is_file() and "UTF-8" not in shown(path) for path in files)
    assert (status.pending_files, len(status.refused_files)) == ([], n_hashed)


def test_a_path_that_does_not_exist_stops_the_build_before_anything_is_read(
        files: list[Path], data: DataFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write_wiki(tmp_path / "good.xml")
    assert main(["build", "--data", data.root, "--wikipedia", str(good), str(files[0]),
                 str(tmp_path / "tpyo.xml")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"espalier: dump {tmp_path}/tpyo.xml: No such file or directory; expected ")
    assert not Path(data.table("pages")).exists()
    assert not Path(data.table("rejects")).exists()
