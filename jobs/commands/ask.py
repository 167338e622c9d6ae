"""`espalier ask`: evidence for one question, with citations, readable or as JSON.

What belongs here: arguments and printing. What does not: retrieval (`pipelines/api.py`). It loads neither
torch nor Spark nor Dagster.
"""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jobs.arguments import (
    add_data_argument,
    add_query_arguments,
    add_release_argument,
    method_help,
    read_assignments,
    resolved_router,
)
from pipelines.errors import one_line
from pipelines.evaluation.metrics import route_counts

if TYPE_CHECKING:
    from pipelines.api import Answer

EXAMPLES = """\
examples:
  espalier ask --data data "Which zoo was the first to keep an aardvark?"
  espalier ask --data data --method flat_hybrid --budget 300 "What is albedo?"
  espalier ask --data data --method rdr2+fill --set expand_iterations=3 --json "Who was Ayn Rand?"
  espalier ask --data data --router local --set decode=score --reader default "What is albedo?"
  espalier ask --data data --router http://127.0.0.1:8000/v1#MODEL --reader http://127.0.0.1:8000/v1#MODEL "…"
"""
MOST_WIDTH = 100
MOST_UNKNOWN = 10
"""Unknown words of a question that are named."""
QUOTED = 60
"""Characters of a quote beside its address."""


def add_parser(subparsers: Any) -> None:
    """Add the command to the command line."""
    from pipelines.methods.registry import method_names

    parser = subparsers.add_parser(
        "ask", help="find evidence for a question, with citations",
        description="Find evidence for a question within a budget of tokens and print it with its citations; "
                    "a reader answers from it.",
        epilog=f"{method_help()}\n{EXAMPLES}", formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    parser.add_argument("--method", default="rdr2", metavar="NAME",
                        help=f"one of {', '.join(method_names())} (default: %(default)s)")
    add_query_arguments(parser)
    parser.add_argument("--source", metavar="NAME", help="search only documents of this source: wikipedia")
    parser.add_argument("--title", action="append", default=[], metavar="TITLE", dest="titles",
                        help="search only the document of this title, or that it redirects to; may be repeated")
    add_release_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object, with the trace")
    parser.add_argument("question", metavar="QUESTION", help="the question")


def run(args: argparse.Namespace) -> int:
    """Ask and print. Returns the exit code."""
    from pipelines.api import Corpus

    options = read_assignments(args.options)
    corpus = Corpus.open(args.data, args.release)
    answer = corpus.ask(args.question, method=args.method, budget=args.budget, k=args.k,
                        router=resolved_router(args.router, corpus.data),
                        source=args.source, titles=args.titles, reader=args.reader, options=options)
    print(json.dumps(answer.to_json(), ensure_ascii=False) if args.json
          else readable(answer, args.k, corpus.unknown_words))
    return 0


def readable(answer: Answer, k: int | None = None,
             unknown_words: Callable[[str], list[str]] = lambda question: []) -> str:
    """The answer for a terminal: the context, the citations by document, and what it cost.

    unknown_words: those of a question that no passage has; asked where nothing was found.
    """
    lines = [f"Question: {one_line(answer.question)}"]
    if answer.answer is not None:
        lines.append(f"Answer:   {one_line(answer.answer)}")
    if answer.evidence:
        lines += ["", _wrapped(answer.context), "", "Citations (`espalier show URI` prints the words):"]
    else:
        lines += ["", _why_empty(answer, k, unknown_words)]
    for number, item in enumerate(answer.evidence, start=1):
        lines.append(f"[{number}] {one_line(item.title)} ({item.doc_id}, score {item.score:.3f})")
        for citation in item.citations:
            lines.append(f"    {citation.uri}  {textwrap.shorten(citation.quote, QUOTED, placeholder=' …')}")
    lines += ["", f"{answer.method}, release {answer.release}: {answer.context_tokens} of "
                  f"{answer.budget_tokens} tokens, {_costs(answer)}, {answer.latency_s:.2f} s"]
    return "\n".join(lines)


def _why_empty(answer: Answer, k: int | None, unknown_words: Callable[[str], list[str]]) -> str:
    """Whether there is no evidence, no room for it, or none was asked for."""
    if k == 0:
        return "No evidence: --k 0 retrieves nothing. Give a larger one."
    if any(step["step"] == "pack" and step["n_pieces"] for step in answer.trace):
        return (f"No evidence: nothing of what was found fits into --budget {answer.budget_tokens}. "
                "Give a larger one.")
    unknown = unknown_words(answer.question)
    if unknown:
        shown = ", ".join(unknown[:MOST_UNKNOWN]) + (", …" if len(unknown) > MOST_UNKNOWN else "")
        return f"No evidence found. No passage has: {shown}. Try other words, or --method flat."
    if not any(map(str.isalnum, answer.question)):
        return "No evidence found: the question has no letter or digit. Ask in words."
    return "No evidence found: the method refuses. Try --method flat, a larger --k, other words."


def _costs(answer: Answer) -> str:
    """What models took, and what of them did not work."""
    if not answer.llm_calls and not answer.fallbacks:
        return "0 model calls"
    told = [f"{answer.llm_calls} model calls ({answer.tokens_in:,} tokens in, {answer.tokens_out:,} out)"]
    if answer.cost_usd:
        told.append(f"${answer.cost_usd:.4f}")
    counts = route_counts(answer.trace)
    told += [f"{counts[name]} {name}" for name in ("expelled", "collapsed") if counts[name]]
    if answer.fallbacks:
        reasons = [step["failure"] for step in answer.trace if step.get("failure")]
        because = f" ({reasons[0]})" if reasons else ""
        told.append(f"{answer.fallbacks} decided by the similarity router instead{because}")
    return ", ".join(told)


def _wrapped(text: str) -> str:
    """The lines of a text broken at the terminal's width; the following lines of an item stay below it."""
    width = min(shutil.get_terminal_size((MOST_WIDTH, 24)).columns, MOST_WIDTH)
    wrapped: list[str] = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip(" -")))
        wrapped += textwrap.wrap(line, width, subsequent_indent=indent) or [""]
    return "\n".join(wrapped)
