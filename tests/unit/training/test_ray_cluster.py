"""Joining a Ray cluster that is not there: told at once, by name."""

from __future__ import annotations

import socket
import time

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
