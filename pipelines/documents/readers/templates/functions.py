"""Functions and variables of MediaWiki in a page: `{{lc:…}}`, `{{#if:…}}`, `{{PAGENAME}}`.

What belongs here: those whose result the page itself decides. What depends on the day of reading
(`{{CURRENTYEAR}}`) or on other pages shows nothing and is counted.
"""

from __future__ import annotations

import re
from decimal import Decimal

from pipelines.documents.readers.namespaces import name_set
from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.formats import plain_number, rounded
from pipelines.documents.readers.templates.names import SORT_KEYS
from pipelines.documents.readers.templates.table import Words, words, words_by_pattern


@words("pagename|fullpagename|basepagename|subpagename|pagenamee|title|fullpagenamee|article name")
def pagename(call: Call) -> str:
    return call.reader.title


@words("lc|uc|lcfirst|ucfirst")
def letter_case(call: Call) -> str:
    text = call.text("1")
    if call.name == "lc":
        return text.lower()
    if call.name == "uc":
        return text.upper()
    return (text[:1].lower() if call.name == "lcfirst" else text[:1].upper()) + text[1:]


@words("sortkey|sortkeyname|sort key text")
def sort_key(call: Call) -> str:
    """`{{SortKey|key|words}}`: the words behind a key, if there are any."""
    if not call.text("2"):
        return parser_function(call)
    return call.text("2")


_SILENT = SORT_KEYS | name_set("""
plural grammar gender ns urlencode anchorencode padleft padright fullurl localurl filepath int
numberofarticles numberofusers displaytitle currentyear
currentmonth currentday currentmonthname currentday2 currenttime sitename server namespace revisionid
currentdow localyear localmonth currentsecond currentisoyear currentmonthabbrev currentweek currentdayname
localday localtime numberofpages numberofedits
numberofactiveusers numberoffiles revisionyear revisionday revisionmonth revisiontimestamp talkpagename
contentlanguage scriptpath currentversion noexternallanglinks pagesize talkspace subjectspace
""")


@words("#if")
def condition(call: Call) -> str:
    """`{{#if:x|then|else}}`: on a page the condition is mostly plain words."""
    return call.text("2") if _plain(call.text("1")) else call.text("3")


@words("#ifeq")
def equality(call: Call) -> str:
    return call.text("3") if _plain(call.text("1")) == _plain(call.text("2")) else call.text("4")


@words("#switch")
def switch(call: Call) -> str:
    """`{{#switch:b|a=1|b=2|3}}`: the named case, else the last unnamed one."""
    case = _plain(call.text("1")).lower()
    if case in call.ranges and not case.isdigit():
        return call.text(case)
    unnamed = [name for name in call.ranges if name.isdigit() and name != "1"]
    return call.text("#default", *unnamed[-1:])


@words("#expr")
def expression(call: Call) -> str:
    """`{{#expr:2 + 3 * 4}}` of numbers, + - * / and parentheses, with `round n` behind."""
    formula, _, digits = _plain(call.text("1")).replace("−", "-").partition("round")
    value = _evaluated(formula)
    places = plain_number(digits) if digits.strip() else None
    if value is None or (digits.strip() and places is None):
        return parser_function(call)
    return rounded(value, int(places)) if places is not None else f"{value.normalize():f}"


def _evaluated(formula: str) -> Decimal | None:
    """The value of a formula of the four operations, by shunting; None for anything else."""
    values: list[Decimal] = []
    operators: list[str] = []

    def apply() -> bool:
        operator = operators.pop()
        if operator == "(" or len(values) < 2:
            return False
        right, left = values.pop(), values.pop()
        if operator == "/" and not right:
            return False
        values.append(left / right if operator == "/" else left * right if operator == "*" else
                      left + right if operator == "+" else left - right)
        return True

    expects_value = True
    pieces = _PIECES.findall(formula)
    if "".join(pieces) != "".join(formula.split()) or len(pieces) > 200:
        return None
    for piece in pieces:
        if piece[0].isdigit() or piece[0] == ".":
            number = plain_number(piece)
            if number is None or not expects_value:
                return None
            values.append(number)
            expects_value = False
        elif piece == "(":
            operators.append(piece)
        elif piece == ")":
            while operators and operators[-1] != "(":
                if not apply():
                    return None
            if not operators:
                return None
            operators.pop()
        else:
            if expects_value:
                if piece not in "+-":
                    return None
                values.append(Decimal(0))
            while operators and operators[-1] in ("*/" if piece in "*/" else "+-*/"):
                if not apply():
                    return None
            operators.append(piece)
            expects_value = True
    while operators:
        if not apply():
            return None
    return values[0] if len(values) == 1 and abs(values[0].adjusted()) < 40 else None


_PIECES = re.compile(r"[\d.]+|[-+*/()]")


def _plain(text: str) -> str:
    """Words without marks, for a comparison."""
    return re.sub("[\x01-\x1f]", "", text).strip()


def parser_function(call: Call) -> str:
    """Parser functions and variables: what a condition shows cannot be known; counted."""
    call.reader.counts["magic_words"] += 1
    return ""


@words_by_pattern
def by_function(call: Call) -> Words | None:
    return parser_function if call.name.startswith("#") or call.name in _SILENT else None
