"""Releases: publishing, serving, kills in between, damage, and what clean-up keeps."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipelines import files, releases, storage
from pipelines.cleanup import clean_up, kept_releases, kept_versions
from pipelines.errors import RunFailure, UserError
from pipelines.releases import (
    Release,
    candidate,
    current_release,
    damaged_releases,
    list_releases,
    next_number,
    publish,
    read_release,
    served_number,
    usable_release,
    use_release,
)
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder, Profile, profile_by_name


def write_units(data: DataFolder, texts: list[str]) -> int:
    """Replace the table units by one row a text; returns its version."""
    import pyarrow as pa
    from deltalake import write_deltalake

    storage.create_table(data, "units", 4)
    rows = [{"unit_id": f"enwiki:{n}#passage/{n:016x}/0", "doc_id": f"enwiki:{n}",
             "bucket": storage.bucket_of(f"enwiki:{n}", 4), "source": "wikipedia", "kind": "passage",
             "node_ids": [1], "first_sentence_id": 0, "last_sentence_id": 0, "text": text, "n_tokens": 1,
             "rendered_sha256": "0" * 64} for n, text in enumerate(texts)]
    arrow = pa.Table.from_pylist(rows, TABLES["units"].arrow_schema())
    write_deltalake(data.table("units"), arrow, mode="overwrite")
    return storage.open_table(data, "units").version()


def new_release(data: DataFolder, version: int, **changes: Any) -> Release:
    release = candidate(data, tables={"units": version}, n_buckets=4, encoder="e", encoder_dim=3,
                        parser_version=1, token_counter="t", router={"answer": 0.1, "expand": 0.2},
                        settings_sha256="5", counts={"units": 2})
    folder = f"indexes/{release.number}/dense"
    files.write_json(f"{data.root}/{folder}/manifest.json", {"files": {}})
    return release.model_copy(update={"indexes": {"dense": folder}, **changes})


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    return DataFolder.at(tmp_path / "data")


@pytest.fixture
def three(data: DataFolder) -> DataFolder:
    """Three releases, each over another version of the table."""
    for texts in (["a"], ["a", "b"], ["c"]):
        publish(data, new_release(data, write_units(data, texts)))
    return data


def texts_of(data: DataFolder, release: Release) -> list[str]:
    rows = storage.TableReader(data, release.tables).rows("units", ["text"])
    return sorted(row["text"] for row in rows)


def test_a_published_release_is_served_and_read_back(data: DataFolder) -> None:
    release = publish(data, new_release(data, write_units(data, ["a"])))
    assert release.number == 1
    assert current_release(data) == read_release(data, 1) == release
    assert Path(data.releases, "current").read_text() == "1\n"
    assert sorted(os.listdir(data.releases)) == ["1.json", "current", "newest"]


def test_nothing_published_yet(data: DataFolder) -> None:
    assert served_number(data) is None
    assert list_releases(data) == []
    with pytest.raises(UserError, match=r"no published release.*espalier build"):
        current_release(data)


def test_use_serves_an_older_release(three: DataFolder) -> None:
    assert [release.number for release in list_releases(three)] == [1, 2, 3]
    use_release(three, 1)
    assert texts_of(three, current_release(three)) == ["a"]
    assert next_number(three) == 4
    publish(three, new_release(three, write_units(three, ["d"])))
    assert current_release(three).number == 4
    with pytest.raises(UserError, match=r"release 9.*one of the releases: 1, 2, 3, 4"):
        use_release(three, 9)


def test_a_number_is_never_used_again(three: DataFolder) -> None:
    Path(three.releases, "3.json").unlink()
    assert next_number(three) == 4
    with pytest.raises(RunFailure, match="was never used"):
        publish(three, new_release(three, 0, number=3))
    assert served_number(three) == 3


def test_of_two_publishers_one_wins(three: DataFolder) -> None:
    release = new_release(three, storage.open_table(three, "units").version())

    def attempt(router: float) -> bool:
        try:
            publish(three, release.model_copy(update={"router": {"answer": router}}))
        except RunFailure:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(attempt, range(8)))
    assert won.count(True) == 1
    assert current_release(three).router == {"answer": float(won.index(True))}


def test_a_publish_without_its_index_or_table_changes_nothing(three: DataFolder) -> None:
    version = storage.open_table(three, "units").version()
    for changes in ({"indexes": {"dense": "indexes/77/dense"}}, {"tables": {"units": 999}},
                    {"tables": {"pages": 0}}):
        with pytest.raises(RunFailure):
            publish(three, new_release(three, version, **changes))
    assert (served_number(three), len(list_releases(three))) == (3, 3)


KILLED = """
import os, sys
from pipelines import files, releases
from pipelines.settings import DataFolder
data = DataFolder.at(sys.argv[1])
step = int(sys.argv[2])
release = releases.read_release(data, 3).model_copy(update={"number": 4, "router": {"answer": 0.9}})
writes = 0
def killed(real):
    def write(*arguments):
        global writes
        if writes == step:
            os._exit(9)
        writes += 1
        real(*arguments)
    return write
files.create_bytes = killed(files.create_bytes)
files.write_text = killed(files.write_text)
releases.publish(data, release)
"""


@pytest.mark.parametrize(("step", "served"), [(0, 3), (1, 3), (2, 4)])
def test_a_kill_while_publishing_leaves_a_served_release_and_is_completed(
        three: DataFolder, step: int, served: int) -> None:
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", KILLED, three.root, str(step)], check=False)
    assert done.returncode == 9
    assert current_release(three).number == served
    after = new_release(three, 0)
    # A release file that was written before the kill is complete: the next run serves it.
    assert current_release(three).number == (3 if step == 0 else 4)
    assert after.number == (4 if step == 0 else 5)


def test_a_deliberate_choice_is_not_taken_for_a_kill(three: DataFolder) -> None:
    use_release(three, 2)
    new_release(three, 0)
    assert served_number(three) == 2


@pytest.mark.parametrize("content", ["", "{", "[]", '{"number": 3}', "\x00\xff"])
def test_a_damaged_release_names_its_file_and_a_kept_one(three: DataFolder, content: str) -> None:
    Path(three.releases, "3.json").write_text(content)
    with pytest.raises(RunFailure, match=r"releases/3\.json is damaged.*espalier release use 2 "):
        current_release(three)
    assert [release.number for release in list_releases(three)] == [1, 2]
    assert list(damaged_releases(three)) == [3]
    use_release(three, 2)
    assert texts_of(three, current_release(three)) == ["a", "b"]
    assert publish(three, new_release(three, write_units(three, ["d"]))).number == 4


def test_a_deleted_release_file_names_it_and_a_kept_one(three: DataFolder) -> None:
    Path(three.releases, "3.json").unlink()
    with pytest.raises(RunFailure, match=r"releases/3\.json is missing.*espalier release use 2 "):
        current_release(three)


def test_a_renamed_release_file_is_not_believed(three: DataFolder) -> None:
    Path(three.releases, "2.json").replace(Path(three.releases, "3.json"))
    with pytest.raises(RunFailure, match="it is the file of release 2"):
        current_release(three)


def test_a_pointer_that_is_gone_is_set_again_by_use(three: DataFolder) -> None:
    Path(three.releases, "current").unlink()
    with pytest.raises(UserError, match="release use 3"):
        current_release(three)
    use_release(three, 3)
    assert current_release(three).number == 3


def test_a_damaged_pointer_names_its_file_and_remedy(three: DataFolder) -> None:
    Path(three.releases, "current").write_text("three")
    with pytest.raises(RunFailure, match=r"releases/current: 'three'.*espalier release use 3 "):
        current_release(three)
    use_release(three, 3)
    assert current_release(three).number == 3


def test_use_mends_a_damaged_record_of_the_newest(three: DataFolder) -> None:
    Path(three.releases, "newest").write_text("four")
    with pytest.raises(RunFailure, match=r"releases/newest: 'four'.*espalier release use 3 "):
        next_number(three)
    use_release(three, 2)
    assert (served_number(three), next_number(three)) == (2, 4)
    new_release(three, 0)
    assert served_number(three) == 2


def test_use_checks_tables_and_indexes(three: DataFolder) -> None:
    lost = storage.open_table(three, "units", list_releases(three)[1].tables["units"]).file_uris()[0]
    Path(lost).unlink()
    with pytest.raises(RunFailure, match=r"1 data files of table units at version \d+ are missing"):
        use_release(three, 2)
    files.remove_folder(f"{three.root}/indexes/1")
    with pytest.raises(RunFailure, match=r"dense cannot be used .*indexes/1/dense: no readable.*use 3 "):
        use_release(three, 1)
    assert served_number(three) == 3


def test_a_release_that_is_not_whole_is_not_usable(three: DataFolder) -> None:
    assert usable_release(three) == current_release(three)
    (Path(three.root) / "indexes/3/dense/manifest.json").unlink()
    assert usable_release(three) is None
    use_release(three, 2)
    assert usable_release(three) == read_release(three, 2)
    Path(three.releases, "2.json").write_text("{")
    assert usable_release(three) is None


def test_same_corpus_ignores_number_and_time(three: DataFolder) -> None:
    served = current_release(three)
    again = new_release(three, served.tables["units"])
    assert again.number == 4
    assert again.is_same_corpus(served)
    assert not again.model_copy(update={"tables": {"units": 99}}).is_same_corpus(served)
    assert not again.model_copy(update={"router": {"answer": 0.5}}).is_same_corpus(served)


@pytest.fixture
def fast() -> Profile:
    return profile_by_name("fast")


def test_kept_are_the_newest_two_and_the_served_one(three: DataFolder) -> None:
    assert [release.number for release in kept_releases(three, 2)] == [2, 3]
    use_release(three, 1)
    assert [release.number for release in kept_releases(three, 2)] == [1, 2, 3]
    versions = [release.tables["units"] for release in list_releases(three)]
    assert kept_versions(three, 1) == {"units": [versions[0], versions[2]]}


def test_clean_up_removes_what_no_kept_release_needs(three: DataFolder, fast: Profile) -> None:
    newest = storage.open_table(three, "units").version()
    planned = clean_up(three, fast, dry_run=True)
    assert (planned.releases, planned.indexes, planned.n_files) == ([1], ["indexes/1"], 1)
    assert texts_of(three, read_release(three, 1)) == ["a"]
    done = clean_up(three, fast)
    assert (done.files, done.indexes, done.releases) == (planned.files, planned.indexes, planned.releases)
    assert [release.cleaned for release in list_releases(three)] == [True, False, False]
    assert texts_of(three, read_release(three, 2)) == ["a", "b"]
    assert texts_of(three, read_release(three, 3)) == ["c"]
    with pytest.raises(UserError, match=r"clean-up has removed its files.*2, 3"):
        use_release(three, 1)
    # No version was added, so that no later build thinks that the table has changed.
    assert storage.open_table(three, "units").version() == newest
    again = clean_up(three, fast)
    assert (again.n_files, again.indexes, again.releases) == (0, [], [])


def test_clean_up_keeps_the_served_release(three: DataFolder, fast: Profile) -> None:
    use_release(three, 1)
    assert clean_up(three, fast).releases == []
    assert texts_of(three, current_release(three)) == ["a"]


def test_clean_up_keeps_what_a_due_stage_will_read(three: DataFolder, fast: Profile) -> None:
    first = list_releases(three)[0].tables["units"]
    files.write_json(f"{three.stages}/embeddings.json", {"upstream": {"units": first}})
    assert clean_up(three, fast).n_files == 0
    assert texts_of(three, read_release(three, 1)) == ["a"]


def test_clean_up_removes_files_of_killed_writes(three: DataFolder, fast: Profile) -> None:
    table = Path(three.table("units"))
    orphans = [table / "bucket=0/orphan.parquet", table / "_change_data/bucket=0/c.parquet"]
    for path in orphans:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    clean_up(three, fast)
    assert not any(path.exists() for path in orphans)


def test_clean_up_keeps_the_change_data_that_a_stage_has_still_to_read(data: DataFolder, fast: Profile) -> None:
    write_units(data, ["a", "b"])
    feeds: dict[int, set[str]] = {}
    for n in range(3):
        before = _change_files(data)
        storage.open_table(data, "units").update({"n_tokens": str(n + 2)})
        feeds[storage.open_table(data, "units").version()] = _change_files(data) - before
    versions = sorted(feeds)
    assert all(feeds.values()), "every update writes a feed"
    publish(data, new_release(data, versions[-1]))
    files.write_json(f"{data.stages}/embeddings.json", {"upstream": {"units": versions[1]}})
    clean_up(data, fast)
    assert _change_files(data) == feeds[versions[2]], "what was read goes, what comes stays"
    files.write_json(f"{data.stages}/embeddings.json", {"upstream": {"units": versions[2]}})
    clean_up(data, fast)
    assert _change_files(data) == set()
    assert storage.TableReader(data).row_count("units") == 2


def _change_files(data: DataFolder) -> set[str]:
    return {str(path) for path in Path(data.table("units"), "_change_data").rglob("*.parquet")}


def test_a_release_that_is_chosen_while_clean_up_runs_is_kept_or_refused(
        three: DataFolder, fast: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clean-up has decided that release 1 goes, but has removed nothing yet, when somebody chooses it."""
    chosen: list[Future[Release]] = []
    with ThreadPoolExecutor(1) as pool:
        def mark(data: DataFolder, release: Release) -> None:
            chosen.append(pool.submit(use_release, data, release.number))
            with pytest.raises(TimeoutError):
                chosen[0].result(timeout=0.3)
            releases.mark_cleaned(data, release)

        monkeypatch.setattr("pipelines.cleanup.mark_cleaned", mark)
        assert clean_up(three, fast).releases == [1]
        with pytest.raises(UserError, match="clean-up has removed its files"):
            chosen[0].result(timeout=10)
    assert served_number(three) == 3
    assert texts_of(three, current_release(three)) == ["c"]


def test_indexes_of_an_unpublished_candidate_are_kept(three: DataFolder, fast: Profile) -> None:
    files.write_json(f"{three.root}/indexes/4/dense/manifest.json", {"files": {}})
    clean_up(three, fast)
    assert files.list_folder(f"{three.root}/indexes") == ["2", "3", "4"]


