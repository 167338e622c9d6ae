"""`espalier status`: the state of a data folder."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from jobs.arguments import add_data_argument

if TYPE_CHECKING:
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

    from pipelines.errors import UserError
    from pipelines.files import is_remote
    from pipelines.settings import DataFolder
    from pipelines.status import read_status

    data = DataFolder.at(args.data)
    if not is_remote(data.root) and not os.path.isdir(data.root):
        raise UserError(f"data folder {data.root}", "no such folder", "a folder that a build has made",
                        f"Run espalier build --data {data.root} --wikipedia FILE.")
    status = read_status(data)
    if args.json:
        print(json.dumps(status.to_json(), indent=1, ensure_ascii=False))
    else:
        print_status(status)
    return 0


def print_status(status: Status) -> None:
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
    size = "on an object store" if status.folder_bytes is None else _size(status.folder_bytes)
    print(f"disk     {size}, {_size(status.free_bytes)} free")
    print(f"pending  {', '.join(status.pending_files) or 'no dump file waits'}")
    for path, reason in status.refused_files.items():
        print(f"refused  {path}: {reason}")
    if status.tables:
        print(f"\n{'table':<12} {'version':>7} {'released':>8} {'rows':>12} {'size':>10}  state")
    for table in status.tables:
        released = "" if table.released is None else str(table.released)
        state = f"stale: {table.stale}" if table.stale else "up to date"
        print(f"{table.name:<12} {table.version:>7} {released:>8} {table.rows:>12,} "
              f"{_size(table.size_bytes):>10}  {state}")


def _size(n_bytes: int) -> str:
    value = float(n_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"
