"""Delta tables as the project makes them: constraints, row differences, and delta-rs beside Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from delta.exceptions import ConcurrentAppendException
from pyspark.sql import DataFrame, SparkSession

from pipelines import storage
from pipelines.errors import RunFailure
from pipelines.schemas import TABLES, describe
from pipelines.settings import DataFolder, Profile
from spark_jobs import tables
from spark_jobs.documents import ddl
from spark_jobs.tables import Reject, RowChanges, append_rejects, ensure_table, table_version, write_changes

N_BUCKETS = 4
CONTENT: dict[str, Any] = {"parent_id": 0, "kind": "content", "tag": "p", "level": None, "path": [0],
                           "text": "Words", "begin": 2, "end": 7}


def node(doc_id: str = "w:1", node_id: int = 0, **fields: Any) -> dict[str, Any]:
    """A valid row of tree_nodes: the root, or with a node_id a paragraph."""
    row = {"doc_id": doc_id, "bucket": storage.bucket_of(doc_id, N_BUCKETS), "node_id": node_id,
           "end_id": node_id, "path": [], "parent_id": None, "kind": "structure", "tag": "document",
           "level": 0, "text": "T", "spans": [], "heading_path": [], "attrs": {}, "source_ref": None,
           "begin": 0, "end": 1}
    return {**row, **(CONTENT if node_id else {}), **fields}


def frame(spark: SparkSession, rows: list[dict[str, Any]], name: str = "tree_nodes") -> DataFrame:
    columns = TABLES[name].columns
    return spark.createDataFrame([tuple(row[c.name] for c in columns) for row in rows], ddl(columns))


@pytest.fixture
def nodes(spark: SparkSession, data: DataFolder, profile: Profile) -> DataFolder:
    """A data folder with a root and six paragraphs in tree_nodes."""
    ensure_table(spark, data, "tree_nodes", profile)
    write_changes(spark, data, "tree_nodes", frame(spark, [node(node_id=n) for n in range(7)]))
    return data


def test_every_table_is_created_as_described(spark: SparkSession, data: DataFolder,
                                             profile: Profile) -> None:
    for name, table in TABLES.items():
        ensure_table(spark, data, name, profile)
        detail = spark.sql(f"DESCRIBE DETAIL delta.`{data.table(name)}`").collect()[0]
        schema = spark.read.format("delta").load(data.table(name)).schema
        found = [(f.name, f.dataType.simpleString()) for f in schema]
        assert found == [(c.name, c.type) for c in table.columns]
        assert [f.metadata.get("comment") for f in schema] == [describe(c) for c in table.columns]
        assert detail["partitionColumns"] == ([table.partition_by] if table.partition_by else [])
        properties = detail["properties"]
        assert properties["delta.enableChangeDataFeed"] == "true"
        n_buckets = properties.get("espalier.n_buckets")
        assert n_buckets == (str(profile.n_buckets) if table.partition_by else None)
        assert {key.removeprefix("delta.constraints."): value for key, value in properties.items()
                if key.startswith("delta.constraints.")} == table.constraints()
        ensure_table(spark, data, name, profile)
        assert table_version(data, name) == 0
    # The bucket count stays that of the first table, whatever a later profile says.
    assert tables.n_buckets(data, profile.model_copy(update={"n_buckets": 64})) == profile.n_buckets


def test_a_table_with_other_columns_is_refused(spark: SparkSession, data: DataFolder,
                                               profile: Profile) -> None:
    spark.sql(f"CREATE TABLE delta.`{data.table('sentences')}` (doc_id string) USING delta")
    with pytest.raises(RunFailure, match="differing columns"):
        ensure_table(spark, data, "sentences", profile)


@pytest.mark.parametrize("fault", [
    {"parent_id": 9}, {"level": 9}, {"kind": "odd"}, {"end_id": 0}, {"text": None}, {"tag": ""}])
def test_a_constraint_refuses_it_and_null_where_a_value_must_be(spark: SparkSession, empty_nodes: DataFolder,
                                                                fault: dict[str, Any]) -> None:
    with pytest.raises(RunFailure, match=r"table tree_nodes: \[DELTA_(VIOLATE|NOT_NULL)_CONSTRAINT"):
        tables.append_rows(empty_nodes, "tree_nodes", frame(spark, [node(node_id=1, **fault)]))
    assert table_version(empty_nodes, "tree_nodes") == 0


@pytest.fixture(scope="module")
def empty_nodes(spark: SparkSession, profile: Profile,
                tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """A data folder with tree_nodes and no row: no test may commit to it."""
    data = DataFolder.at(tmp_path_factory.mktemp("constraints"))
    ensure_table(spark, data, "tree_nodes", profile)
    return data


def test_only_rows_that_differ_are_written(spark: SparkSession, nodes: DataFolder) -> None:
    rows = storage.TableReader(nodes).rows("tree_nodes", ("parent_id", "level"), order_by=("node_id",))
    assert rows[0] == {"parent_id": None, "level": 0}, "null is allowed where a column is nullable"
    assert rows[1] == {"parent_id": 0, "level": None}

    same = [node(node_id=n) for n in range(7)]
    version = table_version(nodes, "tree_nodes")
    assert not write_changes(spark, nodes, "tree_nodes", frame(spark, same[::-1]))
    assert table_version(nodes, "tree_nodes") == version, "equal rows make no version"

    # A difference in any kind of column: text, map, nullable text, array of structs, array; one row goes,
    # one comes. A value that only moves to the next column is seen too.
    changed = [same[0], node(node_id=1, text="Other"), node(node_id=2, attrs={"scope": "row"}),
               node(node_id=3, source_ref="0-7"), node(node_id=4, spans=[(0, 5, "link", None)]),
               node(node_id=5, heading_path=["History"]), node(node_id=7)]
    assert write_changes(spark, nodes, "tree_nodes", frame(spark, changed)) == RowChanges(1, 5, 1)
    feed = (spark.read.format("delta").option("readChangeFeed", "true")
            .option("startingVersion", version + 1).load(nodes.table("tree_nodes")))
    kinds = {row["node_id"]: row["_change_type"] for row in feed.where(
        "_change_type <> 'update_preimage'").collect()}
    assert kinds == {1: "update_postimage", 2: "update_postimage", 3: "update_postimage",
                     4: "update_postimage", 5: "update_postimage", 6: "delete", 7: "insert"}
    moved = [*changed[:4], node(node_id=4, spans=[(0, 5, "link", "link")]), *changed[5:]]
    assert write_changes(spark, nodes, "tree_nodes", frame(spark, moved)) == RowChanges(0, 1, 0)


def test_rows_outside_the_scope_stay(spark: SparkSession, nodes: DataFolder) -> None:
    other = node("w:2")
    scope = spark.createDataFrame([("w:2", other["bucket"])], "doc_id string, bucket int")
    assert write_changes(spark, nodes, "tree_nodes", frame(spark, [other]), scope) == RowChanges(1, 0, 0)
    assert write_changes(spark, nodes, "tree_nodes", frame(spark, []), scope) == RowChanges(0, 0, 1)
    assert storage.TableReader(nodes).row_count("tree_nodes") == 7


def test_delta_rs_reads_and_appends_to_tables_that_spark_made(spark: SparkSession, nodes: DataFolder) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake
    from deltalake.exceptions import DeltaError

    schema = TABLES["tree_nodes"].arrow_schema()
    good = node("w:3", attrs=[("a", "b")])
    write_deltalake(nodes.table("tree_nodes"), pa.Table.from_pylist([good], schema=schema), mode="append")
    found = spark.read.format("delta").load(nodes.table("tree_nodes")).where("doc_id = 'w:3'").collect()
    assert [(row["attrs"], row["parent_id"], row["text"]) for row in found] == [({"a": "b"}, None, "T")]
    for fault in ({"kind": "odd"}, {"level": 9}, {"tag": ""}):
        bad = pa.Table.from_pylist([{**good, **fault}], schema=schema)
        with pytest.raises(DeltaError, match="validation"):
            write_deltalake(nodes.table("tree_nodes"), bad, mode="append")


def test_rejects_are_recorded_once_by_both_writers(spark: SparkSession, data: DataFolder,
                                                   profile: Profile) -> None:
    reject = Reject("pages", "file@12", "dump_cut", "the file ends", "x" * 900)
    assert append_rejects(spark, data, profile, [reject, reject]) == 1
    version = table_version(data, "rejects")
    assert append_rejects(spark, data, profile, [reject]) == 0
    storage.append_rejects(data, [{"table": "pages", "source_ref": "file@12", "reason": "dump_cut"}])
    assert table_version(data, "rejects") == version
    storage.append_rejects(data, [{"table": "units", "source_ref": "w:1", "reason": "odd"}])
    rows = storage.TableReader(data).rows("rejects", order_by=("table",))
    assert [(row["table"], len(row["sample"] or "")) for row in rows] == [("pages", 500), ("units", 0)]
    assert abs((datetime.now(UTC) - rows[0]["rejected_at"]).total_seconds()) < 300


def test_a_conflict_is_tried_again_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("spark_jobs.tables.time.sleep", waits.append)
    conflicts: list[Exception] = []

    def write() -> RowChanges:
        if conflicts:
            raise conflicts.pop()
        return RowChanges(1)

    conflicts += [ConcurrentAppendException("other")] * 2
    assert tables._with_retries("pages", write) == RowChanges(1)
    conflicts += [ConcurrentAppendException("other")] * 4
    with pytest.raises(RunFailure, match="another writer committed first, 4 times"):
        tables._with_retries("pages", write)
    assert waits == [1, 2, 1, 2, 4]


def test_two_writers_of_one_table_at_once_both_get_through(spark: SparkSession, nodes: DataFolder) -> None:
    """Two MERGEs of the same bucket: one of them meets the other's commit and compares again."""
    from concurrent.futures import ThreadPoolExecutor

    def rewrite(number: int) -> RowChanges:
        scope = spark.createDataFrame([("w:1", node()["bucket"])], "doc_id string, bucket int")
        rows = [node(node_id=n, text=f"Words {number}", end=9) if n == number else node(node_id=n)
                for n in range(7)]
        return write_changes(spark, nodes, "tree_nodes", frame(spark, rows), scope)

    before = table_version(nodes, "tree_nodes")
    assert before is not None
    with ThreadPoolExecutor(2) as pool:
        changes = list(pool.map(rewrite, (1, 2)))
    # Each write makes the table what it was told; the later one undoes the earlier one's change.
    assert all(changes)
    assert table_version(nodes, "tree_nodes") == before + 2
    texts = {row["text"] for row in storage.TableReader(nodes).rows("tree_nodes", ("text",))}
    assert texts in ({"T", "Words", "Words 1"}, {"T", "Words", "Words 2"})
