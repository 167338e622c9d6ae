"""`tree_nodes` → `sentences`: sentence sentinels of every document whose tree changed.

What belongs here: which documents are due, and rows. What does not: where a sentence ends
(`pipelines/documents/sentences.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from pipelines.documents.sentences import SPLITTER_VERSION, split_text
from pipelines.documents.tree import STRUCTURE_TAGS
from pipelines.schemas import SENTENCES
from pipelines.settings import DataFolder, Profile
from pipelines.storage import TableReader
from spark_jobs.documents import Row, arrow_fields, by_document, ddl, document_order, in_batches
from spark_jobs.stages import Session, Stage, documents_in, session_of
from spark_jobs.submit import run_stage
from spark_jobs.tables import StageResult, ensure_table, read_table, within, write_changes

if TYPE_CHECKING:
    import pyarrow as pa


def refresh_sentences(spark: Session, data: DataFolder, profile: Profile) -> StageResult:
    """Split the documents whose nodes changed. Raises RunFailure when `tree_nodes` is missing."""
    stage = Stage.start(data, "sentences", ("tree_nodes",), {"splitter_version": SPLITTER_VERSION})
    if done := stage.unchanged():
        return done
    session = session_of(spark)
    ensure_table(session, data, "sentences", profile)
    due = stage.changed_documents(session)
    try:
        nodes = within(read_table(session, data, "tree_nodes", stage.upstream["tree_nodes"]), due)
        n_documents = documents_in(nodes) if due is None else due.count()
        languages = {row["dump_file"]: row["language"] for row in TableReader(data).rows("dump_files", ("x",))}
        texts = nodes.where((F.col("text") != "") & ~F.col("tag").isin(*STRUCTURE_TAGS)).select(
            "doc_id", "bucket", "node_id", "path", "text")
        rows = document_order(texts, ["node_id"], n_documents).mapInArrow(
            functools.partial(split_documents, languages=languages), ddl(SENTENCES.columns))
        changes = write_changes(session, data, "sentences", rows, due)
    finally:
        if due is not None:
            due.unpersist()
    return stage.finish(changes, n_read=n_documents, n_processed=n_documents)
