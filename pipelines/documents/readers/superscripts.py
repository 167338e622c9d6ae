"""Superscripts and subscripts as Unicode characters: 10<sup>18</sup> → 10¹⁸, SO<sub>4</sub> → SO₄.

What belongs here: which characters have such a form, and when it is used. Each takes the place of one code
point, so that no offset changes. A word in `<sup>` or `<sub>` is changed as a whole: its digits and signs, and
letters that stand alone (xⁿ, 2ⁿ⁺¹); a word with longer runs of letters (1<sup>st</sup>, v<sub>max</sub>) or
with a letter that has no form stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipelines.documents.tree import Span

_SIGNS = "+-−–=()"
_SUPERSCRIPT = dict(zip(
    "0123456789" + _SIGNS + "abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ", strict=True))
_SUBSCRIPT = dict(zip(
    "0123456789" + _SIGNS + "aehijklmnoprstuvxβγρφχ",
    "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
_FORMS = {"sup": _SUPERSCRIPT, "sub": _SUBSCRIPT}
_WORD = re.compile(r"\S+")
_LETTERS = re.compile(r"[^\W\d_]+")


def with_superscripts(text: str, spans: Iterable[Span]) -> str:
    """The text with the characters in its spans of kind sup and sub raised and lowered; as long as before."""
    out: list[str] | None = None
    # Outer ones first: what is raised inside a subscript is raised.
    for span in sorted(spans, key=lambda span: (span.begin, -span.end)):
        forms = _FORMS.get(span.kind)
        if forms is None:
            continue
        out = out or list(text)
        for word in _WORD.finditer(text, span.begin, span.end):
            if all(len(letters) == 1 and letters in forms for letters in _LETTERS.findall(word[0])):
                out[word.start():word.end()] = [forms.get(char, char) for char in word[0]]
    return text if out is None else "".join(out)

