"""Numbers, measures and dates as templates show them.

What belongs here: pure functions from parameter words to words, no calls and no tokens.
"""

from __future__ import annotations

import re

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")
_NUMBER = re.compile(r"[-+−–]?[\d.,/⁄+]+(?:[eE]\d+)?")
_RANGE_WORDS = {
    "-": "–", "–": "–", "to": " to ", "and": " and ", "by": " by ", "x": " × ", "×": " × ",
    "or": " or ", "to about": " to about ", "&ndash;": "–", "+/-": " ± ", "±": " ± ", "to(-)": " to ",
    "and(-)": " and ", ",": ", ", ", and": ", and ", ", or": ", or ", "xx": " × ", "*": " × ",
}
_UNITS = {
    "sqmi": "sq mi", "sqkm": "km²", "km2": "km²", "m2": "m²", "sqft": "sq ft", "ft2": "sq ft",
    "mi2": "sq mi", "km/h": "km/h", "kph": "km/h", "C": "°C", "F": "°F", "K": "K", "m3": "m³",
    "km3": "km³", "cuft": "cu ft", "ha": "hectares", "PD/sqkm": "/km²", "PD/sqmi": "/sq mi",
    "cm3": "cm³", "cc": "cc", "long ton": "long tons", "impgal": "imp gal", "usgal": "US gal",
    "U.S.gal": "US gal", "°C": "°C", "°F": "°F", "acre": "acres", "in2": "sq in", "cuyd": "cu yd",
    "cumi": "cu mi", "m/s": "m/s", "m3/s": "m³/s", "cuft/s": "cu ft/s", "nmi": "nmi", "kn": "kn",
    "sqyd": "sq yd", "kg/m3": "kg/m³", "C-change": "°C", "F-change": "°F",
}


def number_with_separators(text: str) -> str:
    """`1234567.5` as `1,234,567.5`; anything else as it is."""
    if not re.fullmatch(r"-?\d{5,}(?:\.\d+)?", text):
        return text
    whole, dot, fraction = text.partition(".")
    return f"{int(whole):,}{dot}{fraction}"


def conversion(values: list[str]) -> str:
    """The measure as given: `5|to|10|km|mi` → `5 to 10 km`. The converted value is not computed: a rounding
    that differs from the wiki's would be a wrong fact."""
    out: list[str] = []
    for number, value in enumerate(values):
        if not value:
            continue
        if number == 0 or (out[-1] in _RANGE_WORDS.values() and _NUMBER.fullmatch(value)):
            out.append(number_with_separators(value.replace("+", " ")))
        elif value.lower() in _RANGE_WORDS and out:
            out.append(_RANGE_WORDS[value.lower()])
        else:
            return "".join(out) + " " + _UNITS.get(value, value)
    return "".join(out)


def date_words(values: list[str], *, day_first: bool) -> str:
    """Year, month, day → `5 March 1999` or `March 5, 1999`; what is no number stays as it is."""
    values = [value for value in values[:3] if value]
    if not values:
        return ""
    year = values[0]
    if not year.lstrip("-").isdigit():
        return " ".join(values) if len(values) > 1 and len(" ".join(values)) < 40 else year
    if len(values) == 1:
        return year
    month = values[1]
    if month.isdigit() and 1 <= int(month) <= 12:
        month = MONTHS[int(month) - 1]
    if len(values) == 2 or not values[2].isdigit():
        return f"{month} {year}"
    day = str(int(values[2]))
    return f"{day} {month} {year}" if day_first else f"{month} {day}, {year}"
