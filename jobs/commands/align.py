"""`espalier align`: find the nodes that passages of another file stand in.

What belongs here: arguments, the output file, the summary. What does not: reading passages and aligning them
(`pipelines/retrieval/foreign_passages.py`, `align_corpus.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jobs.arguments import add_data_argument, add_release_argument
from jobs.output import STANDARD_OUTPUT, check_out, output
from pipelines.errors import UserError

if TYPE_CHECKING:
    from pipelines.retrieval.align_corpus import Summary
    from pipelines.retrieval.foreign_passages import BadLine, ForeignPassage

REPORT_EVERY_PASSAGES = 50_000
_FIRST_BAD_LINES = 5
EXAMPLES = """\
examples:
  espalier align --data data --passages psgs_w100.tsv.gz --out aligned.jsonl
  espalier align --data data --questions questions.jsonl | jq 'select(.reason)'

Each line of the result is a passage: {id, title, doc_id, node_ids, paths, citations, score, n_places,
redirected, reason}. reason is null, or says why it has no nodes:
"""


def add_parser(subparsers: Any) -> None:
    """Add the command to the command line."""
    from pipelines.retrieval.align import MIN_SCORE
    from pipelines.retrieval.align_corpus import REASONS

    reasons = "".join(f"  {name:18} {meaning}\n" for name, meaning in REASONS.items())
    parser = subparsers.add_parser(
        "align", help="find the nodes that passages of another file stand in",
        description="Align passages of another file with the nodes of a release: by title, through redirects, "
                    "then by edit distance over letters and digits.",
        epilog=EXAMPLES + reasons, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    add_release_argument(parser)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--passages", metavar="FILE.tsv",
                        help="lines of id, text, title separated by tabs, plain or gzip, as DPR's psgs_w100.tsv")
    source.add_argument("--questions", metavar="FILE.jsonl", help="the gold quotes of a questions file")
    parser.add_argument("--out", default=STANDARD_OUTPUT, metavar="FILE.jsonl",
                        help="file to write (default: - for standard output)")
    parser.add_argument("--min-score", type=float, default=MIN_SCORE, metavar="SCORE",
                        help="least score, 1 - edits / length, of an aligned passage (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Align and write. Returns the exit code; passages without nodes are no failure."""
    from pipelines.retrieval.align_corpus import Summary, align_passages
    from pipelines.retrieval.corpus import ReleasedCorpus
    from pipelines.settings import DataFolder

    if not 0 < args.min_score <= 1:
        raise UserError("--min-score", str(args.min_score), "a number above 0, at most 1", "Correct --min-score.")
    check_out(args.out)
    corpus = ReleasedCorpus.open(DataFolder.at(args.data), args.release)
    summary = Summary()
    bad_lines: list[int] = []
    with output(args.out) as stream:
        for record in align_passages(corpus, _rows(args), args.min_score):
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            summary.count(record)
            if "line" in record and len(bad_lines) < _FIRST_BAD_LINES:
                bad_lines.append(record["line"])
            if summary.n_passages % REPORT_EVERY_PASSAGES == 0 and "id" in record:
                print(f"{summary.n_passages:,} passages, {summary.n_aligned:,} aligned", file=sys.stderr)
    print_summary(summary, bad_lines)
    return 0


def _rows(args: argparse.Namespace) -> Iterable[ForeignPassage | BadLine]:
    from pipelines.evaluation.datasets import load_questions
    from pipelines.retrieval.foreign_passages import passages_of, read_passages

    if args.passages is not None:
        return read_passages(args.passages)
    return passages_of(load_questions(args.questions).questions)


def print_summary(summary: Summary, bad_lines: list[int]) -> None:
    """What became of the passages, on standard error. bad_lines: numbers of the first ones."""
    share = summary.n_aligned / summary.n_passages if summary.n_passages else 0.0
    print(f"{summary.n_passages:,} passages: {summary.n_aligned:,} aligned ({share:.1%}), "
          f"{summary.n_redirected:,} of them through a redirect", file=sys.stderr)
    for reason, n_passages in summary.unaligned.most_common():
        print(f"  {n_passages:,} {reason}", file=sys.stderr)
    if bad_lines:
        reasons = ", ".join(f"{n_lines:,} {reason}" for reason, n_lines in summary.bad_lines.most_common())
        print(f"  lines without a passage: {reasons}; the first are {', '.join(map(str, bad_lines))}",
              file=sys.stderr)
