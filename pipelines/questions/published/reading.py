"""Reading published question sets: every item of their files as a question, or as what is wrong with it.

What belongs here: the formats by name, the walk through files and items, and what is told when a file is of
another kind. What does not: the formats (a module each), and where the questions go (`table.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.errors import UserError
from pipelines.evaluation.datasets import BadLine, Question, Split
from pipelines.questions.published import asqa, eli5, hotpotqa, kilt, qampari, triviaqa
from pipelines.questions.published.fields import BadField, Tally
from pipelines.questions.published.files import READ_ERRORS, opened_files, split_of_name, why
from pipelines.questions.published.json_stream import BadText, JsonError
from pipelines.questions.published.kilt_pages import KiltPages, Place
from pipelines.questions.published.records import Format, LayoutError, Record, Source

FORMATS: Mapping[str, Format] = {**asqa.FORMATS, **qampari.FORMATS, **hotpotqa.FORMATS, **triviaqa.FORMATS,
                                 **kilt.formats(), **eli5.FORMATS}
"""Every form that is read, by the name that it is asked for with."""
_SAMPLE_CHARACTERS = 500


@dataclass(frozen=True)
class BadItem:
    """An item that is no question, with the file that it is in."""

    file: str
    line: BadLine
    """Its `number` is the line's in a file of lines, the item's elsewhere."""


def format_named(name: str, pages: KiltPages | None = None) -> Format:
    """The format. pages: KILT's pages, for the KILT formats. Raises UserError for a name that is none."""
    found = (FORMATS if pages is None else kilt.formats(pages)).get(name)
    if found is None:
        what = "a format whose evidence is in KILT's pages" if name in FORMATS else "no format of that name"
        raise UserError(f"format {name!r}", what if pages is None else f"not {what}",
                        f"one of {', '.join(FORMATS if pages is None else kilt.formats())}", "Correct it.")
    return found


def read_published(format: Format, paths: Sequence[str | Path], tally: Tally,
                   split: Split | None = None) -> Iterator[Question | BadItem]:
    """The items of the files in turn. Memory holds one item, and the ids of all.

    split: the files' split, where their names do not tell it; of a file with several splits, the one that is
    taken. An id that an earlier item has makes a later one a reject. Raises UserError for a file that cannot
    be read to its end, is of another form, or has a name that tells two splits.
    """
    ids: set[str] = set()
    for name, record in _records(format, paths, tally, split):
        tally.n_items += 1
        item = _item(format, name, record, tally, ids)
        if isinstance(item, BadItem):
            tally.bad[item.line.reason] += 1
        else:
            tally.n_questions += 1
            tally.n_without_evidence += not item.evidence
            ids.add(item.question_id)
        yield item


def read_pages(path: str | Path, paths: Sequence[str | Path]) -> KiltPages:
    """KILT's pages, of which the quotes are kept that these files of its questions point to.

    Raises UserError for a file that cannot be read.
    """
    return KiltPages.read(path, _places(paths))


def _places(paths: Sequence[str | Path]) -> Iterator[Place]:
    # The split is of no matter here, and a name that tells two is told when the questions are read.
    for _, record in _records(FORMATS["kilt-nq"], paths, Tally(), "dev"):
        try:
            yield from kilt.kilt_places(record)
        except BadField:
            continue  # The item will be a reject.


def _records(format: Format, paths: Iterable[str | Path], tally: Tally,
             split: Split | None) -> Iterator[tuple[str, Record]]:
    for path in paths:
        with opened_files(path) as files:
            for name, stream in files:
                source = Source(name, stream, split or split_of_name(name), split)
                yield from ((name, record) for record in _read(format, source, tally))


def _read(format: Format, source: Source, tally: Tally) -> Iterator[Record]:
    subject, number = f"question set {source.name}", 0
    try:
        for record in format.records(source, tally):
            number = record.number
            yield record
    except JsonError as error:
        raise UserError(subject, f"{error.found} (item {number + 1}, character {error.position:,})",
                        f"{format.layout}, whole", "Check that it is the file of this format, or fetch it again."
                        ) from error
    except LayoutError as error:
        raise UserError(subject, error.found, error.expected,
                        f"Check the format: this one is {format.meaning}.") from error
    except READ_ERRORS as error:
        raise UserError(subject, f"unreadable after item {number} ({why(error)})", "a whole file",
                        "Fetch it again.") from error


def _item(format: Format, name: str, record: Record, tally: Tally, ids: set[str]) -> Question | BadItem:
    number, value = record.number, record.value
    if isinstance(value, BadText):
        return BadItem(name, BadLine(number, value.reason, "", value.found, "a JSON object in UTF-8", value.sample))
    of_item = Tally()
    try:
        question = format.question(record, of_item)
    except BadField as bad:
        return BadItem(name, BadLine(number, "bad_field", bad.place, bad.found, bad.expected, _sample(value)))
    if question.question_id in ids:
        return BadItem(name, BadLine(number, "duplicate_id", "id", f"{question.question_id!r} again", "an id once",
                                     _sample(value)))
    tally.unknown_fields += of_item.unknown_fields
    tally.left_out += of_item.left_out
    return question


def _sample(value: object) -> str:
    return json.dumps(value, ensure_ascii=True)[:_SAMPLE_CHARACTERS]
