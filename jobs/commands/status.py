"""`espalier status`: the state of a data folder."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from jobs.arguments import add_data_argument

if TYPE_CHECKING:
    from jobs.runs import History
    from pipelines.status import Status

EXAMPLES = """examples:
  espalier status --data corpus
  espalier status --data corpus --json | jq .stale
"""


def add_parser(subparsers: Any) -> None:
    """Add the command to the CLI."""
    parser = subparsers.add_parser(
        "status", help="what is served, what is stale, what runs",
        description="Show the served release, the tables, what a build would refresh, files that wait, the "
                    "disk, and whether a build runs.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the status. Raises UserError for a folder that is missing."""
    import os
    from dataclasses import asdict

    from jobs.runs import read_history
    from pipelines.errors import UserError
    from pipelines.files import is_remote
    from pipelines.settings import DataFolder
    from pipelines.status import read_status

    data = DataFolder.at(args.data)
    if not is_remote(data.root) and not os.path.isdir(data.root):
        raise UserError(f"data folder {data.root}", "no such folder", "a folder that a build has made",
                        f"Run espalier build --data {data.root} --wikipedia FILE.")
    status, history = read_status(data), read_history(data)
    if args.json:
        print(json.dumps({**status.to_json(), **asdict(history)}, indent=1, ensure_ascii=False))
    else:
        print_status(status, history)
    return 0


def print_status(status: Status, history: History) -> None:
    """The status for people."""
    print(f"data     {status.root}")
    release = status.release
    if release:
        print(f"release  {release.number}, published {release.created_at:%Y-%m-%d %H:%M} UTC, "
              f"encoder {release.encoder}, parser {release.parser_version}")
    else:
        print(f"release  {status.release_fault or 'none published yet'}")
    if status.release_stale:
        print(f"         stale: {status.release_stale}")
    lock = status.lock
    print(f"build    {f'process {lock.pid} since {lock.started_at}' if lock else 'none runs'}")
    for run in history.runs:
        took = "" if run.seconds is None else f", {run.seconds:.0f} s"
        print(f"run      {run.job} {run.result}, {run.started_at or 'not started'}{took}, {run.run_id[:8]}")
        for check in run.failed_checks:
            print(f"         check {check.table}: {check.told}")
        if run.error and not run.failed_checks:
            print(f"         {run.error}")
    size = "on an object store" if status.folder_bytes is None else _size(status.folder_bytes)
    print(f"disk     {size}, {_size(status.free_bytes)} free")
    if not status.pending_files and not status.drop:
        print("pending  no dump file waits")
    for path in status.pending_files:
        print(f"pending  {shown(path)}: run espalier build --data {status.root} --wikipedia FILE with it")
    reading = "its sensor drop_folder reads it" if history.sensor_is_on else \
        "the sensor drop_folder is off: switch it on in make ui, or name the file to espalier build --wikipedia"
    for file in status.drop:
        print(f"drop     {shown(file.path)} {file.state}: {file.why or reading}")
    for path, reason in status.refused_files.items():
        print(f"refused  {shown(path)}: {reason}")
    if status.tables:
        print(f"\n{'table':<12} {'version':>7} {'released':>8} {'rows':>12} {'size':>10}  state")
    for table in status.tables:
        released = "" if table.released is None else str(table.released)
        state = f"stale: {table.stale}" if table.stale else "up to date"
        print(f"{table.name:<12} {table.version:>7} {released:>8} {table.rows:>12,} "
              f"{_size(table.size_bytes):>10}  {state}")


def shown(path: str) -> str:
    """A path on one line: control characters and what is no text are escaped."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in path)


def _size(n_bytes: int) -> str:
    value = float(n_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"
