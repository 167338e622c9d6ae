"""Every quality rule against rows that break it: the right rule fails and names the right rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import Built
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from assets.quality.frames import Candidate
from assets.quality.rules import KEY_RULE, ROWS_RULE, TABLE_RULES, rule_names
from assets.quality.validation import check_table, passed_before
from pipelines.schemas import RELEASED_TABLES
from pipelines.settings import DataFolder, Profile
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


ASPEN, BIRCH = "doc_id = 'treewiki:1'", "doc_id = 'treewiki:2'"
DAMAGES: list[tuple[str, str, dict[str, Damage], str]] = [
    ("pages", ROWS_RULE, {"pages": without("true")}, ""),
    ("pages", KEY_RULE, {"pages": twice(ASPEN)}, "treewiki:1"),
    ("pages", "bucket_matches", {"pages": setting("bucket", "bucket + 1", ASPEN)}, "treewiki:1"),
    ("pages", "id_matches_page", {"pages": setting("page_id", "99", ASPEN)}, "treewiki:1"),
    ("pages", "dump_file_exists", {"dump_files": without("true")}, "treewiki:1"),
    ("documents", "page_exists", {"pages": without(ASPEN)}, "treewiki:1"),
    ("documents", "page_has_document", {"documents": without(BIRCH)}, "treewiki:2"),
    ("documents", "tree_is_complete", {"tree_nodes": without(f"{ASPEN} AND node_id = 2")}, "treewiki:1"),
    ("tree_nodes", KEY_RULE, {"tree_nodes": twice(f"{ASPEN} AND node_id = 2")}, "2"),
    ("tree_nodes", "document_exists", {"documents": without(ASPEN)}, "treewiki:1"),
    ("tree_nodes", "parent_exists", {"tree_nodes": without(f"{ASPEN} AND node_id = 0")}, "1"),
    ("tree_nodes", "lies_within_parent", {"tree_nodes": setting("path", "array(7, 7)", f"{ASPEN} AND node_id = 1")},
     "1"),
    ("tree_nodes", "range_matches_text", {"tree_nodes": setting("text", "text || '!'", f"{ASPEN} AND node_id = 1")},
     "1"),
    ("tree_nodes", "no_markup_residue",
     {"tree_nodes": setting("text", "regexp_replace(text, '^..', '[[')", f"{ASPEN} AND node_id = 1")}, "1"),
    ("sentences", "span_matches_text", {"sentences": setting("begin", "begin + 1", f"{ASPEN} AND sentence_id = 0")},
     "0"),
    ("sentences", "block_is_covered", {"sentences": without(f"{ASPEN} AND sentence_id = 1")}, "treewiki:1"),
    ("units", KEY_RULE, {"units": twice(ASPEN)}, "treewiki:1"),
    ("units", "opens_with_title", {"documents": setting("title", "'Ash'", ASPEN)}, "treewiki:1"),
    ("units", "hash_matches_text", {"units": setting("rendered_sha256", "sha2('x', 256)", ASPEN)}, "treewiki:1"),
    ("units", "nodes_exist", {"units": setting("node_ids", "array(1000)", ASPEN)}, "treewiki:1"),
    ("units", "sentences_are_covered", {"units": without(BIRCH)}, "treewiki:2"),
    ("embeddings", "unit_exists", {"units": without(ASPEN)}, "treewiki:1"),
    ("embeddings", "unit_has_vector", {"embeddings": without(BIRCH)}, "treewiki:2"),
    ("embeddings", "unit_has_vector", {"embeddings": setting("model", "'other'", BIRCH)}, "treewiki:2"),
    ("embeddings", "dimension_matches", {"embeddings": setting("dim", "7", ASPEN)}, "treewiki:1"),
    ("embeddings", "dimension_matches",
     {"embeddings": setting("vector", "transform(vector, x -> float('NaN'))", ASPEN)}, "treewiki:1"),
    ("embeddings", "norm_is_one", {"embeddings": setting("vector", "transform(vector, x -> float(2 * x))", ASPEN)},
     "treewiki:1"),
]


@pytest.fixture
def candidate(small_built: Built, spark: SparkSession, profile: Profile, tmp_path: object) -> Damaged:
    """The small wiki's candidate, with its records and Data Docs in a folder of this test's own."""
    data = small_built.data
    reader = TableReader(data)
    names = (*RELEASED_TABLES, "dump_files")
    made = Damaged(spark, data, profile, {name: reader.version(name) for name in names})
    made.damages = {}
    return made


def test_every_rule_is_broken_by_a_test() -> None:
    broken = {(table, rule) for table, rule, _, _ in DAMAGES}
    of_rules = {(table, rule.name) for table, rules in TABLE_RULES.items() for rule in rules.rules}
    # How a bucket is compared does not depend on the table.
    assert {pair for pair in of_rules - broken if pair[1] != "bucket_matches"} == set()


@pytest.mark.parametrize(("table", "rule", "damages", "named"), DAMAGES,
                         ids=[f"{table}-{rule}-{number}" for number, (table, rule, _, _) in enumerate(DAMAGES)])
def test_a_broken_rule_fails_and_names_its_rows(candidate: Damaged, table: str, rule: str,
                                                damages: dict[str, Damage], named: str) -> None:
    candidate.damages = damages
    results = {result.rule: result for result in check_table(table, candidate)}
    assert set(results) == set(rule_names(table))
    failed = results[rule]
    assert not failed.passed
    assert failed.n_failing > 0
    assert any(named in str(value) for row in failed.rows for value in row.values()) or not named


@pytest.mark.parametrize("table", RELEASED_TABLES)
def test_what_a_build_made_keeps_every_rule(candidate: Damaged, table: str) -> None:
    results = check_table(table, candidate)
    assert [(result.rule, result.rows) for result in results if not result.passed] == []
    assert passed_before(candidate.data, table, candidate.versions) is not None
    moved = {**candidate.versions, table: candidate.versions[table] + 1}
    assert passed_before(candidate.data, table, moved) is None


def test_a_failed_check_is_not_remembered_as_passed(candidate: Damaged, data: DataFolder) -> None:
    candidate.versions = {**candidate.versions, "pages": 0}
    results = check_table("pages", candidate)
    assert {result.rule for result in results if not result.passed} == {ROWS_RULE}
    assert passed_before(candidate.data, "pages", candidate.versions) is None
