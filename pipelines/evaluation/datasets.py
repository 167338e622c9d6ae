"""Question sets: the questions file of docs/evaluation.md, checked line by line, and its table.

What belongs here: reading a JSON Lines file into `Question` rows, the digest of a set, and the rows of the
table `questions`. What does not: metrics, and how a table is written (`pipelines/storage.py`).

By default a set is used as a whole or not at all: `load_questions` raises on the first bad line. With
`skip_bad` the good lines are the set, and it carries what is wrong with each bad one, so that it can go to
`rejects` and be counted.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pipelines.errors import UserError, argument
from pipelines.evaluation.normalise import normalise_quote

Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")
FIELDS = ("id", "question", "answers", "evidence", "type", "split", "derived", "generator")
REQUIRED_SEPARATOR = "; "
DATASET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_FORMAT_HELP = ("Write one JSON object a line: {id, question, answers, evidence, type?, split?, derived?, "
                "generator?}.")


@dataclass(frozen=True)
class GoldEvidence:
    """A verbatim quote and where it stands: the document's title and the headings above, outermost first."""

    title: str
    section: tuple[str, ...]
    quote: str


@dataclass(frozen=True)
class Question:
    """One question. `answers`: the required answers, each with its aliases; none: not answerable."""

    question_id: str
    question: str
    answers: tuple[tuple[str, ...], ...]
    evidence: tuple[GoldEvidence, ...]
    type: str | None = None
    split: Split | None = None
    derived: bool = False
    generator: str | None = None
    """What generated it from trees, as `inverse_cloze` or `llm:MODEL`; None: it comes from people."""

    @property
    def is_unanswerable(self) -> bool:
        """Whether refusing is right: there is neither an answer nor evidence for one."""
        return not self.answers and not self.evidence

    def to_json(self) -> dict[str, Any]:
        """The question as plain JSON values, answers as lists of aliases."""
        return {
            "id": self.question_id, "question": self.question, "answers": [list(a) for a in self.answers],
            "evidence": [{"title": e.title, "section": list(e.section), "quote": e.quote}
                         for e in self.evidence],
            "type": self.type, "split": self.split, "derived": self.derived, "generator": self.generator,
        }


@dataclass(frozen=True)
class BadLine:
    """A line that holds no valid question. `number` counts from 1; `reason` is a short, fixed name."""

    number: int
    reason: Literal["not_utf8", "not_json", "bad_field", "duplicate_id"]
    place: str
    """The field at fault, as `evidence[0].quote`; empty where the line as a whole is."""
    found: str
    expected: str
    sample: str


@dataclass(frozen=True, repr=False)
class QuestionSet:
    """A named set of questions, all from people or all generated from trees: figures on them never mix.

    `digest`: 16 hex of SHA-256 over the questions, whatever their order. Raises UserError for a mixed set.
    """

    name: str
    questions: tuple[Question, ...]
    path: str = ""
    unknown_fields: Mapping[str, int] = field(default_factory=dict)
    """Fields that the format does not have, with the number of lines that carry them; they are not used."""
    bad_lines: tuple[BadLine, ...] = ()
    """Lines of the file that hold no valid question and were left out."""

    def __repr__(self) -> str:
        return f"<QuestionSet {self.name!r}, {len(self.questions)} questions>"

    def __post_init__(self) -> None:
        generated = [question.question_id for question in self.questions if question.generator is not None]
        if generated and len(generated) < len(self.questions):
            n_people = len(self.questions) - len(generated)
            raise UserError(
                f"question set {self.name!r}{f' ({self.path})' if self.path else ''}",
                f"{n_people} questions from people and {len(generated)} generated ones (the first is "
                f"{generated[0]!r})", "one kind in a set, for their figures must not mix",
                "Write the lines that have a generator to a file of their own.")

    @property
    def is_generated(self) -> bool:
        """Whether a program made the questions from trees: figures on them say so."""
        return any(question.generator is not None for question in self.questions)

    @property
    def digest(self) -> str:
        # Without the field where it says nothing: sets keep the digest that they had before it.
        rows = sorted(json.dumps({name: value for name, value in q.to_json().items()
                                  if name != "generator" or value is not None},
                                 sort_keys=True, ensure_ascii=True) for q in self.questions)
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]

    def rejects(self) -> list[dict[str, Any]]:
        """Rows of the table `rejects`: each bad line by set, file and number, with its reason."""
        name = Path(self.path).name.encode(errors="backslashreplace").decode()
        return [{"table": "questions", "source_ref": f"{self.name}:{name}:{line.number}", "reason": line.reason,
                 "detail": f"{f'field {line.place}: ' if line.place else ''}{line.found}; expected {line.expected}",
                 "sample": line.sample} for line in self.bad_lines]

    def table_rows(self) -> list[dict[str, Any]]:
        """Rows of the table `questions`."""
        rows = []
        for question in self.questions:
            row = question.to_json()
            row["question_id"] = row.pop("id")
            rows.append({"dataset": self.name, **row})
        return rows


def load_questions(path: str | Path, name: str | None = None, *, skip_bad: bool = False) -> QuestionSet:
    """Read a questions file. The set's name is `name`, else the file's without its ending.

    skip_bad: leave out lines that are not a valid question, or whose id an earlier line has, as long as one
    is left; they are in `bad_lines`. Raises UserError naming file, line and field of the first one otherwise,
    and when the file is missing or holds no question.
    """
    name = check_dataset_name(name if name is not None else _name_of(path))
    questions, bad_lines, unknown = read_lines(path)
    if bad_lines and not (skip_bad and questions):
        first = bad_lines[0]
        more = f" ({len(bad_lines) - 1} more bad lines)" if len(bad_lines) > 1 else ""
        where = f", field {first.place}" if first.place else ""
        raise UserError(f"questions file {path}, line {first.number}{where}", first.found + more,
                        first.expected, _FORMAT_HELP)
    if not questions:
        raise UserError(f"questions file {path}", "no question in it", "at least one line", _FORMAT_HELP)
    return QuestionSet(name, tuple(questions), str(path), unknown, tuple(bad_lines))


def check_dataset_name(name: str) -> str:
    """The name itself. Raises UserError unless it can name a file, an experiment and a partition."""
    if not DATASET_NAME.fullmatch(name):
        raise UserError(f"dataset {name!r}", "a name with other characters",
                        "1 to 100 letters, digits, dots, dashes, underscores, the first a letter or digit",
                        f"Pass another {argument('dataset', 'NAME')}.")
    return name


def _name_of(path: str | Path) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(path).stem).strip("-._")[:100] or "questions"


def read_lines(path: str | Path) -> tuple[list[Question], list[BadLine], dict[str, int]]:
    """All valid questions of a file in order, the lines that hold none, and the unknown fields' counts.

    UTF-8 with or without byte order mark, UTF-16 with one; LF or CRLF; blank lines are skipped. Raises
    UserError when the file cannot be read.
    """
    questions: list[Question] = []
    bad_lines: list[BadLine] = []
    unknown: dict[str, int] = {}
    line_of_id: dict[str, int] = {}
    for number, line in _lines(path):
        if not line.strip():
            continue
        try:
            row = _parse_object(line)
            question = _question_of(row)
            if question.question_id in line_of_id:
                raise _BadRow("duplicate_id", "id", f"{question.question_id!r} again",
                              f"an id once; line {line_of_id[question.question_id]} has it too")
        except _BadRow as bad:
            sample = line[:500].decode("utf-8", "replace")
            bad_lines.append(BadLine(number, bad.reason, bad.place, bad.found, bad.expected, sample))
            continue
        line_of_id[question.question_id] = number
        questions.append(question)
        for key in row:
            if key not in FIELDS:
                unknown[key] = unknown.get(key, 0) + 1
    return questions, bad_lines, unknown


def _lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines as UTF-8, without byte order mark; only line feeds end a line."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"questions file {path}", error.strerror or type(error).__name__,
                        "a readable file", "Check the path and its permissions.") from error
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            content = content.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            raise UserError(f"questions file {path}", f"byte {error.start} is not UTF-16", "UTF-8 text",
                            "Save the file as UTF-8.") from error
    yield from enumerate(content.removeprefix(codecs.BOM_UTF8).split(b"\n"), start=1)


class _BadRow(Exception):
    def __init__(self, reason: Literal["not_utf8", "not_json", "bad_field", "duplicate_id"], place: str,
                 found: str, expected: str) -> None:
        super().__init__(found)
        self.reason, self.place, self.found, self.expected = reason, place, found, expected


def _parse_object(line: bytes) -> dict[str, Any]:
    def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = next(key for key in keys if keys.count(key) > 1)
            raise _BadRow("bad_field", repeated, "the field twice in one object", "each field once")
        return row

    try:
        row = json.loads(line.decode(), object_pairs_hook=without_repeats)
    except UnicodeDecodeError as error:
        raise _BadRow("not_utf8", "", f"byte {error.start} is not UTF-8", "UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise _BadRow("not_json", "", f"not JSON ({error.msg} at column {error.colno})",
                      "a JSON object") from error
    except RecursionError:
        raise _BadRow("not_json", "", "JSON nested too deeply", "a JSON object") from None
    except ValueError as error:  # A number too long to read.
        raise _BadRow("not_json", "", f"not JSON ({error})", "a JSON object") from error
    if not isinstance(row, dict):
        raise _BadRow("not_json", "", f"{_show(row)}", "a JSON object")
    return row


def _question_of(row: dict[str, Any]) -> Question:
    for name in FIELDS[:4]:
        if name not in row:
            raise _BadRow("bad_field", name, "missing", f"the fields {', '.join(FIELDS[:4])}")
    derived = row.get("derived")
    if derived is not None and not isinstance(derived, bool):
        raise _BadRow("bad_field", "derived", _show(derived), "true or false")
    split = row.get("split")
    if split is not None and split not in SPLITS:
        raise _BadRow("bad_field", "split", _show(split), f"one of {', '.join(SPLITS)}")
    kind, generator = row.get("type"), row.get("generator")
    return Question(
        question_id=_text(row["id"], "id"), question=_text(row["question"], "question"),
        answers=_answers(row["answers"], bool(derived)), evidence=_evidence(row["evidence"]),
        type=None if kind is None else _text(kind, "type"), split=split, derived=bool(derived),
        generator=None if generator is None else _text(generator, "generator"))


def _answers(value: Any, derived: bool) -> tuple[tuple[str, ...], ...]:
    """Required answers with their aliases: a list of lists as it is, a list of strings as one answer.

    In a derived row `a; b` is two required answers, and several such strings give each of them aliases.
    """
    entries = _list(value, "answers", "a list: aliases, or lists of aliases; empty when unanswerable")
    if not entries:
        return ()
    if all(isinstance(entry, list) for entry in entries):
        return tuple(_aliases(entry, f"answers[{place}]") for place, entry in enumerate(entries))
    aliases = _aliases(entries, "answers")
    if not derived or not any(REQUIRED_SEPARATOR in alias for alias in aliases):
        return (aliases,)
    parts = [[part.strip() for part in alias.split(REQUIRED_SEPARATOR)] for alias in aliases]
    if len({len(row) for row in parts}) > 1 or not all(all(row) for row in parts):
        raise _BadRow("bad_field", "answers", f"{_show(list(aliases))} in a derived row",
                      "the same number of answers, joined by '; ', in every string")
    return tuple(tuple(dict.fromkeys(column)) for column in zip(*parts, strict=True))


def _aliases(value: Any, place: str) -> tuple[str, ...]:
    entries = _list(value, place, "a list of strings")
    if not entries:
        raise _BadRow("bad_field", place, "an empty list", "at least one alias")
    return tuple(dict.fromkeys(_text(entry, f"{place}[{i}]") for i, entry in enumerate(entries)))


def _evidence(value: Any) -> tuple[GoldEvidence, ...]:
    gold = []
    for i, entry in enumerate(_list(value, "evidence", "a list of {title, section, quote}")):
        place = f"evidence[{i}]"
        if not isinstance(entry, dict):
            raise _BadRow("bad_field", place, _show(entry), "an object {title, section, quote}")
        for name in ("title", "quote"):
            if name not in entry:
                raise _BadRow("bad_field", f"{place}.{name}", "missing", "a string")
        section = _list(entry.get("section", []), f"{place}.section", "a list of headings")
        quote = _text(entry["quote"], f"{place}.quote")
        if not normalise_quote(quote):
            raise _BadRow("bad_field", f"{place}.quote", _show(quote), "a quote with letters or digits")
        gold.append(GoldEvidence(
            _text(entry["title"], f"{place}.title"),
            tuple(_text(heading, f"{place}.section[{j}]") for j, heading in enumerate(section)), quote))
    return tuple(gold)


def _list(value: Any, place: str, expected: str) -> list[Any]:
    if not isinstance(value, list):
        raise _BadRow("bad_field", place, _show(value), expected)
    return value


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise _BadRow("bad_field", place, _show(value), "a string")
    if not value.strip():
        raise _BadRow("bad_field", place, "an empty string", "some text")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise _BadRow("bad_field", place, "half of a surrogate pair", "text that is valid Unicode")
    return value


def _show(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=True)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
