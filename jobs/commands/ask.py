"""`espalier ask`: evidence for one question, with citations, readable or as JSON.

What belongs here: arguments and printing. What does not: retrieval (`pipelines/api.py`). It loads neither
torch nor Spark nor Dagster.
"""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from typing import TYPE_CHECKING, Any

from jobs.arguments import (
    add_data_argument,
    add_query_arguments,
    add_release_argument,
    method_help,
    read_assignments,
)

if TYPE_CHECKING:
    from pipelines.api import Answer

EXAMPLES = """\
examples:
  espalier ask --data data "Which zoo was the first to keep an aardvark?"
  espalier ask --data data --method flat_hybrid --budget 300 "What is albedo?"
  espalier ask --data data --method rdr2+fill --set expand_iterations=3 --json "Who was Ayn Rand?"
"""
MOST_WIDTH = 100
QUOTED = 60
"""Characters of a quote beside its address."""


def add_parser(subparsers: Any) -> None:
    """Add the command to the command line."""
    from pipelines.methods.registry import method_names

    parser = subparsers.add_parser(
        "ask", help="find evidence for a question, with citations",
        description="Find evidence for a question within a budget of tokens and print it with its citations.",
        epilog=f"{method_help()}\n{EXAMPLES}", formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    parser.add_argument("--method", default="rdr2", metavar="NAME",
                        help=f"one of {', '.join(method_names())} (default: %(default)s)")
    add_query_arguments(parser)
    parser.add_argument("--source", metavar="NAME", help="search only documents of this source: wikipedia")
    parser.add_argument("--title", action="append", default=[], metavar="TITLE", dest="titles",
                        help="search only the document of exactly this title; may be repeated")
    add_release_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object, with the trace")
    parser.add_argument("question", metavar="QUESTION", help="the question")


def run(args: argparse.Namespace) -> int:
    """Ask and print. Returns the exit code."""
    from pipelines.api import Corpus

    options = read_assignments(args.options)
    corpus = Corpus.open(args.data, args.release)
    answer = corpus.ask(args.question, method=args.method, budget=args.budget, k=args.k, router=args.router,
                        source=args.source, titles=args.titles, reader=args.reader, options=options)
    print(json.dumps(answer.to_json(), ensure_ascii=False) if args.json else readable(answer))
    return 0


def readable(answer: Answer) -> str:
    """The answer for a terminal: the context, the citations by document, and what it cost."""
    lines = [f"Question: {answer.question}"]
    if answer.answer is not None:
        lines.append(f"Answer:   {answer.answer}")
    if answer.evidence:
        lines += ["", _wrapped(answer.context), "", "Citations (`espalier show URI` prints the words):"]
    else:
        lines += ["", "No evidence found: the method refuses. Try --method flat, a larger --k, other words."]
    for number, item in enumerate(answer.evidence, start=1):
        lines.append(f"[{number}] {item.title} ({item.doc_id}, score {item.score:.3f})")
        for citation in item.citations:
            lines.append(f"    {citation.uri}  {textwrap.shorten(citation.quote, QUOTED, placeholder=' …')}")
    lines += ["", f"{answer.method}, release {answer.release}: {answer.context_tokens} of "
                  f"{answer.budget_tokens} tokens, {answer.llm_calls} model calls, {answer.latency_s:.2f} s"]
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    """The lines of a text broken at the terminal's width; the following lines of an item stay below it."""
    width = min(shutil.get_terminal_size((MOST_WIDTH, 24)).columns, MOST_WIDTH)
    wrapped: list[str] = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip(" -")))
        wrapped += textwrap.wrap(line, width, subsequent_indent=indent) or [""]
    return "\n".join(wrapped)
