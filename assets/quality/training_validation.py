"""Judging training rows with Great Expectations, beside the released tables in the same Data Docs.

What belongs here: suites of the rules, and the validation of rows that were made for them. What does not: the
rules (`training_rules.py`), how rows come about (`training_faults.py`), stores and pages (`validation.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assets.quality.rules import KEY_RULE, ROWS_RULE
from assets.quality.training_faults import Fault
from assets.quality.training_rules import TRAINING_RULES
from assets.quality.validation import RuleResult, great_expectations, validate
from pipelines.settings import DataFolder


def judge_rows(data: DataFolder, table: str, faults: Sequence[Fault]) -> list[RuleResult]:
    """Judge rows by the rules of their table; rows without a table of rules raise KeyError."""
    import pandas

    rules = TRAINING_RULES[table]
    frame = pandas.DataFrame(list(faults), columns=[*rules.key, *(rule.name for rule in rules.rules)], dtype=object)
    return validate(data, table, build_training_suite(table), rules.key, rules.names,
                    lambda sources: sources.add_pandas("training"), frame)


def build_training_suite(table: str) -> Any:
    """The `ExpectationSuite` of a table's training rows."""
    gx = great_expectations()
    gxe = gx.expectations
    rules = TRAINING_RULES[table]

    def described(rule: str) -> dict[str, Any]:
        return {"meta": {"rule": rule}, "description": rules.meaning(rule)}

    key = list(rules.key)
    return gx.ExpectationSuite(table, expectations=[
        gxe.ExpectTableRowCountToBeBetween(min_value=1, **described(ROWS_RULE)),
        gxe.ExpectColumnValuesToBeUnique(column=key[0], **described(KEY_RULE)) if len(key) == 1
        else gxe.ExpectCompoundColumnsToBeUnique(column_list=key, **described(KEY_RULE)),
        *(gxe.ExpectColumnValuesToBeNull(column=rule.name, mostly=1 - rules.tolerance(rule.name),
                                         **described(rule.name)) for rule in rules.rules)])
