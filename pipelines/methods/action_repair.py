"""Repairs of freely written router outputs: the form of a line is mended, never its node or its words.

What belongs here: what language models put around an action, and other names of the same action. What does
not: what is legal (`routing.parse_actions`): an action on a wrong node, or with other words than the node's,
stays wrong and is counted.
"""

from __future__ import annotations

import re

from pipelines.methods.routing import ANSWER, EXPAND, REFUSAL, normalise

_TAGS = {"answer": ANSWER, "ans": ANSWER, "expand": EXPAND, "exp": EXPAND}
_DECORATION = re.compile(r"^(?:[-*•>+]\s+|\d{1,3}[.)]\s+)+")
_ACTION = re.compile(
    r"(?:\[\s*(?P<tag>answer|ans|expand|exp)\s*\]|<(?P<open>answer|ans|expand|exp)>|(?P<bare>answer|ans|expand|exp)\b)"
    r"\s*:?\s*\[?\s*(?:id\s*[:=]?\s*)?(?P<id>\d{1,18})\s*\]?\s*(?:[:\-–—.]\s*(?P<words>.*?))?\s*(?:</\w+>)?$",
    re.IGNORECASE)
_REFUSALS = frozenset({"cannotanswer", "icannotanswer", "cantanswer", "cannotanswerthequestion", "refuse", "ref",
                       "refcannotanswer", "refusecannotanswer"})
_FENCE = re.compile(r"^(?:```\w*|~~~\w*)$")


def repair(text: str) -> tuple[str, int]:
    """The output with its lines in the form of the grammar, and how many lines were changed or left out.

    Mended: bullets, numbers, code fences, bold and code marks, quotes around the words, `ANSWER 3`, `[ANS] 3`,
    `<expand>3: …</expand>`, other marks for colons, other words of refusing. A refusal beside actions, or
    said again, is left out. Lines that are no action at all stay as they are.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    mended = [_mend(line) for line in lines]
    n_changed = sum(new != old for new, old in zip(mended, lines, strict=True))
    kept = [line for line in mended if line]
    actions = [line for line in kept if line.startswith((ANSWER, EXPAND))]
    if REFUSAL in kept:
        # Beside actions none, alone one.
        others = [line for line in kept if line != REFUSAL]
        whole = others if actions else [*others, REFUSAL]
        n_changed += len(kept) - len(whole)
        kept = whole
    return "\n".join(kept), n_changed


def _mend(line: str) -> str:
    """One line in the form of the grammar; "" for a fence."""
    if _FENCE.match(line):
        return ""
    bare = _DECORATION.sub("", line).replace("**", "").strip("`").strip()
    if normalise(bare) in _REFUSALS:
        return REFUSAL
    match = _ACTION.fullmatch(bare)
    if match is None:
        return line
    tag = _TAGS[(match["tag"] or match["open"] or match["bare"]).lower()]
    words = (match["words"] or "").strip().strip("\"'“”‘’").strip()
    return f"{tag} {match['id']}: {words}"
