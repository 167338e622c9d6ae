"""Templates that show a sign or a word of their own: `{{ndash}}`, `{{yes}}`.

What belongs here: the table of signs by template name, and cells of comparison tables.
"""

from __future__ import annotations

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.templates.call import Call
from pipelines.documents.readers.templates.table import Words, words, words_by_pattern

_SIGNS = {
    "·": " · ", "•": " • ", "dot": " · ", "bull": " • ", "bullet": " • ", "middot": " · ", "nbsp": " ",
    "spaces": " ", "space": " ", "thinsp": " ", "thin space": " ", "ensp": " ", "emsp": " ", "snd": " – ",
    "snds": " – ", "spnd": " – ", "spaced ndash": " – ", "ndash": "–", "en dash": "–", "mdash": "—",
    "em dash": "—", "mdashb": "—", "spaced mdash": " — ", "'s": "'s", "'": "'", "' \"": "'\"",
    "\" '": "\"'", "-\"": "\"", "\\": " / ", "slash": "/", "lbrace": "{", "rbrace": "}",
    "hyphen": "-", "minus": "−", "times": "×", "pi": "π", "hr": "", "colon": ":", "asterisk": "*",
    "dunno": "?", "tick": "✓", "cross": "✗", "check mark": "✓", "aye": "✓", "nay": "✗", "y": "✓", "n": "✗",
    "dagger": "†",
    "double-dagger": "‡", "deg": "°", "zwj": "", "zwsp": "", "shy": "", "wbr": "", "pipe": "|",
    "sectionsign": "§", "m.": "М.", "extinct": "†", "break": mark.BREAK, "em space": " ", "en space": " ",
    "spd": " – ", "crlf": mark.BREAK, "nbs": " ", "sps": " ", "eqm": "=", "arrow": "→", ",": " · ",
    "--": "—", "kia": "†", "ref dagger": "†", "hash": "#", "(": "{", ")": "}", "((": "{{", "))": "}}",
    "'\"": "'\"", "no.": "No.", "ø": "∅", "emptyset": "∅", "infinity": "∞", "approx": "≈", "male": "♂",
    "female": "♀", "dash": " – ", "snd2": " – ", "spaced en dash": " – ", "spaced en dash space": " – ",
    "bol": "", "line break": mark.BREAK, "aut.": "aut.", "before christ": "av. J.-C.",
    "anno domini": "apr. J.-C.", "numero": "nº", "n°": "nº", "first ordinal": "1er", "m. mister": "M.",
    "mme": "Mme", "bc": "BC", "ad": "AD", "ce era": "CE", "bce": "BCE",
}


def _sign(call: Call) -> str:
    return _SIGNS[call.name]


words("|".join(_SIGNS))(_sign)

_CELLS = {
    "yes": "Yes", "no": "No", "n/a": "N/A", "yes2": "Yes", "no2": "No", "na": "N/A", "nom": "Nominated",
    "won": "Won", "partial": "Partial", "dropped": "Dropped", "unknown": "Unknown", "maybe": "Maybe",
    "some": "Some", "any": "Any", "pending": "Pending", "included": "Included", "optional": "Optional",
    "free": "Free", "nonfree": "Non-free", "proprietary": "Proprietary", "beta": "Beta", "tba": "TBA",
    "tbd": "TBD", "cancelled": "Cancelled", "ongoing": "Ongoing", "runner-up": "Runner-up", "draw": "Draw",
    "no o": "No", "planned": "Planned", "varies": "Varies", "good": "Good", "bad": "Bad", "okay": "Okay",
}
"""Cells of comparison tables: what they say on English wikis where the call says nothing else."""
_YES_NO = {
    "de": "Ja Nein", "fr": "Oui Non", "es": "Sí No", "it": "Sì No", "pt": "Sim Não", "nl": "Ja Nee",
    "sv": "Ja Nej", "pl": "Tak Nie", "ru": "Да Нет", "uk": "Так Ні", "tr": "Evet Hayır", "el": "Ναι Όχι",
    "vi": "Có Không", "hy": "Այո Ոչ", "en": "Yes No", "simple": "Yes No", "": "Yes No",
}


def _cell(call: Call) -> str:
    # `{{won|color=gold}}` styles the cell; only its words are shown.
    shown = call.text("1", "text")
    if not shown and call.name.removesuffix("2") in ("yes", "no") and call.language in _YES_NO:
        return _YES_NO[call.language].split()[call.name.startswith("no")]
    return shown or _CELLS[call.name]


@words_by_pattern
def by_cell(call: Call) -> Words | None:
    """Other wikis' words for a cell are not known: there only a cell that brings its own is handled."""
    if call.name not in _CELLS:
        return None
    is_known = call.language in ("", "en", "simple") or call.text("1", "text") or (
        call.name.removesuffix("2") in ("yes", "no") and call.language in _YES_NO)
    return _cell if is_known else None
