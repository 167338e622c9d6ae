"""The drop folder: what waits, what is asked for, what is left alone."""

import os
from pathlib import Path

import dagster as dg

from assets.partitions import DUMP_FILES
from jobs.sensors import QUIET_S, drop_folder, waiting_files
from pipelines.dump_files import registered_dump_files
from pipelines.settings import DataFolder


def drop(folder: Path, name: str, content: bytes, age_s: float) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    changed = path.stat().st_mtime - age_s
    os.utime(path, (changed, changed))
    return path


def test_files_that_are_still_written_to_and_other_files_wait(tmp_path: Path) -> None:
    old = drop(tmp_path, "b.xml.bz2", b"x", QUIET_S + 1)
    drop(tmp_path, "a.xml", b"x", 0)
    drop(tmp_path, "notes.txt", b"x", QUIET_S + 1)
    (tmp_path / "folder.xml").mkdir()
    assert waiting_files(tmp_path, old.stat().st_mtime + QUIET_S + 1) == [old]
    assert waiting_files(tmp_path / "missing", 0) == []


def test_each_new_file_is_asked_for_once(data: DataFolder) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        def look() -> dg.SensorResult | dg.SkipReason:
            with dg.build_sensor_context(instance=instance, resources={"data": data}) as context:
                result = drop_folder(context)
            for request in getattr(result, "dynamic_partitions_requests", None) or []:
                instance.add_dynamic_partitions(DUMP_FILES.name, list(request.partition_keys))
            return result

        assert isinstance(look(), dg.SkipReason)
        drop(Path(data.root) / "drop", "wiki.xml", b"<mediawiki/>", QUIET_S + 5)
        [request] = look().run_requests
        assert registered_dump_files(data)[request.partition_key].path.endswith("wiki.xml")
        assert isinstance(look(), dg.SkipReason)
