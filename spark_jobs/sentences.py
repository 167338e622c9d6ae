"""`tree_nodes` → `sentences`: sentence sentinels of every document whose tree changed.

What belongs here: which documents are due, and rows. What does not: where a sentence ends
(`pipelines/documents/sentences.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pipelines.documents.sentences import split_nodes
from pipelines.documents.tree import Node
from pipelines.schemas import SENTENCES
from pipelines.settings import DataFolder, Profile
from pipelines.storage import TableReader
from spark_jobs.documents import Row, arrow_fields, by_document, ddl, document_order, in_batches
from spark_jobs.stages import Session, Stage, session_of
from spark_jobs.submit import run_stage
from spark_jobs.tables import StageResult, ensure_table, read_table, within, write_changes

if TYPE_CHECKING:
    import pyarrow as pa


def refresh_sentences(spark: Session, data: DataFolder, profile: Profile) -> StageResult:
    """Split the documents whose nodes changed. Raises RunFailure when `tree_nodes` is missing."""
    stage = Stage.start(data, "sentences", ("tree_nodes",), profile)
    if done := stage.unchanged():
        return done
    session = session_of(spark)
    ensure_table(session, data, "sentences", profile)
    with stage.due_documents(session) as due:
        nodes = within(read_table(session, data, "tree_nodes", stage.upstream["tree_nodes"]), due.documents)
        texts = nodes.where("kind = 'content' AND text <> ''").select(
            "doc_id", "bucket", "node_id", "path", "tag", "text")
        task = functools.partial(split_documents, languages=wiki_languages(data))
        rows = document_order(texts, ["node_id"], due.n_documents).mapInArrow(task, ddl(SENTENCES.columns))
        changes = write_changes(session, data, "sentences", rows, due.documents)
        return stage.finish(changes, n_read=due.n_documents, n_processed=due.n_documents)


def wiki_languages(data: DataFolder) -> dict[str, str]:
    """Wiki → language code, as the dumps that were read say: of several the last by name, not by time."""
    rows = TableReader(data).rows("dump_files", ("wiki", "language"), order_by=("dump_file",))
    return {row["wiki"]: row["language"] for row in rows if row["language"]}


def split_documents(batches: Iterable[pa.RecordBatch],
                    languages: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """Node rows, by document, to sentence rows; runs in a Python worker."""

    def rows() -> Iterator[Row]:
        for doc_id, parts in by_document(batches):
            paths = {row["node_id"]: row["path"] for row in parts}
            language = languages.get(doc_id.rpartition(":")[0], "")
            for sentence in split_nodes(map(_node, parts), language):
                yield {**sentence._asdict(), "doc_id": doc_id, "bucket": parts[0]["bucket"],
                       "path": paths[sentence.node_id]}

    return in_batches(rows(), arrow_fields(SENTENCES.columns))


def _node(row: Row) -> Node:
    """A content node with what splitting reads of it: its tag and its text."""
    node_id, text = row["node_id"], row["text"]
    return Node(node_id, node_id, (), None, "content", row["tag"], None, text, (), (), {}, None, 0, len(text))


def main() -> None:
    """Entry point of `spark-submit spark_jobs/sentences.py --data DIR`."""
    run_stage("Split the blocks of changed documents into sentences.", refresh_sentences)


if __name__ == "__main__":
    main()
