"""Dates and ages that are known by what their template's name says, in the wikis' own languages or in English.

What belongs here: templates named for a date (`{{geboren|7|5|1931}}`) or for an age up to today that have no
handler of their own. In which order year, month and day stand is read off the values.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.dates import current_value
from pipelines.documents.readers.templates.formats import date_words, month_number
from pipelines.documents.readers.templates.table import BLOCKS, Words, words_by_pattern

_AGE = re.compile(
    r"\bages?\b|\bago\b|\bedad\b|\bâge\b|\bage\b|\bidade\b|\betà\b|\bet[aá]t\b|\bedat\b|\balter\b|\bleeftijd\b|\bålder\b|\balder\b|"
    r"\bwiek\b|\bvěk\b|\bvârst[aă]\b|\byaş\b|\bumur\b|\busia\b|\bikä\b|\béletkor\b|\bkor\b|возраст|\bвік\b|ηλικία|տարիք|"
    r"tuổi|年齢|年龄|年齡|歳|岁|나이|עمر|العمر|عمر|سن\b|גיל|आयु|उम्र|since\b|\bseit\b|\bдней с\b")
_DATE = re.compile(
    r"\b(?:date|dates|born|birth|death|died|start|end|released?|datum|data|data di|fecha|dato|"
    r"nacimiento|muerte|fallecimiento|"
    r"naissance|décès|mort|nascimento|nascita|morte|falecimento|geboren|gestorben|geburts?\w*|sterbe\w*|geboorte|overlijden|sterf\w*|"
    r"födelse\w*|döds?\w*|född|død\w*|født|fødsel\w*|urodzin|śmierci|urodz\w*|narození|úmrtí|nașter\w*|deces\w*|"
    r"születés\w*|halál\w*|dátum|päivä\w*|syntymä\w*|kuolin\w*|tarih\w*|doğum|ölüm|tanggal|lahir|mati|wafat|naixement|"
    r"mort|defunció|ngày|sinh|mất)\b|дата|родил|рожд|смерт|народж|дат|ամսաթիվ|ծնված|ծնունդ|մահ|ημερομηνία|γέννησ|θάνατ|"
    r"تاريخ|ميلاد|وفاة|تاریخ|زاد|درگذشت|תאריך|לידה|פטירה|दिनांक|तिथि|जन्म|मृत्यु|"
    r"年月日|日期|出生|逝世|誕生|날짜|출생|사망|생일|วันที่|วันเกิด")


def dated(call: Call) -> str:
    """`{{geburt|7|5|1931}}`, `{{doğum|1931|5|7}}`: the first date of the call, in the wiki's writing."""
    values = _date_values(call)
    if _AGE.search(call.name):
        call.reader.counts["current_values"] += 1
    return date_words(values, call.language, day_first=call.text("df") in ("y", "yes", "1", "true"))


def _date_values(call: Call) -> list[str]:
    """[year, month, day] of a call's first values in the order that they show; [] where they are no date."""
    values = [*call.positional(), "", "", ""][:3]
    if not values[1]:
        return [] if values[2] or not _is_year(values[0]) else values[:1]
    if _is_year(values[2]) and month_number(values[1]) and values[0].isdecimal():
        values.reverse()
    elif _is_year(values[2]) and month_number(values[0]) and values[1].isdecimal():
        values = [values[2], values[0], values[1]]
    month = month_number(values[1])
    if not _is_year(values[0]) or month is None:
        return []
    if not values[2].strip():
        return values[:2]
    try:
        date(2000, month, int(values[2]))
    except ValueError:
        return []
    return values


def _is_year(value: str) -> bool:
    return value.isdecimal() and 3 <= len(value) <= 4


@lru_cache(maxsize=20_000)
def _kind(name: str) -> str:
    """`date`, `age` or '' for a template of this name."""
    return "date" if _DATE.search(name) else "age" if _AGE.search(name) else ""


@words_by_pattern
def by_meaning(call: Call) -> Words | None:
    """Asked after all other patterns: `table.py` names this module last."""
    kind = _kind(call.name) if call.ranges and call.name not in BLOCKS else ""
    if not kind or not all(name.isdigit() or name in _OPTIONS for name in call.ranges):
        return None
    if kind == "date" and _date_values(call):
        return dated
    numbers = call.positional()
    is_counted = numbers and all(not value or month_number(value) or value.isdecimal() for value in numbers)
    return current_value if is_counted and _AGE.search(call.name) else None


_OPTIONS = frozenset(("df", "mf", "format", "lc", "sc", "nolink", "link", "lien",
                           "p", "br", "abbr", "sortkey"))
