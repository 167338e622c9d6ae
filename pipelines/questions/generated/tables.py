"""Table cells: the headings of its column and its row ask for a cell; infoboxes by the names of their rows.

What belongs here: which tables can be read cell by cell without doubt (one row of column headings, no cell
that spans others), which columns and cells are worth asking for, how that is asked. What does not: what no
cell answers (`unanswerable.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.documents.blocks import block_text, header_row, row_members
from pipelines.documents.tree import Node
from pipelines.questions.generated.cloze import OPENINGS
from pipelines.questions.generated.draws import Draws, draw
from pipelines.questions.generated.english_phrases import forms
from pipelines.questions.generated.english_verbs import participle_of
from pipelines.questions.generated.source import Candidate, SourceDocument, Wanted
from pipelines.retrieval.terms import terms

GENERATOR = "table_cell"
MAX_ANSWER_WORDS, MAX_NAME_WORDS, MAX_ROW_WORDS = 12, 7, 60
_SPANS = ("rowspan", "colspan")
_UNIT = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]\s*")
_POOR_COLUMN = re.compile(
    r"(?:#|no\.?|number|order|nr\.?|rank|pos\.?|position|notes?|remarks|references?|refs?\.?|sources?|image|picture|"
    r"photo|flag|arms|logo|map|links?|comments?|details|description|other|symbol|key|id)\Z", re.IGNORECASE)
_POOR_KEY = re.compile(
    r"caption|image|\balt\b|\bmap\b|width|size|\bname\b|title|footnote|\bref|\burl\b|website|coord|latitude|"
    r"longitude|\blat|\blon|colou?r|style|\bid\b|code|note|type\b|label|format|link|\d|signature|logo|symbol|flag|"
    r"\bbox|header|\bsize|\bdst\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\b|date format|"
    r"authority|logo|\bcat|\bpre\b|native name|rank\b|year\b|estimate|percent|\bdata\b|_",
    re.IGNORECASE)
_EMPTY = re.compile(r"[\s\W_]*|n/?a|multiple|various|varies|see .*|none|unknown|tba|tbd|\?+|yes|no", re.IGNORECASE)
_IS_NUMBER = re.compile(r"[^\w]*[\d.,\s–−±%-]+(?:[^\W\d_]{1,3})?\Z")
_PERIOD = re.compile(r"[12]\d{3}(?:[–/-]\d{2,4})?\Z")


@dataclass(frozen=True)
class Row:
    """A row that can be read: the name in its first cell, its cells by column heading, and its node."""

    name: str
    cells: tuple[tuple[str, str], ...]
    node: Node
    header: Node | None
    """The row of column headings; None in an infobox."""


def candidates(source: SourceDocument, seed: int, wanted: Wanted) -> Iterator[Candidate]:
    """One question a row, for one of its cells."""
    for table in source.document:
        if table.tag != "table" or not source.is_proper(table):
            continue
        is_infobox = "infobox" in table.attrs
        if not is_infobox and "template" in table.attrs:
            continue
        for row in infobox_rows(source, table) if is_infobox else plain_rows(source, table):
            rank = draw(seed, GENERATOR, source.doc_id, row.node.node_id)
            if not wanted(rank):
                continue
            draws = Draws(seed, GENERATOR, source.doc_id, row.node.node_id)
            column, cell = draws.pick(row.cells, "column")
            gold = source.gold(row.node, block_text(source.document, row.node.node_id, source.blocks))
            if gold is None:
                continue
            evidence = [gold]
            if row.header is not None:
                headings = source.gold(row.header, block_text(source.document, row.header.node_id, source.blocks))
                evidence = [*([headings] if headings is not None else []), gold]
            question = ask_for(source, column, row.name if row.header is not None else None, cell, table, draws)
            if question is not None and not set(terms(cell)) <= set(terms(question)):
                yield Candidate(GENERATOR, "table", question, ((cell,),), tuple(evidence), source.doc_id,
                                row.node.node_id, rank)


def plain_rows(source: SourceDocument, table: Node) -> list[Row]:
    """The rows of a table with one row of column headings whose first column names its rows.

    Empty where cells span others, a name stands twice, or the first column is of numbers other than years.
    """
    rows = [node for node in source.document.children(table.node_id) if node.tag == "tr"]
    if len(rows) < 3 or header_row(source.document, rows[1].node_id) != rows[0].node_id:
        return []
    children = [list(source.document.children(row.node_id)) for row in rows]
    if any(cell.attrs.get(span, "1") != "1" for cells in children for cell in cells for span in _SPANS):
        return []
    texts = [[_cell_text(cell) for cell in row_members(source.document, row.node_id, source.blocks)]
             for row in rows]
    headings, *bodies = texts
    place = _naming_column(headings, bodies)
    if place is None:
        return []
    names = [body[place] for body in bodies if len(body) == len(headings)]
    found = []
    for node, body in zip(rows[1:], bodies, strict=True):
        name = body[place] if len(body) == len(headings) else ""
        if not name[:1].isalnum() or names.count(name) > 1 or len(name.split()) > MAX_NAME_WORDS \
                or sum(len(cell.split()) for cell in body) > MAX_ROW_WORDS:
            continue
        cells = tuple((heading, cell) for number, (heading, cell) in enumerate(zip(headings, body, strict=True))
                      if number != place and is_good_column(heading) and is_good_cell(cell))
        if cells:
            found.append(Row(name, cells, node, rows[0]))
    return found


def infobox_rows(source: SourceDocument, table: Node) -> list[Row]:
    """The rows of an infobox whose parameter reads like words; none of one in a section, which is of another."""
    found: list[Row] = []
    if table.heading_path:
        return found
    for row in source.document.children(table.node_id):
        if row.tag != "tr":
            continue
        texts = [_cell_text(cell) for cell in row_members(source.document, row.node_id, source.blocks)]
        if len(texts) == 2 and is_good_cell(texts[1]) and _is_askable(source, texts[0]):
            found.append(Row(texts[0], ((texts[0], texts[1]),), row, None))
    return found


def _is_askable(source: SourceDocument, key: str) -> bool:
    """Whether a parameter can be asked for: by a form of its own, or by its name where the text uses its words."""
    if source.is_english and key.casefold() in ENGLISH_KEYS:
        return True
    return is_good_key(key) and (not source.is_english or all(source.has_small(word, 2) for word in key.split()))


def _cell_text(members: Sequence[Node]) -> str:
    return " ".join(" ".join(node.text for node in members).split())


def _naming_column(headings: Sequence[str], bodies: Sequence[Sequence[str]]) -> int | None:
    """The first column that names rows: words or years, nearly all of them different."""
    for place, heading in enumerate(headings[:3]):
        values = [body[place] for body in bodies if len(body) == len(headings) and body[place]]
        if len(values) < 2 or len(set(values)) < 0.8 * len(values) or re.fullmatch(_POOR_COLUMN, heading):
            continue
        if all(_PERIOD.match(value) or not _IS_NUMBER.match(value) for value in values):
            return place
    return None


def is_good_column(heading: str) -> bool:
    """Whether a column can be asked for by its heading."""
    bare = _UNIT.sub(" ", heading).strip()
    return (re.search(r"[^\W\d_]{3,}", bare) is not None and re.search(r"\.(?:\s|\Z)", bare) is None
            and len(bare.split()) <= 5 and _POOR_COLUMN.match(bare) is None
            and re.search(r"[)\]]\s*[^\W\d_]", heading) is None)


def is_good_key(key: str) -> bool:
    """Whether a parameter of an infobox reads like words of its own."""
    return (_POOR_KEY.search(key) is None and len(key) >= 3 and len(key.split()) <= 4
            and key.replace(" ", "").isalpha())


def is_good_cell(cell: str) -> bool:
    """Whether a cell can be an answer: short, and neither empty nor a tick or a dash."""
    return not _EMPTY.fullmatch(cell) and len(cell.split()) <= MAX_ANSWER_WORDS and "http" not in cell


def ask_for(source: SourceDocument, column: str, row_name: str | None, cell: str, table: Node, draws: Draws
            ) -> str | None:
    """The question for a cell, row_name None: of the document's subject itself. None where it would be clumsy."""
    if not source.is_english:
        return " ".join(dict.fromkeys([source.name, *([row_name] if row_name else []), column]))
    if row_name is None:
        return _ask_of_subject(source, column, draws)
    wanted = _spoken_column(source, column)
    if wanted[0].isupper() and wanted[1:2].islower():
        if not row_name[0].isalpha() or (row_name[0].isupper() and not source.is_mostly_small(row_name.split()[0])):
            return None  # Two names: what the cell tells of them is said nowhere.
        wanted, row_name = _spoken_column(source, row_name), column
    is_period = _PERIOD.match(row_name) is not None
    if _IS_NUMBER.match(cell) and _is_plural(wanted):
        wanted = wanted.removeprefix("number of ").removeprefix("total number of ")
        question = (f"How many {wanted} were there in {row_name}?" if is_period
                    else f"How many {wanted} does {row_name} have?")
    elif is_period:
        question = draws.pick((f"What {'were' if _is_plural(wanted) else 'was'} the {wanted} in {row_name}?",
                               f"Which {wanted} belongs to the year {row_name}?"), "form")
    elif wanted in ("date", "year"):
        question = f"To which {wanted} does {row_name} belong?"
    else:
        be = "are" if _is_plural(wanted) else "is"
        question = draws.pick((f"What {be} the {wanted} of {row_name}?", f"What {wanted} does {row_name} have?",
                               f"Which {wanted} {'go' if _is_plural(wanted) else 'goes'} with {row_name}?"), "form")
    return _in_context(source, question, table, draws)


ENGLISH_KEYS = forms("key")
"""How parameters of infoboxes are asked for."""


def _ask_of_subject(source: SourceDocument, key: str, draws: Draws) -> str | None:
    forms = ENGLISH_KEYS.get(key.casefold())
    if forms is not None:
        return draws.pick(forms, "form").format(name=source.name)
    wanted = _spoken_column(source, key)
    if wanted in source.name.casefold() or participle_of(wanted.split()[-1]) is not None:
        return None
    if _is_plural(wanted):
        return draws.pick((f"What are the {wanted} of {source.name}?",
                           f"Which {wanted} does {source.name} have?"), "form")
    return draws.pick((f"What is the {wanted} of {source.name}?",
                       f"What {wanted} does {source.name} have?"), "form")


def _is_plural(phrase: str) -> bool:
    last = phrase.partition(" of ")[0].split()[-1]
    return last.endswith("s") and not last.endswith(("ss", "us", "is"))


def _spoken_column(source: SourceDocument, column: str) -> str:
    """A column's heading inside a question: units left out, no capital but in names and abbreviations."""
    bare = _UNIT.sub(lambda match: f" ({match[1]}) " if re.search(r"\d{4}", match[1]) else " ", column)
    words = (bare if "(" in bare else bare.partition(",")[0]).replace("_", " ").split()
    return " ".join(word.lower() if word[1:].islower() and source.is_mostly_small(word) else word
                    for word in words).rstrip(":, ")


def _in_context(source: SourceDocument, question: str, table: Node, draws: Draws) -> str:
    """The question with what its names leave open: the subject, or the caption or heading of the table."""
    known = set(terms(question))
    if source.name_terms & known:
        return question
    heading = table.heading_path[-1] if table.heading_path else ""
    caption = next((node.text for node in source.document.children(table.node_id) if node.tag == "caption"), "")
    about = caption if 0 < len(caption.split()) <= 8 else heading
    if source.name_terms & set(terms(about)) and 1 < len(about.split()) <= 8:
        return f"{question[:-1]} ({source.lowered(about)})?"
    if source.is_place:
        return f"{question[:-1]} in {source.name}?"
    return f"{draws.pick(OPENINGS, 'opening')} {source.topic}, {question[0].lower()}{question[1:]}"
