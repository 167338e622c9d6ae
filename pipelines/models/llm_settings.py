"""Settings of language models, from the environment: a key must not stand in a command or a file.

What belongs here: names, ranges and meanings of the variables, and the check of an endpoint's address. What
does not: the client (`http_client.py`). They are read when a model is made, never at import.
"""

from __future__ import annotations

import ipaddress
import os
import re
import urllib.parse
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from pipelines.errors import UserError

PREFIX = "ESPALIER_LLM_"
KEY_VARIABLE = f"{PREFIX}API_KEY"
CACHE_VARIABLE = f"{PREFIX}CACHE"
_ADDRESS_HELP = "an address such as http://127.0.0.1:8000/v1, or https://host/v1#model"


class EndpointSettings(BaseModel):
    """How endpoints are asked. Each field is the variable ESPALIER_LLM_<FIELD>."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    api_key: SecretStr | None = Field(None, description="Key, sent as bearer token; never stored")
    concurrency: int = Field(4, ge=1, le=256, description="Requests at the same time")
    connect_timeout_s: float = Field(5.0, gt=0, le=600, description="Limit of connecting")
    timeout_s: float = Field(120.0, gt=0, le=3600, description="Limit of one request, from sending to its end")
    retries: int = Field(4, ge=0, le=20, description="Times that a failed request is sent again")
    backoff_s: float = Field(0.5, ge=0, le=60, description="Wait before the first retry; doubled each time")
    longest_wait_s: float = Field(60.0, ge=0, le=3600, description="Longest wait; asked for more, a request fails")
    cool_down_s: float = Field(30.0, ge=0, le=3600, description="Time for which an endpoint that failed all "
                                                                "retries is not asked again")
    price_in: float = Field(0.0, ge=0, description="USD for a million prompt tokens")
    price_out: float = Field(0.0, ge=0, description="USD for a million written tokens")

    @field_validator("api_key")
    @classmethod
    def _is_sendable(cls, key: SecretStr | None) -> SecretStr | None:
        # A header cannot hold the others, and the error of the library that says so repeats the key.
        if key is not None and not (key.get_secret_value().isascii() and key.get_secret_value().isprintable()
                                    and " " not in key.get_secret_value()):
            raise ValueError("a key of printable ASCII characters without spaces or line ends")
        return key

    def cost_usd(self, tokens_in: int, tokens_out: int) -> float:
        """What so many tokens cost at the set price."""
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1_000_000


def settings_from_environment() -> EndpointSettings:
    """The settings that the environment gives, defaults for the others. Raises UserError naming a variable."""
    given: dict[str, Any] = {name: value for name in EndpointSettings.model_fields
                             if (value := os.environ.get(PREFIX + name.upper()))}
    try:
        return EndpointSettings.model_validate(given)
    except ValidationError as error:
        fault = error.errors(include_input=False)[0]
        name = str(fault["loc"][0])
        found = "no valid value" if name == "api_key" else repr(given[name])
        raise UserError(f"environment variable {PREFIX}{name.upper()}", found, str(fault["msg"]).lower(),
                        f"Correct it: {EndpointSettings.model_fields[name].description}.") from None


def is_cache_on() -> bool:
    """Whether answers are kept on disk: ESPALIER_LLM_CACHE, `on` by default. Raises UserError."""
    value = (os.environ.get(CACHE_VARIABLE) or "on").strip().lower()
    if value not in ("on", "off"):
        raise UserError(f"environment variable {CACHE_VARIABLE}", repr(value), "on or off", "Correct it.")
    return value == "on"


@dataclass(frozen=True)
class EndpointAddress:
    """Where an endpoint is: `url` without a slash at its end, and the model asked for, None: its only one."""

    url: str
    model: str | None

    @property
    def parts(self) -> urllib.parse.SplitResult:
        return urllib.parse.urlsplit(self.url)

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine."""
        host = self.parts.hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")


def is_address(text: str) -> bool:
    """Whether a name of a router or reader is meant as an address."""
    return "://" in text


def parse_endpoint(text: str) -> EndpointAddress:
    """Read `URL` or `URL#MODEL`. Raises UserError for what is no address of an endpoint.

    A name or password in it is refused: addresses are shown, stored with results, and logged.
    """
    subject = "endpoint's address"
    try:
        parts = urllib.parse.urlsplit(text)
        port = parts.port
    except ValueError:
        # Its words repeat parts of the text.
        raise UserError(subject, _without_secrets(text), _ADDRESS_HELP, "Correct it.") from None
    if parts.username is not None or parts.password is not None:
        raise UserError(subject, "a user name or password in it", _ADDRESS_HELP,
                        f"Leave it out, and give a key by {KEY_VARIABLE}.")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise UserError(subject, _without_secrets(text), _ADDRESS_HELP, "Correct it.")
    if any(character.isspace() or not character.isprintable() for character in text):
        raise UserError(subject, _without_secrets(text), "an address without spaces and control characters",
                        "Correct it.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    where = host if port is None else f"{host}:{port}"
    return EndpointAddress(f"{parts.scheme}://{where}{parts.path.rstrip('/')}",
                           urllib.parse.unquote(parts.fragment) or None)


def _without_secrets(text: str) -> str:
    """A refused address, quoted, without what may be a name, a password or a key in it."""
    text = re.sub("(?<=://).*@", "…@", text, flags=re.DOTALL)
    return repr(re.sub(r"\?.*", "?…", text, flags=re.DOTALL))


def check_key_is_safe(address: EndpointAddress, settings: EndpointSettings) -> None:
    """Raise UserError where a key would travel unencrypted to another machine."""
    if settings.api_key is not None and address.parts.scheme == "http" and not address.is_loopback:
        raise UserError(f"endpoint {address.url}", f"{KEY_VARIABLE} is set, and the address is not encrypted",
                        "https, or an address of this machine",
                        f"Use https, or unset {KEY_VARIABLE} where the endpoint needs none.")
