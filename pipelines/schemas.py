"""Every table of the project, described once.

Arrow schemas, Spark schemas, Delta constraints, data-quality suites, docs and test rows all derive from
`TABLES`. No other module names a column's type. This module is plain data: it imports no engine
(`Table.arrow_schema` imports pyarrow when called).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

STATUSES = ("parsed", "degraded", "redirect", "disambiguation", "empty", "duplicate", "failed")
SOURCES = ("wikipedia",)
UNIT_KINDS = ("passage",)
NODE_KINDS = ("structure", "content")

SPANS_TYPE = "array<struct<begin:int,end:int,kind:string,target:string>>"


@dataclass(frozen=True)
class Column:
    """One column. `type` is written in Spark's DDL; `constraint` is SQL that Delta enforces."""

    name: str
    type: str
    meaning: str
    nullable: bool = False
    unit: str | None = None
    constraint: str | None = None


@dataclass(frozen=True)
class Table:
    """One Delta table: its key, columns, the module that alone writes it, and how it is partitioned."""

    name: str
    meaning: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    writer: str
    partition_by: str | None = None
    released: bool = False
    """Part of the corpus: a release pins its version."""
    may_be_empty: bool = False

    def column(self, name: str) -> Column:
        """Return the column `name`. Raises KeyError for a name that the table does not have."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"table {self.name} has no column {name}")

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def arrow_schema(self) -> Any:
        """The schema as `pyarrow.Schema`, with the meaning of each column in its metadata."""
        import pyarrow as pa

        return pa.schema([
            pa.field(c.name, arrow_type(c.type), c.nullable, {b"comment": describe(c).encode()})
            for c in self.columns
        ])

    def constraints(self) -> dict[str, str]:
        """Delta CHECK constraints by name. Only comparison, IN and length: others lock out delta-rs.

        Both writers take an unknown result (a null compared) for a violation, so nullable columns say that
        null is allowed.
        """
        return {f"{c.name}_valid": f"{c.name} IS NULL OR ({c.constraint})" if c.nullable else c.constraint
                for c in self.columns if c.constraint}


def describe(column: Column) -> str:
    """The column's meaning with its unit, as shown in Delta's comments and in the docs."""
    return f"{column.meaning} ({column.unit})" if column.unit else column.meaning


_SCALARS = {
    "string": "string", "int": "int32", "bigint": "int64", "float": "float32", "double": "float64",
    "boolean": "bool_", "date": "date32",
}


def arrow_type(ddl: str) -> Any:
    """Translate a type in Spark's DDL (`array<struct<begin:int>>`) to the Arrow type.

    Raises ValueError for a type that no table uses.
    """
    import pyarrow as pa

    if ddl in _SCALARS:
        return getattr(pa, _SCALARS[ddl])()
    if ddl == "timestamp":
        return pa.timestamp("us", tz="UTC")
    if match := re.fullmatch(r"array<(.+)>", ddl):
        return pa.list_(arrow_type(match[1]))
    if match := re.fullmatch(r"map<(\w+),(\w+)>", ddl):
        return pa.map_(arrow_type(match[1]), arrow_type(match[2]))
    if match := re.fullmatch(r"struct<(.+)>", ddl):
        fields = (part.split(":", 1) for part in match[1].split(","))
        return pa.struct([(name, arrow_type(kind)) for name, kind in fields])
    raise ValueError(f"unknown column type {ddl!r}")


def _one_of(name: str, values: tuple[str, ...]) -> str:
    return f"{name} IN ({', '.join(repr(v) for v in values)})"


# Columns that several tables share: described once.
DOC_ID = Column("doc_id", "string", "Document: wiki and page id, as enwiki:12", constraint="length(doc_id) > 0")
BUCKET = Column("bucket", "int", "Partition: crc32 of the UTF-8 doc_id modulo the table's bucket count",
                constraint="bucket >= 0")
SOURCE = Column("source", "string", "Kind of corpus that the document came from",
                constraint=_one_of("source", SOURCES))
TITLE = Column("title", "string", "Title of the page or document")
CONTENT_SHA256 = Column("content_sha256", "string", "SHA-256 of the document's bytes, in hex",
                        constraint="length(content_sha256) = 64")
RENDERED_SHA256 = Column("rendered_sha256", "string", "SHA-256 of the text as embedded, in hex",
                         constraint="length(rendered_sha256) = 64")
RELEASE = Column("release", "int", "Release that was read", constraint="release > 0")

PAGES = Table(
    "pages", "Every page of the dumps that were read, in every namespace, at its newest revision.",
    key=("doc_id",), writer="spark_jobs/pages.py", partition_by="bucket", released=True,
    columns=(
        DOC_ID, BUCKET, SOURCE,
        Column("wiki", "string", "Database name of the wiki, as enwiki", constraint="length(wiki) > 0"),
        Column("page_id", "bigint", "Page id within the wiki", constraint="page_id > 0"),
        TITLE,
        Column("namespace", "int", "Namespace number; 0 holds the articles"),
        Column("redirect_to", "string", "Title that the page redirects to", nullable=True),
        Column("revision_id", "bigint", "Revision id; of two of one time the higher wins",
               constraint="revision_id >= 0"),
        Column("revision_time", "timestamp", "Time of the revision; of two the later wins", nullable=True,
               unit="UTC"),
        Column("dump_file", "string", "Key of the dump file in dump_files"),
        Column("text", "string", "Wikitext; null where it was deleted or is missing", nullable=True),
        CONTENT_SHA256,
        # Last: a table from before it has it there.
        Column("content_model", "string", "What the text is where it is not wikitext, as json or css",
               nullable=True),
    ),
)

DOCUMENTS = Table(
    "documents", "One row for each page of the asked namespaces: what became of it.",
    key=("doc_id",), writer="spark_jobs/nodes.py", partition_by="bucket", released=True,
    columns=(
        DOC_ID, BUCKET, SOURCE, TITLE,
        Column("uri", "string", "Address of the page"),
        Column("language", "string", "Language code of the wiki"),
        Column("revision", "string", "Revision id: the part of a citation after @"),
        CONTENT_SHA256,
        Column("parser_version", "int", "Version of the reader; a new one moves paths",
               constraint="parser_version > 0"),
        Column("n_nodes", "int", "Nodes of the tree, the root included", constraint="n_nodes >= 0"),
        Column("n_sentences", "int", "Sentences of the tree", constraint="n_sentences >= 0"),
        Column("n_tokens", "int", "Length of the visible text", unit="tokens of the token counter",
               constraint="n_tokens >= 0"),
        Column("depth", "int", "Length of the longest path", constraint="depth >= 0"),
        Column("status", "string", "What became of the page", constraint=_one_of("status", STATUSES)),
        Column("reason", "string", "Why, where the status is not parsed; for a redirect its target",
               nullable=True),
        Column("counts", "map<string,int>", "What the reader removed or could not parse, by rule"),
    ),
)

TREE_NODES = Table(
    "tree_nodes", "The document trees, one row a node.",
    key=("doc_id", "node_id"), writer="spark_jobs/nodes.py", partition_by="bucket", released=True,
    columns=(
        DOC_ID, BUCKET,
        Column("node_id", "int", "Number in pre-order, the root is 0", constraint="node_id >= 0"),
        Column("end_id", "int", "node_id of the last descendant, or its own", constraint="end_id >= node_id"),
        Column("path", "array<int>", "Child indices from the root: the citation address"),
        Column("parent_id", "int", "node_id of the parent; null for the root", nullable=True,
               constraint="parent_id < node_id"),
        Column("kind", "string", "structure (root, sections) or content", constraint=_one_of("kind", NODE_KINDS)),
        Column("tag", "string", "document, section, p, ul, li, table, tr, td …", constraint="length(tag) > 0"),
        Column("level", "int", "0 for the root, 1 to 6 for sections, null for content", nullable=True,
               constraint="level >= 0 AND level <= 6"),
        Column("text", "string", "The node's own visible words"),
        Column("spans", SPANS_TYPE, "Links, emphasis, code and math as ranges of the text",
               unit="Unicode code points"),
        Column("heading_path", "array<string>", "Headings above, outermost first, without title and itself"),
        Column("attrs", "map<string,string>", "Attributes such as infobox, colspan, scope"),
        Column("source_ref", "string", "Where it stands in the source: begin-end in the wikitext", nullable=True),
        Column("begin", "int", "First character in the document's visible text", unit="code points",
               constraint="begin >= 0"),
        Column("end", "int", "Behind the last character in the document's visible text", unit="code points",
               constraint="end >= begin"),
    ),
)

SENTENCES = Table(
    "sentences", "Sentence sentinels: ranges of a node's own text that never change the tree.",
    key=("doc_id", "sentence_id"), writer="spark_jobs/sentences.py", partition_by="bucket", released=True,
    columns=(
        DOC_ID, BUCKET,
        Column("sentence_id", "int", "Number within the document, in document order",
               constraint="sentence_id >= 0"),
        Column("node_id", "int", "Node whose text holds it", constraint="node_id >= 0"),
        Column("path", "array<int>", "Path of that node"),
        Column("begin", "int", "First character in the node's text", unit="code points", constraint="begin >= 0"),
        Column("end", "int", "Behind the last character in the node's text", unit="code points",
               constraint="end > begin"),
        Column("text", "string", "The sentence, exactly text[begin:end] of its node",
               constraint="length(text) > 0"),
    ),
)

UNITS = Table(
    "units", "What is embedded and indexed: today passages of about 100 words.",
    key=("unit_id",), writer="spark_jobs/units.py", partition_by="bucket", released=True,
    columns=(
        Column("unit_id", "string", "{doc_id}#{kind}/{16 hex of SHA-256 of the text}/{occurrence}",
               constraint="length(unit_id) > 0"),
        DOC_ID, BUCKET, SOURCE,
        Column("kind", "string", "Kind of unit", constraint=_one_of("kind", UNIT_KINDS)),
        Column("node_ids", "array<int>", "Nodes that hold its text, ascending"),
        Column("first_sentence_id", "int", "First sentence that it covers", constraint="first_sentence_id >= 0"),
        Column("last_sentence_id", "int", "Last sentence that it covers",
               constraint="last_sentence_id >= first_sentence_id"),
        Column("text", "string", "Text as embedded: title, newline, passage", constraint="length(text) > 0"),
        Column("n_tokens", "int", "Length of the text", unit="tokens of the token counter",
               constraint="n_tokens > 0"),
        RENDERED_SHA256,
    ),
)

EMBEDDINGS = Table(
    "embeddings", "One vector for each unit and encoder.",
    key=("unit_id", "model"), writer="spark_jobs/embeddings.py", partition_by="bucket", released=True,
    columns=(
        Column("unit_id", "string", "Unit that was embedded", constraint="length(unit_id) > 0"),
        Column("model", "string", "Encoder", constraint="length(model) > 0"),
        DOC_ID, BUCKET, SOURCE,
        Column("vector", "array<float>", "Embedding of unit length"),
        Column("dim", "int", "Length of the vector", constraint="dim > 0"),
        Column("n_tokens", "int", "Length of the text before truncation", unit="tokens of the encoder",
               constraint="n_tokens > 0"),
        Column("truncated", "boolean", "The encoder did not see the end of the text"),
        RENDERED_SHA256,
    ),
)

QUESTIONS = Table(
    "questions", "Evaluation questions with their gold evidence.",
    key=("dataset", "question_id"),
    writer="pipelines/evaluation/question_table.py and pipelines/questions/published/table.py",
    columns=(
        Column("dataset", "string", "Name of the question set", constraint="length(dataset) > 0"),
        Column("question_id", "string", "Id within the set", constraint="length(question_id) > 0"),
        Column("split", "string", "train, dev or test", nullable=True),
        Column("type", "string", "fact, table, list, multi_section, multi_document, unanswerable …", nullable=True),
        Column("question", "string", "The question", constraint="length(question) > 0"),
        Column("answers", "array<array<string>>", "Required answers, each with its aliases; none: unanswerable"),
        Column("evidence", "array<struct<title:string,section:array<string>,quote:string>>",
               "Gold evidence: verbatim quotes and where they stand"),
        Column("derived", "boolean", "Made by a program rather than written by a person"),
        Column("generator", "string", "What generated it from trees: inverse_cloze, table_cell, llm:MODEL …; null: "
                                      "nothing, it comes from people", nullable=True),
    ),
)

ROUTING_STATES = Table(
    "routing_states", "States in which a router decides: a question and one retrieval subtree of one document.",
    key=("dataset", "release", "state_id"), writer="training/curate_actions.py", partition_by="bucket",
    columns=(
        Column("state_id", "string", "32 hex of SHA-256 over question, doc_id, router text and prompt format",
               constraint="length(state_id) = 32"),
        Column("dataset", "string", "Name of the question set", constraint="length(dataset) > 0"),
        Column("question_id", "string", "Question", constraint="length(question_id) > 0"),
        DOC_ID, BUCKET, RELEASE,
        Column("prompt_format", "string", "Version of router text and grammar"),
        Column("turn", "int", "0: what retrieval lit; then one heading a turn", constraint="turn >= 0"),
        Column("question", "string", "The question", constraint="length(question) > 0"),
        Column("router_text", "string", "What a router is shown", constraint="length(router_text) > 0"),
        Column("lit_node_ids", "array<int>", "Content nodes that are shown, in document order"),
        Column("hidden_node_ids", "array<int>", "Headings with content that is not shown, in document order"),
        Column("lines", "array<string>", "Legal lines: ANSWER of the lit nodes, then EXPAND of the headings"),
        Column("scores", "array<double>", "Score of the router `similarity` for each line's node"),
    ),
)

ROUTING_ACTIONS = Table(
    "routing_actions", "What a teacher did in a state: legal actions alone.",
    key=("dataset", "release", "state_id", "teacher"), writer="training/curate_actions.py",
    columns=(
        Column("dataset", "string", "Name of the question set, whose gold evidence decides",
               constraint="length(dataset) > 0"),
        RELEASE,
        Column("state_id", "string", "State", constraint="length(state_id) = 32"),
        Column("teacher", "string", "gold, or the name of the language model", constraint="length(teacher) > 0"),
        Column("actions", "array<string>", "Action lines; none: the subtree is refused"),
        Column("tag", "string", "Class of the sample", constraint=_one_of("tag", ("ANSWER", "EXPAND", "REFUSE"))),
        Column("expelled", "int", "Lines of the output that were not legal", constraint="expelled >= 0"),
        Column("collapsed", "boolean", "Nothing usable came: this is no sample"),
        Column("prompt_sha256", "string", "SHA-256 of the messages, in hex",
               constraint="length(prompt_sha256) = 64"),
        Column("tokens_in", "bigint", "Length of the prompt", unit="tokens", constraint="tokens_in >= 0"),
        Column("tokens_out", "bigint", "Length of the output", unit="tokens", constraint="tokens_out >= 0"),
        Column("cost_usd", "double", "Price of the calls", unit="USD", constraint="cost_usd >= 0"),
    ),
)

PREDICTIONS = Table(
    "predictions", "What a method returned for a question, with what it cost.",
    key=("run_id", "question_id", "method"), writer="training/evaluate.py",
    columns=(
        Column("run_id", "string", "MLflow run", constraint="length(run_id) > 0"),
        Column("dataset", "string", "Name of the question set"),
        Column("question_id", "string", "Question"),
        Column("method", "string", "Method with its switches, as rdr2+fill"),
        RELEASE,
        Column("evidence", "string", "Evidence with citations", unit="JSON"),
        Column("context", "string", "Text as given to a reader"),
        Column("context_tokens", "int", "Length of the context", unit="tokens of the token counter",
               constraint="context_tokens >= 0"),
        Column("answer", "string", "Answer; null without a reader", nullable=True),
        Column("trace", "string", "Timed steps of the method", unit="JSON"),
        Column("metrics", "map<string,double>", "Metrics of this question"),
        Column("llm_calls", "int", "Calls of a language model", constraint="llm_calls >= 0"),
        Column("tokens_in", "bigint", "Prompt length over all calls", unit="tokens", constraint="tokens_in >= 0"),
        Column("tokens_out", "bigint", "Output length over all calls", unit="tokens",
               constraint="tokens_out >= 0"),
        Column("latency_s", "double", "Wall-clock time", unit="s", constraint="latency_s >= 0"),
        Column("cost_usd", "double", "Price of the calls", unit="USD", constraint="cost_usd >= 0"),
    ),
)

REJECTS = Table(
    "rejects", "Everything that was not taken, with the reason: nothing is dropped without a row here.",
    key=("table", "source_ref", "reason"), writer="spark_jobs/tables.py and pipelines/storage.py",
    may_be_empty=True,
    columns=(
        Column("table", "string", "Table that it would have gone to", constraint="length(table) > 0"),
        Column("source_ref", "string", "File and place, or key of the row", constraint="length(source_ref) > 0"),
        Column("reason", "string", "Short, fixed name of the reason", constraint="length(reason) > 0"),
        Column("detail", "string", "What exactly was met", nullable=True),
        Column("sample", "string", "First 500 characters of the input", nullable=True),
        Column("rejected_at", "timestamp", "Time", unit="UTC"),
    ),
)

DUMP_FILES = Table(
    "dump_files", "Dump files that were read, each by the hash of its bytes.",
    key=("dump_file",), writer="spark_jobs/pages.py",
    columns=(
        Column("dump_file", "string", "File name + 8 hex of its SHA-256: the partition key",
               constraint="length(dump_file) > 0"),
        Column("path", "string", "Where it was read"),
        Column("size_bytes", "bigint", "Size", unit="bytes", constraint="size_bytes >= 0"),
        Column("sha256", "string", "SHA-256 of the file, in hex", constraint="length(sha256) = 64"),
        Column("wiki", "string", "Database name of the wiki"),
        Column("language", "string", "Language code of the wiki"),
        Column("siteinfo", "string", "Base address and namespace names", unit="JSON"),
        Column("status", "string", "read or salvaged", constraint="status IN ('read', 'salvaged')"),
        Column("complete", "boolean", "Read to its end"),
        Column("n_pages", "bigint", "Pages in the file", constraint="n_pages >= 0"),
        Column("page_ids", "array<bigint>", "Their page ids"),
        Column("read_at", "timestamp", "Time", unit="UTC"),
    ),
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (PAGES, DOCUMENTS, TREE_NODES, SENTENCES, UNITS, EMBEDDINGS, QUESTIONS, ROUTING_STATES,
                  ROUTING_ACTIONS, PREDICTIONS, REJECTS, DUMP_FILES)
}
RELEASED_TABLES = tuple(name for name, table in TABLES.items() if table.released)
