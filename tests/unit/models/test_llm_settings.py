"""Addresses and environment variables of endpoints: what is taken, what is refused and named."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from pipelines.errors import UserError
from pipelines.models.llm_settings import (
    EndpointSettings,
    check_key_is_safe,
    is_address,
    is_cache_on,
    parse_endpoint,
    settings_from_environment,
)
from pipelines.models.load_llm import check_model


@pytest.mark.parametrize(("text", "url", "model"), [
    ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1", None),
    ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1", None),
    ("https://API.example/v1#org/model-7b", "https://api.example/v1", "org/model-7b"),
    ("http://[::1]:11434/v1#llama3%3A8b", "http://[::1]:11434/v1", "llama3:8b"),
    ("https://host", "https://host", None),
])
def test_an_address_and_its_model(text: str, url: str, model: str | None) -> None:
    address = parse_endpoint(text)
    assert (address.url, address.model) == (url, model)


@pytest.mark.parametrize("text", [
    "ftp://host/v1", "http://", "http:///v1", "http://host:port/v1", "http://host:99999/v1", "http://host/v1?key=1",
    "http://ho st/v1", "http://[::1/v1", "file:///etc/passwd", "http://host/v1\r\nX: y"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="endpoint's address"):
        parse_endpoint(text)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(UserError, match="ESPALIER_LLM_API_KEY") as caught:
        parse_endpoint("https://me:sesame@host/v1")
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(("url", "safe"), [
    ("http://127.0.0.1:1/v1", True), ("http://127.8.9.1/v1", True), ("http://localhost/v1", True),
    ("http://[::1]/v1", True), ("https://host/v1", True), ("http://host/v1", False), ("http://10.0.0.1/v1", False),
    ("http://127.0.0.1.example/v1", False)])
def test_a_key_travels_encrypted_or_stays_on_this_machine(url: str, safe: bool) -> None:
    address = parse_endpoint(url)
    check_key_is_safe(address, EndpointSettings())
    if safe:
        check_key_is_safe(address, EndpointSettings(api_key=SecretStr("k")))
    else:
        with pytest.raises(UserError, match="not encrypted"):
            check_key_is_safe(address, EndpointSettings(api_key=SecretStr("k")))


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_from_environment() == EndpointSettings()
    for name, value in {"API_KEY": "k", "CONCURRENCY": "9", "TIMEOUT_S": "1.5", "RETRIES": ""}.items():
        monkeypatch.setenv(f"ESPALIER_LLM_{name}", value)
    settings = settings_from_environment()
    assert (settings.concurrency, settings.timeout_s, settings.retries) == (9, 1.5, 4)
    assert "k'" not in repr(settings.api_key)
    monkeypatch.setenv("ESPALIER_LLM_PRICE_IN", "0.15")
    monkeypatch.setenv("ESPALIER_LLM_PRICE_OUT", "0.60")
    assert settings_from_environment().cost_usd(2_000_000, 500_000) == pytest.approx(0.6)


@pytest.mark.parametrize(("name", "value"), [("CONCURRENCY", "0"), ("CONCURRENCY", "many"), ("TIMEOUT_S", "-1"),
                                             ("PRICE_IN", "free"), ("CACHE", "maybe")])
def test_a_wrong_variable_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"ESPALIER_LLM_{name}", value)
    with pytest.raises(UserError, match=f"ESPALIER_LLM_{name}.*{value}"):
        check_model("http://127.0.0.1:1/v1", "local", "router")


def test_the_cache_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ESPALIER_LLM_CACHE")
    assert is_cache_on()
    monkeypatch.setenv("ESPALIER_LLM_CACHE", "OFF")
    assert not is_cache_on()


@pytest.mark.parametrize("name", ["locale", "", "similarity", "127.0.0.1:8000"])
def test_a_name_that_no_model_has_is_refused(name: str) -> None:
    assert not is_address(name)
    with pytest.raises(UserError, match="one of none, local, an endpoint's URL"):
        check_model(name, "local", "reader", ("none",))


@pytest.mark.parametrize("text", [
    "http://host/v1?api_key=sesame", "http://me:sesame@host:port/v1", "ftp://me:sesame@host", "http://host:sesame/v1",
    "http://[me:sesame@host/v1?k=sesame"])
def test_no_refused_address_shows_a_secret(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_endpoint(text)
    assert "sesame" not in str(caught.value).replace("host:sesame", "")


@pytest.mark.parametrize("key", ["sesame\n", "ses ame", "sesäme", "sesame\x1b", "ses\r\nX: y"])
def test_a_key_that_no_header_holds_is_refused_and_not_repeated(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPALIER_LLM_API_KEY", key)
    with pytest.raises(UserError, match="ESPALIER_LLM_API_KEY") as caught:
        settings_from_environment()
    assert "ses" not in str(caught.value)


@pytest.mark.parametrize("value", ["inf", "nan", "1e999"])
def test_a_price_is_finite(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPALIER_LLM_PRICE_IN", value)
    with pytest.raises(UserError, match="ESPALIER_LLM_PRICE_IN"):
        settings_from_environment()
