"""Templates for numbers: separators, powers, fractions, ordinals, shares, amounts of money, formulas.

What belongs here: one small function a kind of template. How a language writes numbers is in `formats.py`,
measures that are converted are in `measures.py`.
"""

from __future__ import annotations

import re

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.formats import grouped, ordinal, plain_number, rounded
from pipelines.documents.readers.templates.places import ship
from pipelines.documents.readers.templates.table import Words, positional, words, words_by_pattern


@words("formatnum|number|nts|fmtn|formatprice")
def formatted_number(call: Call) -> str:
    """`{{formatnum:8779}}` → 8,779; with R the other way round."""
    values = call.positional()
    if not values:
        return ""
    if len(values) > 1 and values[1].upper() in ("R", "NOSEP"):
        return values[0].replace(",", "") if values[1].upper() == "R" else values[0]
    return grouped(values[0], call.language) + call.text("suffix")


@words("quantity")
def quantity(call: Call) -> str:
    """`{{unité|5|km}}`, `{{num|1234|км}}`, `{{unidad|5|km}}`: a number and its unit, with powers in pairs."""
    values = call.positional()
    if not values:
        return ""
    words, power = grouped(values[0].replace(" ", ""), call.language), ""
    if call.text("e"):
        words += f"×10{mark.SUPER_ON}{call.text('e')}{mark.SUPER_OFF}"
    unit = (values[1] if len(values) > 1 else "") or call.text("u", "ul", "unit")
    if len(values) > 2 and values[2].lstrip("-−").isdecimal():
        power = f"{mark.SUPER_ON}{values[2]}{mark.SUPER_OFF}"
    return f"{words} {unit}{power}" if unit else words


@words("val")
def value(call: Call) -> str:
    """`{{val|3.5|0.2|e=18|u=km}}` → (3.5±0.2)×10¹⁸ km; the digits are set apart by spacing alone."""
    values = call.positional()
    if not values:
        return call.text("pre", "p")
    separate = "commas" in call.text("fmt")
    number = grouped(values[0], call.language) if separate else values[0].replace("-", "−", 1)
    if len(values) == 2 and values[1]:
        number += values[1] if values[1].startswith("(") else f"±{values[1]}"
    elif len(values) > 2 and values[1]:
        number += f"{mark.SUPER_ON}+{values[1].lstrip('+')}{mark.SUPER_OFF}" \
                  f"{mark.SUB_ON}−{values[2].lstrip('-−')}{mark.SUB_OFF}"
    if call.text("end"):
        number += call.text("end")
    power = f"{mark.SUPER_ON}{call.text('e').replace('-', '−')}{mark.SUPER_OFF}" if call.text("e") else ""
    if power:
        if len(values) > 1 and "±" in number:
            number = f"({number})"
        number += f"×10{power}"
    unit = call.text("u", "ul", "unit")
    per = call.text("up", "upl")
    if per:
        unit = f"{unit}/{per}"
    unit = _POWER.sub(rf"{mark.SUPER_ON}\1{mark.SUPER_OFF}", unit)
    close = unit[:1] in ("%", "°", "′", "″", "/")
    return call.text("p", "pre") + number + ("" if close or not unit else " ") + unit + call.text("s", "suf")


_POWER = re.compile(r"(?<=[A-Za-zΩµμÅ])\^?([-−]?\d)(?!\w)")
"""The power of a unit: the 2 of `km2` and of `km^2`."""


@words("su")
def stacked(call: Call) -> str:
    """`{{su|p=+0.2|b=−0.1}}`: one above the other, the upper one first."""
    upper, lower = call.text("p"), call.text("b")
    return ((f"{mark.SUPER_ON}{upper}{mark.SUPER_OFF}" if upper else "")
            + (f"{mark.SUB_ON}{lower}{mark.SUB_OFF}" if lower else ""))


@words("gaps")
def gaps(call: Call) -> str:
    unit = call.text("u")
    power = f"×10{mark.SUPER_ON}{call.text('e')}{mark.SUPER_OFF}" if call.text("e") else ""
    return call.text("lhs") + "".join(call.positional()) + power + (f" {unit}" if unit else "")


@words("frac|sfrac")
def fraction(call: Call) -> str:
    """`{{frac|3|1|4}}` → 3 1⁄4; `{{sfrac|1|2}}` stands upright, which is written with the same sign."""
    values = call.positional()
    if len(values) >= 3:
        return f"{values[0]} {values[1]}⁄{values[2]}"
    if len(values) == 2:
        return f"{values[0]}⁄{values[1]}"
    return f"1⁄{values[0]}" if values else "⁄"


@words("ordinal|ord|th")
def ordinal_number(call: Call) -> str:
    value_ = call.text("1")
    is_number = value_.isdecimal() and len(value_) < 40
    return ordinal(int(value_)) if is_number and call.language in ("", "en", "simple") else value_


@words("percentage|percent|pct")
def percentage(call: Call) -> str:
    values = call.positional()
    part = plain_number(values[0]) if values else None
    whole = plain_number(values[1]) if len(values) > 1 else None
    digits = plain_number(call.text("3", "dec") or "0")
    if part is None or not whole or digits is None:
        return f"{values[0]}%" if len(values) == 1 else ""
    return f"{rounded(100 * part / whole, int(digits))}%"


@words("pop density")
def population_density(call: Call) -> str:
    """`{{pop density|3645257|640081.87|km2|prec=1}}` → 5.7/km²; the same in another unit is left out."""
    values = call.positional()
    people = plain_number(values[0]) if values else None
    area = plain_number(values[1]) if len(values) > 1 else None
    if people is None or not area or len(values) < 3:
        call.reader.counts["conversions_without_result"] += 1
        return ""
    digits = plain_number(call.text("prec"))
    density = people / area
    shown = rounded(density, int(digits) if digits is not None else max(1 - density.adjusted(), 0))
    unit = {"km2": f"/km{mark.SUPER_ON}2{mark.SUPER_OFF}", "sqmi": "/sq mi", "ha": "/ha"}.get(values[2], "")
    return grouped(shown, call.language) + ("" if call.text("disp") in ("num", "number") else unit)


@words("e")
def exponent(call: Call) -> str:
    return f"×10{mark.SUPER_ON}{call.text('1')}{mark.SUPER_OFF}"


@words("pow|exp")
def power_of(call: Call) -> str:
    if not call.ranges:
        return "(POW)" if call.shown_name == "POW" else ""
    return f"{call.text('1')}{mark.SUPER_ON}{call.text('2')}{mark.SUPER_OFF}"


@words("10^|ten power")
def ten_power(call: Call) -> str:
    return f"10{mark.SUPER_ON}{call.text('1')}{mark.SUPER_OFF}"


@words("sqrt|radic")
def root(call: Call) -> str:
    degree = call.text("2")
    return (f"{mark.SUPER_ON}{degree}{mark.SUPER_OFF}" if degree else "") + f"√{call.text('1')}"


@words("round|abs|trim|rnd|decimals")
def rounded_number(call: Call) -> str:
    number, digits = plain_number(call.text("1")), plain_number(call.text("2") or "0")
    if call.name in ("round", "rnd", "decimals") and number is not None and digits is not None:
        return grouped(rounded(number, int(digits)), call.language)
    return call.text("1").lstrip("-−") if call.name == "abs" else call.text("1")


_COUNT = re.compile(r"\d|''")
_CHARGE = re.compile(r"(\d*[+−-]|[+−-]\d*)$")


@words("chem")
def chemistry(call: Call) -> str:
    """`{{chem|H|2|O}}`: digits behind an element are lowered, a charge is raised."""
    out, values = "", call.positional()
    for number, part in enumerate(values):
        if not number and part.isdecimal():
            out += f"{mark.SUPER_ON}{part}{mark.SUPER_OFF}"
        elif number and _COUNT.match(part) and not _CHARGE.fullmatch(part):
            out += f"{mark.SUB_ON}{part}{mark.SUB_OFF}"
        elif number == len(values) - 1 and part and _CHARGE.fullmatch(part):
            out += f"{mark.SUPER_ON}{part.replace('-', '−')}{mark.SUPER_OFF}"
        else:
            out += part
    return out


@words("chem2|ce")
def chemical_formula(call: Call) -> str:
    """`{{chem2|H2SO4}}`, `{{chem2|SO4(2-)}}`, `{{chem2|2 H2 + O2 → 2 H2O}}`."""
    formula = "".join(call.positional()) if call.name == "ce" else call.text("1")
    formula = formula.replace("->", "→").replace("<-->", "⇌")
    formula = re.sub(r"\((\d*)([+-])\)", lambda m: f"{mark.SUPER_ON}{m[1]}{'−' if m[2] == '-' else '+'}"
                     f"{mark.SUPER_OFF}", formula)
    formula = re.sub(r"(?<=[A-Za-z\])])([+-])(?=$| (?!\d*[A-Z(\[]))",
                     lambda m: f"{mark.SUPER_ON}{'−' if m[1] == '-' else '+'}{mark.SUPER_OFF}", formula)
    return re.sub(r"(?<=[A-Za-z\])])(\d+)", lambda m: f"{mark.SUB_ON}{m[1]}{mark.SUB_OFF}", formula)


@words("nuclide|simplenuclide|element|su isotope")
def nuclide(call: Call) -> str:
    """`{{nuclide|uranium|235}}` or `{{simplenuclide|U|235}}`: the mass number is raised."""
    element, *rest = [*positional(call), ""]
    if not element:
        return ""
    mass = rest[0]
    if call.name == "element":
        return "".join(positional(call))
    return f"{mark.SUPER_ON}{mass}{mark.SUPER_OFF}{element}" if mass else element


@words("simplenuclide2|nuclide2")
def nuclide_by_name(call: Call) -> str:
    return "-".join(positional(call)[:2])


@words("hms|ra|dec|deg2dms")
def hours(call: Call) -> str:
    """`{{RA|12|5|7}}` → 12h 5m 7s; a declination is in degrees, minutes and seconds."""
    signs = ("°", "′", "″") if call.name in ("dec", "deg2dms") else ("h", "m", "s")
    parts = zip(call.positional(), signs, strict=False)
    shown = list(parts)
    if call.name == "hms" and shown and not shown[0][0][:1].isdigit():
        return ship(call)
    return " ".join(value_ + unit for value_, unit in shown if value_)


@words("duration")
def duration(call: Call) -> str:
    """`{{duration|h=1|m=5|s=7}}` or `{{duration|3|26}}` → 1:05:07."""
    parts = [call.text(key) for key in ("h", "m", "s")]
    if not any(parts):
        return ":".join(positional(call))
    shown = [part for part in parts[:1] if part] + [part or "0" for part in parts[1:]]
    return ":".join([shown[0], *(part.zfill(2) for part in shown[1:])])


_CURRENCIES = {
    "pound": "£", "gbp": "£", "£": "£", "euro": "€", "eur": "€", "€": "€", "indian rupee": "₹", "inr": "₹",
    "rupee": "₹", "us$": "US$", "usd": "US$", "u.s. dollar": "US$", "cad": "CA$", "canadian dollar": "CA$",
    "aud": "A$", "a$": "A$", "au$": "A$", "c$": "CA$", "nzd": "NZ$", "nz$": "NZ$", "hk$": "HK$", "r$": "R$",
    "cny": "CN¥", "jpy": "¥", "¥": "¥", "yen": "¥", "won currency": "₩", "krw": "₩", "philippine peso": "₱",
    "philippine currency": "₱", "php": "₱", "chf": "CHF ", "sek": "SEK ", "nok": "NOK ", "rub": "₽",
    "brl": "R$", "mxn": "MX$", "sgd": "S$", "s$": "S$", "zar": "R", "thb": "฿", "uah": "₴", "ils": "₪",
    "nis": "₪", "try": "₺", "czk": "Kč ", "pln": "zł ", "dkk": "DKr ", "vnd": "₫",
}


@words("|".join(_CURRENCIES))
def money(call: Call) -> str:
    return _CURRENCIES[call.name] + call.text("1")


@words("currency")
def currency(call: Call) -> str:
    """`{{currency|5|USD}}`."""
    amount, code = call.text("1", "amount"), call.text("2", "type", "code").lower()
    return _CURRENCIES.get(code, f"{code.upper()} " if code else "$") + amount


@words("centuries")
def centuries(call: Call) -> str:
    """French `{{s|XIX}}` → XIXe siècle, `{{-s|V}}` → Ve siècle av. J.-C., `{{s2|XI|e|XII|e}}` → XIe et XIIe
    siècles, `{{sp|XI|e|au|XII|e}}` → XIe au XIIe siècle."""
    out: list[str] = []
    n_centuries = 0
    for value_ in positional(call):
        if _ROMAN.fullmatch(value_):
            if out and _ROMAN.fullmatch(out[-1]):
                out.append("et")
            out.append(value_)
            n_centuries += 1
        elif len(value_) > 2 or value_ in ("à", "au", "et", "ou"):
            out.append(value_)
    shown = " ".join(f"{part}{mark.SUPER_ON}{'er' if part.upper() == 'I' else 'e'}{mark.SUPER_OFF}"
                     if _ROMAN.fullmatch(part) else part for part in out)
    name = call.shown_name.lower()
    noun = "siècles" if n_centuries > 1 and name.startswith(("s2", "-s2")) else "siècle"
    return f"{shown} {noun}" + (" av. J.-C." if name.startswith("-") or "av" in name else "")


_ROMAN = re.compile(r"[ivxIVX]+")


@words("century es|century pt")
def century(call: Call) -> str:
    """`{{siglo|XIX||s}}`: the noun stands in front where the call asks for it."""
    values = call.positional()
    noun = "siglo " if call.name == "century es" else "século "
    asked = len(values) > 2 and values[2].lower().startswith("s")
    era = f" {values[1]}" if len(values) > 1 and values[1] else ""
    return (noun if asked or call.name == "century pt" else "") + (values[0] if values else "") + era


@words_by_pattern
def century_by_name(call: Call) -> Words | None:
    """`{{XIXe siècle}}`."""
    return _named_century if call.language == "fr" and _CENTURY.fullmatch(call.name) else None


_CENTURY = re.compile(r"([ivx]+)(er?) siècle(?: (av\.? ?j\.?-?c\.?))?")


def _named_century(call: Call) -> str:
    match = _CENTURY.fullmatch(call.name)
    if match is None:
        return call.shown_name
    era = " av. J.-C." if match[3] else ""
    return f"{match[1].upper()}{mark.SUPER_ON}{match[2]}{mark.SUPER_OFF} siècle{era}"
