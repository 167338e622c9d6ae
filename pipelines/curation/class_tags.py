"""The class of a sample: one tag for its actions (paper 2510.04293, table of its training data).

What belongs here: the tags and how they are balanced. What does not: actions themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from pipelines.methods.routing import Actions

Tag = Literal["ANSWER", "EXPAND", "REFUSE"]
TAGS: tuple[Tag, ...] = ("ANSWER", "EXPAND", "REFUSE")


def class_tag(actions: Actions) -> Tag:
    """ANSWER where a node is answered with, else EXPAND where a heading is expanded, else REFUSE."""
    if actions.answers:
        return "ANSWER"
    return "EXPAND" if actions.expands else "REFUSE"


def shares(tags: Iterable[str]) -> dict[str, float]:
    """The share of each tag; all 0 without any."""
    counts = Counter(tags)
    total = sum(counts[tag] for tag in TAGS) or 1
    return {tag: counts[tag] / total for tag in TAGS}


def most_of_each(counts: Mapping[str, int], at_most: Mapping[str, float]) -> dict[str, int]:
    """How many samples of each tag may stay so that none has more than its share.

    at_most: the largest share of a tag in what stays, in (0, 1]; tags that it lacks are kept whole. Of shares
    that cannot all be met, because they add up to less than 1 over tags that exist, ValueError is raised.
    """
    if wrong := {tag: share for tag, share in at_most.items() if tag not in TAGS or not 0 < share <= 1}:
        raise ValueError(f"{wrong}: shares lie in (0, 1] and belong to {', '.join(TAGS)}")
    kept: dict[str, int] = {tag: counts.get(tag, 0) for tag in TAGS}
    if any(kept.values()) and sum(at_most.get(tag, 1.0) for tag in TAGS if kept[tag]) < 1 - 1e-9:
        raise ValueError(f"largest shares {dict(at_most)} add up to less than 1")
    while True:
        total = sum(kept.values())
        over = {tag: kept[tag] - at_most.get(tag, 1.0) * total for tag in TAGS}
        worst = max(TAGS, key=lambda tag: over[tag])
        if over[worst] < 1:
            return kept
        others = total - kept[worst]
        share = at_most[worst]
        kept[worst] = min(kept[worst] - 1, int(others * share / (1 - share)))
