"""Templates for values: numbers and measures, dates, places, flags, identifiers, rows of charts.

What belongs here: one small function a kind of template, entered in the table by `@words(names)`, as in
`template_words.py`. How numbers and dates are written is in `template_numbers.py`.
"""

from __future__ import annotations

import re

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.template_call import Call
from pipelines.documents.readers.template_countries import COUNTRIES
from pipelines.documents.readers.template_numbers import conversion, date_words, number_with_separators
from pipelines.documents.readers.template_table import positional, words


@words("convert")
def convert(call: Call) -> str:
    return conversion(call.positional())


@words("frac")
def fraction(call: Call) -> str:
    values = call.positional()
    if len(values) >= 3:
        return f"{values[0]} {values[1]}⁄{values[2]}"
    if len(values) == 2:
        return f"{values[0]}⁄{values[1]}"
    return f"1⁄{values[0]}" if values else "⁄"


@words("formatnum|val|gaps|formatprice|unité")
def formatted_number(call: Call) -> str:
    values = call.positional()
    if not values:
        return ""
    if call.name == "gaps":
        return "".join(values)
    unit = call.text("u", "ul", "unit", "e")
    number = number_with_separators(values[0])
    if call.name == "unité" and len(values) > 1:
        unit = values[1]
    power = ""
    if call.name == "val" and call.text("e"):
        power = f" × 10{mark.SUPER_ON}{call.text('e')}{mark.SUPER_OFF}"
        unit = call.text("u", "ul", "unit")
    return number + power + (f" {unit}" if unit else "")


@words("date|start date and age|birth-date|death-date|birth date and age")
def date(call: Call) -> str:
    return date_words(call.positional(), call.language, day_first=call.text("df") in ("y", "yes"))


@words("death date and age|birth year and age|death year and age|birth-date and age|death-date and age")
def date_and_age(call: Call) -> str:
    values = positional(call)
    day_first = call.text("df") in ("y", "yes")
    if not call.name.startswith("death") or "-date" in call.name:
        return date_words(values[:3], call.language, day_first=day_first)
    if "year" in call.name:
        return values[0] if values else ""
    return date_words(values[:3], call.language, day_first=day_first)


@words("date text|oldstyledate|old style date|oldstyledatedy")
def as_written(call: Call) -> str:
    return call.text("1")


@words("as of")
def as_of(call: Call) -> str:
    alternative = call.text("alt")
    if alternative:
        return alternative
    if call.language not in ("", "en", "simple"):
        return date_words(positional(call), call.language)
    start = "as of" if call.text("lc") in ("y", "yes") else "As of"
    if call.text("since"):
        start = "since" if call.text("lc") in ("y", "yes") else "Since"
    values = positional(call)
    return f"{start} {date_words(values, call.language, day_first=call.text('df') in ('y', 'yes', ''))}".strip()


@words("circa")
def circa(call: Call) -> str:
    values = positional(call)
    return "c. " + " – c. ".join(values) if values else "c."


@words("flag|flagathlete|flagioc|flagmedalist|flagioc2|fb|fbu|cr")
def flag(call: Call) -> str:
    name = call.text("name", "1")
    is_country = name and mark.LINK not in name and call.name == "flag"
    return f"{mark.LINK}{name}{mark.LINK_END}" if is_country else name


@words("ill|illm|link-interwiki|red link")
def interlanguage(call: Call) -> str:
    target = call.text("1")
    shown = call.text("lt", "label", "display") or target
    return f"{mark.LINK}{target}{mark.LINK_TEXT}{shown}{mark.LINK_END}" if mark.LINK not in target else target


@words("sortname")
def sortname(call: Call) -> str:
    name = f"{call.text('1')} {call.text('2')}".strip()
    target = call.text("3") or name
    return name if call.text("nolink") else f"{mark.LINK}{target}{mark.LINK_TEXT}{name}{mark.LINK_END}"


@words("sort|hs2|sort2|sortdate")
def sort(call: Call) -> str:
    return call.text("2", "1")


@words("marriage")
def marriage(call: Call) -> str:
    years = "–".join(value for value in (call.text("2"), call.text("3", "end")) if value)
    return f"{call.text('1')} (m. {years})" if years else call.text("1")


@words("coord|coor|coordinates")
def coordinates(call: Call) -> str:
    parts: list[str] = []
    signs = iter("°′″")
    shown = ""
    for value in call.positional():
        if value.upper() in ("N", "S", "E", "W"):
            parts.append(shown + value.upper())
            shown, signs = "", iter("°′″")
        elif re.fullmatch(r"[-+−]?[\d.]+", value):
            shown += value + next(signs, "")
        else:
            break
    if shown and not parts:
        numbers = call.positional()[:2]
        return ", ".join(f"{value}°" for value in numbers)
    if "title" in call.text("display") and "inline" not in call.text("display"):
        return ""
    return " ".join(parts)


@words("hlist|flowlist|cslist|comma separated entries|comma separated values|enum|pagelist")
def joined(call: Call) -> str:
    values = positional(call)
    separator = " · " if call.name in ("hlist", "flowlist") else ", "
    return separator.join(values)


@words("url|official website|official|official site|website|homepage")
def address(call: Call) -> str:
    target = call.text("1", "url")
    if target[:1] == mark.URL:
        # The tokenizer has made a link of the address already.
        target = target[1:].partition(mark.LINK_TEXT)[0]
    shown = call.text("2", "name", "mobile") or (target if call.name == "url" else "Official website")
    if not target:
        return ""
    full = target if "://" in target else "http://" + target
    return f"{mark.URL}{full}{mark.LINK_TEXT}{shown}{mark.LINK_END}"


@words("isbn|oclc|issn|doi|arxiv|pmid|jstor|pmc|asin|lccn|bibcode|s2cid|isbnt|hdl|ssrn|zbl|mr|ismn|rfc|ol")
def identifier(call: Call) -> str:
    values = positional(call)
    return f"{call.name.upper()} {', '.join(values)}" if values else ""


@words("chem|chem2|ce|nuclide|simplenuclide|element")
def chemistry(call: Call) -> str:
    return "".join(call.positional())


@words("simplenuclide2|nuclide2")
def nuclide(call: Call) -> str:
    values = positional(call)
    return "-".join(values[:2])


@words("e")
def exponent(call: Call) -> str:
    return f"×10{mark.SUPER_ON}{call.text('1')}{mark.SUPER_OFF}"


@words("pow|exp")
def power(call: Call) -> str:
    return f"{call.text('1')}{mark.SUPER_ON}{call.text('2')}{mark.SUPER_OFF}"


@words("hms|ra|dec|deg2dms")
def hours(call: Call) -> str:
    parts = zip(call.positional(), ("h", "m", "s"), strict=False)
    return " ".join(value + unit for value, unit in parts if value)


@words("legend|legend-line|legend2|legend inline")
def legend(call: Call) -> str:
    return call.text("2")


@words("percentage|percent|pct")
def percentage(call: Call) -> str:
    try:
        part, whole = (float(value.replace(",", "")) for value in call.positional()[:2])
        digits = int(call.text("3") or 0)
        return f"{100 * part / whole:.{digits}f}%"
    except (ValueError, ZeroDivisionError):
        return ""


@words("bar percent|bar pixel|bartable|percentage bar|progress bar|composition bar|chset-cell|chset-ctrl"
       "|chset-left")
def bar(call: Call) -> str:
    """A bar of a chart: its label and value."""
    values = positional(call)
    if call.name == "bartable":
        return "".join(values[:2])
    if call.name.startswith("bar p") and len(values) >= 3:
        return f"{values[0]} {values[2]}" + ("%" if "percent" in call.name else "")
    return " ".join(values[:1])


@words("chart|familytree|family tree")
def family_tree(call: Call) -> str:
    """A row of a family tree: its boxes."""
    return " · ".join(words for name, words in ((name, call.text(name)) for name in call.ranges)
                      if words and not name.isdigit() and not name.startswith(("box", "border")))


@words("fossil range|fossilrange|geological range|long fossil range")
def fossil_range(call: Call) -> str:
    values = positional(call)[:2]
    return call.text("text") or " – ".join(values)


@words("medalgold|medalsilver|medalbronze|medalcompetition|medalsport|medalcountry|gold medal|medal")
def medal(call: Call) -> str:
    return " ".join(value for value in call.positional() if value)


@words("round|abs|trim")
def rounded(call: Call) -> str:
    return call.text("1")


@words("height|weight")
def height(call: Call) -> str:
    units = ("m", "cm", "ft", "in", "kg", "lb")
    parts = [f"{call.text(unit)} {unit}" for unit in units if call.text(unit)]
    return " ".join(parts) or call.text("1")


@words("music|railgauge|track gauge|gauge")
def symbol(call: Call) -> str:
    return {"flat": "♭", "sharp": "♯", "natural": "♮", "doublesharp": "𝄪"}.get(call.text("1"), call.text("1"))


@words("uss|ss|rms|hmas|sms|mv|ms|usns|hmcs|hmnzs|sclass")
def ship(call: Call) -> str:
    if call.name == "sclass":
        return f"{call.text('1')}-class {call.text('2')}"
    name = f"{call.name.upper()} {call.text('1')}"
    return f"{mark.LINK}{name}{mark.LINK_TEXT}{name}{mark.LINK_END}"


@words("unichar")
def unichar(call: Call) -> str:
    code = call.text("1")
    try:
        char = chr(int(code, 16))
    except (ValueError, OverflowError):
        return code
    return f"U+{code} {char if char.isprintable() else ''} {call.text('2')}".strip()


def country(call: Call) -> str:
    """`{{FRA}}`: a flag and the country's name."""
    name = COUNTRIES[call.name]
    return f"{mark.LINK}{name}{mark.LINK_END}"
