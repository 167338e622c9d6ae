"""What an operator reads when a check fails: rule, tolerance, rows, and a way out that exists."""

from __future__ import annotations

import re

import pytest

from assets.checks import check_failure, failing_rows
from assets.quality.rules import KEY_RULE, ROWS_RULE, tolerant_rules
from assets.quality.validation import RuleResult, build_suite
from jobs.build import BuildRequest, keep_options
from pipelines.build_options import BuildOptions, load_build_options, save_build_options
from pipelines.errors import RunFailure, UserError
from pipelines.settings import DataFolder, Profile

ROWS = [{"doc_id": f"treewiki:{n}", "node_id": n, "no_markup_residue": "link: …[[x…"} for n in range(20)]
RESIDUE = RuleResult("no_markup_residue", False, 31, 30, ROWS, 0.0005)


def test_a_failed_rule_about_text_names_its_tolerance_its_rows_and_how_they_are_accepted(data: DataFolder) -> None:
    error = check_failure("tree_nodes", [RESIDUE], data)
    assert isinstance(error, RunFailure)
    assert error.found.startswith("rule no_markup_residue: 30 of 31 rows fail, a share of 0.0005 may "
                                  "(doc_id=treewiki:0, node_id=0")
    assert error.found.count("doc_id=") == 3
    assert f"`espalier build --data {data.root} --tolerate no_markup_residue=0.968`" in error.next_step
    assert "The served release is unchanged." in error.next_step


def test_the_named_share_is_kept_for_later_builds_and_reaches_the_suite(data: DataFolder, profile: Profile) -> None:
    step = check_failure("tree_nodes", [RESIDUE], data).next_step
    [(rule, share)] = re.findall(r"--tolerate (\w+)=([\d.]+)`", step)
    save_build_options(data, BuildOptions(namespaces=(0, 14)))
    keep_options(data, BuildRequest(tolerate={rule: float(share)}))
    keep_options(data, BuildRequest())
    chosen = load_build_options(data).apply(profile)
    assert (chosen.namespaces, chosen.tolerances) == ((0, 14), {"no_markup_residue": 0.968})
    mostly = {one.meta["rule"]: getattr(one, "mostly", 1) for one in
              build_suite("tree_nodes", chosen.tolerances).expectations}
    assert mostly["no_markup_residue"] <= 1 - RESIDUE.n_failing / RESIDUE.n_rows
    assert mostly["parent_exists"] == 1


@pytest.mark.parametrize(("rule", "share"), [
    ("key_is_unique", 0.5), ("parent_exists", 0.5), ("nothing", 0.5), ("no_markup_residue", 1.5),
    ("no_markup_residue", -1.0), ("no_markup_residue", float("nan"))])
def test_only_rules_about_text_take_a_tolerance(data: DataFolder, rule: str, share: float) -> None:
    with pytest.raises(UserError, match=re.escape(", ".join(tolerant_rules()))):
        keep_options(data, BuildRequest(tolerate={rule: share}))
    assert load_build_options(data) == BuildOptions()


def test_a_broken_key_is_not_accepted_but_made_again(data: DataFolder) -> None:
    broken = RuleResult(KEY_RULE, False, 10, 2, [{"doc_id": "treewiki:1"}])
    step = check_failure("units", [broken, RESIDUE], data).next_step
    assert f"Remove the folder {data.table('units')}" in step
    assert "--tolerate" not in step
    assert "build from the dumps again" in check_failure("pages", [broken], data).next_step


@pytest.mark.parametrize("table", ["pages", "documents", "tree_nodes", "sentences"])
def test_no_article_with_words_is_the_users_input_and_named_as_such(data: DataFolder, table: str) -> None:
    error = check_failure(table, [RuleResult(ROWS_RULE, False, 0, 1, [])], data)
    assert error.exit_code == 2
    assert "no article with text in these files; expected pages with words in namespace 0" in str(error)
    assert "Nothing was published. The served release is unchanged." in error.next_step
    assert "--namespaces NUMBER" in error.as_command_line().next_step


def test_a_table_that_lacks_rows_and_breaks_other_rules_is_damaged(data: DataFolder) -> None:
    results = [RuleResult(ROWS_RULE, False, 0, 1, []), RuleResult("block_is_covered", False, 4, 4, [])]
    assert check_failure("sentences", results, data).exit_code == 1


def test_the_first_rows_are_metadata_too() -> None:
    told = failing_rows(RESIDUE)
    assert (told["rows"], told["failing_rows"], told["tolerance"]) == (31, 30, 0.0005)
    assert told["first_rows"].value == ROWS[:3]
