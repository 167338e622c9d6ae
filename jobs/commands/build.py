"""`espalier build`: dump files to a published release."""

from __future__ import annotations

import argparse
import sys
import traceback
from typing import TYPE_CHECKING, Any

from jobs.arguments import add_data_argument

if TYPE_CHECKING:
    from jobs.build import BuildSummary

EXAMPLES = """examples:
  espalier build --data corpus --wikipedia enwiki-latest-pages-articles.xml.bz2
  espalier build --data corpus --wikipedia part1.bz2 part2.bz2 --full-snapshot
  espalier build --data corpus                 refresh after a change of the settings or the code

A second build of the same files changes nothing. A build that was killed is completed by the same command.
Exit codes: 0 done, 1 the build could not finish (the served release is unchanged), 2 wrong input.
"""


def add_parser(subparsers: Any) -> None:
    """Add the command to the CLI."""
    parser = subparsers.add_parser(
        "build", help="read dumps into trees, sentences, vectors and indexes, and publish a release",
        description="Read Wikipedia dumps, refresh what changed, check it, and publish it as one release.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    parser.add_argument("--wikipedia", metavar="FILE", nargs="+", default=[], action="extend",
                        help="dump files: XML exports, plain or as .bz2 (also multistream), .gz, .xz")
    parser.add_argument("--wiki", metavar="NAME", help="database name of the wiki, where the dump has none")
    parser.add_argument("--full-snapshot", action="store_true",
                        help="the files are the whole wiki: remove pages that are in none of them")
    parser.add_argument("--salvage", action="store_true",
                        help="take the whole pages before the cut of a damaged file")
    parser.add_argument("--namespaces", metavar="NUMBER", nargs="+", type=int,
                        help="namespaces that become documents (0: articles); kept for later builds")
    parser.add_argument("--tolerate", metavar="RULE=SHARE", nargs="+", default=[], action="extend",
                        help="publish although this share of rows breaks a rule about text, as "
                             "no_markup_residue=0.01; kept for later builds")
    parser.add_argument("--profile", choices=("fast", "full"),
                        help="fast: one laptop; full: a cluster. Without it ESPALIER_PROFILE, else fast")


def run(args: argparse.Namespace) -> int:
    """Build and print what was done. Raises UserError and RunFailure."""
    from jobs.build import BuildRequest, build
    from jobs.progress import Progress, own_screen
    from pipelines.settings import DataFolder

    data = DataFolder.at(args.data)
    request = BuildRequest(
        wikipedia=tuple(args.wikipedia), wiki=args.wiki, full_snapshot=args.full_snapshot,
        salvage=args.salvage, namespaces=tuple(args.namespaces) if args.namespaces else None,
        profile=args.profile, tolerate=_shares(args.tolerate))
    if args.debug:
        summary = build(data, request, Progress(sys.stderr))
    else:
        with own_screen(data.prepare_state() / "build.log") as screen:
            try:
                summary = build(data, request, Progress(screen))
            except BaseException:
                traceback.print_exc()
                raise
    print_summary(summary)
    return 0


def _shares(texts: list[str]) -> dict[str, float]:
    """Rule → share. Raises UserError for what is no rule with a number."""
    from pipelines.errors import UserError

    shares = {}
    for text in texts:
        rule, _, share = text.partition("=")
        try:
            shares[rule] = float(share)
        except ValueError:
            raise UserError(f"--tolerate {text!r}", "no rule with a share", "as no_markup_residue=0.01",
                            "Correct --tolerate.") from None
    return shares


def print_summary(summary: BuildSummary) -> None:
    """The result as a table on stdout."""
    from pipelines.schemas import RELEASED_TABLES

    print(f"{'table':<12} {'rows':>12} {'changed':>12} {'version':>8}")
    for name in RELEASED_TABLES:
        if facts := summary.tables.get(name):
            print(f"{name:<12} {facts['rows']:>12,} {facts['changed']:>12,} {facts['version']:>8}")
    left_out: dict[str, int] = dict(summary.tables.get("pages", {}).get("left_out", {}))
    if left_out:
        n_older = left_out.pop("older_revisions", 0)
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in sorted(left_out.items()))
        if reasons:
            print(f"not taken from the dumps, each in the table rejects: {reasons}")
        if n_older:
            print(f"older than what the table pages has, and left as it was: {n_older:,} pages")
    state = "published" if summary.published else "nothing changed, still served"
    print(f"release {summary.release} ({state}) in {summary.seconds:.1f} s")
