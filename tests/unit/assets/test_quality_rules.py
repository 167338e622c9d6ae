"""Rules as data: complete, and none of them repeats what Delta enforces."""

import pytest

from assets.quality.frames import frame_tables
from assets.quality.rules import (
    KEY_RULE,
    ROWS_RULE,
    TABLE_RULES,
    inputs_of,
    rule_meaning,
    rule_names,
    rules_sha256,
)
from assets.quality.validation import build_suite
from pipelines.schemas import RELEASED_TABLES, TABLES


def test_rules_and_frames_are_of_the_same_tables() -> None:
    assert set(frame_tables()) == set(TABLE_RULES) == set(RELEASED_TABLES)


@pytest.mark.parametrize("table", RELEASED_TABLES)
def test_each_rule_of_a_table_is_one_expectation(table: str) -> None:
    suite = build_suite(table)
    by_rule = {expectation.meta["rule"]: expectation for expectation in suite.expectations}
    assert set(by_rule) == set(rule_names(table))
    assert by_rule[ROWS_RULE].min_value == 1
    key = by_rule[KEY_RULE]
    columns = [key.column] if len(TABLES[table].key) == 1 else key.column_list
    assert tuple(columns) == TABLES[table].key
    for rule in TABLE_RULES[table].rules:
        assert by_rule[rule.name].mostly == 1 - rule.tolerance
        assert by_rule[rule.name].description == rule_meaning(table, rule.name)


def test_a_share_that_is_spared_raises_a_tolerance_and_never_lowers_it() -> None:
    def mostly(spared: dict[str, float]) -> float:
        expectations = build_suite("tree_nodes", spared).expectations
        return float(next(e.mostly for e in expectations if e.meta["rule"] == "no_markup_residue"))

    assert mostly({}) == mostly({"no_markup_residue": 0.0}) == 1 - 1 / 2000
    assert mostly({"no_markup_residue": 0.25}) == 0.75


@pytest.mark.parametrize("table", RELEASED_TABLES)
def test_no_rule_is_named_like_a_column_so_that_delta_s_constraints_are_not_repeated(table: str) -> None:
    assert not set(rule_names(table)) & set(TABLES[table].column_names)
    assert all(name in TABLES for name in inputs_of(table))


def test_other_rules_have_another_digest() -> None:
    assert len({rules_sha256(table) for table in RELEASED_TABLES}) == len(RELEASED_TABLES)
