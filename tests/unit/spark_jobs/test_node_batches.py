"""Nodes as Arrow batches: the same rows as by way of dicts."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.tree import Node
from pipelines.schemas import TREE_NODES
from spark_jobs.documents import OUTPUT_ROWS, arrow_fields
from spark_jobs.node_batches import NodeBatches

SCHEMA = arrow_fields(TREE_NODES.columns)
PAGE = """''A'' [[b|c]] and [[d]].
{| class="infobox"
! scope="row" | e || f
|}
== g ==
* h
"""


def _rows(nodes: tuple[Node, ...]) -> list[dict[str, object]]:
    return [{"doc_id": "xx:1", "bucket": 3, **node._asdict(), "path": list(node.path),
             "spans": [span._asdict() for span in node.spans], "heading_path": list(node.heading_path),
             "attrs": sorted(node.attrs.items())} for node in nodes]


@pytest.mark.parametrize("text", [PAGE, "", "plain", "== only ==\n=== headings ==="])
def test_batches_hold_the_nodes(text: str) -> None:
    nodes = read_wikitext("T", text, SiteInfo.unknown("en")).nodes
    batches = NodeBatches(SCHEMA)
    assert list(batches.add("xx:1", 3, nodes)) == []
    [batch] = batches.rest()
    assert batch.schema == SCHEMA
    assert batch == pa.RecordBatch.from_pylist(_rows(nodes), schema=SCHEMA)
    assert list(batches.rest()) == []


def test_a_batch_is_given_when_it_is_full() -> None:
    nodes = read_wikitext("T", PAGE, SiteInfo.unknown("en")).nodes
    batches = NodeBatches(SCHEMA)
    n_documents = OUTPUT_ROWS // len(nodes) + 1
    given = [batch for number in range(n_documents) for batch in batches.add(f"xx:{number}", 0, nodes)]
    assert [batch.num_rows for batch in given] == [n_documents * len(nodes)]
    assert given[0].column("doc_id").to_pylist()[-1] == f"xx:{n_documents - 1}"


def test_other_columns_of_the_schema_are_null() -> None:
    schema = pa.schema([*SCHEMA, ("status", pa.string())])
    batches = NodeBatches(schema)
    list(batches.add("xx:1", 0, read_wikitext("T", "x", SiteInfo.unknown("en")).nodes))
    [batch] = batches.rest()
    assert batch.column("status").null_count == batch.num_rows == 2
