"""`-{…}-`: words that a wiki with several ways of writing shows in one of them, or protects from conversion.

What belongs here: MediaWiki's markup for language variants, as the wikis of Chinese, Serbian, Kazakh and a
few other languages use it. Its inside becomes the words of one variant; nothing else is converted. It serves
`wikitext_prepare.py`, after what stands in code and math was put aside.
"""

from __future__ import annotations

import re

from pipelines.documents.readers.namespaces import name_set

LANGUAGES = name_set("ban crh gan iu kk ku mni sh shi sr tg tly uz wuu zgh zh")
"""Languages whose wikis have variants; in all others `-{` is text."""

_MARKUP = re.compile(r"-\{((?:[^{}]|\{\{[^{}]*\}\})*)\}-")
_FLAGS = re.compile(r"[ADHNRST-](?:\s*;\s*[ADHNRST-])*|[a-z]{2,3}(?:-[a-z]+)?(?:\s*;\s*[a-z]{2,3}-[a-z]+)*")
_RULE = re.compile(r"(?:^|;)\s*(?:[^;:]*=>\s*)?([a-z]{2,3}(?:-[a-z]+)?)\s*:")
_HIDDEN = frozenset("HT-")
_PREFERRED = ("zh-hans", "zh-cn", "zh-hant", "zh-tw", "sr-ec", "sr-cyrl", "kk-cyrl")
"""Variants in MediaWiki's order for readers who chose none; a rule without any of them shows its first."""
_MOST_NESTED = 4


def choose_variants(text: str) -> str:
    """The text with each `-{…}-` as the words that it shows; linear in its length, line breaks stay."""
    for _ in range(_MOST_NESTED):
        text, n = _MARKUP.subn(_shown, text)
        if not n:
            break
    return text


def _shown(match: re.Match[str]) -> str:
    inside = match[1]
    flags, bar, rules = inside.partition("|")
    is_hidden = is_raw = False
    if bar and _FLAGS.fullmatch(flags.strip()):
        names = set(re.split(r"\s*;\s*", flags.strip()))
        is_hidden, is_raw = bool(names & _HIDDEN), "R" in names
        inside = rules
    words = "" if is_hidden else inside if is_raw else _one_variant(inside)
    return words + "\n" * (match[0].count("\n") - words.count("\n"))


def _one_variant(rules: str) -> str:
    """The words of one variant of `zh-hans:…;zh-hant:…`; a text without such rules as it is."""
    found = list(_RULE.finditer(rules))
    if not found or rules[:found[0].start()].strip():
        return rules
    by_code: dict[str, str] = {}
    for rule, after in zip(found, [*found[1:], None], strict=True):
        words = rules[rule.end():after.start() if after else len(rules)].strip().rstrip(";").strip()
        by_code.setdefault(rule[1], words)
    code = next((code for code in _PREFERRED if code in by_code), next(iter(by_code)))
    return by_code[code]
