"""`espalier doctor`: whether this machine has what a build and a question need."""

from __future__ import annotations

import argparse
from typing import Any

from jobs.arguments import add_data_argument


def add_parser(subparsers: Any) -> None:
    """Add the command to the CLI."""
    parser = subparsers.add_parser(
        "doctor", help="check Java, jars, models, ports and disk",
        description="Check what a build and a question need: bash, Java, Delta's jars, the exported models, "
                    "free ports, disk. Exits with 1 when something that a build needs is missing.",
        epilog="example:\n  espalier doctor --data corpus\n",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print one line a check. Returns 1 when a needed thing is missing, else 0."""
    from jobs.doctor import examine

    findings = examine(args.data)
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        print(f"{finding.mark:<4} {finding.name:<{width}}  {finding.found}")
        if finding.remedy:
            print(f"{'':<4} {'':<{width}}  → {finding.remedy}")
    return 1 if any(finding.mark == "FAIL" for finding in findings) else 0
