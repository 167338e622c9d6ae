"""How well a router decides on held-out states (paper 2510.04293, section 4; docs/training.md).

ANS-F1: mean F1 of the answered node ids over the states with gold answers, 0 where none is predicted. EXP-PRE:
mean precision of the expanded ids over the states with gold expands. REF-ACC: share of the states to refuse
that are refused; a collapsed output is no refusal. XPL-AVG: mean number of illegal lines. COL-RATE: share of
outputs from which nothing usable came. Beside the paper's: F1 of each class of `class_tags.py` and their mean.

What belongs here: the figures of one state and their means. What does not: asking routers, and intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.curation.class_tags import TAGS, Tag, class_tag
from pipelines.methods.routing import Actions


@dataclass(frozen=True)
class Decision:
    """What a router did in one state, beside what it should have done.

    gold holds legal actions. predicted is what was taken of an output: of one that collapsed, nothing.
    """

    gold: Actions
    predicted: Actions

    @property
    def answer_f1(self) -> float | None:
        """F1 of the answered ids; None without gold answers."""
        gold, predicted = set(self.gold.answers), set(self.predicted.answers)
        return 2 * len(gold & predicted) / (len(gold) + len(predicted)) if gold else None

    @property
    def expand_precision(self) -> float | None:
        """Share of the expanded ids that are gold, 0 where none is expanded; None without gold expands."""
        gold, predicted = set(self.gold.expands), set(self.predicted.expands)
        return len(gold & predicted) / max(1, len(predicted)) if gold else None

    @property
    def is_right_refusal(self) -> float | None:
        """Whether a state to refuse was refused; None where it is not to be."""
        return None if self.gold_tag != "REFUSE" else float(self.tag == "REFUSE")

    @property
    def gold_tag(self) -> Tag:
        return class_tag(self.gold)

    @property
    def tag(self) -> Tag | None:
        """The class of what was predicted; None where the output collapsed."""
        return None if self.predicted.is_collapsed else class_tag(self.predicted)

    @property
    def n_illegal(self) -> int:
        return len(self.predicted.expelled) + len(self.predicted.unknown)


def router_metrics(decisions: Sequence[Decision]) -> dict[str, float | None]:
    """The means over all states; None where no state has what a figure needs."""
    found: dict[str, float | None] = {
        "ans_f1": _mean([decision.answer_f1 for decision in decisions]),
        "exp_pre": _mean([decision.expand_precision for decision in decisions]),
        "ref_acc": _mean([decision.is_right_refusal for decision in decisions]),
        "xpl_avg": _mean([float(decision.n_illegal) for decision in decisions]),
        "col_rate": _mean([float(decision.predicted.is_collapsed) for decision in decisions]),
        "macro_f1": macro_f1(decisions),
    }
    for tag in TAGS:
        for name, value in class_figures(decisions, tag).items():
            found[f"{tag.lower()}_{name}"] = value
    return found


def class_figures(decisions: Sequence[Decision], tag: Tag) -> dict[str, float]:
    """Precision, recall and F1 of one class, 0 where they have no denominator."""
    n_both = sum(decision.tag == tag == decision.gold_tag for decision in decisions)
    n_predicted = sum(decision.tag == tag for decision in decisions)
    n_gold = sum(decision.gold_tag == tag for decision in decisions)
    return {"precision": n_both / max(1, n_predicted), "recall": n_both / max(1, n_gold),
            "f1": 2 * n_both / max(1, n_predicted + n_gold)}


def macro_f1(decisions: Sequence[Decision]) -> float:
    """Mean F1 of the three classes."""
    return sum(class_figures(decisions, tag)["f1"] for tag in TAGS) / len(TAGS)


def answer_f1(decisions: Sequence[Decision]) -> float | None:
    """ANS-F1, as a function of decisions to resample."""
    return _mean([decision.answer_f1 for decision in decisions])


Figure = Callable[[Sequence[Decision]], float | None]
COMPARED: Mapping[str, Figure] = {"macro_f1": macro_f1, "ans_f1": answer_f1}
"""The figures by which two routers are compared."""


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
