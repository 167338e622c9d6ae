"""Damaged tables: each fault is found and named, what can be made again is, and nothing stale outlives it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from pipelines import files, releases, storage
from pipelines.damage import broken_files, damage_in, find_fault, mend_tables
from pipelines.errors import RunFailure
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder


def write_units(data: DataFolder, texts: list[str]) -> int:
    """One more version of units, with a row a text."""
    storage.create_table(data, "units", 4)
    rows = [{"unit_id": f"w:{n}#passage/{n:016x}/0", "doc_id": f"w:{n}", "bucket": storage.bucket_of(f"w:{n}", 4),
             "source": "wikipedia", "kind": "passage", "node_ids": [1], "first_sentence_id": 0,
             "last_sentence_id": 0, "text": text, "n_tokens": 1, "rendered_sha256": "0" * 64}
            for n, text in enumerate(texts)]
    arrow = pa.Table.from_pylist(rows, TABLES["units"].arrow_schema())
    deltalake.write_deltalake(data.table("units"), arrow, mode="overwrite")
    return int(storage.open_table(data, "units").version())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """Units in two written versions, the first of which a release pins, with watermarks. Copy it."""
    data = DataFolder.at(tmp_path_factory.mktemp("damage") / "data")
    first = write_units(data, ["old"])
    releases.publish(data, releases.candidate(
        data, tables={"units": first}, n_buckets=4, encoder="e", encoder_dim=3, parser_version=1, token_counter="t",
        router={}, settings_sha256="5", counts={"units": 1}))
    second = write_units(data, ["new", "newer"])
    for table, upstream, version in (("units", {"tree_nodes": 1}, second), ("embeddings", {"units": second}, 1)):
        files.write_json(f"{data.stages}/{table}.json", {"upstream": upstream, "version": version, "settings": {}})
    return data


@pytest.fixture
def data(made: DataFolder, tmp_path: Path) -> DataFolder:
    shutil.copytree(made.root, tmp_path / "data")
    return DataFolder.at(tmp_path / "data")


def newest_commit(data: DataFolder, name: str = "units") -> Path:
    return max(Path(data.table(name), "_delta_log").glob("*.json"))


def newest_file(data: DataFolder) -> Path:
    return Path(storage.open_table(data, "units").file_uris()[0])


def remove_commit(data: DataFolder) -> Path:
    commit = newest_commit(data)
    # Spark writes a checksum behind each commit: of a version that is gone it is all that is left.
    commit.with_suffix(".crc").write_text("{}")
    commit.unlink()
    return commit


def cut_commit(data: DataFolder) -> Path:
    commit = newest_commit(data)
    commit.write_bytes(commit.read_bytes()[:-20])
    return commit


def empty_commit(data: DataFolder) -> Path:
    newest_commit(data).write_text("")
    return newest_commit(data)


def remove_file(data: DataFolder) -> Path:
    file = newest_file(data)
    file.unlink()
    return file


def cut_file(data: DataFolder) -> Path:
    file = newest_file(data)
    file.write_bytes(file.read_bytes()[:-9])
    return file


DAMAGES = [remove_commit, cut_commit, empty_commit, remove_file, cut_file]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_derived_table_goes_back_to_the_release_that_is_whole(
        data: DataFolder, damage: Callable[[DataFolder], Path]) -> None:
    file = damage(data)
    assert file.name in str(find_fault(data, "units"))
    [mended] = mend_tables(data)
    assert (mended.table, mended.version) == ("units", releases.current_release(data).tables["units"])
    assert file.name in mended.found
    assert find_fault(data, "units") is None
    assert [row["text"] for row in storage.TableReader(data).rows("units")] == ["old"]
    assert files.list_folder(data.stages) == [], "versions come again with other rows: no watermark may know them"
    served = releases.usable_release(data)
    assert served is not None
    assert served.number == 1
    assert mend_tables(data) == []
    assert write_units(data, ["again"]) == mended.version + 1


def test_a_derived_table_without_a_whole_version_is_removed_and_its_releases_are_no_longer_served(
        data: DataFolder) -> None:
    (Path(data.table("units")) / "_delta_log" / f"{0:020}.json").unlink()
    [mended] = mend_tables(data)
    assert (mended.version, storage.table_exists(data, "units")) == (None, False)
    assert releases.list_releases(data)[0].cleaned
    # The new table has the old one's version numbers: it must not be taken for it.
    while write_units(data, ["other"]) < releases.current_release(data).tables["units"]:
        pass
    assert releases.usable_release(data) is None


@pytest.mark.parametrize("hint", ["garbage", "", '{"version": 77}', "[]"])
def test_a_checkpoint_that_is_broken_or_missing_costs_nothing(data: DataFolder, hint: str) -> None:
    storage.open_table(data, "units").create_checkpoint()
    log = Path(data.table("units"), "_delta_log")
    [checkpoint] = log.glob("*.checkpoint.parquet")
    checkpoint.write_bytes(b"PAR1" + b"\0" * 40)
    (log / "_last_checkpoint").write_text(hint)
    assert mend_tables(data) == []
    assert not checkpoint.exists()
    assert sorted(row["text"] for row in storage.TableReader(data).rows("units")) == ["new", "newer"]


def test_a_flipped_byte_is_found_by_reading_and_the_remedy_works(data: DataFolder) -> None:
    file = newest_file(data)
    content = bytearray(file.read_bytes())
    content[100] ^= 0xFF
    file.write_bytes(content)
    assert find_fault(data, "units") is None, "presence and size say nothing"
    assert list(broken_files(data, "units")) == [str(file)]
    with pytest.raises(RunFailure) as caught:
        storage.TableReader(data).rows("units")
    assert str(file) in caught.value.found
    assert caught.value.next_step == \
        f"Remove that file and run `espalier build --data {data.root}`: it makes the table again."
    told = damage_in(data, f"Py4JJavaError: Encountered error while reading file file://{file}. SQLSTATE: KD001")
    assert told is not None
    assert str(file) in told.found
    file.unlink()
    assert [mended.table for mended in mend_tables(data)] == ["units"]


def test_a_file_that_an_error_only_mentions_is_not_called_damaged(data: DataFolder) -> None:
    assert damage_in(data, f"out of memory while reading {newest_file(data)}") is None
    assert damage_in(data, "somewhere /tables/other/part.parquet") is None


@pytest.mark.parametrize(("table", "remedy"), [
    ("pages", "read the dumps again"), ("dump_files", "read the dumps again"), ("rejects", "away"),
    ("questions", "away")])
def test_what_no_table_can_give_again_stays_and_has_a_remedy(data: DataFolder, table: str, remedy: str) -> None:
    storage.create_table(data, table, 4 if TABLES[table].partition_by == "bucket" else None)
    commit = newest_commit(data, table)
    commit.write_text("{")
    with pytest.raises(RunFailure) as caught:
        mend_tables(data)
    assert (caught.value.subject, remedy in caught.value.next_step) == (f"table {table}", True)
    assert data.table(table) in caught.value.next_step
    assert commit.exists()
    shutil.rmtree(data.table(table))
    assert mend_tables(data) == []


def test_an_engine_s_advice_to_report_its_error_is_not_passed_on(data: DataFolder) -> None:
    remove_commit(data)
    with pytest.raises(RunFailure) as caught:
        storage.open_table(data, "units")
    assert "report" not in str(caught.value)
    assert "espalier build" in caught.value.next_step
