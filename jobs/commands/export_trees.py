"""`espalier export-trees`: every tree of a release, one JSON object a line, streamed.

What belongs here: arguments and the file. What does not: reading trees (`pipelines/api.py`). The file
appears whole or not at all; `--out -` writes to standard output.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import IO, Any

from jobs.arguments import add_data_argument, add_release_argument
from pipelines.errors import UserError

STANDARD_OUTPUT = "-"


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

    # A link is followed: what it points to is replaced, not the link.
    target = Path(os.path.realpath(args.out))
    if args.out != STANDARD_OUTPUT and (not args.out or (target.exists() and not target.is_file())):
        raise UserError(f"--out {args.out!r}", "no file", "the path of a file, or - for standard output",
                        "Correct --out.")
    corpus = Corpus.open(args.data, args.release)
    if args.out == STANDARD_OUTPUT:
        _write(corpus, sys.stdout)
        return 0
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with unfinished.open("w", encoding="utf-8") as stream:
            n_documents = _write(corpus, stream)
        unfinished.replace(target)
    except OSError as error:
        raise UserError(f"file {target}", f"it cannot be written ({error.strerror or error})",
                        "a path in a folder that exists, with room", "Correct --out.") from error
    finally:
        unfinished.unlink(missing_ok=True)
    print(f"{n_documents} trees of release {corpus.release} in {target}", file=sys.stderr)
    return 0


def _write(corpus: Any, stream: IO[str]) -> int:
    from pipelines.documents.outline import to_json

    n_documents = 0
    for document in corpus.trees():
        stream.write(json.dumps(to_json(document), ensure_ascii=False) + "\n")
        n_documents += 1
    return n_documents
