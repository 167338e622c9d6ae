"""Templates that make words in a sentence: what `{{convert|93|m}}` or `{{lang|fr|Bonjour}}` shows.

What belongs here: one small function a kind of template, entered in the table by `@words(names)`. A handler
gets the `Call` and returns marked words; `call.text("1")` gives a parameter's words. To add a template,
write or extend one entry here; nothing else has to change. Templates that make blocks are in
`template_blocks.py`, citations in `template_citations.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from pipelines.documents.readers import template_citations
from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.template_numbers import conversion, date_words, number_with_separators

if TYPE_CHECKING:
    from pipelines.documents.readers.wikitext_templates import Call

Handler = Callable[["Call"], str]
HANDLERS: dict[str, Handler] = {}


def words(names: str) -> Callable[[Handler], Handler]:
    """Enter a handler under all these names, separated by `|`."""
    def enter(handler: Handler) -> Handler:
        for name in names.split("|"):
            HANDLERS[" ".join(name.split())] = handler
        return handler
    return enter


def find(call: Call) -> Handler | None:
    """The handler for a call, None if there is none."""
    name = call.name
    handler = HANDLERS.get(name)
    if handler is None:
        if name.startswith(("cite ", "vcite ", "citation/")):
            return template_citations.citation
        if name.startswith("lang-") or name.startswith("vol-"):
            return lang_x
        if name.startswith("ipa-"):
            return ipa
        if name.startswith("#") or name in _SILENT:
            return parser_function
        if name.endswith((" icon", "-icon")) and len(name) < 9 and not call.ranges:
            return nothing
    return handler


FIRST = """
    nowrap|nobr|nobreak|nowr|small|smaller|big|larger|resize-text|nobold|noitalic|nobold-text|center|sc|smallcaps|smallcaps2|smallcaps all
    |unicode|tooltip|abbr|abbrlink|first|wikt-lang|strong|strongbad|em|bold|italic|mono|monospace|kbd|keypress|key|key press
    |button|sub|sup|u|underline|strike|xt|mxt|tq|gray|red|green|blue|angle bracket|notatypo|not a typo|sic|typo
    |vanchor|visible anchor|angbr|angbr ipa|ipalink|ipa link|ipablink|ipaslink|ipa|ipa1|api|phonetic|grapheme|gph
    |linktext|linktxt|script|rtl-lang|ltr-lang|nastaliq|hebrew|native name-text|grc|music-text|mvar|math|var
    |varserif|serif|sans-serif|text|plain text|nocolor|fontcolor-text|longitem|noitalics|normal|map caption|caps
    |allcaps|lc|uc|lcfirst|ucfirst|vol.|issue|ship name|hsp|ruby|ruby-ja|furigana|sortname-text|no wrap|nwr
    |avoid wrap|pre2|codes|bracket|quoted|r-to-l|wj|hilite|highlight|nihongo-text|code|pagename-text|eqm|rep
    |legend0|rotate text|vert header|vertical header|inflation|cj|cjkv|zh-tsl|rail color box|mark|mono2|ltr|rtl
    |script/hebrew|script/arabic|script/cyrillic|script/slavonic|script/nastaliq|script/greek|script/coptic
    |allow wrap|align|left|right|aligned table-text|fix-span|citation needed span|clarify span|better source span
    |dubious span|fact span|semantic change|smalldiv|larger-text|huge|xlarge|normalsize|nocaps|midsize|midsize2
"""


@words(FIRST)
def first(call: Call) -> str:
    return call.text("1", "text", "content")


@words("lang|lang2|lang-hy2|tlang|langue-fr|native name|native phrase|script lang|wikt-lang-text|wt|lang-text|ref-lang")
def second(call: Call) -> str:
    return call.text("2", "text", "1")


@words("transl")
def transliteration(call: Call) -> str:
    return call.text("3", "2", "1")


@words("color|colour|font color|fontcolor|fcolor|font colour|colored text|background color|bg|highlight color|text color|abbr2|age in words|resize|font|"
       "style|span|spanstyle|ilang|nblk|color text|coloured text|linkcolor")
def last(call: Call) -> str:
    values = [value for value in call.positional() if value]
    return call.text("text") or (values[-1] if values else "")


_LANGUAGE_NAMES = dict(pair.split("=") for pair in """
ar=Arabic hy=Armenian az=Azerbaijani bn=Bengali zh=Chinese cs=Czech da=Danish nl=Dutch en=English fi=Finnish fr=French ka=Georgian
de=German el=Greek grc=Ancient_Greek he=Hebrew hi=Hindi hu=Hungarian is=Icelandic ga=Irish it=Italian ja=Japanese ko=Korean la=Latin
lt=Lithuanian lv=Latvian no=Norwegian fa=Persian pl=Polish pt=Portuguese ro=Romanian ru=Russian sa=Sanskrit sr=Serbian sk=Slovak
es=Spanish sv=Swedish th=Thai tr=Turkish uk=Ukrainian ur=Urdu vi=Vietnamese cy=Welsh yi=Yiddish sq=Albanian ca=Catalan eu=Basque
bg=Bulgarian hr=Croatian mk=Macedonian sl=Slovene et=Estonian gd=Scottish_Gaelic id=Indonesian ms=Malay ta=Tamil kk=Kazakh
""".split())


@words("lang-x")
def lang_x(call: Call) -> str:
    code = call.name.partition("-")[2] if call.name != "lang-x" else ""
    values = call.positional()
    if not code:
        code, values = (values[0] if values else ""), values[1:]
    shown = values[0] if values else call.text("text")
    name = _LANGUAGE_NAMES.get(code.partition("-")[0], "").replace("_", " ") if call.language in ("en", "", "simple") else ""
    if not shown or not name or call.text("label") in ("none", "-"):
        return shown
    romanised = values[1] if len(values) > 1 else ""
    return f"{name}: {shown}" + (f", {romanised}" if romanised else "")


@words("nihongo|nihongo2|nihongo foot|nihongo3|korean|zh|chinese|lang-zh|nihongo krt")
def nihongo(call: Call) -> str:
    values = [value for value in call.positional() if value]
    if not values:
        values = [call.text(key) for key in ("s", "c", "t", "p", "hangul", "hanja", "rr") if call.text(key)]
        return ", ".join(values)
    rest = ", ".join(values[1:])
    return f"{values[0]} ({rest})" if rest else values[0]


@words("ipac-en|ipac-fr|ipac-es|ipac-de|ipac-it|ipac-pl|ipac-pt|ipac-cmn|ipac-yue|ipac-ga")
def ipac(call: Call) -> str:
    sounds = [value for value in call.positional() if value]
    labels = {"pron": "pronounced ", "us": "US: ", "uk": "UK: ", "lang": "", "en": "", "audio": ""}
    text = "".join(labels[sound.lower()] if sound.lower() in labels and n < 2 else sound.strip(mark.NOTHING)
                   for n, sound in enumerate(sounds))
    return f"/{text}/" if text else ""


@words("ipa-en|ipa-text")
def ipa(call: Call) -> str:
    return f"[{call.text('1')}]" if call.text("1") and call.text("1")[0] not in "[/" else call.text("1")


@words("respell|pronunciation respelling key|pronrespell")
def respell(call: Call) -> str:
    parts = [value for value in call.positional() if value]
    joined = "-".join(parts).replace("-_-", " ").replace("-'-", "")
    return f"{mark.EMPHASIS_ON}{joined}{mark.EMPHASIS_OFF}" if joined else ""


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


@words("formatnum|val|gaps|formatprice|unité|nombre-text|ntsh")
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
    power = f" × 10{mark.SUPER_ON}{call.text('e')}{mark.SUPER_OFF}" if call.name == "val" and call.text("e") else ""
    unit = call.text("u", "ul", "unit") if power else unit
    return number + power + (f" {unit}" if unit else "")


@words("date|dts-text|birth date text|start date and age|start date and years ago|birth-date|death-date|birth date and age|opendate")
def date(call: Call) -> str:
    return date_words(call.positional(), day_first=call.text("df") in ("y", "yes") or call.language not in ("en", ""))


@words("death date and age|birth year and age|death year and age|birth-date and age|death-date and age|death date and given age")
def date_and_age(call: Call) -> str:
    values = [value for value in call.positional() if value]
    day_first = call.text("df") in ("y", "yes")
    if not call.name.startswith("death") or "-date" in call.name:
        return date_words(values[:3], day_first=day_first)
    if "year" in call.name:
        return values[0] if values else ""
    return date_words(values[:3], day_first=day_first)


@words("date text|as of-text|oldstyledate|old style date|oldstyledatedy|lifetime")
def as_written(call: Call) -> str:
    return call.text("1")


@words("as of")
def as_of(call: Call) -> str:
    alternative = call.text("alt")
    if alternative:
        return alternative
    start = "as of" if call.text("lc") in ("y", "yes") else "As of"
    if call.text("since"):
        start = "since" if call.text("lc") in ("y", "yes") else "Since"
    values = [value for value in call.positional() if value]
    return f"{start} {date_words(values, day_first=call.text('df') in ('y', 'yes', ''))}".strip()


@words("circa")
def circa(call: Call) -> str:
    values = [value for value in call.positional() if value]
    return "c. " + " – c. ".join(values) if values else "c."


@words("flag|flagcountry-text|flagathlete|flagioc|flagicon2-text|country data-text|flagmedalist|flagioc2|flagteam|fb|fbu|cr|bk|ru")
def flag(call: Call) -> str:
    name = call.text("name", "1")
    return f"{mark.LINK}{name}{mark.LINK_END}" if name and mark.LINK not in name and call.name == "flag" else name


@words("ill|illm|link-interwiki|red link|iw2")
def interlanguage(call: Call) -> str:
    target = call.text("1")
    shown = call.text("lt", "label", "display") or target
    return f"{mark.LINK}{target}{mark.LINK_TEXT}{shown}{mark.LINK_END}" if mark.LINK not in target else target


@words("sortname")
def sortname(call: Call) -> str:
    name = f"{call.text('1')} {call.text('2')}".strip()
    return name if call.text("nolink") else f"{mark.LINK}{call.text('3') or name}{mark.LINK_TEXT}{name}{mark.LINK_END}"


@words("sort|hs2|sort2|ntsort|sortdate|sort dash")
def sort(call: Call) -> str:
    return call.text("2", "1")


@words("marriage")
def marriage(call: Call) -> str:
    years = "–".join(value for value in (call.text("2"), call.text("3", "end")) if value)
    return f"{call.text('1')} (m. {years})" if years else call.text("1")


@words("coord|coor|coord-dms|location|coordinates")
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
        numbers = [value for value in call.positional()[:2]]
        return ", ".join(f"{value}°" for value in numbers)
    if "title" in call.text("display") and "inline" not in call.text("display"):
        return ""
    return " ".join(parts)


@words("hlist|flowlist|cslist|comma separated entries|comma separated values|enum|flatlist-text|comma list|pagelist|csv")
def joined(call: Call) -> str:
    values = [value for value in call.positional() if value]
    separator = " · " if call.name in ("hlist", "flowlist") else ", "
    return separator.join(values)


@words("url|official website|official|official site|website|homepage")
def address(call: Call) -> str:
    target = call.text("1", "url")
    shown = call.text("2", "name", "mobile") or (target if call.name == "url" else "Official website")
    return f"{mark.URL}{target if '://' in target else 'http://' + target}{mark.LINK_TEXT}{shown}{mark.LINK_END}" if target else ""


@words("isbn|oclc|issn|doi|arxiv|pmid|jstor|pmc|asin|lccn|bibcode|s2cid|isbnt|hdl|ssrn|zbl|mr|ismn|rfc|ol")
def identifier(call: Call) -> str:
    values = [value for value in call.positional() if value]
    return f"{call.name.upper()} {', '.join(values)}" if values else ""


@words("chem|chem2|ce|nuclide|simplenuclide|element")
def chemistry(call: Call) -> str:
    return "".join(call.positional())


@words("simplenuclide2|nuclide2")
def nuclide(call: Call) -> str:
    values = [value for value in call.positional() if value]
    return "-".join(values[:2])


@words("e")
def exponent(call: Call) -> str:
    return f"×10{mark.SUPER_ON}{call.text('1')}{mark.SUPER_OFF}"


@words("pow|exp")
def power(call: Call) -> str:
    return f"{call.text('1')}{mark.SUPER_ON}{call.text('2')}{mark.SUPER_OFF}"


@words("hms|ra|dec|deg2dms")
def hours(call: Call) -> str:
    return " ".join(value + unit for value, unit in zip(call.positional(), ("h", "m", "s"), strict=False) if value)


@words("legend|legend-line|legend2|legend inline|key-text")
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


@words("music|railgauge|track gauge|gauge")
def symbol(call: Call) -> str:
    return {"flat": "♭", "sharp": "♯", "natural": "♮", "doublesharp": "𝄪"}.get(call.text("1"), call.text("1"))


@words("uss|hms-ship|ss|rms|hmas|sms|mv|ms|usns|hmcs|sclass|gs|usat|uscgc|ins|jds|rfa")
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


SIGNS = {
    "·": " · ", "•": " • ", "dot": " · ", "bull": " • ", "bullet": " • ", "middot": " · ", "nbsp": " ", "spaces": " ", "space": " ",
    "thinsp": " ", "thin space": " ", "ensp": " ", "emsp": " ", "snd": " – ", "snds": " – ", "spnd": " – ", "spaced ndash": " – ", "ndash": "–",
    "en dash": "–", "mdash": "—", "em dash": "—", "mdashb": "—", "spaced mdash": " — ", "'s": "'s", "'": "'", "' \"": "'\"", "\" '": "\"'", "-\"": "\"",
    "sep": " · ", "\\": " / ", "slash": "/", "*": "•", "(": "{{", ")": "}}", "lbrace": "{", "rbrace": "}", "hyphen": "-",
    "minus": "−", "times": "×", "pi": "π", "hr": "", "colon": ":", "asterisk": "*", "yes": "Yes", "no": "No", "n/a": "N/A",
    "dunno": "?", "tick": "✓", "cross": "✗", "check mark": "✓", "aye": "✓", "nay": "✗", "dagger": "†",
    "double-dagger": "‡", "deg": "°", "zwj": "", "zwsp": "", "shy": "", "wbr": "", "pipe": "|", "sectionsign": "§", "pound": "£", "euro": "€", "indian rupee": "₹",
    "inr": "₹", "usa": "United States", "fra": "France", "esp": "Spain", "deu": "Germany", "ger": "Germany", "ita": "Italy", "gbr": "United Kingdom",
    "bra": "Brazil", "arg": "Argentina", "mex": "Mexico", "rus": "Russia", "chn": "China", "jpn": "Japan", "can": "Canada", "aus": "Australia", "ind": "India", "m.": "М.", "extinct": "†", "break": "\x04",
    "em space": " ", "en space": " ", "spd": " – ", "ubl-break": "\x04", "crlf": "\x04", "nbs": " ", "sps": " ",
}


@words("|".join(name for name in SIGNS if name != "|"))
def sign(call: Call) -> str:
    value = call.text("1")
    fixed = SIGNS[call.name]
    if call.name in ("yes", "no", "n/a", "usa", "fra", "pound", "inr", "euro", "indian rupee"):
        return (fixed + value) if call.name in ("pound", "inr", "euro", "indian rupee") else value or fixed
    return fixed.replace("{{", "{").replace("}}", "}")


@words("pagename|fullpagename|basepagename|subpagename|pagenamee|title")
def pagename(call: Call) -> str:
    return call.reader.title


_SILENT = frozenset("""
plural grammar gender ns urlencode anchorencode padleft padright fullurl localurl filepath int numberofarticles
numberofusers defaultsort defaultsortkey defaultcategorysort displaytitle currentyear currentmonth currentday
currentmonthname currentday2 currenttime sitename server namespace revisionid sortkey ключ_сортировки сортування
сортиране ordena sortierung currentdow localyear localmonth
""".split())


def nothing(call: Call) -> str:
    """A template that shows a picture or a language's icon."""
    call.reader.counts["layout"] += 1
    return ""


def parser_function(call: Call) -> str:
    """Parser functions and variables: what a condition shows cannot be known; counted."""
    call.reader.counts["magic_words"] += 1
    if call.name in ("#if", "#ifeq", "#switch", "#ifexpr", "#ifexist"):
        return ""
    return ""


template_citations.enter(HANDLERS)
