"""Arguments that several commands share: the data folder, and how a method is asked.

What belongs here: argparse definitions and the reading of `--set`. What does not: what a command does
(`commands/`).
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pipelines.errors import UserError

if TYPE_CHECKING:
    from pipelines.settings import DataFolder

DEFAULT_BUDGET_TOKENS = 1000


def add_data_argument(parser: argparse.ArgumentParser) -> None:
    """--data: where tables, indexes and releases lie."""
    parser.add_argument("--data", metavar="DIR", help="data folder (default: $ESPALIER_DATA)")


def add_release_argument(parser: argparse.ArgumentParser) -> None:
    """--release: another release than the served one."""
    parser.add_argument("--release", type=int, metavar="N",
                        help="read this release (default: the served one)")


def add_query_arguments(parser: argparse.ArgumentParser) -> None:
    """How a method is asked: budget, router, reader, k, the method's own options."""
    parser.add_argument("--budget", type=int, default=DEFAULT_BUDGET_TOKENS, metavar="TOKENS",
                        help="tokens that the context may have (default: %(default)s)")
    parser.add_argument("--router", default="similarity", metavar="NAME|FILE|URL",
                        help="router of rdr2: similarity, deterministic, no language model; the file of a trained "
                             "scorer, as scorer.safetensors; a registered one, as models:/scorer@champion or "
                             "models:/scorer/3; local, the small model in this process; or an "
                             "OpenAI-compatible endpoint, as http://127.0.0.1:8000/v1#MODEL (default: %(default)s)")
    parser.add_argument("--reader", default="none", metavar="NAME|URL",
                        help="reader of the evidence: none, only evidence; default, the small model in this "
                             "process; or an endpoint's URL (default: %(default)s)")
    parser.add_argument("--k", type=int, metavar="N",
                        help="passages to retrieve (default: rdr2 5; flat as many as fill the budget)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="options",
                        help="an option of the method or the reader, as expand_iterations=3; may be repeated")


def resolved_router(name: str, data: DataFolder) -> str:
    """What --router names, as methods know it: a registered router becomes the path of its files.

    Raises UserError for a reference to nothing or to a router of another format.
    """
    from training.router_registry import resolve_router

    return resolve_router(name, data)


def method_help() -> str:
    """The methods that exist and their options, for the end of a command's help."""
    from pipelines.methods.reader import READER_OPTIONS
    from pipelines.methods.registry import METHODS, make_method

    lines = ["methods:"]
    for name, entry in METHODS.items():
        lines.append(f"  {name:12} {entry.meaning}")
        lines += [f"  {name + '+' + switch:12} {meaning}"
                  for switch, meaning in {**entry.switches, **entry.ablations}.items()]
    lines.append("\noptions (--set KEY=VALUE):")
    options = {name: make_method(name).options for name in METHODS} | {"reader": READER_OPTIONS}
    for name, own in options.items():
        for option in own:
            default = "of the release" if option.default is None else str(option.default)
            kinds = f", one of {', '.join(option.choices)}" if option.choices else ""
            lines.append(f"  {name:12} {option.name}: {option.meaning}{kinds} (default: {default})")
    return "\n".join(lines) + f"\n{_environment_help()}"


def _environment_help() -> str:
    """The environment variables of language models, for the end of a command's help."""
    from pipelines.models.llm_settings import CACHE_VARIABLE, PREFIX, EndpointSettings

    lines = ["\nendpoints (environment):", f"  {CACHE_VARIABLE}: keep answers on disk, on or off (default: on)"]
    for name, field in EndpointSettings.model_fields.items():
        default = "none" if field.default is None else f"{field.default:g}"
        lines.append(f"  {PREFIX}{name.upper()}: {field.description} (default: {default})")
    return "\n".join(lines) + "\n"


def read_assignments(texts: list[str]) -> dict[str, str]:
    """`--set key=value` by key; the last of a key wins. Raises UserError for a text without `=`."""
    options = {}
    for text in texts:
        key, mark, value = text.partition("=")
        if not mark or not key.strip():
            raise UserError(f"--set {text!r}", "no key=value", "a name, = and a value",
                            "Write it as --set expand_iterations=3.")
        options[key.strip()] = value.strip()
    return options
