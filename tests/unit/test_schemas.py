"""The table registry: every entry is complete, and all that derives from it agrees."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from pipelines.schemas import RELEASED_TABLES, TABLES, Table, arrow_type, describe

ROOT = Path(__file__).resolve().parents[2]
ENGINE_LIMITED = re.compile(r"pmod|size\(|RLIKE|regexp", re.IGNORECASE)


@pytest.fixture(params=TABLES.values(), ids=list(TABLES))
def table(request: pytest.FixtureRequest) -> Table:
    return request.param


def test_key_and_partition_are_columns_that_cannot_be_null(table: Table) -> None:
    for name in (*table.key, *((table.partition_by,) if table.partition_by else ())):
        assert not table.column(name).nullable


def test_every_column_says_what_it_means(table: Table) -> None:
    for column in table.columns:
        assert len(column.meaning) > 3, column.name
        assert re.fullmatch(r"[a-z][a-z0-9_]*", column.name)


def test_column_names_are_unique(table: Table) -> None:
    assert len(set(table.column_names)) == len(table.columns)


def test_constraints_are_such_that_every_writer_can_enforce(table: Table) -> None:
    for constraint in table.constraints().values():
        assert not ENGINE_LIMITED.search(constraint), constraint


def test_arrow_schema_has_the_columns_types_and_nullability(table: Table) -> None:
    schema = table.arrow_schema()
    assert schema.names == list(table.column_names)
    for column, field in zip(table.columns, schema, strict=True):
        assert field.nullable == column.nullable
        assert field.metadata[b"comment"].decode() == describe(column)


def test_tables_with_documents_are_partitioned_by_bucket(table: Table) -> None:
    assert ("bucket" in table.column_names) == (table.partition_by == "bucket")
    assert not table.released or table.partition_by == "bucket"


def test_the_named_writers_exist(table: Table) -> None:
    for path in re.findall(r"\w+/[\w/]+\.py", table.writer):
        assert (ROOT / path).is_file(), path


def test_a_column_of_a_name_has_one_type_in_all_tables() -> None:
    types: dict[str, str] = {}
    for table in TABLES.values():
        for column in table.columns:
            if column.name not in ("evidence", "source", "status", "path", "text"):
                assert types.setdefault(column.name, column.type) == column.type, column.name


def test_released_tables_are_those_of_the_corpus() -> None:
    assert RELEASED_TABLES == ("pages", "documents", "tree_nodes", "sentences", "units", "embeddings")


def test_nested_types_are_translated() -> None:
    spans = arrow_type("array<struct<begin:int,end:int,kind:string,target:string>>")
    assert pa.types.is_list(spans)
    assert [field.name for field in spans.value_type] == ["begin", "end", "kind", "target"]
    assert arrow_type("map<string,double>") == pa.map_(pa.string(), pa.float64())
    assert arrow_type("array<array<string>>") == pa.list_(pa.list_(pa.string()))


def test_an_unknown_type_is_named() -> None:
    with pytest.raises(ValueError, match="varchar"):
        arrow_type("varchar")


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(KeyError, match="pages has no column nope"):
        TABLES["pages"].column("nope")
