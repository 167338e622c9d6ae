"""Files of passages as others write them: headers, quotes, gzip, and lines that hold none."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest

from pipelines.errors import UserError
from pipelines.evaluation.datasets import GoldEvidence, Question
from pipelines.retrieval import foreign_passages
from pipelines.retrieval.foreign_passages import BadLine, ForeignPassage, passages_of, read_passages


def read(tmp_path: Path, content: bytes) -> list[ForeignPassage | BadLine]:
    path = tmp_path / "passages.tsv"
    path.write_bytes(content)
    return list(read_passages(path))


def test_it_reads_what_a_csv_writer_has_written(tmp_path: Path) -> None:
    rows = [("1", 'Aaron Aaron ( or ; "Ahärôn") is', "Aaron"), ("2", "plain", '"Heroes" (album)'),
            ("3", "a tab\tinside", "T"), ("4", '"', "Quote")]
    stream = io.StringIO()
    csv.writer(stream, delimiter="\t").writerows([("id", "text", "title"), *rows])
    content = stream.getvalue().encode()
    expected = [ForeignPassage(number, title, text) for number, text, title in rows]
    assert read(tmp_path, content) == expected
    assert read(tmp_path, gzip.compress(content)) == expected


def test_unquoted_files_keep_their_quotation_marks(tmp_path: Path) -> None:
    content = b'7\t"Heroes" is a song. He said "no"\tHeroes\r\n\r\n8\t"So" he said "no"\tSo\n'
    assert read(tmp_path, content) == [ForeignPassage("7", "Heroes", '"Heroes" is a song. He said "no"'),
                                       ForeignPassage("8", "So", '"So" he said "no"')]


def test_a_header_may_order_the_columns_and_may_have_a_byte_order_mark(tmp_path: Path) -> None:
    content = "\ufefftitle\tid\ttext\nOwl\t5\tOwls hunt.".encode()
    assert read(tmp_path, content) == [ForeignPassage("5", "Owl", "Owls hunt.")]


def test_bad_lines_are_named_and_spoil_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_passages, "MOST_LINE_BYTES", 64)
    content = b"\n".join([
        b"id\ttext\ttitle", b"1\tgood\tOwl", b'2\t"never closed\tOwl\textra', b"3\ttwo", b"\xff\xfe\tx\ty",
        b"", b" \tx\tOwl", b"4\tx\t ", b"5\t" + b"y" * 200 + b"\tOwl", b"6\t\tOwl", b"1\t2\t3\t4"])
    assert read(tmp_path, content) == [
        ForeignPassage("1", "Owl", "good"),
        BadLine(3, "not_three_fields", '2\t"never closed\tOwl\textra'),
        BadLine(4, "not_three_fields", "3\ttwo"),
        BadLine(5, "not_utf8", "\ufffd\ufffd\tx\ty"),
        BadLine(7, "no_id", " \tx\tOwl"),
        BadLine(8, "no_title", "4\tx\t "),
        BadLine(9, "too_long", ""),
        ForeignPassage("6", "Owl", ""),
        BadLine(11, "not_three_fields", "1\t2\t3\t4"),
    ]


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_archive_is_refused_after_what_could_be_read(tmp_path: Path, damage: str) -> None:
    lines = b"".join(b"%d\tsome words %d\tOwl\n" % (n, n * n) for n in range(20_000))
    packed = bytearray(gzip.compress(lines))
    if damage == "cut":
        del packed[len(packed) // 2:]
    else:
        packed[len(packed) // 2: len(packed) // 2 + 20] = b"\x00" * 20
    path = tmp_path / "passages.tsv.gz"
    path.write_bytes(packed)
    rows = []
    with pytest.raises(UserError, match="unreadable after line") as caught:
        rows.extend(read_passages(path))
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("content", [b"", b"\n\n", b"id\ttext\ttitle\n", b"not a table\n" * 3])
def test_a_file_without_passages_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UserError, match="no passage in its"):
        read(tmp_path, content)


def test_gold_quotes_are_passages() -> None:
    gold = (GoldEvidence("Owl", ("Diet",), "mice"), GoldEvidence("Heron", (), "fish"))
    question = Question("q7", "What do birds eat?", (("mice",),), gold)
    assert list(passages_of([question, Question("q8", "?", (), ())])) == [
        ForeignPassage("q7/0", "Owl", "mice"), ForeignPassage("q7/1", "Heron", "fish")]
