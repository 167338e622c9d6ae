"""Whether something listens at an address, however the address is written."""

from __future__ import annotations

import socket

import pytest

from pipelines.reachable import refusal


@pytest.mark.parametrize("form", ["{}", "spark://{}", "ray://{}", "spark://127.0.0.1:1,{}", "spark://{},127.0.0.1:1"])
def test_what_listens_is_reached_and_what_does_not_is_told(form: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = form.format(f"127.0.0.1:{server.getsockname()[1]}")
        assert refusal(address) is None
    assert refusal(address) == "Connection refused"


@pytest.mark.parametrize("address", ["auto", "local[2]", "yarn", "k8s://https://host"])
def test_what_has_no_port_is_not_asked(address: str) -> None:
    assert refusal(address) is None

