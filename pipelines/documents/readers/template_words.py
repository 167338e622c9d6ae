"""Templates that make words in a sentence: what `{{convert|93|m}}` or `{{lang|fr|Bonjour}}` shows.

What belongs here: one small function a kind of template, entered in the table by `@words(names)`. A handler
gets the `Call` and returns marked words; `call.text("1")` gives a parameter's words. To add a template,
write or extend one entry here; nothing else has to change. Numbers, dates, places and charts are in
`template_values.py`, citations in `template_citations.py`, templates that make blocks in
`template_blocks.py`.
"""

from __future__ import annotations

from pipelines.documents.readers import template_citations, template_values
from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.namespaces import name_set
from pipelines.documents.readers.template_call import Call
from pipelines.documents.readers.template_countries import COUNTRIES
from pipelines.documents.readers.template_table import HANDLERS, Handler, positional, words


def find(call: Call) -> Handler | None:
    """The handler for a call, None if there is none."""
    name = call.name
    handler = HANDLERS.get(name)
    if handler is None:
        if len(name) == 3 and not call.ranges and call.language in ("en", "", "simple") and name in COUNTRIES:
            return template_values.country
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


_FIRST = """
    nowrap|nobr|nobreak|nowr|small|smaller|big|larger|large|nobold|noitalic|noitalics|normal|center|sc|
    smallcaps|smallcaps2|smallcaps all|unicode|tooltip|abbr|abbrlink|strong|em|bold|italic|mono|
    monospace|kbd|keypress|key|key press|button|sub|sup|u|underline|strike|xt|mxt|tq|gray|red|green|
    blue|notatypo|not a typo|sic|typo|vanchor|visible anchor|ipalink|
    ipa link|ipablink|ipaslink|ipa|ipa1|ipa2|api|phonetic|linktext|linktxt|script|rtl-lang|
    ltr-lang|nastaliq|hebrew|grc|polytonic|mvar|math|var|varserif|serif|sans-serif|text|plain text|
    nocolor|longitem|map caption|caps|allcaps|vol.|issue|hsp|ruby|ruby-ja|furigana|no wrap|nwr|
    avoid wrap|bracket|quoted|r-to-l|hilite|highlight|code|legend0|vert header|vertical header|cj|cjkv|
    mark|ltr|rtl|script/hebrew|script/arabic|script/cyrillic|script/slavonic|script/nastaliq|
    script/greek|script/coptic|allow wrap|align|left|right|citation needed span|clarify span|
    better source span|dubious span|fact span|huge|xlarge|normalsize|nocaps|midsize|first|oq|
    quote inline|lower|literally|lit|etymology
"""


@words(_FIRST)
def first(call: Call) -> str:
    return call.text("1", "text", "content")


@words("lang|lang2|tlang|native name|native phrase|script lang|wikt-lang")
def second(call: Call) -> str:
    return call.text("2", "text", "1")


@words("angbr|angbr ipa|angle bracket|vr|grapheme|gph")
def angle_brackets(call: Call) -> str:
    return f"⟨{call.text('1')}⟩"


@words("transl")
def transliteration(call: Call) -> str:
    return call.text("3", "2", "1")


@words("color|colour|font color|fontcolor|fcolor|font colour|background color|bg|text color|resize|font"
       "|style|span|color text|coloured text")
def last(call: Call) -> str:
    values = positional(call)
    return call.text("text") or (values[-1] if values else "")


_LANGUAGE_NAMES = dict(pair.split("=") for pair in sorted(name_set("""
ar=Arabic hy=Armenian az=Azerbaijani bn=Bengali zh=Chinese cs=Czech da=Danish nl=Dutch en=English
fi=Finnish fr=French ka=Georgian de=German el=Greek grc=Ancient_Greek he=Hebrew hi=Hindi hu=Hungarian
is=Icelandic ga=Irish it=Italian ja=Japanese ko=Korean la=Latin lt=Lithuanian lv=Latvian no=Norwegian
fa=Persian pl=Polish pt=Portuguese ro=Romanian ru=Russian sa=Sanskrit sr=Serbian sk=Slovak es=Spanish
sv=Swedish th=Thai tr=Turkish uk=Ukrainian ur=Urdu vi=Vietnamese cy=Welsh yi=Yiddish sq=Albanian
ca=Catalan eu=Basque bg=Bulgarian hr=Croatian mk=Macedonian sl=Slovene et=Estonian gd=Scottish_Gaelic
id=Indonesian ms=Malay ta=Tamil kk=Kazakh
""")))


@words("lang-x")
def lang_x(call: Call) -> str:
    code = call.name.partition("-")[2] if call.name != "lang-x" else ""
    values = call.positional()
    if not code:
        code, values = (values[0] if values else ""), values[1:]
    shown = values[0] if values else call.text("text")
    name = ""
    if call.language in ("en", "", "simple"):
        name = _LANGUAGE_NAMES.get(code.partition("-")[0], "").replace("_", " ")
    if not shown or not name or call.text("label") in ("none", "-"):
        return shown
    romanised = values[1] if len(values) > 1 else ""
    return f"{name}: {shown}" + (f", {romanised}" if romanised else "")


@words("nihongo|nihongo2|nihongo foot|nihongo3|korean|zh|chinese|lang-zh|nihongo krt")
def nihongo(call: Call) -> str:
    values = positional(call)
    if not values:
        values = [call.text(key) for key in ("s", "c", "t", "p", "hangul", "hanja", "rr") if call.text(key)]
        return ", ".join(values)
    rest = ", ".join(values[1:])
    return f"{values[0]} ({rest})" if rest else values[0]


@words("ipac-en|ipac-fr|ipac-es|ipac-de|ipac-it|ipac-pl|ipac-pt|ipac-cmn|ipac-yue|ipac-ga")
def ipac(call: Call) -> str:
    sounds = positional(call)
    labels = {"pron": "pronounced ", "us": "US: ", "uk": "UK: ", "lang": "", "en": "", "audio": ""}
    text = "".join(labels[sound.lower()] if sound.lower() in labels and n < 2 else sound.strip(mark.NOTHING)
                   for n, sound in enumerate(sounds))
    text = text.replace("_", " ")
    return f"/{text}/" if text else ""


def ipa(call: Call) -> str:
    return f"[{call.text('1')}]" if call.text("1") and call.text("1")[0] not in "[/" else call.text("1")


@words("respell|pronunciation respelling")
def respell(call: Call) -> str:
    parts = positional(call)
    joined = "-".join(parts).replace("-_-", " ").replace("-'-", "")
    return f"{mark.EMPHASIS_ON}{joined}{mark.EMPHASIS_OFF}" if joined else ""


_SIGNS = {
    "·": " · ", "•": " • ", "dot": " · ", "bull": " • ", "bullet": " • ", "middot": " · ", "nbsp": " ",
    "spaces": " ", "space": " ", "thinsp": " ", "thin space": " ", "ensp": " ", "emsp": " ", "snd": " – ",
    "snds": " – ", "spnd": " – ", "spaced ndash": " – ", "ndash": "–", "en dash": "–", "mdash": "—",
    "em dash": "—", "mdashb": "—", "spaced mdash": " — ", "'s": "'s", "'": "'", "' \"": "'\"",
    "\" '": "\"'", "-\"": "\"", "sep": " · ", "\\": " / ", "slash": "/", "lbrace": "{", "rbrace": "}",
    "hyphen": "-", "minus": "−", "times": "×", "pi": "π", "hr": "", "colon": ":", "asterisk": "*",
    "yes": "Yes", "no": "No", "n/a": "N/A", "dunno": "?", "tick": "✓", "cross": "✗", "check mark": "✓",
    "aye": "✓", "nay": "✗", "dagger": "†", "double-dagger": "‡", "deg": "°", "zwj": "", "zwsp": "",
    "shy": "", "wbr": "", "pipe": "|", "sectionsign": "§", "pound": "£", "euro": "€", "indian rupee": "₹",
    "inr": "₹", "usa": "United States", "fra": "France", "esp": "Spain", "deu": "Germany", "ger": "Germany",
    "ita": "Italy", "gbr": "United Kingdom", "bra": "Brazil", "arg": "Argentina", "mex": "Mexico",
    "rus": "Russia", "chn": "China", "jpn": "Japan", "can": "Canada", "aus": "Australia", "ind": "India",
    "m.": "М.", "extinct": "†", "break": mark.BREAK, "em space": " ", "en space": " ", "spd": " – ",
    "crlf": mark.BREAK, "nbs": " ", "sps": " ",
}


@words("|".join(name for name in _SIGNS if name != "|"))
def sign(call: Call) -> str:
    value = call.text("1")
    fixed = _SIGNS[call.name]
    if call.name in ("yes", "no", "n/a", "usa", "fra", "pound", "inr", "euro", "indian rupee"):
        return (fixed + value) if call.name in ("pound", "inr", "euro", "indian rupee") else value or fixed
    return fixed


@words("pagename|fullpagename|basepagename|subpagename|pagenamee|title")
def pagename(call: Call) -> str:
    return call.reader.title


_SILENT = name_set("""
plural grammar gender ns urlencode anchorencode padleft padright fullurl localurl filepath int
numberofarticles numberofusers defaultsort defaultsortkey defaultcategorysort displaytitle currentyear
currentmonth currentday currentmonthname currentday2 currenttime sitename server namespace revisionid
sortkey ключ_сортировки сортування сортиране ordena sortierung currentdow localyear localmonth
""")


def nothing(call: Call) -> str:
    """A template that shows a picture or a language's icon."""
    call.reader.counts["layout"] += 1
    return ""


def parser_function(call: Call) -> str:
    """Parser functions and variables: what a condition shows cannot be known; counted."""
    call.reader.counts["magic_words"] += 1
    return ""


@words("lc|uc|lcfirst|ucfirst")
def letter_case(call: Call) -> str:
    text = call.text("1")
    if call.name == "lc":
        return text.lower()
    if call.name == "uc":
        return text.upper()
    return (text[:1].lower() if call.name == "lcfirst" else text[:1].upper()) + text[1:]
