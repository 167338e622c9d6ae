"""Joining a Ray cluster that is not there: told at once, by name."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from pipelines.errors import RunFailure
from training.ray_cluster import ADDRESS_VARIABLE, ray_session


@pytest.mark.parametrize("prefix", ["", "ray://"])
def test_an_address_where_nothing_listens_is_named(monkeypatch: pytest.MonkeyPatch, prefix: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"{prefix}127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setenv(ADDRESS_VARIABLE, address)
    import ray

    begin = time.monotonic()
    with pytest.raises(RunFailure, match=f"{ADDRESS_VARIABLE}={address}: Connection refused"), ray_session():
        pass
    assert time.monotonic() - begin < 10
    assert not ray.is_initialized()


def test_a_local_ray_that_does_not_start_is_one_clear_error(monkeypatch: pytest.MonkeyPatch,
                                                            tmp_path: Path) -> None:
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    (tmp_path / "file").touch()
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path / "file"))
    with pytest.raises(RunFailure, match=r"Ray on this machine: .*less to do"), ray_session(1):
        pass
