"""What assets tell about a table: its columns from `schemas.py`, its size from the Delta log, some rows.

What belongs here: building asset specs and metadata values. What does not: any number that only a stage
knows (it comes in as a mapping). Sizes and rows are read from the table's log and by delta-rs at one
version, so that metadata costs no Spark action and cannot describe another version than it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg

from pipelines.deletion_vectors import live_rows
from pipelines.markdown import markdown_text
from pipelines.schemas import TABLES, Table, describe
from pipelines.settings import DataFolder
from pipelines.storage import open_table

SAMPLE_ROWS = 5
SAMPLE_CHARACTERS = 80
"""Longest cell of a sample, in code points; the rest of a text is cut."""


def table_spec(name: str, deps: Sequence[str], *, code_version: str, kinds: set[str],
               **fields: Any) -> dg.AssetSpec:
    """The asset of a table in `schemas.py`: description, column schema and key come from there."""
    table = TABLES[name]
    return dg.AssetSpec(
        name, deps=deps, code_version=code_version, kinds=kinds, description=table_description(table),
        metadata={"dagster/column_schema": table_schema(table), "dagster/table_name": name}, **fields)


def table_description(table: Table) -> str:
    """What a table holds, its key and its writer, in Markdown."""
    return f"{table.meaning}\n\nKey: `{', '.join(table.key)}`. Written by `{table.writer}`."


def table_schema(table: Table) -> dg.TableSchema:
    """The columns as Dagster shows them, with meaning, unit, nullability and constraint."""
    return dg.TableSchema([
        dg.TableColumn(
            column.name, column.type, describe(column),
            constraints=dg.TableColumnConstraints(
                nullable=column.nullable, unique=table.key == (column.name,),
                other=[column.constraint] if column.constraint else []))
        for column in table.columns
    ])


def table_facts(data: DataFolder, name: str, version: int) -> dict[str, Any]:
    """Row count, bytes, version and a sample of a table at one version, as metadata values."""
    delta = open_table(data, name, version)
    actions = delta.get_add_actions(flatten=True)
    return {
        "dagster/row_count": live_rows(delta, data.table(name)),
        "table_version": version,
        "size_bytes": sum(actions.column("size_bytes").to_pylist()),
        "n_files": len(actions),
        "sample": dg.MetadataValue.md(sample_markdown(delta, TABLES[name])),
    }


def sample_markdown(delta: Any, table: Table) -> str:
    """The first rows of a `DeltaTable` as a Markdown table, long values cut."""
    from deltalake import QueryBuilder

    # A table from before a column has it only after the next write.
    stored = {field.name for field in delta.schema().fields}
    names = [name for name in table.column_names if name in stored]
    columns = ", ".join(f'"{column}"' for column in names)
    query = QueryBuilder().register("rows", delta)
    rows = query.execute(f"SELECT {columns} FROM rows LIMIT {SAMPLE_ROWS}").read_all()
    values = [rows.column(column).to_pylist() for column in names]
    return markdown_table(names, zip(*values, strict=True))


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table; cells on one line, at most `SAMPLE_CHARACTERS` long, their markup escaped."""
    lines = [header, ["---"] * len(header), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        value = f"{value:.4g}"
    elif isinstance(value, list) and value and isinstance(value[0], float):
        return f"[{', '.join(f'{number:.3f}' for number in value[:4])}, … {len(value)} values]"
    text = "" if value is None else " ".join(str(value).split())
    if len(text) > SAMPLE_CHARACTERS:
        text = text[:SAMPLE_CHARACTERS - 1] + "…"
    return markdown_text(text)


def stage_metadata(data: DataFolder, result: Any) -> dict[str, Any]:
    """Metadata of a table after its stage, from a `spark_jobs.tables.StageResult`."""
    return {
        **table_facts(data, result.table, result.version),
        **change_counts(result),
        "seconds": round(result.seconds, 2),
        **{f"details/{key}": plain(value) for key, value in result.details.items()},
    }


def stage_facts(result: Any, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What a progress line says of a table: rows, worked on, changed rows, version, what was left out of dumps."""
    left_out = {key.removeprefix("rejected_"): n for key, n in result.details.items()
                if n and (key.startswith("rejected_") or key == "older_revisions")}
    return {**({"left_out": left_out} if left_out else {}),
            "rows": metadata.get("dagster/row_count", 0), "processed": result.n_processed,
            "changed": result.n_inserted + result.n_updated + result.n_deleted, "version": result.version}


def change_counts(result: Any) -> dict[str, int]:
    """How many rows a stage read, worked on, inserted, updated and deleted."""
    return {name: getattr(result, name)
            for name in ("n_read", "n_processed", "n_inserted", "n_updated", "n_deleted")}


def plain(value: Any) -> Any:
    """A value that Dagster accepts as metadata: numbers and texts as they are, the rest as JSON or text."""
    if value is None or isinstance(value, int | float | str):
        return value
    return dict(value) if isinstance(value, Mapping) else str(value)
