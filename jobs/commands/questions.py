"""`espalier questions`: questions from elsewhere, into the table `questions` or a questions file.

What belongs here: arguments and summaries, a function for each action. What does not: reading sets that others
publish (`pipelines/questions/published`), the action `generate` (`jobs/commands/generate_questions.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from jobs.arguments import add_data_argument
from jobs.commands.generate_questions import add_generate_parser
from pipelines.errors import UserError

if TYPE_CHECKING:
    from pipelines.evaluation.datasets import Question
    from pipelines.questions.published.fields import Tally
    from pipelines.questions.published.reading import BadItem

REPORT_EVERY_ITEMS = 50_000
_FIRST_BAD_ITEMS = 5
EXAMPLES = """examples:
  espalier questions import --help
  espalier questions generate --help
"""
IMPORT_EXAMPLES = """\
examples:
  espalier questions import --data data asqa ASQA.json
  espalier questions import --data data hotpotqa hotpot_train_v1.1.json hotpot_dev_distractor_v1.json
  espalier questions import --data data qampari qampari.zip
  espalier questions import kilt-nq nq-dev-kilt.jsonl --pages kilt_knowledgesource.json --out nq.jsonl

No set comes with the project. docs/question-sets.md says where each is, under which licence, and what of it is
read.

formats:
"""


def add_parser(subparsers: Any) -> None:
    """Add the command and its actions to the command line."""
    parser = subparsers.add_parser(
        "questions", help="read published question sets, generate questions from trees",
        description="Questions from elsewhere, into the table questions or a questions file.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    add_import_parser(actions)
    add_generate_parser(actions)


def run(args: argparse.Namespace) -> int:
    """Do the action. Returns the exit code. Raises UserError and RunFailure."""
    return int(args.run_action(args))


def add_import_parser(actions: Any) -> None:
    """Add `import`: a set in the files that its authors publish."""
    from pipelines.evaluation.datasets import SPLITS
    from pipelines.questions.published.reading import FORMATS

    formats = "".join(f"  {name:14} {format.meaning}\n" for name, format in FORMATS.items())
    parser = actions.add_parser(
        "import", help="read a set in the files that its authors publish",
        description="Read a question set in the files that its authors publish, plain, gzip or zip. In the table "
                    "it takes the place of the same splits of the same set; other splits stay.",
        epilog=IMPORT_EXAMPLES + formats, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format", metavar="FORMAT", help="the form that the set is published in, see below")
    parser.add_argument("files", nargs="+", metavar="FILE", help="its files")
    add_data_argument(parser)
    parser.add_argument("--dataset", metavar="NAME", help="name of the question set (default: the format's)")
    parser.add_argument("--split", choices=SPLITS,
                        help="split of the files, where their names do not tell it; of ASQA.json, which has "
                             "several, the one to take")
    parser.add_argument("--pages", metavar="FILE.json",
                        help="KILT's pages, kilt_knowledgesource.json, for the words of the KILT sets' evidence")
    parser.add_argument("--out", metavar="FILE.jsonl",
                        help="write a questions file instead of the table; - for standard output")
    parser.set_defaults(run_action=run_import)


def run_import(args: argparse.Namespace) -> int:
    """Read the files and write the table or a file. Items that are no questions are told and counted."""
    from jobs.output import check_out
    from pipelines.evaluation.datasets import check_dataset_name
    from pipelines.questions.published.fields import Tally
    from pipelines.questions.published.reading import format_named, read_pages, read_published
    from pipelines.questions.published.table import write_published
    from pipelines.settings import DataFolder

    # All that can be wrong is told before the pages are read, which takes long.
    format = format_named(args.format)
    dataset = check_dataset_name(args.format if args.dataset is None else args.dataset)
    data = None if args.out is not None else DataFolder.at(args.data)
    if args.out is not None:
        check_out(args.out)
    if args.pages is not None:
        if not args.format.startswith("kilt-"):
            raise UserError("--pages", f"given for {args.format}", "one of the KILT formats", "Leave --pages out.")
        format = format_named(args.format, read_pages(args.pages, args.files))
    tally = Tally()
    items = _told(read_published(format, args.files, tally, args.split), tally)
    if data is None:
        _write_file(args.out, dataset, items)
        where = f"in {args.out}"
    else:
        stored = write_published(data, dataset, items)
        where = (f"in the table questions (version {stored.version})" if stored.changed
                 else "as the table questions has them already")
    print_import(dataset, tally, where)
    return 0


def _write_file(out: str, dataset: str, items: Iterable[Question | BadItem]) -> None:
    from jobs.output import output
    from pipelines.questions.published.reading import BadItem
    from pipelines.questions.published.table import nothing_read

    first_bad, n_questions = None, 0
    with output(out) as stream:
        for item in items:
            if isinstance(item, BadItem):
                first_bad = first_bad or item
                continue
            n_questions += 1
            stream.write(json.dumps(item.to_json(), ensure_ascii=False) + "\n")
        if not n_questions:
            raise nothing_read(dataset, first_bad)


def _told(items: Iterable[Question | BadItem], tally: Tally) -> Iterator[Question | BadItem]:
    """The items, the first ones that are no questions told, and how far the reading is."""
    from pipelines.questions.published.reading import BadItem

    for item in items:
        if isinstance(item, BadItem) and tally.bad.total() <= _FIRST_BAD_ITEMS:
            line = item.line
            where = f", field {line.place}" if line.place else ""
            print(f"espalier: {item.file}, item {line.number}{where}: {line.found}; expected {line.expected}. The "
                  "item is left out.", file=sys.stderr)
        if tally.n_items % REPORT_EVERY_ITEMS == 0:
            print(f"{tally.n_items:,} items, {tally.n_questions:,} questions", file=sys.stderr)
        yield item


def print_import(dataset: str, tally: Tally, where: str) -> None:
    """What became of the items, on standard error."""
    from pipelines.questions.published.fields import LEFT_OUT

    print(f"{dataset}: {tally.n_questions:,} questions {where}, {tally.n_without_evidence:,} of them without "
          "evidence", file=sys.stderr)
    for reason, n in tally.bad.most_common():
        print(f"  items left out: {n:,} {reason}", file=sys.stderr)
    for reason, n in tally.skipped.most_common():
        print(f"  items that are none of the set's questions: {n:,} {reason}", file=sys.stderr)
    for reason, n in tally.left_out.most_common():
        print(f"  evidence left out: {n:,} {reason} ({LEFT_OUT[reason]})", file=sys.stderr)
    for name, n in tally.unknown_fields.most_common():
        print(f"  field not part of the format, not used: {name}, {n:,} times", file=sys.stderr)
