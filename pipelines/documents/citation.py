"""Citations: addresses of nodes, and of characters of nodes, that never silently show other words.

Grammar: `DOC_ID[@REVISION.PARSER_VERSION][#/PATH[:BEGIN-END]]`, as `enwiki:12@834567.3#/0/3/1:120-188`.
Without `#` it is the whole document, `#/` is the root. Without a range it is a node with everything below
it; with one, code points of the node's own text. What follows `@` pins the words: the revision of the
document and the version of the reader, for a new reader moves paths.

What belongs here: reading and writing addresses and finding their words in one document. What does not:
which release a document comes from (`api.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.documents.blocks import ROW_TAG, block_ids, row_members
from pipelines.documents.render import Range, Rendering, merge_ranges, render_plain, whole
from pipelines.documents.tree import Document, Node
from pipelines.errors import UserError, shortened

_ADDRESS = re.compile(
    r"(?P<doc_id>[^\s:@#/]+:[^\s:@#/]+)"
    r"(?:@(?P<revision>[^\s:@#/.]+)\.(?P<parser>[0-9]{1,9}))?"
    r"(?:#/(?P<path>(?:[0-9]{1,9}(?:/[0-9]{1,9})*)?)(?::(?P<begin>[0-9]{1,9})-(?P<end>[0-9]{1,9}))?)?")
GRAMMAR = "DOC_ID, DOC_ID@REVISION.PARSER#/PATH or DOC_ID@REVISION.PARSER#/PATH:BEGIN-END"


@dataclass(frozen=True)
class Address:
    """An address in its parts. path: None is the whole document; characters: None is the whole node."""

    doc_id: str
    revision: str | None = None
    parser_version: int | None = None
    path: tuple[int, ...] | None = None
    characters: tuple[int, int] | None = None

    @property
    def version(self) -> str | None:
        """What stands after @, None where nothing does."""
        return None if self.revision is None else f"{self.revision}.{self.parser_version}"

    def __str__(self) -> str:
        text = self.doc_id
        if self.revision is not None:
            text += f"@{self.version}"
        if self.path is not None:
            text += "#/" + "/".join(map(str, self.path))
            if self.characters is not None:
                text += f":{self.characters[0]}-{self.characters[1]}"
        return text

    def fits(self, document: Document) -> bool:
        """Whether the document has the version that the address asks for; one without @ asks for none."""
        return self.version in (None, version_of(document))


@dataclass(frozen=True, repr=False)
class Citation:
    """An address and the words that stand there."""

    uri: str
    quote: str
    path: tuple[int, ...]

    def __repr__(self) -> str:
        return f"<Citation {self.uri} {shortened(self.quote)!r}>"


def version_of(document: Document) -> str:
    """What a citation of this document has after @."""
    return f"{document.revision}.{document.parser_version}"


def parse_address(text: str) -> Address:
    """Read a document id or a citation. Raises UserError for anything else."""
    match = _ADDRESS.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise UserError(f"address {text!r}", "not readable", GRAMMAR,
                        "Copy it from the `citations` of an answer, or give a document id such as enwiki:12.")
    path = match["path"]
    characters = (int(match["begin"]), int(match["end"])) if match["begin"] else None
    if characters and characters[0] >= characters[1]:
        raise UserError(f"address {text!r}", f"empty range {characters[0]}-{characters[1]}",
                        "a range that begins before it ends", "Correct the range.")
    return Address(match["doc_id"], match["revision"], int(match["parser"]) if match["parser"] else None,
                   None if path is None else tuple(map(int, path.split("/") if path else ())), characters)


def resolve(address: Address, document: Document) -> tuple[Node, Rendering]:
    """The node that an address names in this document, and its words in plain form.

    Raises UserError when the document has no such node or the node no such characters. Whether the
    version fits is the caller's question (`Address.fits`).
    """
    try:
        node = document.at(address.path or ())
    except KeyError:
        raise UserError(f"address {address}", f"{document.doc_id}@{version_of(document)} has no such path",
                        "the path of one of its nodes",
                        f"See them with `espalier show {document.doc_id} --outline`.") from None
    if address.characters is None:
        below = range(node.node_id, node.end_id + 1)
        return node, render_plain(document, whole(document, below))
    begin, end = address.characters
    if end > len(node.text):
        raise UserError(f"address {address}", f"the node has {len(node.text)} characters",
                        f"a range within 0-{len(node.text)}", "Correct the range.")
    return node, render_plain(document, [(node.node_id, begin, end)])


def cite(document: Document, ranges: Iterable[Range]) -> list[Citation]:
    """Citations of these ranges in document order, overlaps merged; `resolve` of each gives its quote.

    A row that is shown as a whole is one citation, so is a node without children; of a node with children
    only its own text is cited, as a range.
    """
    by_node = merge_ranges(document, ranges)
    blocks = block_ids(document)
    citations: list[Citation] = []
    cited_rows: set[int] = set()
    for node_id, node_ranges in by_node.items():
        block = document[blocks[node_id]]
        if block.node_id in cited_rows:
            continue
        if block.tag == ROW_TAG and _is_whole_row(document, block, by_node):
            cited_rows.add(block.node_id)
            citations.append(_citation(document, block, None))
            continue
        node = document[node_id]
        for begin, end in node_ranges:
            is_node = (begin, end) == (0, len(node.text)) and node.end_id == node_id
            citations.append(_citation(document, node, None if is_node else (begin, end)))
    return citations


def _is_whole_row(document: Document, row: Node, by_node: dict[int, list[tuple[int, int]]]) -> bool:
    """Whether everything below the row is shown, so that its bare address shows nothing more."""
    members = [node for cell in row_members(document, row.node_id, block_ids(document)) for node in cell]
    n_texts = sum(bool(node.text) for node in document.descendants(row.node_id))
    return len(members) == n_texts and all(
        by_node.get(node.node_id) == [(0, len(node.text))] for node in members)


def _citation(document: Document, node: Node, characters: tuple[int, int] | None) -> Citation:
    address = Address(document.doc_id, document.revision, document.parser_version, node.path, characters)
    return Citation(str(address), resolve(address, document)[1].text, node.path)
