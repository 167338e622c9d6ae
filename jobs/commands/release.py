"""`espalier release`: the releases of a data folder, and which of them is served."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from jobs.arguments import add_data_argument

EXAMPLES = """examples:
  espalier release list --data corpus
  espalier release use 3 --data corpus         serve an older release; the next build publishes a newer one
"""


def add_parser(subparsers: Any) -> None:
    """Add the command to the CLI."""
    parser = subparsers.add_parser(
        "release", help="list the releases, choose the served one",
        description="A release is one state of the whole corpus. ask, show and evaluate read the served one.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    listing = actions.add_parser("list", help="all releases, the served one marked with *")
    add_data_argument(listing)
    use = actions.add_parser("use", help="serve another release")
    use.add_argument("number", type=int, metavar="N", help="number of the release")
    add_data_argument(use)


def run(args: argparse.Namespace) -> int:
    """List or choose. Raises UserError for a release that does not exist, RunFailure for a damaged one."""
    from pipelines import releases
    from pipelines.settings import DataFolder

    data = DataFolder.at(args.data)
    if args.action == "use":
        chosen = releases.use_release(data, args.number)
        print(f"serving release {chosen.number} of {chosen.created_at:%Y-%m-%d %H:%M} UTC")
        return 0
    served = releases.served_number(data)
    print(f"  {'release':>7}  {'created (UTC)':<16}  {'documents':>10}  {'units':>10}  encoder")
    for release in releases.list_releases(data):
        mark = "*" if release.number == served else " "
        counts = release.counts
        note = "  (files removed)" if release.cleaned else ""
        print(f"{mark} {release.number:>7}  {release.created_at:%Y-%m-%d %H:%M}  "
              f"{counts.get('documents', 0):>10,}  {counts.get('units', 0):>10,}  {release.encoder}{note}")
    for damaged in releases.damaged_releases(data).values():
        print(f"espalier: {damaged}", file=sys.stderr)
    return 0
