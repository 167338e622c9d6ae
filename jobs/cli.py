"""The command `espalier`: finds the command's module, runs it, turns errors into one line and an exit code.

What belongs here: the list of commands, help, errors, signals. What does not: what a command does
(`commands/`, one module each with `add_parser` and `run`). Only the module of the command that was given is
imported, so that help is there at once.

Exit codes: 0 done, 1 a run failed, 2 something in what the user gave, 128 + N ended by the signal N (130 by
Ctrl-C, 143 by `timeout` or a shutdown, 129 by a closed terminal), 141 the reader of the output went away.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn

from jobs.interrupts import interruptible
from jobs.limits import check_limits
from pipelines.errors import EspalierError, UserError, one_line, place_failure
from pipelines.scratch import remove_left_overs
from pipelines.visible import visible_output

COMMANDS = {
    "build": "turn dumps into trees, sentences, vectors and indexes, and publish a release",
    "ask": "find evidence for a question, with citations",
    "evaluate": "compare methods on a file of questions",
    "show": "print a document or the words of a citation",
    "export-trees": "write all document trees as JSON lines",
    "align": "find the nodes that passages of another file stand in",
    "questions": "read published question sets, generate questions from trees",
    "audit": "what the reader keeps and loses, page by page",
    "release": "list the releases, choose the served one",
    "status": "what is served, what is stale, what runs",
    "doctor": "check Java, jars, models, ports and disk",
}
DESCRIPTION = """\
Turns Wikipedia dumps into document-structure trees in Delta tables, and retrieves evidence from them
with methods that use the structure.

A data folder holds everything: tables, indexes, releases, reports. `build` publishes a release there;
`ask`, `show`, `evaluate` and `export-trees` read the served one.
"""
EPILOG = """\
start here:
  espalier build --data data --wikipedia enwiki-latest-pages-articles.xml.bz2
  espalier ask --data data "Which zoo was the first to keep an aardvark?"
  espalier show --data data enwiki:680 --outline
  espalier COMMAND --help

Set ESPALIER_DATA to leave out --data. An error is one line: what it is about, what was found, what was
expected, what to do. --debug adds the traceback.
"""
BY_SIGNAL, OUTPUT_CLOSED = 128, 141
DEBUG = "--debug"


class _Parser(argparse.ArgumentParser):
    """Reports a wrong command line as every other error: one line, exit code 2."""

    def error(self, message: str) -> NoReturn:
        raise UserError("command line", message, f"arguments as `{self.prog} --help` lists them",
                        f"See `{self.prog} --help`.")


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """The parser: all commands listed, the arguments of `command` alone defined (all with None known)."""
    parser = _Parser(prog="espalier", description=DESCRIPTION, epilog=EPILOG,
                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"espalier {project_version()}")
    parser.add_argument(DEBUG, action="store_true", help="show the traceback of an error")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, meaning in COMMANDS.items():
        if name == command:
            command_module(name).add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=meaning, add_help=False)
    return parser


def command_module(name: str) -> Any:
    """The module of a command, imported now."""
    return importlib.import_module(f"jobs.commands.{name.replace('-', '_')}")


def project_version() -> str:
    """Version of the installed distribution; `unknown` when it runs from a folder that is not installed."""
    try:
        return version("espalier-rag")
    except PackageNotFoundError:
        return "unknown"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit code."""
    with visible_output():
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    # What follows `--` is the user's text.
    options_end = given.index("--") if "--" in given else len(given)
    debug = DEBUG in given[:options_end]
    given = [text for place, text in enumerate(given) if text != DEBUG or place > options_end]
    command = next((text for text in given if not text.startswith("-")), None)
    with interruptible() as first_signal:
        return _run(given, command, debug, first_signal)


def _run(given: list[str], command: str | None, debug: bool, first_signal: Callable[[], int]) -> int:
    args = argparse.Namespace()
    try:
        parser = build_parser(command)
        args = parser.parse_args(given)
        args.debug = debug
        if args.command is None:
            parser.print_help()
            return 0
        if args.command != "doctor":
            check_limits(args.command)
        remove_left_overs()
        code = int(command_module(args.command).run(args))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        number = first_signal()
        by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
        step = "; the served release is unchanged, the same command completes the build" \
            if command == "build" else ""
        print(f"espalier: interrupted{by}{step}", file=sys.stderr)
        return BY_SIGNAL + number
    except BrokenPipeError:
        _drop_output()
        return OUTPUT_CLOSED
    except Exception as error:  # noqa: BLE001 - the one place where an error becomes a line and a code
        return _report(error, debug, args)


def _drop_output() -> None:
    """Python flushes stdout again at exit: into nothing, or it would complain of what was said already."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _places(args: argparse.Namespace) -> list[str]:
    """The folders that a command writes to."""
    from pipelines.full_disk import written_folders
    from pipelines.settings import DataFolder

    with suppress(EspalierError):
        return written_folders(DataFolder.at(getattr(args, "data", None)))
    return []


def _report(error: Exception, debug: bool, args: argparse.Namespace) -> int:
    if debug:
        traceback.print_exception(error)
    if not isinstance(error, UserError) or isinstance(error.__cause__, OSError):
        from pipelines.full_disk import full_disk

        error = full_disk(error, _places(args)) or error
    if isinstance(error, OSError):
        error = place_failure(error) or error
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    if isinstance(error, EspalierError):
        for each in getattr(error, "errors", ()):
            print(f"espalier: {one_line(str(each.as_command_line()))}", file=sys.stderr)
        print(f"espalier: {one_line(str(error.as_command_line()))}", file=sys.stderr)
        return error.exit_code
    if isinstance(error, UnicodeEncodeError):
        print(f"espalier: argument {error.object[:60]!r}: not valid text; expected UTF-8. Correct it.",
              file=sys.stderr)
        return 2
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    step = "" if debug else f" Run the command again with {DEBUG} and report what it prints."
    print(f"espalier: unexpected error: {one_line(what)}; expected none.{step}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
