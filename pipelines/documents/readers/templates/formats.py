"""Numbers and dates as the wikis of a language write them.

What belongs here: pure functions from words to words, no calls and no tokens. Separators are those of
MediaWiki's `{{formatnum:}}`, whose spaces that do not break are plain spaces here; a language that is not
listed writes numbers as English does and dates in digits.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal

_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "sv": "januari februari mars april maj juni juli augusti september oktober november december",
    "da": "januar februar marts april maj juni juli august september oktober november december",
    "no": "januar februar mars april mai juni juli august september oktober november desember",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    "cs": "ledna února března dubna května června července srpna září října listopadu prosince",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "uk": "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
    "hy": "հունվարի փետրվարի մարտի ապրիլի մայիսի հունիսի հուլիսի օգոստոսի սեպտեմբերի հոկտեմբերի նոյեմբերի "
          "դեկտեմբերի",
    "el": "Ιανουαρίου Φεβρουαρίου Μαρτίου Απριλίου Μαΐου Ιουνίου Ιουλίου Αυγούστου Σεπτεμβρίου Οκτωβρίου "
          "Νοεμβρίου Δεκεμβρίου",
    "tr": "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
    "ar": "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
    "he": "ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר",
    "fa": "ژانویهٔ فوریهٔ مارس آوریل مهٔ ژوئن ژوئیهٔ اوت سپتامبر اکتبر نوامبر دسامبر",
    "hi": "जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितम्बर अक्टूबर नवम्बर दिसम्बर",
}
"""Months as they stand in a date, by language."""

_DATES = {
    "en": ("{month} {day}, {year}", "{month} {year}"), "de": ("{day}. {month} {year}", "{month} {year}"),
    "es": ("{day} de {month} de {year}", "{month} de {year}"),
    "pt": ("{day} de {month} de {year}", "{month} de {year}"),
    "da": ("{day}. {month} {year}", "{month} {year}"), "no": ("{day}. {month} {year}", "{month} {year}"),
    "cs": ("{day}. {month} {year}", "{month} {year}"), "he": ("{day} ב{month} {year}", "{month} {year}"),
    "vi": ("{day} tháng {number} năm {year}", "tháng {number} năm {year}"),
    "ja": ("{year}年{number}月{day}日", "{year}年{number}月"),
    "zh": ("{year}年{number}月{day}日", "{year}年{number}月"),
    "ko": ("{year}년 {number}월 {day}일", "{year}년 {number}월"),
}
"""A whole date and one without its day; a language with months that is not listed writes `7 mai 1931`."""

_ISO = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?")

_SPACED = ("\xa0", ",", 4)
_SPARSE = ("\xa0", ",", 5)
_COMMAS = (",", ".", 4)
_SEPARATORS = {
    "de": (".", ",", 4), "it": (".", ",", 4), "nl": (".", ",", 4), "da": (".", ",", 4), "tr": (".", ",", 4),
    "el": (".", ",", 4), "vi": (".", ",", 4), "id": (".", ",", 4), "ro": (".", ",", 4), "ca": (".", ",", 4),
    "sr": (".", ",", 4), "hr": (".", ",", 4), "fr": _SPACED, "sv": _SPACED, "no": _SPACED, "fi": _SPACED,
    "cs": _SPACED, "sk": _SPACED, "hy": _SPACED, "hu": _SPARSE, "ru": _SPARSE, "uk": _SPARSE, "be": _SPARSE,
    "bg": _SPARSE, "es": _SPARSE, "pt": _SPARSE, "pl": _SPARSE, "et": _SPARSE,
}
"""Separator of thousands, decimal mark, and the digits from which on a number is grouped."""

_NUMBER = re.compile(r"([-+−–]?)(\d+)(?:\.(\d+))?", re.ASCII)


def grouped(text: str, language: str) -> str:
    """`1234567.5` → `1,234,567.5` or `1 234 567,5`; anything that is no plain number stays as it is."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    sign, whole, fraction = match.groups()
    separator, point, least = _SEPARATORS.get(language, _COMMAS)
    if len(whole) >= least:
        first = len(whole) % 3 or 3
        whole = separator.join([whole[:first], *(whole[at:at + 3] for at in range(first, len(whole), 3))])
    return f"{'−' if sign in ('-', '–') else sign}{whole}" + (point + fraction if fraction else "")


_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?", re.ASCII)


def plain_number(text: str) -> Decimal | None:
    """The value of `1,234.5`, `-3`, `2.5e6` or `+7`; None for what is no number in English writing."""
    text = text.replace("−", "-").replace(",", "").strip()
    if not _PLAIN.fullmatch(text) or len(text) > 40:
        return None
    value = Decimal(text)
    return value if abs(value.adjusted()) < 24 else None


_WIDE = Context(prec=120)


def rounded(value: Decimal, digits: int) -> str:
    """The value with so many decimals (fewer than 0: that many zeros), halves away from zero.

    At most 20 decimals are written; a value of more than 80 digits is written with an exponent.
    """
    if abs(value.adjusted()) > 80:
        return f"{value:.3e}"
    step = Decimal(1).scaleb(-max(-80, min(digits, 20)), _WIDE)
    return f"{value.quantize(step, ROUND_HALF_UP, _WIDE):f}"


def ordinal(number: int) -> str:
    """1 → 1st, 12 → 12th."""
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def month_number(word: str) -> int | None:
    """1 to 12 for a month in digits or in any listed language's words, None for anything else."""
    if word.isdecimal():
        return int(word) if len(word) < 9 and 1 <= int(word) <= 12 else None
    return _MONTH_NUMBERS.get(word.lower()) or _MONTH_NUMBERS.get(word.lower()[:3])


_MONTH_NUMBERS: dict[str, int] = {}
for _names in reversed(_MONTHS.values()):
    for _number, _name in enumerate(_names.split(), start=1):
        _MONTH_NUMBERS[_name.lower()] = _number
for _number, _name in enumerate(_MONTHS["en"].lower().split(), start=1):
    _MONTH_NUMBERS[_name[:3]] = _number


def date_words(values: list[str], language: str, *, day_first: bool = False) -> str:
    """[year, month, day] or [ISO date] → `March 5, 1999`, with day_first `5 March 1999`; the language's own
    writing elsewhere. What is no number stays as it is; an empty list gives ''."""
    values = [value for value in values[:3] if value]
    if values and (match := _ISO.fullmatch(values[0])):
        values = [part for part in match.groups() if part]
    if not values:
        return ""
    year = values[0]
    if not year.lstrip("-").isdecimal():
        joined = " ".join(values)
        return joined if len(joined) < 40 else year
    if len(values) == 1:
        return f"{year}年" if language in ("ja", "zh") else year
    language = "en" if language in ("", "simple") else language
    number = month_number(values[1])
    day = str(int(values[2])) if len(values) > 2 and values[2].isdecimal() and len(values[2]) < 9 else ""
    if number is None:
        # A season, or a month in a language that is not listed.
        return f"{day} {values[1]} {year}".strip()
    if language not in _MONTHS and language not in _DATES:
        return f"{year}-{number:02}" + (f"-{int(day):02}" if day else "")
    whole, month_only = _DATES.get(language, ("{day} {month} {year}", "{month} {year}"))
    if day_first and language == "en":
        whole = "{day} {month} {year}"
    month = _MONTHS.get(language, _MONTHS["en"]).split()[number - 1]
    return (whole if day else month_only).format(day=day, month=month, number=number, year=year)
