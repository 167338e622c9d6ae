"""Reads and writes of Delta tables through delta-rs: values, versions, buckets, no-op writes, errors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipelines import storage
from pipelines.errors import RunFailure
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    return DataFolder.at(tmp_path / "data")


def question(number: int, **changes: Any) -> dict[str, Any]:
    return {"dataset": "demo", "question_id": str(number), "split": None, "type": "fact",
            "question": f"Who wasn't {number}?", "answers": [["it's", "日本"], []], "derived": False,
            "generator": None,
            "evidence": [{"title": "T", "section": ["A", "B"], "quote": 'a "quote"'}], **changes}


def prediction(number: int, metrics: dict[str, float]) -> dict[str, Any]:
    return {"run_id": "r1", "dataset": "demo", "question_id": str(number), "method": "flat", "release": 1,
            "evidence": "[]", "context": "", "context_tokens": 0, "answer": None, "trace": "[]",
            "metrics": metrics, "llm_calls": 0,
            "tokens_in": 0, "tokens_out": 0, "latency_s": 0.25, "cost_usd": 0.0}


def test_values_come_back_as_plain_python(data: DataFolder) -> None:
    written = storage.append_rows(data, "questions", [question(1), question(2)])
    assert (written.n_inserted, written.n_updated) == (2, 0)
    rows = storage.TableReader(data).rows("questions", order_by=["question_id"])
    assert rows == [question(1), question(2)]
    storage.append_rows(data, "predictions", [prediction(1, {"em": 1.0, "f1": 0.5})])
    (row,) = storage.TableReader(data).rows("predictions")
    assert row == prediction(1, {"em": 1.0, "f1": 0.5})


def test_a_table_is_made_as_its_schema_says(data: DataFolder) -> None:
    storage.append_rows(data, "rejects", [])
    table = storage.open_table(data, "rejects")
    assert table.metadata().description == TABLES["rejects"].meaning
    assert table.metadata().configuration["delta.enableChangeDataFeed"] == "true"
    fields = {field.name: field for field in table.schema().fields}
    assert not fields["reason"].nullable
    assert fields["reason"].metadata["comment"] == "Short, fixed name of the reason"


def test_constraints_are_enforced_and_named(data: DataFolder) -> None:
    storage.append_rows(data, "questions", [question(1)])
    before = storage.open_table(data, "questions").version()
    with pytest.raises(RunFailure, match=r"table questions: a write of 1 rows failed.*validation"):
        storage.append_rows(data, "questions", [question(2, question="")])
    assert storage.open_table(data, "questions").version() == before


def test_a_write_that_changes_nothing_commits_nothing(data: DataFolder) -> None:
    rows = [prediction(n, {"b": float("nan"), "a": 1.0}) for n in range(3)]
    version = storage.merge_rows(data, "predictions", rows).version
    again = [{**row, "metrics": {"a": 1.0, "b": float("nan")}} for row in rows]
    assert storage.merge_rows(data, "predictions", again) == storage.Written(0, 0, version)
    assert storage.merge_rows(data, "predictions", []) == storage.Written(0, 0, version)
    assert storage.append_rows(data, "predictions", again) == storage.Written(0, 0, version)


def test_a_merge_writes_only_what_differs(data: DataFolder) -> None:
    first = storage.merge_rows(data, "questions", [question(n) for n in range(4)])
    merged = storage.merge_rows(data, "questions", [question(0), question(1, type="list"), question(9)])
    assert merged == storage.Written(n_inserted=1, n_updated=1, version=first.version + 1)
    types = {row["question_id"]: row["type"] for row in storage.TableReader(data).rows("questions")}
    assert types == {"0": "fact", "1": "list", "2": "fact", "3": "fact", "9": "fact"}


def test_append_leaves_rows_with_known_keys_as_they_are(data: DataFolder) -> None:
    storage.append_rows(data, "questions", [question(1)])
    assert storage.append_rows(data, "questions", [question(1, type="list"), question(2)]).n_inserted == 1
    assert {row["type"] for row in storage.TableReader(data).rows("questions", ["type"])} == {"fact"}


@pytest.mark.parametrize("rows", [
    [{"dataset": "demo"}], [question(1) | {"extra": 1}], [question(1), question(1)],
    [question(1, question=None)]])
def test_rows_must_fit_the_table(data: DataFolder, rows: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="table questions"):
        storage.append_rows(data, "questions", rows)
    assert not storage.table_exists(data, "questions")


def test_a_reject_is_written_once(data: DataFolder) -> None:
    reject = {"table": "questions", "source_ref": "q.jsonl:3", "reason": "not_json", "sample": "{" * 900}
    begin = datetime.now(UTC)
    assert storage.append_rejects(data, [reject, reject]).n_inserted == 1
    assert storage.append_rejects(data, [reject, {**reject, "reason": "other"}]).n_inserted == 1
    rows = storage.TableReader(data).rows("rejects", order_by=["reason"])
    assert [row["reason"] for row in rows] == ["not_json", "other"]
    assert rows[0]["sample"] == "{" * 500
    assert rows[0]["detail"] is None
    assert begin <= rows[0]["rejected_at"] <= datetime.now(UTC)


def test_old_versions_are_read_when_pinned(data: DataFolder) -> None:
    first = storage.append_rows(data, "questions", [question(1)]).version
    storage.merge_rows(data, "questions", [question(1, type="list"), question(2)])
    pinned = storage.TableReader(data, {"questions": first})
    assert [row["type"] for row in pinned.rows("questions")] == ["fact"]
    assert (pinned.version("questions"), pinned.row_count("questions")) == (first, 1)
    newest = storage.TableReader(data)
    assert newest.row_count("questions") == 2
    assert newest.row_count("questions", "\"type\" = 'list'") == 1
    assert newest.counts("questions", "type") == {"list": 1, "fact": 1}


def test_versions_stay_readable_when_the_clock_stood_at_zero_as_they_were_written(data: DataFolder) -> None:
    """Delta makes a checkpoint every hundred commits, and would then remove a log that is older than ten years."""
    from deltalake import write_deltalake

    first = storage.append_rows(data, "questions", [question(0)]).version
    log = Path(data.table("questions"), "_delta_log")
    row = pa.Table.from_pylist([question(1)], schema=TABLES["questions"].arrow_schema())
    for n in range(101):
        if n == 95:
            for path in log.iterdir():
                os.utime(path, (0, 0))
        write_deltalake(data.table("questions"), row, mode="append")
    assert list(log.glob("*.checkpoint.parquet"))
    assert storage.TableReader(data, {"questions": first}).row_count("questions") == 1


def unit(doc_id: str, number: int) -> dict[str, Any]:
    return {"unit_id": f"{doc_id}#passage/{number:016x}/0", "doc_id": doc_id,
            "bucket": storage.bucket_of(doc_id, 8), "source": "wikipedia", "kind": "passage",
            "node_ids": [1, 2], "first_sentence_id": 0, "last_sentence_id": 1, "text": "t", "n_tokens": 1,
            "rendered_sha256": "0" * 64}


@pytest.fixture
def bucketed(data: DataFolder) -> DataFolder:
    import pyarrow as pa
    from deltalake import write_deltalake

    storage.create_table(data, "units", 8)
    rows = [unit(f"enwiki:{page}", number) for page in range(40) for number in range(3)]
    arrow = pa.Table.from_pylist(rows, TABLES["units"].arrow_schema())
    write_deltalake(data.table("units"), arrow, mode="append")
    return data


def test_a_table_of_an_older_version_is_told_with_its_missing_columns(data: DataFolder) -> None:
    from deltalake import write_deltalake

    old = TABLES["routing_actions"].arrow_schema()
    old = pa.schema([field for field in old if field.name not in ("dataset", "release")])
    write_deltalake(data.table("routing_actions"), pa.Table.from_pylist([], old))
    with pytest.raises(RunFailure, match=r"no column dataset, release; .*move that folder away"):
        storage.create_table(data, "routing_actions")
    storage.create_table(data, "predictions")
    storage.create_table(data, "predictions")


def test_look_ups_read_only_their_buckets(bucketed: DataFolder) -> None:
    reader = storage.TableReader(bucketed)
    assert reader.n_buckets("units") == 8
    found = reader.rows_of_documents("units", ["unit_id"], ["enwiki:7", "enwiki:nope"], ["unit_id"])
    assert [row["unit_id"] for row in found] == [unit("enwiki:7", n)["unit_id"] for n in range(3)]
    wanted = [unit("enwiki:7", 1)["unit_id"], unit("enwiki:31", 2)["unit_id"]]
    found = reader.rows_of_units("units", ["unit_id"], [*wanted, "x"])
    assert {row["unit_id"] for row in found} == set(wanted)
    # With the files of every other bucket gone, what remains must be enough.
    needed = {f"bucket={storage.bucket_of(doc_id, 8)}" for doc_id in ("enwiki:7", "enwiki:31")}
    for path in Path(bucketed.table("units")).glob("bucket=*/*.parquet"):
        if path.parent.name not in needed:
            path.unlink()
    fresh = storage.TableReader(bucketed)
    assert len(fresh.rows_of_documents("units", ["unit_id"], ["enwiki:7"])) == 3
    assert len(fresh.rows_of_units("units", ["unit_id"], wanted)) == 2
    with pytest.raises(RunFailure, match=r"table units.*cannot be read.*Run `espalier build"):
        fresh.rows("units", ["unit_id"])


def test_long_look_ups_give_each_row_once_in_order(bucketed: DataFolder) -> None:
    """40 documents in 8 buckets: by bucket, or by 20 documents, or all in one scan."""
    reader = storage.TableReader(bucketed)
    doc_ids = [f"enwiki:{page}" for page in range(40)]
    rows = reader.rows("units", ["unit_id", "doc_id"], order_by=["doc_id", "unit_id"])
    for wanted, n_scans in ((doc_ids, 8), (doc_ids[:25], 2), (doc_ids + [f"no:{n}" for n in range(150)], 1)):
        sql = reader.lookup_sql("units", ["unit_id"], "doc_id", wanted)
        assert sql.count("SELECT") == n_scans
        found = reader.rows_of_documents("units", ["unit_id", "doc_id"], wanted[::-1], ["doc_id", "unit_id"])
        assert found == [row for row in rows if row["doc_id"] in wanted]
    units = [row["unit_id"] for row in rows]
    found = reader.rows_of_units("units", ["unit_id"], units[3:] + units[5:])
    assert sorted(row["unit_id"] for row in found) == sorted(units[3:])


@pytest.mark.parametrize(("n_documents", "n_rows"), [(1, [50]), (20, [100]), (21, [50, 100]), (60, [100] * 3)])
def test_a_look_up_of_many_reads_the_pages_of_their_rows_alone(data: DataFolder, n_documents: int,
                                                               n_rows: list[int]) -> None:
    from deltalake import WriterProperties, write_deltalake

    storage.create_table(data, "units", 1)
    rows = [unit(f"enwiki:{page:04}", number) | {"bucket": 0} for page in range(400) for number in range(5)]
    arrow = pa.Table.from_pylist(rows, TABLES["units"].arrow_schema())
    pages_of_50 = WriterProperties(data_page_row_count_limit=50, write_batch_size=50)
    write_deltalake(data.table("units"), arrow, mode="append", writer_properties=pages_of_50)
    reader = storage.TableReader(data)
    wanted = [f"enwiki:{page:04}" for page in range(100, 100 + n_documents)]
    sql = reader.lookup_sql("units", ["unit_id"], "doc_id", wanted)
    (plan,) = [text for batch in reader._execute("units", f"EXPLAIN ANALYZE {sql}")
               for text in batch.column("plan").to_pylist()]
    # Of each scan: the rows of the pages, with ten documents each, that statistics left.
    left = re.findall(r"page_index_rows_pruned=2.00 K total → (\d+) matched", plan)
    assert sorted(map(int, left)) == n_rows


def test_no_ids_read_nothing(data: DataFolder) -> None:
    reader = storage.TableReader(data)
    assert reader.rows_of_documents("units", ["unit_id"], []) == []
    assert reader.rows_of_units("units", ["unit_id"], []) == []


def test_buckets_are_crc32() -> None:
    assert storage.bucket_of("ukwiki:5", 1024) == zlib.crc32(b"ukwiki:5") % 1024
    assert storage.doc_id_of("enwiki:12#passage/00ff/1") == "enwiki:12"


def test_missing_and_damaged_tables_name_path_and_remedy(data: DataFolder) -> None:
    with pytest.raises(RunFailure, match=r"no Delta table at .*tables/questions.*espalier build"):
        storage.TableReader(data).rows("questions")
    storage.append_rows(data, "questions", [question(1)])
    with pytest.raises(RunFailure, match=r"at version 99 cannot be opened"):
        storage.TableReader(data, {"questions": 99}).rows("questions")
    log = Path(data.table("questions")) / "_delta_log"
    sorted(log.glob("*.json"))[-1].write_text("{damaged")
    with pytest.raises(RunFailure, match=r"cannot be opened.*Move the folder .*tables/questions away"):
        storage.open_table(data, "questions")


def test_two_writers_of_one_table_both_succeed(data: DataFolder) -> None:
    from concurrent.futures import ThreadPoolExecutor

    storage.append_rows(data, "questions", [question(0)])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: storage.append_rows(data, "questions", [question(n)]), range(1, 9)))
    assert storage.TableReader(data).row_count("questions") == 9


def test_two_writers_of_one_key_leave_one_row(data: DataFolder) -> None:
    from concurrent.futures import ThreadPoolExecutor

    storage.append_rows(data, "questions", [question(0)])
    with ThreadPoolExecutor(4) as pool:
        written = list(pool.map(lambda _: storage.merge_rows(data, "questions", [question(1)]), range(4)))
    assert sum(one.n_inserted for one in written) == 1
    assert storage.TableReader(data).row_count("questions") == 2


READER = """
import sys
from pipelines.settings import DataFolder
from pipelines.storage import TableReader
rows = TableReader(DataFolder.at(sys.argv[1])).rows("questions")
loaded = [name for name in ("pyarrow.dataset", "pandas", "pyarrow") if name in sys.modules]
print(len(rows), loaded)
"""


def test_a_reading_process_loads_no_arrow_dataset_and_ends_with_zero(data: DataFolder) -> None:
    storage.append_rows(data, "questions", [question(n) for n in range(5)])
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", READER, data.root], capture_output=True, text=True,
                              check=False)
        assert (done.stdout, done.returncode) == ("5 []\n", 0), done.stderr


def test_tables_behind_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPALIER_STATE", str(tmp_path / "state"))
    (tmp_path / "store").mkdir()
    data = DataFolder.at(f"file://{tmp_path}/store")
    storage.append_rows(data, "questions", [question(1)])
    assert storage.TableReader(data).rows("questions") == [question(1)]
