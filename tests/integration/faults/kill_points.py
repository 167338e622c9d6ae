"""Runs a publish in a child process that is killed at one point after the other; a script, not a test.

`python kill_points.py BASE OUT` copies the data folder BASE to OUT/0, OUT/1, … In copy n the work is done by a
forked child that ends itself with SIGKILL at the n-th point: before or after each of the calls through which
the library changes the disk. It stops at the first copy whose child comes to its end, and prints how many
copies it made. Nothing is raised and no `finally` runs: what is on the disk is what a power cut would leave.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa

from pipelines import files, releases, storage
from pipelines.cleanup import clean_up
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder, profile_by_name

HOOKS: tuple[tuple[Any, str], ...] = (
    (os, "replace"), (os, "link"), (os, "fsync"), (Path, "unlink"), (shutil, "rmtree"),
    (deltalake, "write_deltalake"), (deltalake.table.TableMerger, "execute"),
)
LOADED = ("pandas", "pipelines.retrieval.index_files", "arro3.core", "tarfile", "pydoc")
"""What the library loads at need, loaded once for all children: the engine itself may not start before a fork."""
QUESTION = {"dataset": "d", "question": "Who?", "answers": [], "evidence": [], "type": None, "split": None,
            "derived": False, "generator": None}


def write_units(data: DataFolder, texts: list[str]) -> int:
    """Replace the table units by one row a text; returns its version."""
    storage.create_table(data, "units", 4)
    rows = [{"unit_id": f"w:{n}#passage/{n:016x}/0", "doc_id": f"w:{n}", "bucket": storage.bucket_of(f"w:{n}", 4),
             "source": "wikipedia", "kind": "passage", "node_ids": [1], "first_sentence_id": 0,
             "last_sentence_id": 0, "text": text, "n_tokens": 1, "rendered_sha256": "0" * 64}
            for n, text in enumerate(texts)]
    arrow = pa.Table.from_pylist(rows, TABLES["units"].arrow_schema())
    deltalake.write_deltalake(data.table("units"), arrow, mode="overwrite")
    return int(storage.open_table(data, "units").version())


def work(data: DataFolder, texts: list[str]) -> None:
    """What a refresh does on the disk: write tables, publish a release over them, clean up behind it."""
    storage.merge_rows(data, "questions", [{**QUESTION, "question_id": text} for text in texts])
    storage.append_rejects(data, [{"table": "units", "source_ref": text, "reason": "r"} for text in texts])
    if [row["text"] for row in storage.TableReader(data).rows("units", order_by=("unit_id",))
            ] != texts if storage.table_exists(data, "units") else True:
        write_units(data, texts)
    release = releases.candidate(
        data, tables={"units": int(storage.open_table(data, "units").version())}, n_buckets=4, encoder="e",
        encoder_dim=3, parser_version=1, token_counter="t", router={}, settings_sha256="5",
        counts={"units": len(texts)})
    served = releases.usable_release(data)
    if served is None or not release.is_same_corpus(served):
        folder = f"indexes/{release.number}/dense"
        files.write_json(f"{data.root}/{folder}/manifest.json", {"files": {}})
        releases.publish(data, release.model_copy(update={"indexes": {"dense": folder}}))
    clean_up(data, profile_by_name("fast").model_copy(update={"kept_releases": 1}))


def hooked(point: int) -> None:
    """Make the process end at the n-th point."""
    passed = 0

    def step() -> None:
        nonlocal passed
        if passed == point:
            os.kill(os.getpid(), signal.SIGKILL)
        passed += 1

    def wrap(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            step()
            result = call(*arguments, **named)
            step()
            return result

        return wrapped

    for owner, name in HOOKS:
        setattr(owner, name, wrap(getattr(owner, name)))


def main(base: Path, out: Path) -> int:
    for name in LOADED:
        importlib.import_module(name)
    point = 0
    while True:
        copied = out / str(point)
        shutil.copytree(base, copied, symlinks=True)
        child = os.fork()
        if child == 0:
            hooked(point)
            work(DataFolder.at(copied), ["new", "newer"])
            os._exit(0)
        _, status = os.waitpid(child, 0)
        point += 1
        if not os.WIFSIGNALED(status):
            print(point)
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
