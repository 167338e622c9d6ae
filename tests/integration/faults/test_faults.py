"""A full disk, a damaged release, index or table, a clock that went back: told in a line, nothing lost, mended."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from built import Built
from small_wiki import PAGES, write_pages, write_wiki

from jobs.cli import main
from pipelines.api import Corpus
from pipelines.documents.readers.dump import Page
from pipelines.releases import current_release, list_releases
from pipelines.settings import DataFolder
from pipelines.status import read_status
from pipelines.storage import TableReader

DISK_BYTES, PAGE_BYTES = 12 << 20, 16 << 20
"""Spark's own start writes jars of 9 MiB; the page must be larger than any file may be."""


def one_line(error: str) -> str:
    """What a command said, if that is one error in four parts."""
    [line] = [line for line in error.splitlines() if line.startswith("espalier: ")]
    assert "; expected " in line
    assert "Traceback" not in error
    assert "unexpected error" not in line
    return line


def test_a_full_disk_ends_a_build_and_leaves_the_release_and_with_room_it_is_completed(
        small: Built, tmp_path: Path) -> None:
    """No file may grow beyond 12 MiB, in the JVM and in its workers too; the dump has a page of 16 MiB."""
    words = random.Random(1).randbytes(PAGE_BYTES // 2).hex()
    long = write_pages(tmp_path / "long.xml", [Page(9, "Talk:Yew", 1, None, 9, None, words)])
    before = TableReader(small.data).version("pages")
    full = subprocess.run(
        [sys.executable, "-m", "jobs.cli", "build", "--data", small.data.root, "--wikipedia", str(long)],
        capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (DISK_BYTES, DISK_BYTES)))
    assert full.returncode == 1, full.stderr
    assert "File too large" in one_line(full.stderr)
    assert current_release(small.data).number == 1
    assert Corpus.open(small.data).ask("What trembles in the wind?", method="flat").evidence
    assert TableReader(small.data).version("pages") == before
    assert small.rebuild(long).release == 2
    assert TableReader(small.data).row_count("pages", "doc_id = 'enwiki:9'") == 1


def test_what_was_removed_or_damaged_is_named_and_made_again(
        small: Built, capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(small.data.root)

    def ask() -> int:
        return main(["ask", "--data", str(root), "--method", "flat_bm25", "What trembles in the wind?"])

    def build() -> int:
        return main(["build", "--data", str(root)])

    shutil.rmtree(root / "indexes/1/sparse")
    assert ask() == 1
    assert "indexes/1/sparse" in one_line(capsys.readouterr().err)
    assert (build(), ask()) == (0, 0)
    assert current_release(small.data).number == 2

    [shard] = (root / "indexes/2/dense").glob("*.faiss")
    shard.write_bytes(shard.read_bytes()[:-7])
    (root / "releases/2.json").write_text('{"number": 2')
    capsys.readouterr()
    assert ask() == 1
    assert "releases/2.json is damaged" in one_line(capsys.readouterr().err)
    assert (build(), ask()) == (0, 0)
    assert current_release(small.data).number == 3

    for file in (root / "tables/units").rglob("*.parquet"):
        file.unlink()
    assert (build(), ask()) == (0, 0), "a derived table that is damaged is made again"
    assert current_release(small.data).counts == list_releases(small.data)[0].counts


def clock_went_back(data: DataFolder, by: timedelta) -> None:
    """Date everything in a data folder into the future: what a build finds when the clock went back since."""
    # Hadoop keeps a checksum beside each file, which would be that of the file as it was.
    for checksum in Path(data.root).rglob("_delta_log/.*.crc"):
        checksum.unlink()
    for path in [path for path in Path(data.root).rglob("*") if path.is_file() and not path.is_symlink()]:
        if path.suffix == ".json" and (path.parent.name == "_delta_log" or path.parent.name == "releases"):
            text = re.sub(r'("(?:timestamp|modificationTime|deletionTimestamp)":)(\d{13})',
                          lambda found: f"{found[1]}{int(found[2]) + int(by.total_seconds() * 1000)}",
                          path.read_text())
            path.write_text(re.sub(r'"created_at": "20\d\d', '"created_at": "2099', text))
        later = path.stat().st_mtime + by.total_seconds()
        os.utime(path, (later, later))


@pytest.mark.slow
def test_a_clock_that_went_back_between_two_builds_changes_nothing(small: Built, tmp_path: Path) -> None:
    clock_went_back(small.data, timedelta(days=400))
    assert small.rebuild().n_changed == 0
    assert current_release(small.data).created_at > datetime.now(UTC) + timedelta(days=300)
    update = write_wiki(tmp_path / "update.xml", {3: PAGES[3][1] + "Cedars are evergreen trees.\n"}, revision=2)
    summary = small.rebuild(update)
    assert (summary.release, summary.published, summary.tables["documents"]["changed"]) == (2, True, 1)
    # By its date the first release is the newer one.
    assert [(release.number, release.cleaned) for release in list_releases(small.data)] == [(1, False), (2, False)]
    assert [table.name for table in read_status(small.data).tables if table.stale] == []
    answer = Corpus.open(small.data).ask("Are cedars evergreen?", method="flat").to_json()
    assert (answer["release"], "evergreen trees" in answer["context"]) == (2, True)
    assert main(["release", "use", "1", "--data", small.data.root]) == 0
    assert Corpus.open(small.data).ask("What avoids cedar?", method="flat").to_json()["release"] == 1
