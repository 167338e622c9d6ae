"""`espalier export-trees`: every tree of a release, one JSON object a line, streamed.

What belongs here: arguments and the lines. What does not: reading trees (`pipelines/api.py`) and the file
(`jobs/output.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import IO, Any

from jobs.arguments import add_data_argument, add_release_argument
from jobs.output import STANDARD_OUTPUT, check_out, output


def add_parser(subparsers: Any) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "export-trees", help="write all document trees as JSON lines",
        description="Write all document trees of a release, one document a line: "
                    "{doc_id, title, uri, nodes: [{id, parent, path, kind, tag, level, text}]}.",
        epilog="examples:\n  espalier export-trees --data data --out trees.jsonl\n"
               "  espalier export-trees --data data --out - | head -1",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    add_release_argument(parser)
    parser.add_argument("--out", required=True, metavar="FILE.jsonl",
                        help="file to write; - is standard output")


def run(args: argparse.Namespace) -> int:
    """Write the file. Returns the exit code."""
    from pipelines.api import Corpus

    check_out(args.out)
    corpus = Corpus.open(args.data, args.release)
    with output(args.out) as stream:
        n_documents = _write(corpus, stream)
    if args.out != STANDARD_OUTPUT:
        print(f"{n_documents} trees of release {corpus.release} in {os.path.realpath(args.out)}", file=sys.stderr)
    return 0


def _write(corpus: Any, stream: IO[str]) -> int:
    from pipelines.documents.outline import to_json

    n_documents = 0
    for document in corpus.trees():
        stream.write(json.dumps(to_json(document), ensure_ascii=False) + "\n")
        n_documents += 1
    return n_documents
