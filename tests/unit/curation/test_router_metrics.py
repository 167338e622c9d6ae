"""Router metrics by hand on five decisions."""

from __future__ import annotations

import pytest

from pipelines.curation.router_metrics import Decision, router_metrics
from pipelines.methods.routing import Actions

REFUSED, NOTHING = Actions(is_refusal=True), Actions(expelled=("x", "y"), unknown=("z",))
DECISIONS = [
    Decision(Actions(answers=(1, 2)), Actions(answers=(2, 3, 4))),   # F1 2/5
    Decision(Actions(answers=(1,), expands=(9,)), REFUSED),          # F1 0, precision 0
    Decision(Actions(expands=(7,)), Actions(expands=(7, 8))),        # precision 1/2
    Decision(REFUSED, REFUSED),
    Decision(REFUSED, NOTHING),                                      # collapsed: not refused
]


def test_the_paper_s_figures() -> None:
    found = router_metrics(DECISIONS)
    assert found["ans_f1"] == pytest.approx((2 / 5 + 0) / 2)
    assert found["exp_pre"] == pytest.approx((0 + 1 / 2) / 2)
    assert found["ref_acc"] == 0.5
    assert found["xpl_avg"] == pytest.approx(3 / 5)
    assert found["col_rate"] == pytest.approx(1 / 5)


def test_figures_of_each_class() -> None:
    found = router_metrics(DECISIONS)
    assert (found["answer_precision"], found["answer_recall"]) == (1.0, 0.5)
    assert found["answer_f1"] == pytest.approx(2 / 3)
    assert found["expand_f1"] == 1.0
    assert (found["refuse_precision"], found["refuse_recall"], found["refuse_f1"]) == (0.5, 0.5, 0.5)
    assert found["macro_f1"] == pytest.approx((2 / 3 + 1 + 1 / 2) / 3)


def test_without_states_there_are_no_means() -> None:
    found = router_metrics([])
    assert (found["ans_f1"], found["exp_pre"], found["ref_acc"], found["macro_f1"]) == (None, None, None, 0.0)
