"""A measure and its value in other units: rounding and words, as Wikipedia's `{{convert}}` has them.

What belongs here: one conversion from values and units to words. Rounding follows the template's
documentation: as many digits as the input has, one more or less where the factor asks for it, at least two
that count; for temperatures three in kelvin; the values of a range all get the highest precision of one.
Reading a call into values is in `measures.py`, the units are in `units.tsv`.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import NamedTuple

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.formats import grouped, plain_number, rounded
from pipelines.documents.readers.templates.units import Unit, default_target, find_unit

BETWEEN = {
    "to": " to ", "and": " and ", "or": " or ", "by": " by ", "x": " by ", "×": " by ", "*": " by ",
    "-": "–", "–": "–", "&ndash;": "–", "to(-)": " to ", "and(-)": " and ", "or(-)": " or ", "+/-": " ± ",
    "±": " ± ", "+": " + ", ",": ", ", ", and": ", and ", ", or": ", or ", "to about": " to about ",
    "and then": " and then ", "xx": " × ", "x(-)": " by ", "by(-)": " by ",
}
"""Words between the values of a range, as they are shown."""
_TIMES = {"by", "x", "×", "*"}
_DASHED = {"to(-)", "and(-)", "or(-)", "x(-)", "by(-)"}
_COMBINED = {"ftin": ("ft", "in"), "ft in": ("ft", "in"), "stlb": ("st", "lb"), "st lb": ("st", "lb"),
             "lboz": ("lb", "oz"), "lb oz": ("lb", "oz"), "mich": ("mi", "ch"), "mift": ("mi", "ft"),
             "ydft": ("yd", "ft")}
"""Output of one value in two units."""
_TWO = math.log10(2)
PARTS = {("ft", "in"): 12, ("st", "lb"): 14, ("lb", "oz"): 16, ("mi", "yd"): 1760, ("mi", "ft"): 5280,
          ("yd", "ft"): 3, ("mi", "ch"): 80}
"""Units of the second kind in one of the first: what two units may follow each other."""


class Value(NamedTuple):
    """A number as written and shown; number is None where it is none. denominator: of a fraction, else 0."""

    shown: str
    number: Decimal | None
    written: str
    denominator: int = 0


class Measure(NamedTuple):
    """What a call gives: values, the words between them, the input unit and its parts of a second one."""

    values: list[Value]
    between: list[str]
    unit: Unit
    parts: list[tuple[Value, Unit]]


def _joiner(word: str) -> str:
    """What stands between two values for a word of the call; another language's word stays as it is."""
    return BETWEEN.get(word, f" {word} " if word else " ")


class Conversion:
    """One call, on its way to words."""

    def __init__(self, call: Call, measure: Measure, rest: list[str], short: bool) -> None:
        self.call, self.measure = call, measure
        # Names of units are known in English; other wikis get the symbols, which all share.
        self.is_english = call.language in ("", "en", "simple")
        self.disp, self.adj = call.text("disp"), call.text("adj")
        usual = "off" if self.disp == "or" else "values" if self.disp in ("table", "tablecen") else "out"
        self.abbr = call.text("abbr") or ("on" if short else usual)
        if not self.is_english:
            self.abbr = "on"
        self.us_spelling = call.text("sp") == "us"
        self.is_flipped = self.disp == "flip" or call.text("order") == "flip"
        self.target, self.rest = "", rest
        if rest and rest[0] and plain_number(rest[0]) is None and not rest[0].startswith(("-", "–")):
            self.target, self.rest = rest[0], rest[1:]
        self.middle = ""
        if self.adj in ("mid", "pre") and self.rest and plain_number(self.rest[0]) is None:
            self.middle, self.rest = self.rest[0], self.rest[1:]
        self.digits = plain_number(self.rest[0]) if self.rest else None

    def words(self) -> str | None:
        """The words of the call; None where it cannot be converted."""
        measure = self.measure
        if any(value.number is None for value in measure.values):
            return None
        target = self.target or default_target(measure.unit, measure.values[0].number)
        if not target:
            return None
        outputs = []
        for codes in ([target] if target in _COMBINED or find_unit(target) else target.replace("+", " ").split()):
            words = self.output(codes)
            if words is None:
                return None
            outputs.append(words)
        return self.join(self.input(), outputs)

    # The given side

    def input(self) -> str:
        measure = self.measure
        is_name = self.abbr not in ("on", "in") if not self.is_flipped else self.abbr in ("in", "off", "none")
        if measure.parts:
            pairs = [(measure.values[0], measure.unit), *measure.parts]
            gap = "-" if self.adj == "on" and is_name else " "
            return gap.join(f"{value.shown}{gap}{self.unit_words(unit, value.number, is_name, gap == '-')}"
                            for value, unit in pairs)
        return self.side([value.shown for value in measure.values], measure.values[-1].number, measure.unit,
                         is_name, is_input=True)

    def side(self, shown: list[str], last: Decimal | None, unit: Unit, is_name: bool, *,
             is_input: bool) -> str:
        """Values with the words between them and the unit."""
        is_adjective = self.adj in ("on", "mid") and is_name and is_input
        if unit.is_symbol_only:
            is_name = is_adjective = False
        unit_words = self.unit_words(unit, last if len(shown) == 1 else Decimal(2), is_name, is_adjective)
        gap = "-" if is_adjective else "" if unit.is_close and not is_name else " "
        between = self.measure.between
        if between and not is_name and all(word in _TIMES for word in between):
            return " × ".join(f"{value}{gap}{unit_words}" for value in shown)
        out = shown[0]
        for word, value in zip(between, shown[1:], strict=True):
            joiner = _joiner(word)
            if word in _DASHED and not is_input:
                joiner = "–"
            elif is_adjective and joiner in (" to ", " by ", " or ", " and "):
                joiner = joiner.replace(" ", "-" if joiner in (" to ", " by ") else " ")
            out += joiner + value
        before = f"{self.middle} " if is_input and self.middle and self.adj == "pre" else ""
        behind = self.middle if is_input and self.adj == "mid" else ""
        if behind and not behind.startswith("-"):
            behind = " " + behind
        return f"{out}{gap}{before}{unit_words}{behind}"

    def unit_words(self, unit: Unit, value: Decimal | None, is_name: bool, is_singular: bool) -> str:
        if unit.is_symbol_only or not is_name:
            return unit.symbol if value is None or abs(value) != 1 else unit.symbol_of_one
        if is_singular or (value is not None and (abs(value) == 1 or self.is_proper_fraction(value))):
            return unit.name_of_one(us=self.us_spelling)
        return unit.name_of_many(us=self.us_spelling)

    def is_proper_fraction(self, value: Decimal) -> bool:
        return self.measure.values[0].denominator > 0 and abs(value) < 1

    # The converted side

    def output(self, code: str) -> str | None:
        pair = _COMBINED.get(code)
        source = self.measure.unit
        unit = find_unit(pair[1] if pair else code)
        if unit is None or unit.kind != source.kind:
            return None
        totals = [self.base_value(value) for value in self.measure.values]
        results = [unit.from_base(total) for total in totals]
        digits = max(self.precision(value, result, unit, total) for value, result, total in
                     zip(self.measure.values, results, totals, strict=True))
        is_name = self.abbr in ("in", "off", "none") if not self.is_flipped else self.abbr not in ("on", "in")
        if pair:
            return self.in_two_units(results, pair, max(digits, 0), is_name)
        shown = [self.round(result, digits) for result in results]
        last = plain_number(shown[-1])
        return self.side([grouped(text, self.call.language) for text in shown], last, unit, is_name,
                         is_input=False)

    def base_value(self, value: Value) -> Decimal:
        total = self.measure.unit.to_base(value.number or Decimal(0))
        for part, unit in self.measure.parts:
            total += unit.to_base(part.number or Decimal(0))
        return total

    def precision(self, value: Value, result: Decimal, unit: Unit, total: Decimal) -> int:
        """Decimals of the result: as asked for, else the template's default (its documentation, “Rounding”)."""
        if self.digits is not None:
            return int(self.digits)
        figures = plain_number(self.call.text("sigfig"))
        if figures is not None and result:
            return int(figures) - 1 - result.adjusted()
        source, parts = self.measure.unit, self.measure.parts
        given = parts[-1][0] if parts else value
        digits: float
        if given.denominator:
            digits = max(math.log10(given.denominator), 1)
        else:
            whole, point, decimals = given.written.lower().partition("e")[0].partition(".")
            digits = len(decimals) if point else 0 if parts else -(len(whole) - len(whole.rstrip("0")))
            exponent = given.written.lower().partition("e")[2]
            digits -= int(exponent) if exponent.lstrip("+-").isdecimal() else 0
        if source.kind == unit.kind == "temperature":
            kelvin = abs(float(total))
            least = 2 if kelvin < 1e-8 else 2 - math.floor(math.log10(kelvin) + 1e-14)
            return max(math.floor(digits), least)
        number = float(value.number or 0)
        size = abs(float(result))
        if not total or not size:
            return 0
        if parts and parts[-1][1].code == "in":
            adjust = math.log10(unit.scale) + 2
        elif unit.code in ("ft", "lb") and number == math.floor(number) and not parts:
            adjust = -math.log10(source.scale)
        else:
            input_size = float(parts[-1][1].from_base(total)) if parts else abs(number)
            adjust = math.log10(input_size / size)
        return max(math.floor(digits + adjust + _TWO), 1 - math.floor(math.log10(size) + 1e-14))

    def round(self, value: Decimal, digits: int) -> str:
        step = plain_number(self.call.text("round"))
        if step is not None and step > 0:
            text = rounded((value / step).quantize(Decimal(1)) * step, max(-_exponent(step), 0))
            return text
        return rounded(value, digits)

    def in_two_units(self, results: list[Decimal], pair: tuple[str, str], digits: int, is_name: bool) -> str:
        """`6 ft 2 in`: whole parts of the larger unit, the rest in the smaller."""
        large, small = find_unit(pair[0]), find_unit(pair[1])
        if large is None or small is None:
            raise KeyError(pair)
        n_parts = PARTS[pair]
        out = []
        for result in results:
            total = plain_number(self.round(abs(result), digits)) or Decimal(0)
            whole, part = divmod(total, n_parts)
            words = []
            if whole:
                shown = grouped(str(int(whole)), self.call.language)
                words.append(f"{'−' if result < 0 else ''}{shown} {self.unit_words(large, whole, is_name, False)}")
            if part or not whole:
                words.append(f"{grouped(f'{part:f}', self.call.language)} "
                             f"{self.unit_words(small, part, is_name, False)}")
            out.append(" ".join(words))
        text = out[0]
        for word, more in zip(self.measure.between, out[1:], strict=True):
            text += (" × " if word in _TIMES else "–" if word in _DASHED else _joiner(word)) + more
        return text

    # Both

    def join(self, given: str, outputs: list[str]) -> str:
        joiner = {"or": " or ", "comma": ", "}.get(self.disp, "; ")
        first, second = given, joiner.join(outputs)
        if self.disp in ("out", "output only"):
            return second
        if self.disp in ("number", "num", "output number only"):
            return re.split(r"[ \xa0-]?[^\d\s.,−–⁄-]", outputs[0])[0].strip()
        if self.disp in ("unit", "unit2"):
            unit = self.measure.unit if self.disp == "unit" else find_unit(self.target)
            return self.unit_words(unit or self.measure.unit, self.measure.values[-1].number,
                                   self.abbr != "on", self.adj == "on")
        if self.abbr == "values":
            numbers = [re.sub(r"[ -][^\d\s(].*", "", text) for text in (first, second)]
            first, second = numbers
        if self.is_flipped:
            first, second = second, first
        style = self.disp
        if style == "or":
            return f"{first} or {second}"
        if style in ("comma", "semi", "semicolon"):
            return f"{first}{',' if style == 'comma' else ';'} {second}"
        if style in ("s", "slash", "/"):
            return f"{first} / {second}"
        if style in ("br", "br()", "table", "tablecen"):
            return f"{first}{mark.BREAK}" + (f"({second})" if style == "br()" else second)
        if style == "sqbr":
            return f"{first} [{second}]"
        if style == "x":
            opening, closing = [*self.rest, "", ""][:2]
            return f"{first} {opening} {second}{closing}" if opening else f"{first} [{second}]"
        return f"{first} ({second})"


def _exponent(value: Decimal) -> int:
    exponent = value.normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0
