"""Nodes of trees → Arrow batches of rows of `tree_nodes`, column by column.

What belongs here: the fast way from tuples to Arrow; rows as dicts would take longer than reading wikitext.
What does not: parsing (`nodes.py`), batches of rows that come as dicts (`documents.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from pipelines.documents.tree import Node
from spark_jobs.documents import OUTPUT_ROWS

if TYPE_CHECKING:
    import pyarrow as pa


class NodeBatches:
    """Collects the nodes of documents until they fill a batch."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._doc_ids: list[str] = []
        self._buckets: list[int] = []
        self._nodes: list[Node] = []

    def add(self, doc_id: str, bucket: int, nodes: Sequence[Node]) -> Iterator[pa.RecordBatch]:
        """Take a document's nodes; yields a batch when enough have come together."""
        self._doc_ids += [doc_id] * len(nodes)
        self._buckets += [bucket] * len(nodes)
        self._nodes += nodes
        if len(self._nodes) >= OUTPUT_ROWS:
            yield from self.rest()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """The nodes that wait, as one batch; nothing when none do."""
        import pyarrow as pa

        if not self._nodes:
            return
        values: dict[str, Sequence[Any]] = dict(zip(Node._fields, zip(*self._nodes, strict=True), strict=True))
        values |= {"doc_id": self._doc_ids, "bucket": self._buckets}
        n = len(self._nodes)
        columns = [to_arrow(values[field.name], field.type) if field.name in values
                   else pa.nulls(n, field.type) for field in self._schema]
        self._doc_ids, self._buckets, self._nodes = [], [], []
        yield pa.RecordBatch.from_arrays(columns, schema=self._schema)


def to_arrow(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values as an Arrow array: sequences as lists, tuples as structs, mappings as maps in order of key.

    Lists, structs and maps must not be None.
    """
    import pyarrow as pa

    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(
            _offsets(values), to_arrow(list(chain.from_iterable(values)), kind.value_type), type=kind)
    if pa.types.is_struct(kind):
        fields = [kind.field(number) for number in range(kind.num_fields)]
        columns = zip(*values, strict=True) if values else [()] * len(fields)
        return pa.StructArray.from_arrays(
            [to_arrow(column, field.type) for column, field in zip(columns, fields, strict=True)], fields=fields)
    if pa.types.is_map(kind):
        pairs = [pair for mapping in values if mapping for pair in sorted(mapping.items())]
        return pa.MapArray.from_arrays(
            _offsets(values), to_arrow([key for key, _ in pairs], kind.key_type),
            to_arrow([item for _, item in pairs], kind.item_type), type=kind)
    return pa.array(values, kind)


def _offsets(values: Sequence[Any]) -> pa.Array:
    """Where each list begins in the flat array of all of them, and the end."""
    import pyarrow as pa

    return pa.array([0, *accumulate(map(len, values))], pa.int32())
