"""What templates are called, in every language: `names.tsv`, read once.

What belongs here: the look-up from a template's name on a wiki to the name of its handler or to the rule by
which it goes, and the patterns of names that no table can list. Names are data: they stand in `names.tsv`,
whose head says how a line is written.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pipelines.documents.readers.namespaces import name_set
from pipelines.documents.readers.templates.data import rows

RULES = ("references", "navigation", "maintenance", "layout", "disambiguation")
"""Rules by which templates go; each is a count of the page. Disambiguation also flags the page."""

TABLE_START, TABLE_END = "table start", "table end"
"""Meanings of templates that hold one half of a table, as `{{s-start}}` and `{{s-end}}`."""

SORT_KEYS = name_set("""
defaultsort defaultsortkey defaultcategorysort sortierung clefdetri cledetri clédetri ordenar orden ordena
standaardsortering ключ_сортировки сортировка_по_умолчанию сортування сортиране сорткат xếp_mặc_định
xếpmặcđịnh מיון_רגיל ترتيب_افتراضي ترتيب_تلقائي ترتیب‌پیش‌فرض デフォルトソート 기본정렬 rendezésnév
ordenacaopadrao ordenaçãopadrão varsayilansirala standardsortering domyślniesortuj aakkostus ordinamento
predefinito 默认排序 預設排序 кључсортирања tartibutama
""")
"""`{{DEFAULTSORT:…}}` in the languages that have a word of their own for it; `_` stands for a space."""

PARSER_FUNCTIONS = SORT_KEYS | name_set("""
displaytitle formatnum lc uc lcfirst ucfirst plural grammar gender ns urlencode anchorencode padleft padright
fullurl localurl filepath int pagename fullpagename numberofarticles numberofusers
""")

_STARTS = (
    ("user ", "navigation"), ("pp-", "maintenance"), ("campaignbox", "navigation"),
    ("navbox", "navigation"), ("use ", "maintenance"), ("link ", "navigation"),
    ("wikisource", "navigation"), ("wiktionary", "navigation"), ("wikiquote", "navigation"),
    ("portal", "navigation"), ("sidebar", "navigation"), ("more citations", "maintenance"),
    ("refimprove", "maintenance"), ("unreferenced", "maintenance"), ("cleanup", "maintenance"),
    ("commons", "navigation"), ("disambiguation", "disambiguation"), ("vpn", "maintenance"),
    ("sơ khai ", "maintenance"), ("khóa-", "maintenance"), ("thiếu nguồn", "maintenance"),
    ("thanh bên ", "navigation"), ("navigationsleiste", "navigation"), ("заготовка:", "maintenance"),
    ("ébauche ", "maintenance"), ("esboço-", "maintenance"), ("esbozo de ", "maintenance"),
    ("palette ", "navigation"), ("portail ", "navigation"), ("méta palette", "navigation"),
    ("навигационная ", "navigation"), ("contains ", "navigation"), ("msw3 ", "references"),
)
_ENDS = re.compile(
    r"(?P<stub>(?:^|[ -])stub$|sơ khai$|անավարտ$)"
    r"|(?P<nav> topics?$| sidebar$| navbox$| navigation$| nav$| in topic$"
    r"|^countries of | series$| footer$| portal$)|(?P<disamb>\(disambiguation\)$)")


@lru_cache(maxsize=1)
def tables() -> dict[str, dict[str, str]]:
    """The lines of `names.tsv`: language → name → meaning; the language `*` is every wiki.

    A meaning is the English name of a handler, or a rule in parentheses. Of two lines for one name of one
    language the first holds.
    """
    found: dict[str, dict[str, str]] = {"*": {}}
    for language, meaning, names in rows("names.tsv"):
        table = found.setdefault(language, {})
        for name in names.split("|"):
            table.setdefault(name, meaning)
    return found


@lru_cache(maxsize=64)
def names_of(language: str) -> dict[str, str]:
    """Name → meaning on the wikis of a language (`""`: unknown), names in lower case with single spaces.

    A wiki's own lines come first, then those for every wiki. Names of another language count where they are
    written in letters beyond ASCII, which two languages hardly ever give two meanings, and on a wiki whose
    language is not known.
    """
    everywhere = tables()["*"]
    names: dict[str, str] = {}
    for other, table in tables().items():
        if other != "*":
            for name, meaning in table.items():
                if not language or not name.isascii():
                    names.setdefault(name, everywhere.get(meaning, meaning))
    names.update(everywhere)
    for name, meaning in tables().get(language, {}).items():
        names[name] = everywhere.get(meaning, meaning)
    return names


@lru_cache(maxsize=1)
def _table_halves() -> dict[str, str]:
    return {name: meaning for table in tables().values() for name, meaning in table.items()
            if meaning in (TABLE_START, TABLE_END)}


def table_half(name: str) -> str | None:
    """TABLE_START or TABLE_END for a template that is one in any language, by the name that a page writes."""
    return _table_halves().get(" ".join(name.replace("_", " ").split()).lower())


_BY_PATTERN: dict[str, str | None] = {}


def rule_of(meaning: str) -> str | None:
    """The rule by which templates of this meaning go, None for one whose words stay."""
    if meaning[:1] == "(":
        return meaning[1:-1]
    if meaning not in _BY_PATTERN:
        if len(_BY_PATTERN) > 50_000:
            _BY_PATTERN.clear()
        _BY_PATTERN[meaning] = _rule_by_pattern(meaning)
    return _BY_PATTERN[meaning]


def _rule_by_pattern(name: str) -> str | None:
    for start, rule in _STARTS:
        if name.startswith(start):
            return rule
    match = _ENDS.search(name)
    if match is None:
        return None
    return {"stub": "maintenance", "nav": "navigation", "disamb": "disambiguation"}[str(match.lastgroup)]
