"""Metadata: Markdown that a table can stand in, facts of exactly the version that is named."""

from datetime import UTC, datetime

import dagster as dg

from assets.metadata import markdown_table, plain, table_description, table_facts, table_schema
from assets.partitions import dimension_tags, evaluation_of
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder
from pipelines.storage import append_rejects


def test_cells_stay_on_one_line_and_within_their_length() -> None:
    table = markdown_table(("a", "b"), [("x|y\nz", [0.123456] * 384), (None, "w" * 200)])
    lines = table.split("\n")
    assert lines[:2] == ["| a | b |", "| --- | --- |"]
    assert lines[2] == "| x\\|y z | [0.123, 0.123, 0.123, 0.123, … 384 values] |"
    assert lines[3] == f"|  | {'w' * 79}… |"


def test_facts_are_those_of_the_version_asked_for(data: DataFolder) -> None:
    reject = {"table": "pages", "source_ref": "a.xml:1", "reason": "r"}
    first = append_rejects(data, [reject]).version
    second = append_rejects(data, [reject | {"source_ref": "b.xml:2"}]).version
    old, new = (table_facts(data, "rejects", version) for version in (first, second))
    assert (old["dagster/row_count"], new["dagster/row_count"]) == (1, 2)
    assert (old["table_version"], new["table_version"]) == (first, second)
    assert 0 < old["size_bytes"] < new["size_bytes"]
    assert "b.xml:2" in new["sample"].value
    assert "b.xml:2" not in old["sample"].value


def test_columns_are_shown_with_meaning_unit_and_constraint() -> None:
    columns = {column.name: column for column in table_schema(TABLES["units"]).columns}
    assert columns["unit_id"].constraints.unique
    assert columns["n_tokens"].description.endswith("(tokens of the token counter)")
    assert columns["n_tokens"].constraints.other == ["n_tokens > 0"]
    assert not columns["n_tokens"].constraints.nullable
    assert "`doc_id, node_id`" in table_description(TABLES["tree_nodes"])


def test_values_that_dagster_does_not_know_become_text() -> None:
    assert plain({"a": 1}) == {"a": 1}
    assert plain(datetime(2026, 1, 2, tzinfo=UTC)) == "2026-01-02 00:00:00+00:00"


def test_a_partition_of_two_dimensions_is_known_by_its_tags_and_as_plain_text() -> None:
    """Dagster gives back plain text for an event that was stored without the tags."""
    key = dg.MultiPartitionKey({"dataset": "trees", "method": "rdr2+fill"})
    expected = {"dataset": "trees", "method": "rdr2+fill"}
    tagged = dg.AssetMaterialization("predictions", partition=key, tags=dimension_tags(key))
    assert tagged.tags == {"dagster/partition/dataset": "trees", "dagster/partition/method": "rdr2+fill"}
    for stored in (key, str(tagged.partition), "trees|rdr2+fill"):
        assert evaluation_of(stored) == expected
    assert [evaluation_of(odd) for odd in (None, "", "trees", "|rdr2", "trees|")] == [None] * 5
