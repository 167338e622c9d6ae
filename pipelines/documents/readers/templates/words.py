"""Templates that set or wrap words: what `{{nowrap|very steep}}` or `{{lang|fr|Bonjour}}` shows.

What belongs here: one small function a kind of template whose parameters are the words to show, with the
names of languages that some put in front. Signs without parameters are in `signs.py`, links in `links.py`.
"""

from __future__ import annotations

import re

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.language_names import label_of, language_of, script_of
from pipelines.documents.readers.templates.languages import language_label
from pipelines.documents.readers.templates.table import Words, positional, words, words_by_pattern

_FIRST = """
    nowrap|nobr|nobreak|nowr|small|smaller|big|larger|large|nobold|noitalic|noitalics|normal|center|sc|
    smallcaps|smallcaps2|smallcaps all|unicode|tooltip|abbr|abbrlink|strong|em|bold|italic|mono|
    monospace|kbd|keypress|key|key press|button|underline|strike|xt|mxt|tq|gray|red|green|
    blue|notatypo|not a typo|typo|vanchor|visible anchor|ipalink|
    ipa link|ipa1|ipa2|api|phonetic|linktext|linktxt|
    nastaliq|hebrew|grc|polytonic|mvar|math|var|varserif|serif|sans-serif|text|plain text|
    nocolor|caps|allcaps|vol.|issue|hsp|ruby|ruby-ja|furigana|no wrap|nwr|
    avoid wrap|bracket|quoted|r-to-l|hilite|highlight|code|vert header|vertical header|cj|cjkv|
    mark|ltr|rtl|script/hebrew|script/arabic|script/cyrillic|script/slavonic|script/nastaliq|
    script/greek|script/coptic|allow wrap|left|right|citation needed span|clarify span|
    better source span|dubious span|fact span|huge|xlarge|normalsize|nocaps|midsize|first|
    quote inline|comment|hover|hover title|h:title|explain|
    crossreference|crossref|see below|nq|rotate|tqq|tqi|plain link|zh-tw|zh-cn|
    bigger|tiny|strikethrough|ins|del|overline|proper name|based on|qh|vertical|bdo|bdi|date text|
    oldstyledatedy|stretch|ilist
"""


@words(_FIRST)
def first(call: Call) -> str:
    return call.text("1", "text", "content")


@words("raised|sub|sup|u|smallsup|smallsub|superscript|subscript")
def raised(call: Call) -> str:
    value = call.text("1")
    if not value and call.name == "raised":
        # The sign itself is the template's name, as in `XIX{{e}}`.
        value = call.shown_name
    if not value or call.name == "u":
        return value
    if call.name in ("sub", "smallsub", "subscript") or call.shown_name in ("ind", "indice"):
        return f"{mark.SUB_ON}{value}{mark.SUB_OFF}"
    return f"{mark.SUPER_ON}{value}{mark.SUPER_OFF}"


@words("sic")
def sic(call: Call) -> str:
    """`{{sic}}` → [sic]; hidden where the call says so."""
    words_ = "".join(positional(call))
    return words_ if call.text("hide") else f"{words_} [sic]".strip()


@words("lit|literally")
def literally(call: Call) -> str:
    is_english = call.language in ("", "en", "simple")
    return f"lit. '{call.text('1')}'" if call.text("1") and is_english else call.text("1")


@words("etymology")
def etymology(call: Call) -> str:
    """`{{etymology|la|albedo|whiteness}}` → Latin albedo 'whiteness'."""
    code, word, meaning = [*positional(call), "", "", ""][:3]
    label = language_label(code, call.language).rstrip(": ")
    return " ".join(filter(None, (label, word, f"'{meaning}'" if meaning else "")))


@words("lang|lang2|tlang|native name|native phrase|script lang|wikt-lang|langi|second")
def second(call: Call) -> str:
    # `{{lang2|bs|hr|Bosna}}` is in two languages.
    return call.text("3") if call.name == "lang2" and call.text("3") else call.text("2", "text", "texte", "1")


@words("angbr|angbr ipa|angle bracket|vr|grapheme|gph")
def angle_brackets(call: Call) -> str:
    return f"⟨{call.text('1')}⟩"


_MARKS = {"quoted «»": ("« ", " »"), "quoted „“": ("„", "“"), "quoted “”": ("“", "”")}


@words("|".join(_MARKS))
def quoted(call: Call) -> str:
    """Words in the quotation marks of a language."""
    opening, closing = _MARKS[call.name]
    return f"{opening}{call.text('1', 'texte', 'text')}{closing}"


@words("parenthesised")
def parenthesised(call: Call) -> str:
    return f"({call.text('1')})" if call.text("1") else ""


@words("transl")
def transliteration(call: Call) -> str:
    return call.text("3", "2", "1")


@words("color|colour|font color|fontcolor|fcolor|font colour|background color|bg|text color|resize|font"
       "|style|span|color text|coloured text|last|script|rtl-lang|ltr-lang|oq|legend0|lower|longitem|align")
def last(call: Call) -> str:
    values = positional(call)
    return call.text("text") or (values[-1] if values else "")


@words("lang-x")
def lang_x(call: Call) -> str:
    """`{{lang-de|See}}` and `{{langx|de|See}}`: the language's name, the words, their romanisation."""
    code = call.name.partition("-")[2] if call.name != "lang-x" else ""
    values = call.positional()
    if not code:
        code, values = (values[0] if values else ""), values[1:]
    shown = values[0] if values else call.text("text") or (nihongo(call) if code.startswith("zh") else "")
    label = language_label(code, call.language)
    if not shown or not label or call.text("label") in ("none", "-"):
        return shown
    label = call.text("label") or label
    romanised = values[1] if len(values) > 1 else ""
    return f"{label}{shown}" + (f", {romanised}" if romanised else "")


@words("in language")
def in_language(call: Call) -> str:
    """A template that is called by a language's own name, as `{{İngilizce|x}}`: the words alone."""
    return call.text("1")


@words("language note")
def language_note(call: Call) -> str:
    """`{{ref-ru}}`, `{{en}}`, `{{lang icon}}`: which language a source is in, in parentheses."""
    if call.ranges and not call.text("1"):
        return nihongo(call)
    code = re.split(r"[- ]", call.shown_name.lower())[-1] if not call.ranges else call.text("1")
    label = language_label(code, call.language).rstrip(" :：՝")
    return f"({label})" if label else ""


@words("nihongo|nihongo2|nihongo foot|nihongo3|korean|zh|chinese|nihongo krt|yomi")
def nihongo(call: Call) -> str:
    """`{{nihongo|words|kanji|rōmaji|extra|extra2}}` → words (kanji, rōmaji, extra) extra2."""
    values, behind = positional(call), ""
    if call.name == "nihongo":
        numbered = [call.text(name) for name in ("1", "2", "3")] + [call.text("extra", "4")]
        values, behind = [value for value in numbered if value], call.text("extra2", "5")
        if call.text("lead") in ("yes", "y", "1", "true") and len(values) > 1 and call.text("2"):
            values[1] = label_of("ja", call.language or "en") + values[1]
    if not values:
        values = [call.text(key) for key in ("s", "c", "t", "p", "hangul", "hanja", "rr") if call.text(key)]
        return ", ".join(values)
    if call.name == "yomi":
        return f"{values[0]}（{'、'.join(values[1:])}）" if len(values) > 1 else values[0]
    rest = ", ".join(values[1:])
    return (f"{values[0]} ({rest})" if rest else values[0]) + (f" {behind}" if behind else "")


def named_after_language(call: Call) -> str:
    """`{{arabe|'''Arabie'''|العربيّة|al-ʿarabiyya}}` → Arabie (en arabe : العربيّة, al-ʿarabiyya)."""
    code = language_of(call.name, call.language)
    values = positional(call)
    label = label_of(code, call.language)
    in_front = ""
    if len(values) > 1 and script_of(_plain(values[0])) != script_of(_plain(values[1])):
        # What is said in the wiki's own script stands in front, unless it is the one that is written here.
        own = script_of(label) or "LATIN"
        if script_of(_plain(values[0])) == own:
            in_front, values = values[0], values[1:]
    words_ = label + ", ".join(values)
    return f"{in_front} ({words_})" if in_front else words_


def _plain(value: str) -> str:
    return _MARKED.sub("", value)


_MARKED = re.compile(r"\x11[^\x12\x13]*(?=\x12)|[\x01-\x1f]")


@words("ipac-en|ipac-fr|ipac-es|ipac-de|ipac-it|ipac-pl|ipac-pt|ipac-cmn|ipac-yue|ipac-ga")
def ipac(call: Call) -> str:
    sounds = positional(call)
    labels = {"pron": "pronounced ", "us": "US: ", "uk": "UK: ", "lang": "", "en": "", "audio": ""}
    text = "".join(labels[sound.lower()] if sound.lower() in labels and n < 2 else sound.strip(mark.NOTHING)
                   for n, sound in enumerate(sounds))
    text = text.replace("_", " ")
    return f"/{text}/" if text else ""


@words("ipablink|ipa blink")
def ipa_sign_bracketed(call: Call) -> str:
    return f"[{call.text('1')}]"


@words("ipaslink|ipa slink")
def ipa_sign_slashed(call: Call) -> str:
    return f"/{call.text('1')}/"


@words("ipa")
def ipa(call: Call) -> str:
    """`{{IPA|/leɪk/}}`, and today's `{{IPA|fr|lak}}` with the language in front."""
    values = call.positional()
    if len(values) > 1 and _CODE.fullmatch(values[0]):
        return _pronounced(call, values[0], values[1], values[2] if len(values) > 2 else None)
    return values[0] if values else ""


_CODE = re.compile(r"[a-z]{2,3}(-[\w-]+)?")


def ipa_of_language(call: Call) -> str:
    """`{{IPA-fr|lak|lang}}`."""
    values = call.positional()
    sounds = values[0] if values else ""
    return _pronounced(call, call.name.partition("-")[2], sounds, values[1] if len(values) > 1 else None)


def _pronounced(call: Call, code: str, sounds: str, how: str | None) -> str:
    """`French pronunciation: [lak]`, on English wikis; how: None, '', pron, lang, local, and the like."""
    shown = f"[{sounds}]" if sounds and sounds[0] not in "[/⟨" else sounds
    if call.language not in ("", "en", "simple") or call.text("label") or not shown:
        return shown
    label = language_label(code, call.language)
    if how is None:
        return f"{label.rstrip(': ')} pronunciation: {shown}" if label else shown
    before = {"lang": label, "pron": "pronounced ", "local": "locally "}.get(how.lower(), "")
    return before + shown


@words("audio-ipa")
def audio_ipa(call: Call) -> str:
    return call.text("2")


@words("respell|pronunciation respelling")
def respell(call: Call) -> str:
    parts = positional(call)
    joined = "-".join(parts).replace("-_-", " ").replace("-'-", "")
    return f"{mark.EMPHASIS_ON}{joined}{mark.EMPHASIS_OFF}" if joined else ""


def nothing(call: Call) -> str:
    """A template that shows a picture or a language's icon."""
    call.reader.counts["layout"] += 1
    return ""


@words_by_pattern
def by_language(call: Call) -> Words | None:
    """Names with a language in them."""
    name = call.name
    if name.startswith(("lang-", "vol-")):
        return lang_x
    if name.startswith("ipa-"):
        return ipa_of_language
    if name.startswith("ref-") and len(name) in (6, 7) and not call.ranges:
        return language_note
    if name.endswith((" icon", "-icon")) and len(name) < 9 and not call.ranges:
        return nothing
    if call.ranges and language_of(name, call.language) and call.text("1"):
        # Short codes are names of much else: they count in front of a word in another script.
        is_code = len(name) < 4 and name.isascii()
        if not is_code or any(script_of(_plain(value)) not in ("LATIN", "") for value in positional(call)[:2]):
            return named_after_language
    return None
