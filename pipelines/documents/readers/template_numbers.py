"""Numbers, measures and dates as templates show them.

What belongs here: pure functions from parameter words to words, no calls and no tokens.
"""

from __future__ import annotations

import re

_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "sv": "januari februari mars april maj juni juli augusti september oktober november december",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "uk": "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
    "hy": "հունվարի փետրվարի մարտի ապրիլի մայիսի հունիսի հուլիսի օգոստոսի սեպտեմբերի հոկտեմբերի նոյեմբերի "
          "դեկտեմբերի",
    "el": "Ιανουαρίου Φεβρουαρίου Μαρτίου Απριλίου Μαΐου Ιουνίου Ιουλίου Αυγούστου Σεπτεμβρίου Οκτωβρίου "
          "Νοεμβρίου Δεκεμβρίου",
    "tr": "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
}
"""Months as they stand in a date, by language; dates of other languages are written in numbers."""
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


def date_words(values: list[str], language: str, *, day_first: bool = False) -> str:
    """Year, month, day → `5 March 1999`, `March 5, 1999`, `5 березня 1999`, `5 tháng 3 năm 1999`.

    What is no number stays as it is.
    """
    values = [value for value in values[:3] if value]
    if not values:
        return ""
    year = values[0]
    if not year.lstrip("-").isdecimal():
        joined = " ".join(values)
        return joined if len(joined) < 40 else year
    if len(values) == 1:
        return year
    names = _MONTHS.get(language or "en", "" if language != "simple" else _MONTHS["en"]).split()
    month = values[1]
    day = str(int(values[2])) if len(values) > 2 and values[2].isdecimal() else ""
    if month.isdecimal() and 1 <= int(month) <= 12:
        if language == "vi":
            return f"{day} tháng {int(month)} năm {year}".strip()
        if not names:
            return f"{year}-{int(month):02}" + (f"-{int(day):02}" if day else "")
        month = names[int(month) - 1]
    if not day:
        return f"{month} {year}"
    is_english = language in ("", "en", "simple")
    return f"{day} {month} {year}" if day_first or not is_english else f"{month} {day}, {year}"
