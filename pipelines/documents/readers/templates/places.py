"""Templates for places: countries with their flags, coordinates, ships and railways named by a code.

What belongs here: one small function a kind of template. The names of countries stand in `countries.tsv`, by
language: to add a language, add a column.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.data import rows
from pipelines.documents.readers.templates.formats import grouped
from pipelines.documents.readers.templates.table import Words, words, words_by_pattern


@lru_cache(maxsize=1)
def _countries() -> dict[str, dict[str, str]]:
    """Language → code → name of the country."""
    head, *lines = rows("countries.tsv")
    found: dict[str, dict[str, str]] = {language: {} for language in head[1:]}
    for codes, *names in lines:
        for language, name in zip(head[1:], names, strict=False):
            if name:
                found[language].update(dict.fromkeys(filter(None, codes.split("|")), name))
    return found


def country_name(code: str, language: str) -> str | None:
    """The country of a code (`fra`, any case) as the language names it, None for one that is not listed."""
    language = "en" if language in ("", "simple") else language
    return _countries().get(language, {}).get(code.lower())


def _link(name: str) -> str:
    return f"{mark.LINK}{name}{mark.LINK_END}"


def country(call: Call) -> str:
    """`{{FRA}}`: a flag and the country's name."""
    name = country_name(call.name, call.language) or call.shown_name
    shown = call.text("1")
    return f"{mark.LINK}{name}{mark.LINK_TEXT}{shown}{mark.LINK_END}" if shown else _link(name)


@words_by_pattern
def by_country_code(call: Call) -> Words | None:
    """A call by a code alone, in capitals: `{{POL}}`, and not `{{Pol}}`; its only parameter is the name to show."""
    if not call.shown_name.isupper() or len(call.name) > 4 or len(call.ranges) > 1:
        return None
    return country if country_name(call.name, call.language) else None


@words("flag|flagathlete|flagioc|flagmedalist|flagioc2|fb|fbu|cr|flag with name")
def flag(call: Call) -> str:
    """`{{flag|Italy}}`, `{{flag|ITA}}`; what shows a flag alone goes by the rule of layout."""
    name = call.text("name", "1")
    if mark.LINK in name:
        return name
    code = call.text("2") if call.name.startswith("flagioc") or call.name == "flagathlete" else name
    if call.name in ("flagathlete", "flagmedalist"):
        return f"{name} ({code.upper()})" if call.text("2") and call.name == "flagathlete" else name
    full = country_name(name, call.language) if name.isupper() else None
    return _link(full or name) if name and call.name in ("flag", "flag with name") else full or name


@words("coord|coor|coordinates")
def coordinates(call: Call) -> str:
    """`{{coord|45|27|N|9|11|E}}` → 45°27′N 9°11′E; one that stands in the title is not shown."""
    display = call.text("display")
    if "t" in display.partition(",")[0] and "inline" not in display and display:
        call.reader.counts["layout"] += 1
        return ""
    parts: list[str] = []
    signs = iter("°′″")
    shown = ""
    for value in call.positional():
        if value.upper() in ("N", "S", "E", "W", "O"):
            parts.append(shown + value.upper())
            shown, signs = "", iter("°′″")
        elif re.fullmatch(r"[-+−]?[\d.,]+", value):
            shown += value + next(signs, "")
        else:
            break
    if shown and not parts:
        pair = call.positional()[:2]
        try:
            north, east = (float(value.replace("−", "-")) for value in pair)
        except ValueError:
            return ", ".join(f"{value}°" for value in pair)
        return (f"{pair[0].lstrip('-−+')}°{'S' if north < 0 else 'N'} "
                f"{pair[1].lstrip('-−+')}°{'W' if east < 0 else 'E'}")
    return " ".join(parts)


@words("uss|ss|rms|hmas|sms|mv|ms|usns|hmcs|hmnzs|hms ship|sclass|ship")
def ship(call: Call) -> str:
    if call.name == "sclass":
        return f"{call.text('1')}-class {call.text('2')}"
    if call.name == "ship":
        name = f"{call.text('1')} {call.text('2')}".strip()
        target = f"{name} ({call.text('3')})" if call.text("3") else name
        return mark.link(target, name)
    name = f"{call.name.upper()} {call.text('1')}"
    return mark.link(name, name)


@words("map caption")
def map_caption(call: Call) -> str:
    """`{{map caption|location color=green|region=Europe|region color=grey}}` on English wikis."""
    if call.language not in ("", "en", "simple"):
        return ", ".join(value for value in map(call.text, call.ranges) if value and "." not in value)
    place = call.text("country", "location") or call.reader.title
    parts = [f"Location of {place}" + (f" ({call.text('location color')})" if call.text("location color") else "")]
    for name, preposition in (("region", "in"), ("subregion", "in")):
        if call.text(name):
            color = f" ({call.text(name + ' color')})" if call.text(name + " color") else ""
            parts.append(f"{preposition} {call.text(name)}{color}")
    return " – ".join([" ".join(parts[:2]), *parts[2:]])


@words("ushr")
def us_district(call: Call) -> str:
    """`{{ushr|IL|7|7th}}`: a district of the House of Representatives, by its third parameter."""
    return call.text("3") or f"{call.text('1')}-{call.text('2')}"


@words("height above|höhe")
def elevation(call: Call) -> str:
    """`{{Höhe|1234|DE-NHN}}` → 1234 m ü. NHN."""
    value, reference = call.text("1"), call.text("2").partition("-")[2]
    return f"{value} m ü. {reference or 'M.'}" if reference != "" or call.text("2") else f"{value} m"


@words("music|railgauge|track gauge|gauge")
def symbol(call: Call) -> str:
    named = {"flat": "♭", "b": "♭", "sharp": "♯", "#": "♯", "natural": "♮", "doublesharp": "𝄪", "x": "𝄪"}
    value = call.text("1")
    if call.name == "music":
        return named.get(value, value)
    width = re.fullmatch(r"(\d+)\s*mm", value)
    return f"{grouped(width[1], call.language)} mm" if width else value
