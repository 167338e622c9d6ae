"""The units of measure that `{{convert}}` knows: `units.tsv`, read when the first call asks.

What belongs here: one unit, its words and its size. To add a unit, add a line to `units.tsv`, whose head
says how. Reading the call and rounding are in `measures.py`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.templates.data import rows

_ZERO = {"C": Decimal("273.15"), "F": Decimal("459.67"), "K": Decimal(0), "R": Decimal(0)}
"""Degrees between absolute zero and the scale's own."""
_POWERS = {"e3": "thousand ", "e6": "million ", "e9": "billion ", "e12": "trillion "}


class Unit(NamedTuple):
    """One unit. size: in the kind's base unit, exact. symbol: of many; all words are marked words."""

    code: str
    kind: str
    size: Decimal
    symbol: str
    symbol_of_one: str
    is_symbol_only: bool
    name: str
    plural: str
    default: str
    power: str = ""
    """`e6` of `e6km`."""

    @property
    def scale(self) -> float:
        return float(self.size)

    @property
    def is_close(self) -> bool:
        """The symbol follows the number without a space: `/km2`."""
        return self.symbol[0] in "/×"

    def to_base(self, value: Decimal) -> Decimal:
        if self.kind == "temperature":
            return (value + _ZERO[self.code]) * self.size
        if self.code == "L/100km":
            return 1 / (value * self.size) if value else Decimal(0)
        return value * self.size

    def from_base(self, value: Decimal) -> Decimal:
        if self.kind == "temperature":
            return value / self.size - _ZERO[self.code]
        if self.code == "L/100km":
            return 1 / (value * self.size) if value else Decimal(0)
        return value / self.size

    def name_of_one(self, *, us: bool) -> str:
        return _POWERS.get(self.power, "") + (_american(self.name) if us else self.name)

    def name_of_many(self, *, us: bool) -> str:
        return _POWERS.get(self.power, "") + (_american(self.plural) if us else self.plural)


def _american(name: str) -> str:
    return re.sub(r"tonne(?=s?$)", "metric ton", re.sub(r"(met|lit)re", r"\1er", name))


def _size(text: str) -> Decimal:
    top, _, bottom = text.partition("/")
    return Decimal(top) / Decimal(bottom or 1)


def _plural(name: str) -> str:
    head, per, rest = name.partition(" per ")
    return f"{head}s{per}{rest}"


def _raised(symbol: str) -> str:
    return re.sub(r"\^(\d)", rf"{mark.SUPER_ON}\1{mark.SUPER_OFF}", symbol)


@lru_cache(maxsize=1)
def _units() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for kind, size, codes, symbol, name, plural, default in rows("units.tsv"):
        first, *others = codes.split("|")
        many, _, one = symbol.rstrip("!").partition("~")
        unit = Unit(first, kind, _size(size), _raised(many), _raised(one or many), symbol.endswith("!"),
                    name, plural or _plural(name), default)
        for code in (first, *others):
            units[code] = unit
    return units


def find_unit(code: str) -> Unit | None:
    """The unit of a code (`km`, `e6km`, `sqmi`; case counts), None for one that is not listed."""
    unit = _units().get(code)
    if unit is None and code[:1] == "e":
        power = next((power for power in _POWERS if code.startswith(power)), "")
        base = _units().get(code[len(power):]) if power else None
        if base is not None:
            raised = f"×10{mark.SUPER_ON}{power[1:]}{mark.SUPER_OFF} "
            unit = base._replace(code=code, size=base.size * Decimal(10) ** int(power[1:]),
                                 symbol=raised + base.symbol, symbol_of_one=raised + base.symbol_of_one,
                                 power=power)
    return unit


def default_target(unit: Unit, value: Decimal | None) -> str:
    """The output units where a call names none, '' if the unit has no default: `mi`, `km mi`, `ftin`."""
    if unit.code == "m" and value is not None and 0 < value < 3:
        return "ftin"
    if unit.power:
        return " ".join(unit.power + code for code in unit.default.split())
    return unit.default
