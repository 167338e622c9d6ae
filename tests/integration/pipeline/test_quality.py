"""Every quality rule against rows that break it: the right rule fails and names the right rows."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from built import Built
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from assets.checks import check_failure
from assets.quality import validation
from assets.quality.frames import Candidate
from assets.quality.rules import KEY_RULE, ROWS_RULE, TABLE_RULES, rule_names
from assets.quality.validation import check_table, passed_before
from pipelines.schemas import RELEASED_TABLES
from pipelines.settings import Profile
from pipelines.storage import TableReader

Damage = Callable[[DataFrame], DataFrame]


class Damaged(Candidate):
    """A candidate some of whose tables were tampered with on the way."""

    damages: dict[str, Damage]

    def table(self, name: str) -> DataFrame:
        frame = super().table(name)
        return self.damages[name](frame) if name in self.damages else frame


def setting(column: str, value: object, where: str) -> Damage:
    """Change a column of some rows; `value` is SQL."""
    return lambda frame: frame.withColumn(
        column, F.when(F.expr(where), F.expr(str(value))).otherwise(F.col(column)))


def without(where: str) -> Damage:
    return lambda frame: frame.where(f"NOT ({where})")


def twice(where: str) -> Damage:
    return lambda frame: frame.union(frame.where(where))


def chain(*damages: Damage) -> Damage:
    def apply(frame: DataFrame) -> DataFrame:
        for damage in damages:
            frame = damage(frame)
        return frame

    return apply


ASPEN, BIRCH, CEDAR = (f"doc_id = 'treewiki:{page_id}'" for page_id in (1, 2, 3))
SCENARIOS: dict[str, tuple[str, dict[str, Damage], dict[str, str]]] = {
    # name: (table that is checked, damages by table, rule → what its failing rows name)
    "pages": ("pages", {
        "pages": chain(twice(CEDAR), setting("bucket", "bucket + 1", ASPEN), setting("page_id", "99", BIRCH)),
        "dump_files": without("true"),
    }, {KEY_RULE: "treewiki:3", "bucket_matches": "treewiki:1", "id_matches_page": "treewiki:2",
        "dump_file_exists": "treewiki:1"}),
    "an empty table": ("pages", {"pages": without("true")}, {ROWS_RULE: ""}),
    "documents": ("documents", {
        "pages": without(ASPEN), "documents": without(BIRCH), "tree_nodes": without(f"{CEDAR} AND node_id = 2"),
    }, {"page_exists": "treewiki:1", "page_has_document": "treewiki:2", "tree_is_complete": "treewiki:3"}),
    "a page that changed": ("documents", {"pages": setting("content_sha256", "sha2('x', 256)", ASPEN)},
                            {"page_exists": "treewiki:1"}),
    "tree nodes": ("tree_nodes", {
        "documents": without(ASPEN),
        "tree_nodes": chain(
            twice(f"{ASPEN} AND node_id = 3"), without(f"{BIRCH} AND node_id = 0"),
            setting("text", "regexp_replace(text, '^..', '[[')", "kind = 'content' AND length(text) > 2"),
            setting("text", "text || '!'", f"{CEDAR} AND node_id = 1"),
            setting("path", "array(7, 7)", f"{CEDAR} AND node_id = 2")),
    }, {KEY_RULE: "treewiki:1", "document_exists": "treewiki:1", "parent_exists": "treewiki:2",
        "lies_within_parent": "treewiki:3", "range_matches_text": "treewiki:3",
        "no_markup_residue": "link_brackets"}),
    "sentences": ("sentences", {"sentences": chain(
        setting("begin", "begin + 1", f"{ASPEN} AND sentence_id = 0"),
        without(f"{BIRCH} AND sentence_id = 1"), twice(f"{CEDAR} AND sentence_id = 0")),
    }, {KEY_RULE: "treewiki:3", "span_matches_text": "treewiki:1", "block_is_covered": "treewiki:2"}),
    "units": ("units", {
        "documents": setting("title", "'Ash'", ASPEN),
        "units": chain(setting("rendered_sha256", "sha2('x', 256)", ASPEN), without(BIRCH), twice(CEDAR),
                       setting("node_ids", "array(1000)", CEDAR)),
    }, {KEY_RULE: "treewiki:3", "opens_with_title": "treewiki:1", "hash_matches_text": "treewiki:1",
        "nodes_exist": "treewiki:3", "sentences_are_covered": "treewiki:2"}),
    "embeddings": ("embeddings", {
        "units": without(ASPEN),
        "embeddings": chain(without(BIRCH), twice(ASPEN), setting("dim", "7", CEDAR),
                            setting("vector", "transform(vector, x -> float(2 * x))", ASPEN)),
    }, {KEY_RULE: "treewiki:1", "unit_exists": "treewiki:1", "unit_has_vector": "treewiki:2",
        "dimension_matches": "treewiki:3", "norm_is_one": "treewiki:1"}),
    "vectors of another encoder": ("embeddings", {"embeddings": chain(
        setting("model", "'other'", BIRCH),
        setting("vector", "transform(vector, x -> float('NaN'))", ASPEN))},
        {"unit_has_vector": "treewiki:2", "dimension_matches": "treewiki:1"}),
}


@pytest.fixture
def candidate(small: Built, spark: SparkSession, profile: Profile) -> Damaged:
    """The small wiki's candidate, in a folder of this test's own."""
    reader = TableReader(small.data)
    names = (*RELEASED_TABLES, "dump_files")
    made = Damaged(spark, small.data, profile, {name: reader.version(name) for name in names})
    made.damages = {}
    return made


def test_every_rule_is_broken_by_a_scenario() -> None:
    broken = {(table, rule) for table, _, rules in SCENARIOS.values() for rule in rules}
    of_tables = {(table, rule.name) for table, rules in TABLE_RULES.items() for rule in rules.rules}
    # How a bucket is compared does not depend on the table.
    assert {pair for pair in of_tables - broken if pair[1] != "bucket_matches"} == set()
    assert {rule for _, rule in broken} >= {KEY_RULE, ROWS_RULE}


@pytest.mark.parametrize("scenario", list(SCENARIOS))
def test_rows_that_break_a_rule_are_found_and_named(candidate: Damaged, scenario: str) -> None:
    table, candidate.damages, named = SCENARIOS[scenario]
    results = {result.rule: result for result in check_table(table, candidate)}
    assert set(results) == set(rule_names(table))
    for rule, name in named.items():
        failed = results[rule]
        assert (rule, failed.passed, failed.n_failing > 0) == (rule, False, True)
        assert not name or any(name in str(value) for row in failed.rows for value in row.values()), rule


@pytest.mark.parametrize("scenario", ["pages", "an empty table", "tree nodes"])
def test_spark_judges_as_this_process_does(candidate: Damaged, monkeypatch: pytest.MonkeyPatch,
                                           scenario: str) -> None:
    """Long frames are judged by Spark, short ones here."""
    table, candidate.damages, _ = SCENARIOS[scenario]
    here = check_table(table, candidate)
    monkeypatch.setattr(validation, "JUDGED_HERE", -1)
    for one, other in zip(here, check_table(table, candidate), strict=True):
        assert one.n_failing == other.n_failing
        assert replace(one, rows=sorted(one.rows, key=str)) == replace(other, rows=sorted(other.rows, key=str))


def test_markup_in_few_documents_is_told_and_holds_nothing_back(candidate: Damaged) -> None:
    """A fifth of all nodes, but in two documents: odd pages, not an odd reader."""
    candidate.damages = {"tree_nodes": setting("text", "regexp_replace(text, '^..', '[[')",
                                               f"({ASPEN} OR {BIRCH}) AND kind = 'content' AND length(text) > 2")}
    [residue] = [r for r in check_table("tree_nodes", candidate) if r.rule == "no_markup_residue"]
    assert residue.passed
    assert residue.n_failing > residue.n_rows / 5
    assert {row["doc_id"] for row in residue.rows} == {"treewiki:1", "treewiki:2"}


def test_markup_that_stops_a_release_is_let_pass_by_the_share_that_the_message_names(candidate: Damaged) -> None:
    candidate.damages = {"tree_nodes": setting("text", "regexp_replace(text, '^..', '[[')",
                                               "kind = 'content' AND length(text) > 2")}
    failed = [result for result in check_table("tree_nodes", candidate) if not result.passed]
    assert [result.rule for result in failed] == ["no_markup_residue"]
    step = check_failure("tree_nodes", failed, candidate.data).next_step
    [(rule, share)] = re.findall(r"--tolerate (\w+)=([\d.]+)`", step)
    candidate.profile = candidate.profile.model_copy(update={"tolerances": {rule: float(share)}})
    assert all(result.passed for result in check_table("tree_nodes", candidate))
    assert passed_before(candidate.data, "tree_nodes", candidate.versions, {rule: float(share)}) is not None
    assert passed_before(candidate.data, "tree_nodes", candidate.versions, {}) is None


@pytest.mark.parametrize("table", RELEASED_TABLES)
def test_what_a_build_made_keeps_every_rule(candidate: Damaged, table: str) -> None:
    results = check_table(table, candidate)
    assert [(result.rule, result.rows) for result in results if not result.passed] == []
    assert passed_before(candidate.data, table, candidate.versions, {}) is not None
    moved = {**candidate.versions, table: candidate.versions[table] + 1}
    assert passed_before(candidate.data, table, moved, {}) is None


def test_a_failed_check_is_not_remembered_as_passed(candidate: Damaged) -> None:
    candidate.versions = {**candidate.versions, "pages": 0}
    results = check_table("pages", candidate)
    assert {result.rule for result in results if not result.passed} == {ROWS_RULE}
    assert passed_before(candidate.data, "pages", candidate.versions, {}) is None


def test_suites_can_be_made_in_a_process_whose_main_module_has_no_file() -> None:
    """As in the process that Dagster starts for a run; PySpark would take it for a doctest and end it."""
    code = "from assets.quality.validation import build_suite; print(build_suite('pages').name)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (0, "pages\n"), answer.stderr
