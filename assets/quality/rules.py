"""The quality rules of every released table, as data: what must hold, and how much may not.

What belongs here: keys, relations between tables, and rules about text. What does not: types, nulls, sets
and ranges, which Delta's own constraints enforce on every write (`schemas.py`), how a rule is computed
(`frames.py`), and how it is judged and shown (`validation.py`). Two rules of every table come from
`schemas.py`: its key is unique, and it has rows.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from pipelines.schemas import RELEASED_TABLES, TABLES

KEY_RULE = "key_is_unique"
ROWS_RULE = "has_rows"
RULES_VERSION = 1
"""Raise it when `frames.py` computes a rule differently: tables that were checked are checked again."""


@dataclass(frozen=True)
class Rule:
    """A rule of one table. Rows that break it are named.

    The release is blocked when more than the share `tolerance` of the table's rows break it, in more than
    `spared_documents` documents. One odd page has many rows, and in a small corpus they are a large share: what
    breaks a rule in a few documents alone is told, and holds nothing back.
    """

    name: str
    meaning: str
    tolerance: float = 0.0
    spared_documents: int = 0


@dataclass(frozen=True)
class TableRules:
    """The rules of a table, and the tables that are read beside it to judge them."""

    reads: tuple[str, ...]
    rules: tuple[Rule, ...]


_IN_ITS_BUCKET = Rule("bucket_matches", "Rows lie in the partition that their doc_id has")

TABLE_RULES: dict[str, TableRules] = {
    "pages": TableRules(("dump_files",), (
        _IN_ITS_BUCKET,
        Rule("id_matches_page", "doc_id is the wiki and the page id"),
        Rule("dump_file_exists", "The dump file that a page came from is in dump_files"),
    )),
    "documents": TableRules(("pages", "tree_nodes"), (
        _IN_ITS_BUCKET,
        Rule("page_exists", "Every document is made of the page that pages has now"),
        Rule("page_has_document", "Every page of the asked namespaces became a document, if only with a "
                                  "reason"),
        Rule("tree_is_complete", "As many tree nodes are stored as the document says"),
    )),
    "tree_nodes": TableRules(("documents",), (
        _IN_ITS_BUCKET,
        Rule("document_exists", "No node without its document"),
        Rule("parent_exists", "No orphans: every node but the root has a parent in its document"),
        Rule("lies_within_parent", "Parents come before children: a node lies in the range of its parent, "
                                   "and its path is its parent's with one number more"),
        Rule("range_matches_text", "begin and end span as many characters as the text has"),
        Rule("no_markup_residue", "No wikitext markup is left in visible text", tolerance=1 / 2000,
             spared_documents=2),
    )),
    "sentences": TableRules(("tree_nodes",), (
        _IN_ITS_BUCKET,
        Rule("span_matches_text", "A sentence is exactly the characters begin to end of its node's text"),
        Rule("block_is_covered", "Every non-space character of a block belongs to exactly one sentence"),
    )),
    "units": TableRules(("documents", "sentences"), (
        _IN_ITS_BUCKET,
        Rule("opens_with_title", "The text as embedded opens with its document's title on a line"),
        Rule("hash_matches_text", "rendered_sha256 is the text's, and unit_id is made of it"),
        Rule("nodes_exist", "The nodes that a unit names are in its document's tree"),
        Rule("sentences_are_covered", "Every sentence of a document belongs to exactly one passage"),
    )),
    "embeddings": TableRules(("units",), (
        _IN_ITS_BUCKET,
        Rule("unit_exists", "Every vector belongs to a unit with the same text"),
        Rule("unit_has_vector", "Every unit has a vector of the release's encoder"),
        Rule("dimension_matches", "A vector has as many numbers as dim says, all of them finite"),
        Rule("norm_is_one", "A vector has unit length, to 0.001"),
    )),
}


def rule_names(table: str) -> tuple[str, ...]:
    """The rules of a table in order, those derived from its schema first."""
    derived = (KEY_RULE,) if TABLES[table].may_be_empty else (ROWS_RULE, KEY_RULE)
    return (*derived, *(rule.name for rule in TABLE_RULES[table].rules))


def tolerant_rules() -> list[str]:
    """The rules whose tolerance may be raised: those about text. A broken key or relation serves nobody."""
    return [rule.name for table in TABLE_RULES.values() for rule in table.rules if rule.tolerance]


def rule_meaning(table: str, name: str) -> str:
    """What a rule of a table says, as shown beside the check."""
    if name == ROWS_RULE:
        return "The table is not empty"
    if name == KEY_RULE:
        return f"No two rows have the same {', '.join(TABLES[table].key)}"
    return next(rule.meaning for rule in TABLE_RULES[table].rules if rule.name == name)


def inputs_of(table: str) -> tuple[str, ...]:
    """The tables whose versions decide whether a check would give the same result again."""
    return (table, *TABLE_RULES[table].reads)


def rules_sha256(table: str) -> str:
    """Digest of the rules of a table: a table checked under others is checked again."""
    described = {"version": RULES_VERSION, "key": TABLES[table].key, "rows": TABLES[table].may_be_empty,
                 **asdict(TABLE_RULES[table])}
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


assert set(TABLE_RULES) == set(RELEASED_TABLES)
