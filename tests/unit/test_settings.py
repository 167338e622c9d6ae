"""Profiles and the data folder's layout."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from pipelines.errors import UserError
from pipelines.settings import PROFILES, STATE_VARIABLE, DataFolder, Profile, cache_folder, profile_by_name


def test_bucket_counts_are_powers_of_two() -> None:
    for profile in PROFILES.values():
        assert profile.n_buckets & (profile.n_buckets - 1) == 0


def test_every_setting_says_what_it_is() -> None:
    for name, info in Profile.model_fields.items():
        assert name == "name" or info.description, name


def test_profile_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPALIER_PROFILE", "full")
    assert profile_by_name().name == "full"
    assert profile_by_name("fast").name == "fast"


def test_the_encoders_precision_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert profile_by_name("fast").encoder_precision == "auto"
    monkeypatch.setenv("ESPALIER_ENCODER_PRECISION", "fp32")
    assert profile_by_name("fast") == PROFILES["fast"].model_copy(update={"encoder_precision": "fp32"})
    monkeypatch.setenv("ESPALIER_ENCODER_PRECISION", "int8")
    with pytest.raises(UserError, match=r"ESPALIER_ENCODER_PRECISION: 'int8'; expected one of auto, fp32, bf16"):
        profile_by_name("fast")


def test_an_unknown_profile_lists_those_that_exist() -> None:
    with pytest.raises(UserError, match="fast, full"):
        profile_by_name("fastt")


def test_a_profile_refuses_settings_that_it_does_not_have() -> None:
    with pytest.raises(ValidationError):
        Profile(name="fast", n_buckets=4, passage_word=90)  # type: ignore[call-arg]


def test_data_folder_from_argument_or_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ESPALIER_STATE", raising=False)
    monkeypatch.setenv("ESPALIER_DATA", str(tmp_path / "a"))
    assert DataFolder.at().root == str(tmp_path / "a")
    assert DataFolder.at(tmp_path / "b").root == str(tmp_path / "b")
    assert DataFolder.at(tmp_path / "b").state == tmp_path / "b" / ".state"


def test_no_data_folder_names_the_option_and_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ESPALIER_DATA", raising=False)
    with pytest.raises(UserError, match=r"Pass data= or set ESPALIER_DATA"):
        DataFolder.at()


def test_a_remote_data_folder_needs_local_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ESPALIER_STATE", raising=False)
    with pytest.raises(UserError, match="ESPALIER_STATE"):
        DataFolder.at("s3://corpora/wiki")
    monkeypatch.setenv("ESPALIER_STATE", str(tmp_path))
    folder = DataFolder.at("s3://corpora/wiki/")
    assert folder.table("pages") == "s3://corpora/wiki/tables/pages"
    assert folder.lock_file == tmp_path / "build.lock"


def test_cache_folder_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


@pytest.mark.parametrize("name", ["q?m", "a\\b", "a\0b"])
def test_a_character_that_a_store_reads_otherwise_is_refused(tmp_path: Path, name: str,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="Rename the folder"):
        DataFolder.at(tmp_path / name)
    if "\0" not in name:
        monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / name))
        with pytest.raises(UserError, match=STATE_VARIABLE):
            DataFolder.at(tmp_path)


def test_a_percent_escape_in_the_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="%20"):
        DataFolder.at(tmp_path / "p%20q")


def test_a_state_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="Correct data=") as caught:
        DataFolder.at(tmp_path / "file" / "data").prepare_state()
    assert str(tmp_path / "file") in str(caught.value)
