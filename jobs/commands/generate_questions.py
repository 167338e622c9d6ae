"""`espalier questions generate`: questions made of a release's trees, into a questions file.

What belongs here: arguments, the summary, the file. What does not: making questions
(`pipelines/questions/generated`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from jobs.arguments import add_data_argument, add_release_argument
from pipelines.errors import UserError

if TYPE_CHECKING:
    from pipelines.questions.generated.generate import Generated, GenerationSettings

REPORT_EVERY_BLOCKS = 100
GENERATE_EXAMPLES = """\
examples:
  espalier questions generate --data data --out train.jsonl
  espalier questions generate --data data --count inverse_cloze=2000,table_cell=500 --out train.jsonl
  espalier questions generate --data data --exclude-quoted examples/questions.jsonl --out train.jsonl
  espalier questions generate --data data --llm http://127.0.0.1:8000/v1#MODEL --count llm=500 --out train.jsonl

Each line of the result is a line of a questions file, with the generator that made it. Generated questions
train; figures on them are kept apart from figures on people's questions. docs/generated-questions.md says how they
are made.

generators:
"""


def add_generate_parser(actions: Any) -> None:
    """Add `generate`: questions made of a release's trees."""
    from pipelines.questions.generated.generate import RULE_GENERATORS

    names = "".join(f"  {name:14} {meaning}\n" for name, meaning in RULE_GENERATORS.items())
    parser = actions.add_parser(
        "generate", help="make questions of a release's trees, for training",
        description="Make questions of the trees of a release, by rules or by a language model, with evidence "
                    "known: so many of each kind, articles kept apart by split.",
        epilog=f"{GENERATE_EXAMPLES}{names}  {'llm':14} a language model asks about one block (--llm)\n",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    add_release_argument(parser)
    parser.add_argument("--n", type=int, default=300, metavar="N",
                        help="questions in all, in the default mix of generators (default: %(default)s)")
    parser.add_argument("--count", metavar="GENERATOR=N,…",
                        help="questions of each of these generators, instead of --n")
    parser.add_argument("--seed", type=int, default=0, metavar="N",
                        help="seed of every draw (default: %(default)s)")
    parser.add_argument("--per-document", type=int, default=4, metavar="N",
                        help="questions of one generator from one document (default: %(default)s)")
    parser.add_argument("--most-shared", type=float, default=0.85, metavar="SHARE",
                        help="share of a cloze question's words that may be its sentence's own; more of them gives "
                             "more questions, and easier ones (default: %(default)s)")
    parser.add_argument("--include", action="append", default=[], metavar="TITLE|DOC_ID",
                        help="take only this article; may be repeated")
    parser.add_argument("--exclude", action="append", default=[], metavar="TITLE|DOC_ID",
                        help="leave out this article; may be repeated")
    parser.add_argument("--exclude-quoted", action="append", default=[], metavar="FILE.jsonl",
                        help="leave out the articles that a questions file quotes; may be repeated")
    parser.add_argument("--dev", type=float, default=0.1, metavar="SHARE",
                        help="share of the articles whose questions are dev (default: %(default)s)")
    parser.add_argument("--test", type=float, default=0.1, metavar="SHARE",
                        help="share of the articles whose questions are test (default: %(default)s)")
    parser.add_argument("--llm", metavar="NAME|URL",
                        help="the model of the generator llm: local, or an endpoint's URL; answers are cached")
    parser.add_argument("--out", required=True, metavar="FILE.jsonl",
                        help="questions file to write; - is standard output")
    parser.set_defaults(run_action=run_generate)


def run_generate(args: argparse.Namespace) -> int:
    """Generate and write the file. Fewer questions than wanted are told; none at all is an error."""
    from jobs.output import check_out, output
    from pipelines.api import Corpus
    from pipelines.errors import RunFailure

    counts, n_by_model = _generator_counts(args)
    settings = _generation_settings(args, counts)
    check_out(args.out)
    generated = _generate(Corpus.open(args.data, args.release), settings, n_by_model, args)
    if not generated.questions:
        raise RunFailure("questions generate", "no question could be made",
                         "articles with sentences, sections or tables of the kinds that were asked for",
                         "Ask for other generators, or for more articles.")
    with output(args.out) as stream:
        for question in generated.questions:
            stream.write(json.dumps(question.to_json(), ensure_ascii=False) + "\n")
    made = generated.counts()
    print(f"{len(generated.questions):,} questions in {args.out}", file=sys.stderr)
    for name, wanted in generated.wanted.items():
        if wanted:
            print(f"  {made[name]:,} of {wanted:,} {name}", file=sys.stderr)
    return 0


def _generator_counts(args: argparse.Namespace) -> tuple[dict[str, int], int]:
    """Questions of each generator by rules, and of the model."""
    from pipelines.methods.routers import LOCAL_ROUTER
    from pipelines.models.load_llm import check_model
    from pipelines.questions.generated.generate import RULE_GENERATORS, default_counts

    if args.llm is not None:
        check_model(args.llm, LOCAL_ROUTER, "llm")
    if args.count is None:
        if args.n < 1:
            raise UserError("--n", str(args.n), "a number from 1 on", "Correct --n.")
        return (default_counts(args.n), 0) if args.llm is None else ({}, args.n)
    counts: dict[str, int] = {}
    for part in args.count.split(","):
        name, _, number = part.strip().partition("=")
        if name not in (*RULE_GENERATORS, "llm") or not number.isdecimal() or name in counts:
            raise UserError(f"--count {part.strip()!r}", "no GENERATOR=N, or one that is there already",
                            f"N of each of {', '.join(RULE_GENERATORS)}, llm", "Correct --count.")
        counts[name] = int(number)
    n_by_model = counts.pop("llm", 0)
    if (n_by_model > 0) != (args.llm is not None):
        raise UserError("--count and --llm", "one without the other", "llm=N in --count where --llm is given",
                        "Give both, or neither.")
    return counts, n_by_model


def _generation_settings(args: argparse.Namespace, counts: dict[str, int]) -> GenerationSettings:
    from pydantic import ValidationError

    from pipelines.evaluation.datasets import load_questions
    from pipelines.evaluation.normalise import normalise_title
    from pipelines.questions.generated.generate import GenerationSettings

    quoted = [gold.title for path in args.exclude_quoted for question in load_questions(path).questions
              for gold in question.evidence]
    try:
        return GenerationSettings(
            counts=counts, seed=args.seed, most_per_document=args.per_document, most_shared=args.most_shared,
            include=frozenset(map(normalise_title, args.include)),
            exclude=frozenset(map(normalise_title, [*args.exclude, *quoted])),
            dev_share=args.dev, test_share=args.test)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        option = {"most_per_document": "--per-document", "most_shared": "--most-shared", "dev_share": "--dev",
                  "test_share": "--test"}
        if not fault["loc"]:
            raise UserError("--dev and --test", f"{args.dev} and {args.test}", "shares that are at most 1 together",
                            "Correct them.") from None
        where = str(fault["loc"][0])
        raise UserError(option.get(where, f"--{where}"), str(fault["msg"]).lower(), "a value in its range",
                        "Correct it.") from None


def _generate(corpus: Any, settings: GenerationSettings, n_by_model: int, args: argparse.Namespace) -> Generated:
    """By rules and by the model, as far as each was asked for; outputs not taken go to the table `rejects`."""
    from pipelines.questions.generated.generate import generate
    from pipelines.questions.generated.llm_questions import generate_with_model, joined, named

    parts = [generate(corpus.trees, settings)] if any(settings.counts.values()) else []
    if n_by_model:
        from pipelines.models.load_llm import load_model
        from pipelines.settings import DataFolder
        from pipelines.storage import append_rejects

        written, usage = generate_with_model(corpus.trees, settings, n_by_model, load_model(args.llm), _tell_asked)
        append_rejects(DataFolder.at(args.data), named(written.rejects, "generated"))
        print(f"{usage.calls:,} calls of the model ({usage.cache_hits:,} answered by the cache), "
              f"{usage.tokens_in:,} tokens in, {usage.tokens_out:,} out, {usage.cost_usd:.2f} USD", file=sys.stderr)
        reasons = Counter(reject["reason"] for reject in written.rejects)
        for reason, n in reasons.most_common():
            print(f"  {n:,} outputs not taken: {reason}", file=sys.stderr)
        parts.append(written)
    return joined(parts)


def _tell_asked(n_good: int, n_asked: int) -> None:
    if n_asked % REPORT_EVERY_BLOCKS < 1:
        print(f"{n_asked:,} blocks asked, {n_good:,} questions", file=sys.stderr)
