"""Reading `--set key=value`: every value checked by name, type and range before any work starts.

What belongs here: the check that all methods share. What does not: which options exist (each method lists
its own) and what they do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.errors import UserError, argument
from pipelines.methods.base import Option

_TRUTH = {"true": True, "1": True, "yes": True, "on": True,
          "false": False, "0": False, "no": False, "off": False}


def read_options(subject: str, known: Sequence[Option], given: Mapping[str, str]) -> dict[str, Any]:
    """The values of all known options, the given ones in place of the defaults.

    subject: whose options these are, as `method rdr2`. Raises UserError for a name that is not known, a
    value of another type, one outside its range.
    """
    by_name = {option.name: option for option in known}
    for name in given:
        if name not in by_name:
            expected = f"one of {', '.join(sorted(by_name))}" if by_name else "no options at all"
            raise UserError(f"option {name!r} of {subject}", "no such option", expected,
                            f"Correct {argument('set')}, or leave it out.")
    values: dict[str, Any] = {option.name: option.default for option in known}
    return values | {name: _read(subject, by_name[name], str(text)) for name, text in given.items()}


def _read(subject: str, option: Option, text: str) -> bool | int | float | str:
    kind = float if option.default is None else type(option.default)
    value: bool | int | float | str | None
    if kind is bool:
        value = _TRUTH.get(text.strip().lower())
        is_valid = value is not None
    elif kind is str:
        value = text
        is_valid = not option.choices or text in option.choices
    else:
        try:
            value = kind(text)
        except ValueError:
            value = None
        is_valid = isinstance(value, (int, float)) and (
            (option.minimum is None or value >= option.minimum)
            and (option.maximum is None or value <= option.maximum))
    if not is_valid or value is None:
        raise UserError(f"option {option.name!r} of {subject}", repr(text), _expected(option, kind),
                        f"Correct {argument('set', f'{option.name}=VALUE')}: {option.meaning}.")
    return value


def _expected(option: Option, kind: type) -> str:
    if kind is bool:
        return "true or false"
    if kind is str:
        return f"one of {', '.join(option.choices)}"
    name = "a whole number" if kind is int else "a number"
    if option.minimum is not None and option.maximum is not None:
        return f"{name} from {option.minimum:g} to {option.maximum:g}"
    return name
