"""`espalier show`: a document or what a citation names, as Markdown, outline or JSON.

What belongs here: arguments and printing. What does not: finding the release of a citation
(`pipelines/api.py`) and the forms (`pipelines/documents/outline.py`).
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from jobs.arguments import add_data_argument, add_release_argument

if TYPE_CHECKING:
    from pipelines.api import Shown

EXAMPLES = """\
examples:
  espalier show --data data enwiki:12 --outline            the tree with ids and paths
  espalier show --data data enwiki:12                      the whole document as Markdown
  espalier show --data data 'enwiki:12@834567.3#/0/3/1'    the words of one citation

A citation whose version (after @) the served release does not have is looked up in the kept releases;
if none has it, the command fails rather than show other words.
"""


def add_parser(subparsers: Any) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "show", help="print a document or the words of a citation",
        description="Print a document, or what a citation names.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    add_release_argument(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--outline", action="store_true", help="the tree, a node a line, with ids and paths")
    form.add_argument("--markdown", action="store_true", help="readable Markdown with tables (default)")
    form.add_argument("--json", action="store_true", help="the nodes as one JSON object")
    parser.add_argument("address", metavar="DOC_ID_OR_URI", help="a document id or a citation")


def run(args: argparse.Namespace) -> int:
    """Show and print. Returns the exit code."""
    from pipelines.api import Corpus

    shown = Corpus.open(args.data, args.release).show(args.address)
    if args.json:
        print(json.dumps(as_json(shown), ensure_ascii=False))
    elif args.outline:
        print(as_outline(shown))
    else:
        print(as_markdown(shown))
    return 0


def as_markdown(shown: Shown) -> str:
    """The document or node as Markdown; of a citation with a range, its characters alone."""
    from pipelines.documents.outline import to_markdown

    if shown.address.characters is not None:
        return shown.words.text
    return to_markdown(shown.document, shown.node.node_id)


def as_outline(shown: Shown) -> str:
    """The node and what is below it, a node a line."""
    from pipelines.documents.outline import outline

    lines = outline(shown.document).split("\n")
    return "\n".join(lines[shown.node.node_id: shown.node.end_id + 1])


def as_json(shown: Shown) -> dict[str, Any]:
    """The document with its version, the nodes that the address names, and its words in plain form."""
    from pipelines.documents.outline import to_json

    document = shown.document
    whole = to_json(document)
    nodes = whole.pop("nodes")[shown.node.node_id: shown.node.end_id + 1]
    return whole | {"language": document.language, "revision": document.revision,
                    "parser_version": document.parser_version, "release": shown.release,
                    "address": str(shown.address), "text": shown.words.text, "nodes": nodes}
