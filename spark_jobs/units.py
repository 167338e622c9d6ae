"""`tree_nodes`, `sentences`, `documents` → `units`: what is embedded and indexed.

What belongs here: which documents are due, ids, lengths, rows. What does not: where a passage ends
(`pipelines/documents/passages.py`). A unit's id holds a hash of its text and not its place, so that an
inserted sentence renames no other unit and its vector stays.
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from pipelines.documents.passages import make_passages
from pipelines.documents.tree import Node, Sentence
from pipelines.models.tokens import load_token_counter
from pipelines.schemas import UNITS
from pipelines.settings import DataFolder, Profile
from spark_jobs.documents import Row, arrow_fields, by_document, ddl, document_order, in_batches
from spark_jobs.stages import Session, Stage, session_of
from spark_jobs.submit import run_stage
from spark_jobs.tables import StageResult, ensure_table, read_table, within, write_changes

if TYPE_CHECKING:
    import pyarrow as pa


def refresh_units(spark: Session, data: DataFolder, profile: Profile) -> StageResult:
    """Make the passages of the documents whose nodes, sentences or title changed.

    Raises RunFailure when an upstream table or the token counter is missing.
    """
    stage = Stage.start(data, "units", ("tree_nodes", "sentences"), profile)
    if done := stage.unchanged():
        return done
    load_token_counter(profile.token_counter)
    session = session_of(spark)
    ensure_table(session, data, "units", profile)
    with stage.due_documents(session) as due:
        nodes = within(read_table(session, data, "tree_nodes", stage.upstream["tree_nodes"]), due.documents)
        sentences = within(read_table(session, data, "sentences", stage.upstream["sentences"]), due.documents)
        # The title is the root's text; the words of all other nodes come with their sentences.
        title = F.when(F.col("node_id") == 0, F.col("text"))
        none = F.lit(None)
        rows = nodes.select(
            "doc_id", "bucket", F.lit(False).alias("is_sentence"), F.col("node_id").alias("id"), "node_id",
            "parent_id", "tag", title.alias("text")
        ).union(sentences.select(
            "doc_id", "bucket", F.lit(True), "sentence_id", "node_id", none, none, "text"))
        task = functools.partial(make_units, max_words=profile.passage_words,
                                 token_counter=profile.token_counter)
        ordered = document_order(rows, ["is_sentence", "id"], due.n_documents)
        units = ordered.mapInArrow(task, ddl(UNITS.columns))
        changes = write_changes(session, data, "units", units, due.documents)
        return stage.finish(changes, n_read=due.n_documents, n_processed=due.n_documents)


def make_units(batches: Iterable[pa.RecordBatch], max_words: int,
               token_counter: str) -> Iterator[pa.RecordBatch]:
    """Node and sentence rows, by document, to unit rows; runs in a Python worker."""
    counter = load_token_counter(token_counter)

    def rows() -> Iterator[Row]:
        for doc_id, parts in by_document(batches):
            nodes = [_node(row) for row in parts if not row["is_sentence"]]
            sentences = [Sentence(row["id"], row["node_id"], 0, 0, row["text"])
                         for row in parts if row["is_sentence"]]
            units = unit_rows(doc_id, nodes, sentences, max_words)
            lengths = counter.count_many([unit["text"] for unit in units])
            for unit, n_tokens in zip(units, lengths, strict=True):
                yield {**unit, "bucket": parts[0]["bucket"], "n_tokens": n_tokens}

    return in_batches(rows(), arrow_fields(UNITS.columns))


def _node(row: Row) -> Node:
    """A node with what passages read of it: its relations and its tag."""
    return Node(row["node_id"], row["node_id"], (), row["parent_id"], "", row["tag"], None, row["text"] or "",
                (), (), {}, None, 0, 0)


def unit_rows(doc_id: str, nodes: Sequence[Node], sentences: Sequence[Sentence], max_words: int) -> list[Row]:
    """The passages of a document as rows of `units`, without bucket and n_tokens."""
    title = nodes[0].text
    seen: Counter[str] = Counter()
    rows = []
    for passage in make_passages(nodes, sentences, max_words):
        text = f"{title}\n{passage.text}"
        digest = hashlib.sha256(text.encode()).hexdigest()
        rows.append({
            "unit_id": f"{doc_id}#passage/{digest[:16]}/{seen[digest]}", "doc_id": doc_id,
            "source": "wikipedia", "kind": "passage", "node_ids": list(passage.node_ids),
            "first_sentence_id": passage.first_sentence_id, "last_sentence_id": passage.last_sentence_id,
            "text": text, "rendered_sha256": digest,
        })
        seen[digest] += 1
    return rows


def main() -> None:
    """Entry point of `spark-submit spark_jobs/units.py --data DIR`."""
    run_stage("Join the sentences of changed documents into passages.", refresh_units)


if __name__ == "__main__":
    main()
