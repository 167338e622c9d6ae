"""Templates for dates, years and ages.

What belongs here: one small function a kind of template. An age that changes with the day of reading is left
out and counted as `current_values`; one between two given days is computed. How dates are written is in
`formats.py`.
"""

from __future__ import annotations

import re
from datetime import date

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.formats import date_words, month_number
from pipelines.documents.readers.templates.table import positional, words

_YES = ("y", "yes", "1", "true")


def _day_first(call: Call) -> bool:
    return call.text("df") in _YES


def _is_english(call: Call) -> bool:
    return call.language in ("", "en", "simple")


def _day(values: list[str]) -> date | None:
    """The day of [year, month, day], None where it is none."""
    if len(values) < 3 or not values[0].isdecimal() or not values[2].isdecimal():
        return None
    month = month_number(values[1])
    try:
        return date(int(values[0]), month or 0, int(values[2]))
    except (ValueError, OverflowError):
        return None


def _years(begin: date, end: date) -> int:
    return end.year - begin.year - ((end.month, end.day) < (begin.month, begin.day))


@words("date|birth-date|death-date|start date and age|birth date and age|birth-date and age")
def full_date(call: Call) -> str:
    """`{{birth date|1931|5|7}}`; what is added for today (`age 94`) is left out."""
    if "and age" in call.name and call.name != "death-date":
        call.reader.counts["current_values"] += 1
    values = call.positional()[:3] or [call.text(key) for key in ("year", "month", "day") if call.text(key)]
    if values and re.search(r"[^\W\d]", values[0]):
        # `{{birth-date|7 May 1931}}` is shown as it is written.
        return values[0]
    return date_words(values, call.language, day_first=_day_first(call))


@words("date dmy|date dmy and age")
def date_day_first(call: Call) -> str:
    """`{{date|7|mai|1931}}`: the same with the parameters in the order of the day."""
    values = positional(call)
    if not call.ranges:
        call.reader.counts["current_values"] += 1
        return ""
    if len(values) < 2:
        return "".join(values)
    if len(values) >= 3:
        return date_words([values[2], values[1], values[0]], call.language, day_first=True)
    return date_words([values[1], values[0]], call.language) if values[1].isdecimal() else " ".join(values)


@words("death date and age dmy")
def death_day_first(call: Call) -> str:
    """`{{morte|3|2|2001|7|5|1931}}`: the day of death, with the age in parentheses where it is known how."""
    values = call.positional()
    return date_words(values[2::-1], call.language, day_first=True) if len(values) >= 3 else " ".join(values)


@words("death date and age|death-date and age")
def death_date_and_age(call: Call) -> str:
    """`{{death date and age|2001|2|3|1931|5|7}}` → February 3, 2001 (aged 69)."""
    values = call.positional()
    if call.name == "death-date and age":
        return values[0] if values else ""
    shown = date_words(values[:3], call.language, day_first=_day_first(call))
    died, born = _day(values[:3]), _day(values[3:6])
    if died is None or born is None:
        return shown
    age = _years(born, died)
    known = {"ja": f"（{age}歳没）", "zh": f"（{age}歲）", "ko": f"({age}세)", "vi": f" ({age} tuổi)",
             "pt": f" ({age} anos)", "es": f" ({age} años)", "it": f" ({age} anni)", "fr": f" ({age} ans)",
             "ru": "", "uk": "", "hy": f" ({age} տարեկանում)", "tr": f" ({age} yaşında)", "de": ""}
    return shown + (f" (aged {age})" if _is_english(call) else known.get(call.language, ""))


@words("born then died")
def death_after_birth(call: Call) -> str:
    """Japanese and Korean templates give the birth first: `{{死亡年月日と没年齢|1931|5|7|2001|2|3}}`."""
    values = call.positional()
    born, died = _day(values[:3]), _day(values[3:6])
    shown = date_words(values[3:6], call.language)
    if born is None or died is None:
        return shown
    return shown + (f"（{_years(born, died)}歳没）" if call.language == "ja" else f" ({_years(born, died)}세)")


@words("birth year and age|death year and age")
def year_and_age(call: Call) -> str:
    values = positional(call)
    if not values:
        return ""
    if call.name.startswith("birth"):
        call.reader.counts["current_values"] += 1
    elif len(values) > 1 and values[0].isdecimal() and values[1].isdecimal() and _is_english(call):
        age = int(values[0]) - int(values[1])
        return f"{values[0]} (aged {age - 1}–{age})"
    return values[0]


@words("age|age in years|age in days|age in years and days|age in years, months and days"
       "|age in years, months, weeks and days")
def age(call: Call) -> str:
    """The time between two given days; up to today it is left out and counted."""
    values = call.positional()
    if any(call.text(f"year{end}") for end in ("1", "2")):
        values = [call.text(f"{part}{end}") for end in ("1", "2") for part in ("year", "month", "day")]
    begin, end = _day(values[:3]), _day(values[3:6])
    if begin is None or end is None or end < begin:
        call.reader.counts["current_values"] += 1
        return hole(call)
    years = _years(begin, end)
    if call.name in ("age", "age in years"):
        return str(years)
    if not _is_english(call):
        call.reader.counts["conversions_without_result"] += 1
        return hole(call)
    if call.name == "age in days":
        return _counted((end - begin).days, "day")
    if call.name == "age in years and days":
        return f"{_counted(years, 'year')}, {_counted((end - _shift(begin, years, 0)).days, 'day')}"
    months = (end.year - begin.year) * 12 + end.month - begin.month - (end.day < begin.day)
    days = (end - _shift(begin, 0, months)).days
    parts = [(months // 12, "year"), (months % 12, "month")]
    parts += [(days // 7, "week"), (days % 7, "day")] if "weeks" in call.name else [(days, "day")]
    shown = [_counted(n, unit) for n, unit in parts if n]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def _counted(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def _shift(day: date, years: int, months: int) -> date:
    """The day so much later; one that a month does not have becomes the first of the next."""
    month = day.month - 1 + months
    year, month = day.year + years + month // 12, month % 12 + 1
    try:
        return day.replace(year=year, month=month)
    except ValueError:
        return date(year + month // 12, month % 12 + 1, 1)


def hole(call: Call) -> str:
    """A place that shows nothing, marked with the template's name."""
    return f"{mark.TEMPLATE}{call.shown_name.strip()}{mark.LINK_TEXT}{mark.LINK_END}"


@words("inflation|current value|time ago|age nts|indian population clock|data philippines|us population"
       "|inflation-year|inflation/year|data|monththisyear|birthday|days since|dayssince|population clock"
       "|wikidata/population|stock price|exchange rate|current events|currentage")
def current_value(call: Call) -> str:
    """What changes with the day or comes from another page: a marked hole, counted."""
    call.reader.counts["current_values"] += 1
    return hole(call)


@words("film date")
def release_dates(call: Call) -> str:
    """`{{film date|1999|5|7|Cannes|1999|6}}`: each date with its place, one a line."""
    values = call.positional()
    lines = []
    for at in range(0, len(values), 4):
        when = date_words(values[at:at + 3], call.language, day_first=_day_first(call))
        place = values[at + 3] if at + 3 < len(values) else ""
        if when:
            lines.append(f"{when} ({place})" if place else when)
    return mark.BREAK.join(lines)


@words("start date|end date")
def start_date(call: Call) -> str:
    """A date, and the time of day in front of it where the call gives one."""
    values = call.positional()
    shown = date_words(values[:3], call.language, day_first=_day_first(call))
    if values and re.search(r"[^\W\d]", values[0]):
        return values[0]
    if len(values) > 4 and values[3].isdecimal():
        zone = " (UTC)" if len(values) > 6 and values[6] in ("Z", "z") else ""
        return f"{':'.join(value.zfill(2) for value in values[3:6] if value)}, {shown}{zone}"
    return shown


@words("dts")
def sortable_date(call: Call) -> str:
    """`{{dts|1999|May|7}}`, `{{dts|7 May 1999}}`, `{{dts|1999-05-07}}`."""
    values = positional(call)
    if len(values) == 1 and not re.fullmatch(r"[\d-]+", values[0]):
        return values[0]
    order = call.text("format")
    return date_words(values, call.language, day_first=order == "dmy" or _day_first(call))


@words("as of")
def as_of(call: Call) -> str:
    alternative = call.text("alt")
    if alternative:
        return alternative
    values = positional(call)
    if call.language == "vi":
        start = "tính đến" if call.text("lc") in _YES else "Tính đến"
        return f"{start} {'năm ' if len(values) == 1 else ''}{date_words(values, 'vi')}".rstrip()
    if not _is_english(call):
        return date_words(values, call.language)
    is_lower = call.text("lc") in _YES
    start = ("since" if is_lower else "Since") if call.text("since") else "as of" if is_lower else "As of"
    day_first = call.text("df") not in ("US", "us", "mdy")
    return f"{start} {date_words(values, call.language, day_first=day_first)}{call.text('post')}".strip()


_YEARS = {"circa": "c.", "floruit": "fl.", "reign": "r.", "born": "b.", "died": "d.", "cerca": "c.",
          "born in": "b."}


@words("|".join(_YEARS))
def years(call: Call) -> str:
    """`{{circa|1850}}`, `{{reign|1850|1860}}`, `{{floruit|1850}}`."""
    values, sign = positional(call), _YEARS[call.name]
    if not values:
        return sign
    if call.name == "circa":
        return " – ".join(f"{sign} {value}" for value in values)
    return f"{sign} {'–'.join(values)}"


@words("oldstyledate|old style date")
def old_style_date(call: Call) -> str:
    """`{{OldStyleDate|7 May|1931|24 April}}`."""
    values = call.positional()
    if len(values) < 3:
        return " ".join(values)
    if call.language in ("ru", "uk", "be"):
        return f"{values[2]} ({values[0]}) {values[1]}".strip()
    return f"{values[0]} [O.S. {values[2]}] {values[1]}".strip()


@words("marriage")
def marriage(call: Call) -> str:
    """`{{marriage|Ann|1950|1960|end=div}}` → Ann (m. 1950; div. 1960)."""
    begin, end = call.text("2"), call.text("3")
    reasons = {"d": "died", "died": "died", "death": "died", "div": "div.", "divorced": "div.",
               "annulled": "ann.", "w": "wid.", "sep": "sep."}
    reason = reasons.get(call.text("end", "reason").lower().rstrip("."), "")
    if not begin and not end:
        return call.text("1")
    if reason and end:
        return f"{call.text('1')} (m. {begin}; {reason} {end})"
    return f"{call.text('1')} (m. {'–'.join(year for year in (begin, end) if year)})"


@words("life dates")
def life_dates(call: Call) -> str:
    """`{{bd|1931年|5月7日|2001年|2月3日}}` of Chinese wikis → 1931年5月7日－2001年2月3日."""
    values = [*call.positional(), "", "", "", ""][:4]
    born, died = values[0] + values[1], values[2] + values[3]
    return f"{born}－{died}"


@words("year in the page's calendar|era year")
def year_alone(call: Call) -> str:
    return call.text("1")


@words("julian date")
def julian(call: Call) -> str:
    """`{{СС3|24.4.1931}}` is converted by the wiki; the day is shown as given."""
    return ".".join(positional(call)) if len(positional(call)) > 1 else call.text("1")


@words("time|hour")
def hour(call: Call) -> str:
    """`{{heure|12|30}}` → 12 h 30."""
    parts = positional(call)
    return " h ".join(parts[:2]) + (" h" if len(parts) == 1 else "") if call.name == "hour" else ":".join(parts)
