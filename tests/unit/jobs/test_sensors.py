"""The drop folder: what waits, what is asked for, what is left alone."""

import os
from pathlib import Path

import dagster as dg
import pytest

from assets.partitions import DUMP_FILES
from jobs.drop_folder import drop_folder, register_dump
from jobs.schedules import monthly_refresh
from pipelines import dump_files
from pipelines.drop_files import look
from pipelines.dump_files import registered_dump_files
from pipelines.locking import build_lock
from pipelines.settings import DataFolder
from pipelines.storage import create_table


def drop(data: DataFolder, name: str, content: bytes) -> Path:
    folder = Path(data.root) / "drop"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    return path


class Looks:
    """The sensor's looks one after the other: each knows what the one before it saw."""

    def __init__(self, instance: dg.DagsterInstance, data: DataFolder) -> None:
        self.instance, self.data, self.cursor = instance, data, None

    def look(self) -> list[tuple[str | None, str | None]]:
        """Job and partition of each run that a look asks for; runs that hash are run at once."""
        with dg.build_sensor_context(instance=self.instance, resources={"data": self.data},
                                     cursor=self.cursor) as context:
            result = drop_folder(context)
        self.cursor = result.cursor
        for request in result.dynamic_partitions_requests or []:
            self.instance.add_dynamic_partitions(DUMP_FILES.name, list(request.partition_keys))
        for request in result.run_requests or []:
            if request.job_name == register_dump.name:
                register_dump.execute_in_process(run_config=request.run_config, resources={"data": self.data})
        return [(request.job_name, request.partition_key) for request in result.run_requests or []]


@pytest.fixture
def looks(data: DataFolder):
    with dg.DagsterInstance.ephemeral() as instance:
        yield Looks(instance, data)


def test_only_dump_files_are_looked_at(data: DataFolder) -> None:
    folder = Path(data.root) / "drop"
    assert look(folder) == ({}, {})
    drop(data, "b.xml.bz2", b"xy")
    drop(data, "notes.txt", b"x")
    drop(data, "xxwiki-pages-articles-multistream-index1.txt-p1p9.bz2", b"its dump has not come yet")
    (folder / "folder.xml").mkdir()
    os.mkfifo(folder / "pipe.xml")
    (folder / "link.xml").symlink_to(folder / "nothing")
    (folder / os.fsdecode(b"caf\xe9.xml")).write_bytes(b"x")
    (folder / ".hidden.xml").write_bytes(b"x")
    states, refused = look(folder)
    assert {name: state[0] for name, state in states.items()} == {"b.xml.bz2": 2}
    assert {name: why.split(" (")[0].split(":")[0] for name, why in refused.items()} == {
        "notes.txt": "its name ends with none of .xml, .bz2, .gz, .xz", "folder.xml": "a folder",
        "pipe.xml": "a pipe or device", "link.xml": "a link to nothing",
        os.fsdecode(b"caf\xe9.xml"): "its name is not UTF-8"}


def test_no_run_is_asked_for_that_would_meet_another_build(data: DataFolder, looks: Looks) -> None:
    drop(data, "wiki.xml", b"<mediawiki/>")
    looks.look()
    looks.look()
    with build_lock(data):
        assert looks.look() == []
    [key] = registered_dump_files(data)
    assert looks.look() == [("ingest_dumps", key)]


def test_a_file_is_hashed_by_a_run_then_read_by_another_each_once(data: DataFolder, looks: Looks) -> None:
    assert looks.look() == []
    drop(data, "wiki.xml", b"<mediawiki/>")
    assert looks.look() == [], "it may still be copied"
    assert looks.look() == [("register_dump", None)]
    [key] = registered_dump_files(data)
    assert looks.look() == [("ingest_dumps", key)]
    assert looks.look() == []


def test_a_look_reads_no_byte_of_a_dump(data: DataFolder, looks: Looks, monkeypatch: pytest.MonkeyPatch) -> None:
    drop(data, "wiki.xml", b"<mediawiki/>")
    looks.look()
    hashed: list[object] = []
    monkeypatch.setattr(dump_files.hashlib, "file_digest", lambda *_: hashed.append(1) or pytest.fail("hashed"))
    with dg.build_sensor_context(instance=looks.instance, resources={"data": data},
                                 cursor=looks.cursor) as context:
        assert [request.job_name for request in drop_folder(context).run_requests] == ["register_dump"]
    assert hashed == []


@pytest.mark.parametrize("jump_s", [-40_000_000, 40_000_000])
def test_a_clock_that_jumped_neither_hides_a_file_nor_takes_it_too_early(
        data: DataFolder, looks: Looks, jump_s: int) -> None:
    path = drop(data, "wiki.xml", b"<mediawiki>")
    changed = path.stat().st_mtime + jump_s
    os.utime(path, (changed, changed))
    assert looks.look() == []
    path.write_bytes(b"<mediawiki/>")
    os.utime(path, (changed, changed))
    assert looks.look() == [], "it grew since the last look"
    assert looks.look() == [("register_dump", None)]


def test_the_clock_asks_for_no_refresh_of_a_folder_without_pages(data: DataFolder) -> None:
    with dg.build_schedule_context(resources={"data": data}) as context:
        skipped = monthly_refresh(context)
        assert isinstance(skipped, dg.SkipReason)
        assert "No dump file was read" in str(skipped.skip_message)
        create_table(data, "pages", 4)
        assert isinstance(monthly_refresh(context), dg.RunRequest)
