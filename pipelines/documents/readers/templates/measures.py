"""`{{convert|93|m}}` and its like: calls that show a measure in other units as well.

What belongs here: reading a call into values, ranges and units. Rounding and words are in `conversion.py`.
Where the output cannot be computed (a unit that is not listed, a value that is no number) the measure is
shown as it was given, and `conversions_without_result` counts it.
"""

from __future__ import annotations

import re
from decimal import Decimal

from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.conversion import BETWEEN, PARTS, Conversion, Measure, Value
from pipelines.documents.readers.templates.formats import grouped, plain_number
from pipelines.documents.readers.templates.table import words
from pipelines.documents.readers.templates.units import Unit, find_unit

_FRACTION = re.compile(r"([-−]?)(?:(\d{1,9})\s*(?:\+|⁄|/(?=\d+/)|\s)\s*)?(\d{1,9})\s*(?://?|⁄)\s*(\d{1,9})")


@words("convert|cvt")
def convert(call: Call) -> str:
    given = call.positional()
    short = call.name == "cvt"
    for number in range(1, len(given)):
        if given[number - 1] and (unit := find_unit(given[number])) is not None:
            break
    else:
        call.reader.counts["conversions_without_result"] += 1
        return _as_given(given, call.language)
    measure, rest = _read(given, number, unit, call.language)
    result = Conversion(call, measure, rest, short).words()
    if result is None:
        call.reader.counts["conversions_without_result"] += 1
        return _as_given(given, call.language)
    return result


def _as_given(given: list[str], language: str) -> str:
    """The measure without a conversion: `5 to 10 flux`."""
    out = ""
    for number, word in enumerate(given):
        if number and word.lower() in BETWEEN:
            out += BETWEEN[word.lower()]
        elif number == 0 or out.endswith(tuple(" –")):
            out += grouped(word, language)
        elif word:
            unit = find_unit(word)
            return f"{out} {unit.symbol if unit else word}"
    return out


def _value(text: str, language: str) -> Value:
    match = _FRACTION.fullmatch(text)
    if match:
        sign, whole, top, bottom = match.groups()
        if int(bottom):
            number = Decimal(int(whole or 0)) + Decimal(int(top)) / Decimal(int(bottom))
            shown = f"{'−' if sign else ''}{whole + ' ' if whole else ''}{top}⁄{bottom}"
            return Value(shown, -number if sign else number, text, int(bottom))
    number_or_none = plain_number(text)
    return Value(grouped(text.replace(",", ""), language) if number_or_none is not None else text,
                 number_or_none, text.replace(",", ""))


def _read(given: list[str], at: int, unit: Unit, language: str) -> tuple[Measure, list[str]]:
    """(the measure, parameters behind it); given[at] is the input unit."""
    values, between = [_value(given[0], language)], []
    for number in range(1, at - 1, 2):
        between.append(given[number].lower())
        values.append(_value(given[number + 1], language))
    rest = given[at + 1:]
    parts: list[tuple[Value, Unit]] = []
    while len(rest) >= 2 and len(values) == 1 and plain_number(rest[0]) is not None:
        part = find_unit(rest[1])
        last = parts[-1][1] if parts else unit
        if part is None or (last.code, part.code) not in PARTS:
            break
        parts.append((_value(rest[0], language), part))
        rest = rest[2:]
    while rest and len(values) < 6 and rest[0].lower() in BETWEEN and len(rest) >= 2 \
            and plain_number(rest[1]) is not None:
        # `5|m|to|10|m`: a range with the unit given twice.
        between.append(rest[0].lower())
        values.append(_value(rest[1], language))
        rest = rest[2:]
        if rest and (again := find_unit(rest[0])) is not None and again.code == unit.code:
            rest = rest[1:]
    return Measure(values, between, unit, parts), rest


@words("convinfobox")
def convert_for_infobox(call: Call) -> str:
    """`{{convinfobox|93|m||ft}}`: pairs of value and unit; the first that has a value is converted."""
    given = call.positional()
    pairs = [(given[at], given[at + 1] if at + 1 < len(given) else "") for at in range(0, len(given), 2)]
    for value, code in pairs:
        unit = find_unit(code)
        if value and unit is not None:
            others = [other for _, other in pairs if other and other != code]
            measure = Measure([_value(value, call.language)], [], unit, [])
            result = Conversion(call, measure, others[:1], short=True).words()
            return result or f"{grouped(value, call.language)} {unit.symbol}"
    return " ".join(word for word in given if word)


@words("height|weight")
def body_measure(call: Call) -> str:
    """`{{height|m=1.88}}` or `{{height|ft=6|in=2}}`, and the same in the other system."""
    order = (("ft", "in"), ("st", "lb")) if call.name == "height" or call.text("st") else ()
    for large, small in order:
        if call.text(large):
            first = call.text(large)
            given = [first, large, *([call.text(small) or "0", small] if call.text(small) else [])]
            unit = find_unit(large)
            if unit is not None and plain_number(first) is not None:
                measure, _ = _read(given, 1, unit, call.language)
                target = "m" if large == "ft" else "kg"
                result = Conversion(call, measure, [target, *_asked_precision(call)], short=True).words()
                return result or " ".join(given)
    for code, target in (("m", "ftin"), ("cm", "ftin"), ("kg", "lb"), ("lb", "kg"), ("in", "cm")):
        value = call.text(code)
        unit = find_unit(code)
        if value and unit is not None:
            measure = Measure([_value(value, call.language)], [], unit, [])
            result = Conversion(call, measure, [target, *_asked_precision(call)], short=True).words()
            return result or f"{value} {code}"
    return call.text("1")


def _asked_precision(call: Call) -> list[str]:
    return [value for value in (call.text("precision"),) if value.isdecimal()]
