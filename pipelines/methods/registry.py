"""The methods that exist, by name, with their switches: `rdr2+fill` is rdr2 with the switch fill.

To add a method, add a line to `METHODS`. A method's module is imported when the method is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.errors import UserError, argument
from pipelines.methods.ablations import ABLATIONS
from pipelines.methods.base import Method
from pipelines.methods.options import read_options
from pipelines.methods.reader import READER_OPTIONS

SWITCH_MARK = "+"


@dataclass(frozen=True)
class Entry:
    """One method: how it is made from its switches, which it has, what `--help` says of it.

    ablations: switches that take a part away; they are not among what `evaluate` compares by default.
    """

    make: Callable[[frozenset[str]], Method]
    meaning: str
    switches: Mapping[str, str]
    ablations: Mapping[str, str] = field(default_factory=dict)


def _flat(switches: frozenset[str]) -> Method:
    from pipelines.methods.flat import Flat

    return Flat("flat", "dense")


def _flat_bm25(switches: frozenset[str]) -> Method:
    from pipelines.methods.flat import Flat

    return Flat("flat_bm25", "bm25")


def _flat_hybrid(switches: frozenset[str]) -> Method:
    from pipelines.methods.flat import Flat

    return Flat("flat_hybrid", "hybrid")


def _rdr2(switches: frozenset[str]) -> Method:
    from pipelines.methods.rdr2 import Rdr2

    return Rdr2("fill" in switches, switches - {"fill"})


METHODS: dict[str, Entry] = {
    "flat": Entry(_flat, "passages nearest by sentence vectors", {}),
    "flat_bm25": Entry(_flat_bm25, "passages best by BM25", {}),
    "flat_hybrid": Entry(_flat_hybrid, "both rankings fused by reciprocal rank", {}),
    "rdr2": Entry(_rdr2, "routes from the retrieved passages through their documents' headings",
                  {"fill": "retrieves more passages until the context fills the budget"}, ABLATIONS),
}


def method_names() -> list[str]:
    """Every name that `make_method` takes, switches one at a time: what `evaluate` compares by default."""
    names = []
    for name, entry in METHODS.items():
        names += [name, *(f"{name}{SWITCH_MARK}{switch}" for switch in entry.switches)]
    return names


def partition_names() -> list[str]:
    """Every name that an evaluation may be of: those of `method_names`, each also with one ablation."""
    names = method_names()
    return names + [f"{name}{SWITCH_MARK}{ablation}" for name in names
                    for ablation in METHODS[name.split(SWITCH_MARK)[0]].ablations]


def make_method(name: str) -> Method:
    """The method of that name. Raises UserError, listing what exists, for an unknown method or switch."""
    base, *switches = name.split(SWITCH_MARK) if isinstance(name, str) else ("",)
    if base not in METHODS:
        raise UserError(f"method {name!r}", "no such method", f"one of {', '.join(method_names())}",
                        f"Correct {argument('method')}.")
    known = {**METHODS[base].switches, **METHODS[base].ablations}
    for switch in switches:
        if switch not in known or switches.count(switch) > 1:
            own = [base, *(f"{base}{SWITCH_MARK}{other}" for other in known)]
            found = f"{switch!r} twice" if switch in known else f"{base} has no switch {switch!r}"
            raise UserError(f"method {name!r}", found,
                            f"one of {', '.join(own)}", f"Correct {argument('method')}.")
    return METHODS[base].make(frozenset(switches))


def options_by_method(names: Sequence[str], given: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """For each method those of the given options that it, or a reader of what it finds, has, checked.

    Raises UserError for an option that none of the methods has, and for a value that one does not take.
    """
    methods = {name: make_method(name) for name in names}
    options = {name: (*method.options, *READER_OPTIONS) for name, method in methods.items()}
    known = {option.name: option for own in options.values() for option in own}
    read_options(f"methods {', '.join(names)}", list(known.values()), given)
    return {name: {key: value for key, value in given.items() if key in {option.name for option in own}}
            for name, own in options.items()}
