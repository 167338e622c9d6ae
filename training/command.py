"""`python -m training.NAME --config FILE`, the command that every job of Ray is.

What belongs here: its one option, an error as one line with the exit code of its kind. What does not: reading the
file (`config_file.py`), and the jobs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pipelines.errors import EspalierError, one_line, place_failure
from pipelines.visible import visible_output
from training.config_file import Config, load_config

INTERRUPTED = 130
"""Exit code behind Ctrl-C, as shells have it."""


def run_command(name: str, description: str, model: type[Config], work: Callable[[Config], str],
                arguments: Sequence[str] | None = None) -> int:
    """Work with the settings of the file, print what `work` says, and return the exit code.

    name: of the module in `training`. work: raises EspalierError, whose exit code counts.
    """
    with visible_output():
        return _run(name, description, model, work, arguments)


def _run(name: str, description: str, model: type[Config], work: Callable[[Config], str],
         arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m training.{name}", description=description)
    parser.add_argument("--config", type=Path, required=True, help=f"YAML or JSON file of {model.__name__}")
    path = parser.parse_args(arguments).config
    try:
        words = work(load_config(path, model))
    except KeyboardInterrupt:
        print(f"{name}: interrupted; what was committed is kept, run the same command again", file=sys.stderr)
        return INTERRUPTED
    except EspalierError as error:
        return _report(name, error)
    except OSError as error:
        if (failure := place_failure(error)) is None:
            raise
        return _report(name, failure)
    if words:
        print(words)
    return 0


def _report(name: str, error: EspalierError) -> int:
    print(f"{name}: {one_line(str(error))}", file=sys.stderr)
    return error.exit_code
