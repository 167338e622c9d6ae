"""The state of a data folder, told from its files alone."""

import json
from pathlib import Path

from pipelines.build_options import BuildOptions, save_build_options
from pipelines.dump_files import refusals, register_dump_files
from pipelines.errors import UserError
from pipelines.locking import build_lock
from pipelines.release_settings import router_thresholds, settings_sha256
from pipelines.releases import Release, candidate, publish
from pipelines.settings import DataFolder, Profile
from pipelines.stage_settings import stage_settings
from pipelines.status import read_status, waiting_files
from pipelines.storage import append_rejects, create_table, table_exists


def watermark(data: DataFolder, table: str, **fields: object) -> None:
    path = Path(data.stages) / f"{table}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(fields))


def test_an_empty_folder_has_nothing_and_says_so(data: DataFolder) -> None:
    status = read_status(data)
    assert (status.release, status.tables, status.pending_files, status.lock) == (None, [], [], None)
    assert status.free_bytes > 0


def test_a_table_is_stale_when_its_upstream_went_on_or_its_refresh_did_not_end(
        data: DataFolder, profile: Profile) -> None:
    for name in ("pages", "documents", "units", "sentences"):
        create_table(data, name, 4)
    newest = {table.name: table.version for table in read_status(data).tables}
    settings = {name: stage_settings(name, profile) for name in ("documents", "units")}
    watermark(data, "documents", upstream={"pages": newest["pages"]}, version=newest["documents"],
              settings=settings["documents"])
    watermark(data, "units", upstream={"documents": newest["documents"] - 1}, version=newest["units"],
              settings=settings["units"])
    stale = {table.name: table.stale for table in read_status(data).tables}
    assert stale["pages"] is None
    assert stale["documents"] is None
    assert stale["units"] == (f"documents is at version {newest['documents']}, "
                              f"it was derived from {newest['documents'] - 1}")
    assert stale["sentences"] == "its last refresh did not end"
    watermark(data, "documents", upstream={"pages": newest["pages"]}, version=newest["documents"] - 1,
              settings=settings["documents"])
    assert {t.name: t.stale for t in read_status(data).tables}["documents"] == \
        "it was written to after its last refresh"


def test_a_table_is_stale_when_a_newer_parser_or_other_settings_would_make_it(
        data: DataFolder, profile: Profile) -> None:
    create_table(data, "documents", 4)
    [table] = read_status(data).tables
    now = stage_settings("documents", profile)
    for stored, told in (({**now, "parser_version": now["parser_version"] - 1},
                          f"parser_version is {now['parser_version']}, it was made with "
                          f"{now['parser_version'] - 1}"),
                         ({**now, "namespaces": [0, 14]}, "namespaces is [0], it was made with [0, 14]"),
                         (None, "it is not known")):
        watermark(data, "documents", upstream={}, version=table.version,
                  **({} if stored is None else {"settings": stored}))
        [found] = read_status(data).tables
        assert (found.stale or "").startswith(told)
    watermark(data, "documents", upstream={}, version=table.version, settings={**now, "namespaces": [0, 14]})
    save_build_options(data, BuildOptions(namespaces=(0, 14)))
    assert [found.stale for found in read_status(data).tables] == [None]


def test_rows_and_bytes_come_from_the_log(data: DataFolder) -> None:
    append_rejects(data, [{"table": "pages", "source_ref": f"a:{n}", "reason": "r"} for n in range(3)])
    [table] = read_status(data).tables
    assert (table.name, table.rows, table.stale, table.released) == ("rejects", 3, None, None)
    assert table.size_bytes > 0


def test_files_that_were_handed_in_and_not_read_are_pending_or_refused(data: DataFolder, tmp_path: Path) -> None:
    waits, odd = tmp_path / "wiki.xml", tmp_path / "odd.xml"
    waits.write_bytes(b"<mediawiki/>")
    odd.write_bytes(b"<html/>")
    keys = {file.path: file.key for file in register_dump_files(data, [waits, odd])}
    assert not table_exists(data, "dump_files")
    assert waiting_files(data) == ([str(odd), str(waits)], {})
    create_table(data, "dump_files")
    append_rejects(data, refusals({keys[str(odd)]: UserError("dump", "the first element is <html>", "a dump", "")}))
    assert waiting_files(data) == ([str(waits)], {str(odd): "the first element is <html>; expected a dump"})
    assert read_status(data).to_json()["refused_files"].keys() == {str(odd)}


def test_a_running_build_is_named(data: DataFolder) -> None:
    with build_lock(data) as holder:
        assert read_status(data).to_json()["lock"] == {
            "pid": holder.pid, "started_at": holder.started_at, "command": holder.command}
    assert read_status(data).to_json()["lock"] is None


def test_a_damaged_release_is_a_finding_and_no_crash(data: DataFolder) -> None:
    folder = Path(data.releases)
    folder.mkdir(parents=True)
    (folder / "current").write_text("3\n")
    status = read_status(data)
    assert status.release is None
    assert "release 3" in (status.release_fault or "")


def test_a_release_of_other_settings_is_stale(data: DataFolder, profile: Profile) -> None:
    def made_with(settings: Profile) -> Release:
        return candidate(data, tables={}, n_buckets=1, encoder=settings.encoder, encoder_dim=3, parser_version=1,
                         token_counter=settings.token_counter, router=router_thresholds(settings),
                         settings_sha256=settings_sha256(settings), counts={})

    publish(data, made_with(profile))
    assert read_status(data).release_stale is None
    publish(data, made_with(profile.model_copy(update={"router_answer_threshold": 0.9})))
    assert read_status(data).release_stale == (
        f"router_answer_threshold is {profile.router_answer_threshold}, it was made with 0.9")
    publish(data, made_with(profile.model_copy(update={"dense_flat_below": 1})))
    assert "dense_flat_below" in str(read_status(data).to_json()["release_stale"])
