"""What another user meets who may not read or write: one clear line, and nothing of the owner's is changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from built import Built

from pipelines.settings import cache_folder

NOBODY = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")

AS_NOBODY = """
import contextlib, io, json, os, sys
# Everything is loaded first: the interpreter itself may be readable by its owner alone.
from jobs import build
from jobs.cli import COMMANDS, command_module, main
for command in COMMANDS:
    command_module(command).add_parser(__import__("argparse").ArgumentParser().add_subparsers())
import tempfile
from pipelines import api, storage
from pipelines.settings import DataFolder
with tempfile.TemporaryDirectory() as scratch:
    storage.append_rejects(DataFolder.at(scratch), [{"table": "t", "source_ref": "s", "reason": "r"}])
api.Corpus.open(sys.argv[1]).ask("beak")
os.chdir("/")
os.setgroups([]), os.setgid(int(sys.argv[2])), os.setuid(int(sys.argv[2]))
told = []
for arguments in json.loads(sys.argv[3]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    told.append([code, err.getvalue(), out.getvalue()])
print(json.dumps(told))
"""


class Place(NamedTuple):
    """A built folder and a cache that everybody may read."""

    data: Path
    cache: Path

    def run(self, *commands: list[str]) -> list[tuple[int, str, str]]:
        """Exit code, stderr and stdout of each command as nobody."""
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(self.data), str(NOBODY), json.dumps(commands)],
            capture_output=True, text=True, check=False, env={**os.environ, "ESPALIER_CACHE": str(self.cache)})
        assert done.returncode == 0, done.stderr
        return [tuple(each) for each in json.loads(done.stdout)]


@pytest.fixture
def place(small_built: Built) -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        made = Place(Path(scratch, "data"), Path(scratch, "cache"))
        shutil.copytree(small_built.data.root, made.data, ignore=shutil.ignore_patterns(".state"))
        for name in ("models", "tokenizers"):
            shutil.copytree(cache_folder() / name, made.cache / name)
        yield made


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns)
            for path in folder.rglob("*") if path.is_file() and ".state" not in path.parts}


def test_a_dump_that_may_not_be_read_and_folders_that_may_not_be_written(place: Place) -> None:
    dump = place.data.parent / "secret.xml"
    dump.write_text("<mediawiki/>")
    dump.chmod(0o600)
    own = place.data.parent / "own"
    own.mkdir()
    os.chown(own, NOBODY, NOBODY)
    before = files_of(place.data)
    secret, foreign, new = place.run(
        ["build", "--data", str(own), "--wikipedia", str(dump)],
        ["build", "--data", str(place.data), "--wikipedia", "/etc/hostname"],
        ["build", "--data", str(place.data.parent / "new"), "--wikipedia", "/etc/hostname"])
    assert secret[0] == 2, secret
    assert secret[1] == (f"espalier: dump {dump}: Permission denied; expected a dump file that can be read. "
                         "Check the path and its permissions.\n")
    for code, error, _ in (foreign, new):
        assert code in (1, 2)
        assert "Permission denied; expected a" in error
        assert error.count("\n") == 1
        assert "Traceback" not in error
    assert files_of(place.data) == before
    assert not (place.data.parent / "new").exists()


def test_a_part_of_the_folder_that_may_not_be_read(place: Place) -> None:
    commands = []
    for hidden in ("releases", "tables/units", "tables/documents/_delta_log", "indexes"):
        copied = place.data.with_name(hidden.replace("/", "-"))
        shutil.copytree(place.data, copied)
        (copied / hidden).chmod(0o700)
        commands += [["ask", "--data", str(copied), "--method", "flat", "What is a beak?"],
                     ["release", "use", "1", "--data", str(copied)]]
    for command, (code, error, _) in zip(commands, place.run(*commands), strict=True):
        assert code in (1, 2), command
        assert error.startswith("espalier: "), command
        assert "; expected " in error, command
        assert error.count("\n") == 1, command
        assert "unexpected" not in error, error
