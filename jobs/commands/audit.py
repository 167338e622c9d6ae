"""`espalier audit`: what the reader did to every page of a release or a dump, in figures.

What belongs here: arguments, where pages come from, printing. What does not: the audit
(`pipelines/documents/audit/`). It needs neither Spark nor Java.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.arguments import add_data_argument, add_release_argument
from jobs.output import STANDARD_OUTPUT, check_out, output
from pipelines.errors import UserError
from pipelines.visible import stream_beneath

if TYPE_CHECKING:
    from pipelines.documents.audit.page import RawPage
    from pipelines.documents.readers.siteinfo import SiteInfo

EXAMPLES = """\
examples:
  espalier audit --data data                          the pages of the served release, parsed again
  espalier audit --dump dump.xml.bz2 --limit 1000     the first articles of a dump, before a build
  espalier audit --dump cut.xml.bz2 --salvage --json --out audit.json

It parses every article, compares its words with those that an independent reading of the wikitext gives,
and reports headings, blocks, left-over markup, templates without a handler, words lost and invented by
cause, slow pages and pages that could not be parsed, each with its worst pages. `espalier show URI` shows
such a page.
docs/audit.md says what the figures mean and which rules let words go.
"""
_PROGRESS_PAGES = 1000


def add_parser(subparsers: Any) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "audit", help="what the reader keeps and loses, page by page",
        description="Parse the articles of a release or a dump again and report what was kept, lost and left over.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    add_release_argument(parser)
    parser.add_argument("--dump", metavar="FILE", help="audit the articles of this dump instead of a data folder")
    parser.add_argument("--salvage", action="store_true", help="with --dump: take the pages before a cut")
    parser.add_argument("--wiki", metavar="NAME", help="with --dump: the wiki's name, where the dump has none")
    parser.add_argument("--limit", type=int, metavar="N", help="audit only the first N articles")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of Markdown")
    parser.add_argument("--out", metavar="FILE", default=STANDARD_OUTPUT,
                        help="file to write; - is standard output (default)")


def run(args: argparse.Namespace) -> int:
    """Audit and print. Returns the exit code."""
    from pipelines.documents.audit.corpus import audit_pages
    from pipelines.documents.audit.report import to_markdown

    _check(args)
    source: dict[str, Any] = {}
    pages = _of_dump(args, source) if args.dump is not None else _of_release(args, source)
    if args.limit is not None:
        source["limit"] = f"the first {args.limit:,} articles"
        pages = islice(pages, args.limit)
    progress = _Progress()
    figures = audit_pages(pages, args.workers or len(os.sched_getaffinity(0)), progress).to_json()
    progress.end()
    text = json.dumps({"source": source, **figures}, ensure_ascii=False, indent=1) + "\n" if args.json \
        else to_markdown(source, figures)
    with output(args.out) as stream:
        stream.write(text)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raise UserError for arguments that contradict one another or cannot be met."""
    if args.dump is not None and (args.data is not None or args.release is not None):
        given = "--data" if args.data is not None else "--release"
        raise UserError("command line", f"--dump and {given}", "one of them",
                        "Leave out --dump to audit a release.")
    if args.dump == "":
        raise UserError("--dump", "an empty name", "the path of a dump file", "Correct --dump.")
    for name in ("salvage", "wiki"):
        if getattr(args, name) and args.dump is None:
            raise UserError("command line", f"--{name} without --dump", "a dump that it is about",
                            f"Add --dump FILE, or leave out --{name}.")
    for name in ("limit", "workers"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise UserError(f"--{name}", str(value), "a whole number from 1", f"Correct --{name}.")
    check_out(args.out)
    if not Path(args.out).parent.is_dir():
        # Said before the work rather than after it.
        raise UserError(f"--out {args.out!r}", "its folder does not exist", "a path in a folder that exists",
                        "Correct --out.")


def _of_release(args: argparse.Namespace, source: dict[str, Any]) -> Iterator[RawPage]:
    from pipelines.documents.audit.corpus import release_pages
    from pipelines.documents.readers.wikitext import PARSER_VERSION
    from pipelines.releases import current_release, kept_release
    from pipelines.settings import DataFolder
    from pipelines.storage import TableReader

    data = DataFolder.at(args.data)
    release = current_release(data) if args.release is None else kept_release(data, args.release)
    files = TableReader(data).rows("dump_files", ("wiki", "sha256"), order_by=("dump_file",))
    source["release"] = f"{release.number}, published {release.created_at:%Y-%m-%d}"
    source["dumps"] = ", ".join(f"{row['wiki']} (SHA-256 {row['sha256']})" for row in files)
    source["parser"] = f"version {PARSER_VERSION}" + (
        "" if release.parser_version == PARSER_VERSION else f"; the release was built by {release.parser_version}")
    return release_pages(data, release)


def _of_dump(args: argparse.Namespace, source: dict[str, Any]) -> Iterator[RawPage]:
    from pipelines.documents.readers.wikitext import PARSER_VERSION
    from pipelines.dump_files import describe_dump_file
    from spark_jobs.dumps import wiki_of

    file = describe_dump_file(args.dump)
    site = wiki_of(file, args.wiki)
    source["dump"] = f"{site.wiki}, SHA-256 {file.sha256}"
    source["newest revision"] = "unknown"
    source["command"] = "espalier audit --dump FILE" + (" --salvage" if args.salvage else "") + (
        f" --wiki {args.wiki}" if args.wiki else "")
    source["parser"] = f"version {PARSER_VERSION}"
    return _pages_of(file.path, site, args.salvage, source)


def _pages_of(path: str, site: SiteInfo, salvage: bool, source: dict[str, Any]) -> Iterator[RawPage]:
    """The articles of a dump; what is known only at its end is added to `source`."""
    from pipelines.documents.audit.corpus import dump_page
    from pipelines.documents.readers.dump import DumpError, PageFault, iter_pages
    from pipelines.documents.readers.page_xml import MISMATCH, is_systematic

    newest = None
    rejected: Counter[str] = Counter()
    n_checked, unverified = 0, []

    def reject(fault: PageFault) -> None:
        rejected[fault.reason] += 1

    try:
        for page in iter_pages(path, reject=reject):
            n_checked += page.verified is not None
            if page.revision_time is not None and (newest is None or page.revision_time > newest):
                newest = page.revision_time
                source["newest revision"] = f"{newest:%Y-%m-%d}"
            raw = dump_page(page, site)
            if page.verified is False:
                # Only the whole file tells whether its checksums are of its texts: these pages come last.
                unverified.append(raw)
            elif raw is not None:
                yield raw
    except DumpError as error:
        if not salvage:
            raise
        source["cut"] = error.found
    if is_systematic(len(unverified), n_checked):
        source["checksums"] = f"{len(unverified):,} of {n_checked:,} are not of their texts, taken as they are"
        yield from (raw for raw in unverified if raw is not None)
    elif unverified:
        rejected[MISMATCH] += len(unverified)
    if rejected:
        source["not taken"] = ", ".join(f"{reason} {n:,}" for reason, n in sorted(rejected.items()))


class _Progress:
    """Pages done, on a terminal in one line, else a line every so often."""

    def __init__(self) -> None:
        self._next = _PROGRESS_PAGES

    def __call__(self, n_done: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{n_done:,} pages", end="", file=stream_beneath(sys.stderr), flush=True)
        elif n_done >= self._next:
            self._next = n_done - n_done % _PROGRESS_PAGES + _PROGRESS_PAGES
            print(f"{n_done:,} pages", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the terminal's line."""
        if sys.stderr.isatty():
            print(file=sys.stderr)

