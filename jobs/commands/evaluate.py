"""`espalier evaluate`: compare methods on a questions file; a table here, a report and MLflow runs beside it.

What belongs here: arguments and printing. What does not: the runs (`jobs/evaluation_run.py`), the metrics
(`pipelines/evaluation`).
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from jobs.arguments import (
    add_data_argument,
    add_query_arguments,
    add_release_argument,
    method_help,
    read_assignments,
    resolved_router,
)
from pipelines.errors import UserError, one_line
from pipelines.visible import stream_beneath, visible

if TYPE_CHECKING:
    from assets.stages import StageEvent
    from pipelines.evaluation.datasets import QuestionSet

EXAMPLES = """\
examples:
  espalier evaluate --data data --questions questions.jsonl --out result.json
  espalier evaluate --data data --questions questions.jsonl --methods flat,rdr2+fill --budget 500 --out r.json

questions file, one JSON object a line:
  {"id": "q1", "question": "…", "answers": ["alias", "other alias"],
   "evidence": [{"title": "Article", "section": ["Heading"], "quote": "verbatim words"}],
   "type": "fact", "split": "dev", "derived": false}
  A line that is none of this is left out, told, counted and kept in the table rejects.
  A list of lists in "answers" gives the aliases of each required answer; empty lists: not answerable.
"""
SHOWN = (
    ("evidence_recall", "recall", 3, 1), ("evidence_precision", "precision", 3, 1),
    ("evidence_f1", "F1", 3, 1), ("answer_in_context", "answer in ctx", 3, 1),
    ("ndcg_at_10", "nDCG@10", 3, 1), ("section_entropy", "SE", 2, 1), ("eace", "EACE", 2, 1),
    ("latency_p50_s", "p50 ms", 0, 1000), ("latency_p95_s", "p95 ms", 0, 1000),
)
SHOWN_WHERE_ANY = (
    ("answer_em", "EM", 3, 1), ("answer_f1", "answer F1", 3, 1), ("llm_calls", "calls", 1, 1),
    ("expelled", "expelled", 2, 1), ("collapsed", "collapsed", 2, 1), ("fallbacks", "fallbacks", 2, 1),
)
"""Columns that are there where a reader or a language model took part."""
TOLD_LINES = 3
"""Bad lines of a questions file that are told one by one."""
COMPARED = ("evidence_recall", "evidence_f1", "answer_in_context")


def add_parser(subparsers: Any) -> None:
    """Add the command to the command line."""
    from pipelines.methods.registry import method_names

    parser = subparsers.add_parser(
        "evaluate", help="compare methods on a file of questions",
        description="Ask methods a file of questions, score the evidence, and compare them with paired 95 % "
                    "intervals.",
        epilog=f"{method_help()}\n{EXAMPLES}", formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    parser.add_argument("--questions", required=True, type=Path, metavar="FILE.jsonl", help="questions file")
    parser.add_argument("--dataset", metavar="NAME",
                        help="name of the question set (default: the file's name)")
    parser.add_argument("--methods", metavar="A,B,…", default="",
                        help=f"methods to compare (default: {','.join(method_names())})")
    add_query_arguments(parser)
    parser.add_argument("--curve", metavar="TOKENS,…", default="250,500,2000",
                        help="more budgets for the curve of evidence recall, empty for none "
                             "(default: %(default)s)")
    parser.add_argument("--together", type=int, default=1, metavar="N",
                        help="questions that are asked at once: faster with a language model as router; latencies "
                             "are then a batch's, shared equally (default: %(default)s)")
    add_release_argument(parser)
    parser.add_argument("--out", required=True, type=Path, metavar="FILE.json",
                        help="where to write the result")


def run(args: argparse.Namespace) -> int:
    """Evaluate, write the result, print a table. Raises UserError and RunFailure."""
    from jobs.evaluation_run import run_evaluation
    from jobs.progress import own_screen
    from pipelines.evaluation.datasets import load_questions
    from pipelines.releases import current_release
    from pipelines.settings import DataFolder
    from training.evaluate import make_options

    data = DataFolder.at(args.data)
    questions = load_questions(args.questions.absolute(), args.dataset, skip_bad=True)
    options = make_options(
        methods=_names(args.methods), budget_tokens=args.budget, k=args.k, router=args.router,
        reader=args.reader, together=args.together, set=read_assignments(args.options), release=args.release,
        curve_budgets=_budgets(args.curve))
    _check_out(args.out)
    current_release(data)
    resolved_router(options.router, data)
    _tell_bad_lines(args.questions, questions)
    for name, n_lines in sorted(questions.unknown_fields.items()):
        print(f"espalier: questions file {args.questions}: field {name!r} of {n_lines} lines is not part of "
              "the format and is not used", file=sys.stderr)
    if args.debug:
        result = run_evaluation(data, questions, options, Screen(sys.stderr))
    else:
        with own_screen(data.state / "evaluate.log") as stream:
            try:
                result = run_evaluation(data, questions, options, Screen(stream))
            except BaseException:
                traceback.print_exc()
                raise
    # Shown before it is written: a disk that is full by then loses no figure.
    print_comparison(result)
    try:
        args.out.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        error.filename = str(args.out)  # Of a disk that is full it would not say which.
        raise
    print(f"result  {args.out}\nreport  {data.reports}/evaluation-{questions.name}.html\n"
          f"MLflow  experiment evaluation/{questions.name} in {data.mlflow_uri}")
    return 0


def _tell_bad_lines(path: Path, questions: QuestionSet) -> None:
    """Say which lines are left out: the first ones with their reasons, all of them as a number."""
    for line in questions.bad_lines[:TOLD_LINES]:
        where = f", field {line.place}" if line.place else ""
        print(f"espalier: questions file {path}, line {line.number}{where}: {line.found}; expected "
              f"{line.expected}. The line is left out.", file=sys.stderr)
    if questions.bad_lines:
        print(f"espalier: questions file {path}: {len(questions.bad_lines)} lines hold no valid question and "
              f"are in the table rejects; {len(questions.questions)} questions are asked", file=sys.stderr)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _budgets(text: str) -> tuple[int, ...]:
    try:
        budgets = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        budgets = (0,)
    if any(budget < 1 for budget in budgets):
        raise UserError("--curve", repr(text), "whole numbers above zero, separated by commas",
                        "Write it as --curve 250,500,2000.")
    return budgets


def _check_out(path: Path) -> None:
    """An evaluation takes minutes: that the result cannot be written is said before."""
    try:
        # Appending writes nothing, and leaves an earlier result until there is a new one.
        path.open("a").close()
    except OSError as error:
        raise UserError(f"--out {path}", error.strerror or str(error), "a file that can be written",
                        "Correct --out.") from error


class Screen:
    """Shows how far each method is: a live line on a terminal, a line a method elsewhere."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._live: Any = None
        if stream.isatty():
            from rich.console import Console

            self._live = Console(file=stream_beneath(stream), highlight=False).status("starting …")

    def __call__(self, event: StageEvent) -> None:
        asked, of = event.facts.get("asked"), event.facts.get("of")
        n_questions = event.facts.get("questions")
        if self._live is None:
            if event.state == "done" and of and n_questions:
                n_budgets = of // n_questions
                under = f" under each of {n_budgets} budgets" if n_budgets > 1 else ""
                print(f"{event.name}: {n_questions} questions asked{under}", file=self._stream, flush=True)
            return
        self._live.update(f"{event.name} {asked} of {of} asks" if of else f"{event.name} …")
        if event.name == "predictions" and event.state != "running":
            self._live.stop()
        else:
            self._live.start()


def print_comparison(result: dict[str, Any]) -> None:
    """The methods with their means, and the differences to the first method with interval and n."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    means = result["methods"].values()
    answered = any(values["answer_em"] is not None for values in means)
    modelled = any(values["llm_calls"] or values.get("fallbacks") for values in means)
    terminal = stream_beneath(sys.stdout)
    console = Console(file=terminal, highlight=False)
    if not console.is_terminal:
        console = Console(file=terminal, highlight=False, width=200 if answered or modelled else 140)
    settings = result["settings"]
    dataset = escape(visible(one_line(result["dataset"])))
    table = Table(title=f"{dataset}: {result['n_questions']} questions, release "
                        f"{settings['release']}, budget {settings['budget_tokens']} tokens "
                        f"({settings['token_counter']})", title_justify="left", title_style="bold")
    table.add_column("method")
    shown = [*SHOWN[:4], *(SHOWN_WHERE_ANY[:2] if answered else ()), *SHOWN[4:],
             *(SHOWN_WHERE_ANY[2:] if modelled else ())]
    for title in ("ctx tokens", *(title for _, title, _, _ in shown)):
        table.add_column(title, justify="right")
    for method, values in result["methods"].items():
        table.add_row(method, f"{values['context_tokens']:.0f}", *(
            "–" if values[name] is None else f"{values[name] * factor:.{digits}f}"
            for name, _, digits, factor in shown))
    console.print(table)
    rows = [row for row in result["differences"] if row["metric"] in COMPARED]
    if not rows:
        return
    baseline = rows[0]["baseline"]
    differences = Table(title=f"differences to {baseline}, paired 95 % bootstrap interval (n)",
                        title_justify="left", title_style="bold")
    differences.add_column("method")
    for name in COMPARED:
        differences.add_column(name.replace("_", " "), justify="right")
    for method in dict.fromkeys(row["method"] for row in rows if row["baseline"] == baseline):
        cells = {row["metric"]: row for row in rows if (row["method"], row["baseline"]) == (method, baseline)}
        differences.add_row(method, *(_difference(cells.get(name)) for name in COMPARED))
    console.print(differences)
    if missing := result["gold"]["not_in_corpus"]:
        console.print(f"{len(missing)} of {result['gold']['n_quotes']} gold quotes are not in the corpus: "
                      "no method can find them (see the report)")


def _difference(row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    if row["low"] is None:
        return f"{row['mean']:+.3f} (n = {row['n']})"
    return f"{row['mean']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}] ({row['n']})"
