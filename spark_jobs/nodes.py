"""`pages` → `tree_nodes` and `documents`: every page of the asked namespaces becomes a tree, or a reason.

What belongs here: which pages are due, and the rows of both tables. What does not: reading wikitext
(`pipelines/documents/readers/wikitext.py`). `documents` is committed last: its row says that the tree of
that revision by that parser is complete, so that a run that was killed parses again only what has no row.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.documents.readers.page_xml import NOT_WIKITEXT
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import PARSER_VERSION, read_wikitext
from pipelines.documents.sentences import split_nodes
from pipelines.documents.tree import Node, check_tree
from pipelines.models.tokens import load_token_counter
from pipelines.schemas import DOCUMENTS, TREE_NODES
from pipelines.settings import DataFolder, Profile
from pipelines.storage import TableReader
from spark_jobs.documents import Row, arrow_fields, ddl, in_batches, n_tasks
from spark_jobs.node_batches import NodeBatches
from spark_jobs.stages import Session, Stage, session_of
from spark_jobs.submit import run_stage
from spark_jobs.tables import (
    Reject,
    RowChanges,
    StageResult,
    append_rejects,
    ensure_table,
    is_empty,
    read_table,
    within,
    write_changes,
)

if TYPE_CHECKING:
    import pyarrow as pa

_PAGE_COLUMNS = ("doc_id", "bucket", "source", "title", "redirect_to", "revision_id", "dump_file", "text",
                 "content_sha256", "content_model")
# One frame carries both tables' rows, so that a page is parsed once: node rows have a node_id, document
# rows a status.
_NODE_ONLY = tuple(c for c in TREE_NODES.columns if c.name not in DOCUMENTS.column_names)
STAGED = (*DOCUMENTS.columns, *_NODE_ONLY)
_REASON_CHARACTERS = 300


class TreesResult(NamedTuple):
    """What `refresh_trees` did to its two tables."""

    tree_nodes: StageResult
    documents: StageResult


@dataclass(frozen=True)
class PageTask:
    """What a Python worker needs to parse pages, as plain values."""

    sites: dict[str, str]
    """dump_file → SiteInfo as JSON."""
    token_counter: str


def refresh_trees(spark: Session, data: DataFolder, profile: Profile) -> TreesResult:
    """Parse the pages that have no tree of their revision by this parser; remove trees of removed pages.

    A page that the reader cannot read becomes a document of status `failed` and a row in `rejects`; the run
    goes on. Raises RunFailure when `pages` or the token counter is missing.
    """
    nodes_stage = Stage.start(data, "tree_nodes", ("pages",), profile)
    documents_stage = Stage.start(data, "documents", ("pages",), profile)
    done = nodes_stage.unchanged(), documents_stage.unchanged()
    if done[0] and done[1]:
        return TreesResult(done[0], done[1])
    load_token_counter(profile.token_counter)
    session = session_of(spark)
    for table in ("tree_nodes", "documents"):
        ensure_table(session, data, table, profile)
    # Without a watermark, as when a table was removed to have it made again, no row is trusted.
    known = documents_stage.watermark() is not None and nodes_stage.watermark() is not None
    all_pages = not known and not is_empty(data, "documents")
    due = _due(session, data, profile, documents_stage, everything=all_pages).persist()
    try:
        n_due = due.count()
        statuses: dict[str, int] = {}
        changes = RowChanges(), RowChanges()
        if n_due:
            statuses, changes = _write(session, data, profile, due, n_due, documents_stage)
    finally:
        due.unpersist()
    facts = {"n_read": n_due, "n_processed": sum(statuses.values()), "details": statuses}
    return TreesResult(nodes_stage.finish(changes[0], **facts), documents_stage.finish(changes[1], **facts))


def _asked(spark: SparkSession, data: DataFolder, profile: Profile, stage: Stage) -> DataFrame:
    pages = read_table(spark, data, "pages", stage.upstream["pages"])
    if "content_model" not in pages.columns:
        # A table from before this column, which gets it with the next dump.
        pages = pages.withColumn("content_model", F.lit(None).cast("string"))
    return pages.where(F.col("namespace").isin(list(profile.namespaces)))


def _due(spark: SparkSession, data: DataFolder, profile: Profile, stage: Stage, *,
         everything: bool) -> DataFrame:
    """The documents (doc_id, bucket) to parse or to remove: pages and documents that do not agree."""
    pages = _asked(spark, data, profile, stage).select(
        "doc_id", "bucket", "content_sha256", "title", F.col("revision_id").cast("string").alias("revision"),
        F.lit(PARSER_VERSION).alias("parser_version"))
    documents = read_table(spark, data, "documents").select(*pages.columns)
    if everything:
        return pages.select("doc_id", "bucket").union(documents.select("doc_id", "bucket")).distinct()
    keys, rest = ["doc_id", "bucket"], pages.columns[2:]
    agree = F.lit(True)
    for name in rest:
        agree = agree & F.col(f"p.{name}").eqNullSafe(F.col(f"d.{name}"))
    return pages.alias("p").join(documents.alias("d"), keys, "full_outer").where(~agree).select(*keys)


def _write(spark: SparkSession, data: DataFolder, profile: Profile, due: DataFrame, n_due: int,
           stage: Stage) -> tuple[dict[str, int], tuple[RowChanges, RowChanges]]:
    """Parse the due pages and write both tables; return the documents by status and what changed."""
    sites = {row["dump_file"]: row["siteinfo"]
             for row in TableReader(data).rows("dump_files", ("dump_file", "siteinfo"))}
    task = functools.partial(parse_pages, task=PageTask(sites, profile.token_counter))
    pages = within(_asked(spark, data, profile, stage).select(*_PAGE_COLUMNS), due)
    # Kept on disk alone: in memory it fills a heap of 1 GiB at 20,000 articles.
    parsed = pages.repartition(n_tasks(pages, n_due)).mapInArrow(task, ddl(STAGED)).persist(StorageLevel.DISK_ONLY)
    try:
        nodes = parsed.where("node_id IS NOT NULL")
        documents = parsed.where("status IS NOT NULL")
        # Counted first: with the commit of `documents` Spark forgets what it kept of `due`.
        statuses = {row["status"]: row["count"] for row in documents.groupBy("status").count().collect()}
        failed = documents.where("status = 'failed'").select("doc_id", "reason").collect() \
            if "failed" in statuses else []
        changes = (write_changes(spark, data, "tree_nodes", nodes, due),
                   write_changes(spark, data, "documents", documents, due))
        append_rejects(spark, data, profile, (
            Reject("tree_nodes", row["doc_id"], "parse_failed", row["reason"]) for row in failed))
        return statuses, changes
    finally:
        parsed.unpersist()


def parse_pages(batches: Iterable[pa.RecordBatch], task: PageTask) -> Iterator[pa.RecordBatch]:
    """Pages to node rows and one document row each; runs in a Python worker."""
    sites = {key: SiteInfo.from_json(text) for key, text in task.sites.items()}
    counter = load_token_counter(task.token_counter)
    schema = arrow_fields(STAGED)

    node_batches = NodeBatches(schema)
    for batch in batches:
        documents: list[Row] = []
        for page in batch.to_pylist():
            document, nodes = parse_page(page, sites[page["dump_file"]])
            visible = "\n".join(node.text for node in nodes if node.text)
            document["n_tokens"] = counter.count(visible) if visible else 0
            documents.append(document)
            yield from node_batches.add(page["doc_id"], page["bucket"], nodes)
        yield from in_batches(documents, schema)
    yield from node_batches.rest()


def parse_page(page: Row, site: SiteInfo) -> tuple[Row, tuple[Node, ...]]:
    """The row of `documents` (without n_tokens) and the nodes of one page."""
    nodes: tuple[Node, ...] = ()
    counts: dict[str, int] = {}
    n_sentences = 0
    reason: str | None
    if page["redirect_to"] is not None:
        status, reason = "redirect", page["redirect_to"]
    elif page.get("content_model") is not None:
        status, reason = "empty", f"{NOT_WIKITEXT}{page['content_model']}"
    else:
        try:
            result = read_wikitext(page["title"], page["text"] or "", site)
            check_tree(page["doc_id"], result.nodes)
            n_sentences = len(split_nodes(result.nodes, site.language))
            nodes, status, reason, counts = result.nodes, result.status, result.reason, result.counts
        except Exception as error:  # noqa: BLE001 - one page must not end the run: it becomes a row
            status, reason = "failed", f"{type(error).__name__}: {error}"[:_REASON_CHARACTERS]
        else:
            if page["text"] is None:
                status, reason = "empty", "the dump has no text of it"
    return {
        "doc_id": page["doc_id"], "bucket": page["bucket"], "source": page["source"], "title": page["title"],
        "uri": page_address(site, page["title"], page["doc_id"]), "language": site.language,
        "revision": str(page["revision_id"]), "content_sha256": page["content_sha256"],
        "parser_version": PARSER_VERSION, "n_nodes": len(nodes), "n_sentences": n_sentences,
        "depth": max((len(node.path) for node in nodes), default=0), "status": status, "reason": reason,
        "counts": sorted(counts.items()),
    }, nodes


def page_address(site: SiteInfo, title: str, doc_id: str) -> str:
    """Address of a page, from that of the wiki's main page; the doc_id where the dump does not say it."""
    folder, slash, _ = site.base.rpartition("/")
    return folder + slash + quote(title.replace(" ", "_"), safe="/:(),'!*;@$-_.~") if slash else doc_id


def main() -> None:
    """Entry point of `spark-submit spark_jobs/nodes.py --data DIR`."""
    run_stage("Parse changed pages into trees.", refresh_trees)


if __name__ == "__main__":
    main()
