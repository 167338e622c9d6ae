"""The quality rules as Spark frames: a table's key columns, and for each rule what is wrong with a row.

What belongs here: one function a table that reads it, with the tables its rules relate it to, at pinned
versions. A rule's column is null where the row keeps the rule and else says what was found. A rule about
something that is missing adds a row for it. What does not: judging and reporting (`validation.py`).
The result is narrow (keys and short texts), so that it can be cached and judged in few Spark actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from assets.quality.rules import rule_names
from pipelines.documents.residue import find_node_residue
from pipelines.documents.tree import Node, Span
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder, Profile
from spark_jobs.tables import n_buckets, read_table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

NORM_TOLERANCE = 1e-3
SPACE = r"[\s\x1c-\x1f\x85\p{Z}]+"
"""What Python's str.isspace takes for a space, as a Java pattern."""
AROUND_CHARACTERS = 30
QUOTE_CHARACTERS = 120
"""Longest quotation of a text in a fault, in code points."""


class Candidate:
    """The tables of a candidate release: frames at pinned versions."""

    def __init__(self, spark: SparkSession, data: DataFolder, profile: Profile,
                 versions: Mapping[str, int]) -> None:
        self.spark, self.data, self.profile, self.versions = spark, data, profile, versions

    def table(self, name: str) -> DataFrame:
        """The frame of a table at its pinned version. Raises KeyError for a table that is not pinned."""
        return read_table(self.spark, self.data, name, self.versions[name])


def fault_frame(table: str, candidate: Candidate) -> DataFrame:
    """One row for each row of a table (and each missing one): its key, and a column for each rule."""
    frame = _FRAMES[table](candidate)
    expected = (F.crc32(F.col("doc_id")) % n_buckets(candidate.data, candidate.profile)).cast("int")
    in_its_bucket = _fault(F.col("bucket") != expected,
                           F.format_string("bucket %d, should be %d", F.col("bucket"), expected))
    return frame.withColumn("bucket_matches", in_its_bucket).drop("bucket", *_helpers(table, frame))


def _helpers(table: str, frame: DataFrame) -> list[str]:
    """Columns that are neither the key nor a rule's."""
    kept = {"bucket", *TABLES[table].key, *rule_names(table)}
    return [column for column in frame.columns if column not in kept]


def _fault(condition: Column, text: Column | str) -> Column:
    """`text` where `condition` holds, else null; a null condition is no fault."""
    return F.when(condition, F.lit(text) if isinstance(text, str) else text)


def _quote(column: Column) -> Column:
    return F.substring(column, 1, QUOTE_CHARACTERS)


def _pages(candidate: Candidate) -> DataFrame:
    known = candidate.table("dump_files").select("dump_file", F.lit(True).alias("known"))
    pages = candidate.table("pages").select("doc_id", "bucket", "wiki", "page_id", "dump_file")
    expected = F.concat_ws(":", "wiki", F.col("page_id").cast("string"))
    return pages.join(F.broadcast(known), "dump_file", "left").select(
        "doc_id", "bucket",
        _fault(F.col("doc_id") != expected, F.concat(F.lit("should be "), expected)).alias("id_matches_page"),
        _fault(F.col("known").isNull(), F.col("dump_file")).alias("dump_file_exists"))


def _documents(candidate: Candidate) -> DataFrame:
    documents = candidate.table("documents").select("doc_id", "bucket", "content_sha256", "n_nodes", "status")
    pages = candidate.table("pages").select(
        "doc_id", F.col("bucket").alias("page_bucket"), F.col("content_sha256").alias("page_sha256"),
        F.col("namespace").isin(*candidate.profile.namespaces).alias("asked"))
    stored = candidate.table("tree_nodes").groupBy("doc_id").agg(F.count(F.lit(1)).alias("n_stored"))
    joined = documents.join(pages, "doc_id", "full_outer").join(stored, "doc_id", "left")
    n_stored = F.coalesce("n_stored", F.lit(0))
    return joined.where(F.col("status").isNotNull() | F.col("asked")).select(
        "doc_id", F.coalesce("bucket", "page_bucket").alias("bucket"),
        _fault(F.col("status").isNotNull() & ~F.col("page_sha256").eqNullSafe(F.col("content_sha256")),
               F.coalesce(F.concat(F.lit("page has content "), "page_sha256"), F.lit("no page"))
               ).alias("page_exists"),
        _fault(F.col("status").isNull(), "no document").alias("page_has_document"),
        _fault(F.col("n_nodes") != n_stored,
               F.format_string("%d nodes, %d stored", F.col("n_nodes"), n_stored)).alias("tree_is_complete"))


def _tree_nodes(candidate: Candidate) -> DataFrame:
    nodes = candidate.table("tree_nodes").select(
        "doc_id", "bucket", "node_id", "end_id", "path", "parent_id", "tag", "text", "spans", "begin", "end")
    documents = candidate.table("documents").select("doc_id", F.lit(True).alias("known"))
    parents = nodes.select(
        "doc_id", F.col("node_id").alias("parent_id"), F.col("end_id").alias("parent_end_id"),
        F.col("path").alias("parent_path"))
    joined = nodes.join(documents, "doc_id", "left").join(parents, ["doc_id", "parent_id"], "left")
    is_root = F.col("node_id") == 0
    depth = F.size("path")
    outside = ((F.col("end_id") > F.col("parent_end_id")) | (depth != F.size("parent_path") + 1)
               | (F.slice("path", F.lit(1), F.size("parent_path")) != F.col("parent_path")))
    return joined.select(
        "doc_id", "bucket", "node_id",
        _fault(F.col("known").isNull(), "no document").alias("document_exists"),
        _fault(F.when(is_root, F.col("parent_id").isNotNull() | (depth > 0))
               .otherwise(F.col("parent_end_id").isNull()),
               F.concat(F.lit("parent "), F.coalesce(F.col("parent_id").cast("string"), F.lit("null")))
               ).alias("parent_exists"),
        _fault(outside, F.concat(F.lit("path "), F.col("path").cast("string"), F.lit(" under "),
                                 F.col("parent_path").cast("string"))).alias("lies_within_parent"),
        _fault(F.length("text") != F.col("end") - F.col("begin"),
               F.format_string("%d characters in %d-%d", F.length("text"), F.col("begin"), F.col("end"))
               ).alias("range_matches_text"),
        _residue()(F.col("tag"), F.col("text"), F.col("spans")).alias("no_markup_residue"))


def _residue() -> Callable[..., Column]:
    """A function of (tag, text, spans): the first residue with its surroundings, or null."""
    return F.udf(first_residue, "string", useArrow=True)


def first_residue(tag: str, text: str, spans: Sequence[Any]) -> str | None:
    """The kind of the first markup left in a node's text, and the text around it; None when there is none.

    spans: rows of (begin, end, kind, target).
    """
    node = Node(0, 0, (), None, "content", tag, None, text, tuple(Span(*span) for span in spans), (), {}, None,
                0, len(text))
    for kind, begin, end in find_node_residue(node):
        return f"{kind}: …{text[max(0, begin - AROUND_CHARACTERS):end + AROUND_CHARACTERS]}…"
    return None


def _non_space(column: str) -> Column:
    return F.length(F.regexp_replace(column, SPACE, ""))


def _sentences(candidate: Candidate) -> DataFrame:
    nodes = candidate.table("tree_nodes").where("kind = 'content' AND text != ''").select(
        "doc_id", "bucket", "node_id", F.col("text").alias("node_text"))
    sentences = candidate.table("sentences").select(
        "doc_id", "bucket", "sentence_id", "node_id", "begin", "end", "text")
    joined = sentences.join(nodes.drop("bucket"), ["doc_id", "node_id"], "left")
    stored = F.substring(F.col("node_text"), F.col("begin") + 1, F.col("end") - F.col("begin"))
    spans = joined.select(
        "doc_id", "bucket", "sentence_id",
        _fault(~F.col("text").eqNullSafe(stored),
               F.concat(F.lit("node has: "), F.coalesce(_quote(stored), F.lit("no such text")))
               ).alias("span_matches_text"),
        F.lit(None).cast("string").alias("block_is_covered"))
    covered = sentences.groupBy("doc_id", "node_id").agg(F.sum(_non_space("text")).alias("n_covered"))
    n_covered = F.coalesce("n_covered", F.lit(0))
    blocks = nodes.join(covered, ["doc_id", "node_id"], "left").where(n_covered != _non_space("node_text"))
    # A block is no row of this table: it is named by a sentence_id that no sentence can have.
    uncovered = blocks.select(
        "doc_id", "bucket", (-1 - F.col("node_id")).alias("sentence_id"),
        F.lit(None).cast("string").alias("span_matches_text"),
        F.format_string("node %d: %d of %d characters in sentences: %s", F.col("node_id"), n_covered,
                        _non_space("node_text"), _quote(F.col("node_text"))).alias("block_is_covered"))
    return spans.unionByName(uncovered)


def _units(candidate: Candidate) -> DataFrame:
    documents = candidate.table("documents").select("doc_id", "title", "n_nodes")
    units = candidate.table("units").select(
        "unit_id", "doc_id", "bucket", "kind", "node_ids", "first_sentence_id", "last_sentence_id", "text",
        "rendered_sha256")
    joined = units.join(documents, "doc_id", "left")
    none = F.lit(None).cast("string")
    digest = F.sha2(F.col("text").cast("binary"), 256)
    prefix = F.concat("doc_id", F.lit("#"), "kind", F.lit("/"), F.substring(digest, 1, 16), F.lit("/"))
    rows = joined.select(
        "unit_id", "doc_id", "bucket",
        _fault(F.col("title").isNull() | ~F.startswith("text", F.concat("title", F.lit("\n"))),
               _quote(F.col("text"))).alias("opens_with_title"),
        _fault((F.col("rendered_sha256") != digest) | ~F.startswith("unit_id", prefix), prefix
               ).alias("hash_matches_text"),
        _fault((F.size("node_ids") == 0) | (F.array_min("node_ids") < 0)
               | (F.array_max("node_ids") >= F.coalesce("n_nodes", F.lit(0))),
               F.col("node_ids").cast("string")).alias("nodes_exist"),
        none.alias("sentences_are_covered"))
    length = F.col("last_sentence_id") - F.col("first_sentence_id") + 1
    in_units = units.where("kind = 'passage'").groupBy("doc_id").agg(
        F.sum(length).alias("n_in_units"), F.max("last_sentence_id").alias("last"))
    stored = candidate.table("sentences").groupBy("doc_id", "bucket").agg(F.count(F.lit(1)).alias("n_stored"))
    n_in_units, last = F.coalesce("n_in_units", F.lit(0)), F.coalesce("last", F.lit(-1))
    # Passages without gap or overlap end at the last sentence and hold as many as there are.
    uncovered = stored.join(in_units, "doc_id", "left").where(
        (n_in_units != F.col("n_stored")) | (last != F.col("n_stored") - 1))
    missing = uncovered.select(
        F.concat("doc_id", F.lit("#passage")).alias("unit_id"), "doc_id", "bucket",
        none.alias("opens_with_title"), none.alias("hash_matches_text"), none.alias("nodes_exist"),
        F.format_string("%d sentences, %d in passages", F.col("n_stored"), n_in_units
                        ).alias("sentences_are_covered"))
    return rows.unionByName(missing)


def _embeddings(candidate: Candidate) -> DataFrame:
    encoder = candidate.profile.encoder
    units = candidate.table("units").select(
        "unit_id", F.col("doc_id").alias("unit_doc_id"), F.col("bucket").alias("unit_bucket"),
        F.col("rendered_sha256").alias("unit_sha256"))
    vectors = candidate.table("embeddings").select(
        "unit_id", "model", "doc_id", "bucket", "vector", "dim", "rendered_sha256")
    joined = vectors.join(units, "unit_id", "full_outer")
    square = F.aggregate("vector", F.lit(0.0), lambda total, x: total + x.cast("double") * x.cast("double"))
    norm = F.sqrt(square)
    present = F.col("model").isNotNull()
    rows = joined.select(
        "unit_id", F.coalesce("model", F.lit(encoder)).alias("model"),
        F.coalesce("doc_id", "unit_doc_id").alias("doc_id"),
        F.coalesce("bucket", "unit_bucket").alias("bucket"),
        _fault(present & ~F.col("unit_sha256").eqNullSafe(F.col("rendered_sha256")),
               F.coalesce(F.concat(F.lit("unit has text "), "unit_sha256"), F.lit("no unit"))
               ).alias("unit_exists"),
        (F.col("model") == encoder).alias("_by_encoder"),
        _fault((F.size("vector") != F.col("dim")) | F.isnan(square) | F.isnull(square),
               F.format_string("%d numbers, dim %d", F.size("vector"), F.col("dim"))
               ).alias("dimension_matches"),
        _fault(F.abs(norm - 1) > NORM_TOLERANCE, F.format_string("norm %.4f", norm)).alias("norm_is_one"))
    # Vectors of another encoder may stand beside; a unit with only those has none of the release's.
    has_vector = F.max(F.coalesce("_by_encoder", F.lit(False))).over(Window.partitionBy("unit_id"))
    return rows.withColumn("unit_has_vector", _fault(~has_vector, f"no vector of {encoder}"))


_FRAMES: dict[str, Callable[[Candidate], DataFrame]] = {
    "pages": _pages, "documents": _documents, "tree_nodes": _tree_nodes, "sentences": _sentences,
    "units": _units, "embeddings": _embeddings,
}


def frame_tables() -> Iterator[str]:
    """The tables that have a frame: exactly those that `rules.py` has rules for."""
    yield from _FRAMES
