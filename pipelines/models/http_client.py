"""JSON over HTTP to one endpoint: time limits, retries with growing waits, few requests at a time.

What belongs here: one POST or GET as an operator needs it. What does not: what is said (`endpoint.py`). A
failure that may pass (no connection, a time limit, 429, 5xx, an answer that is cut or rubbish) is tried
again, after `Retry-After` where the server gives it; the others are the user's to mend. Redirects are not
followed: the key would go along.
"""

from __future__ import annotations

import email.utils
import http.client
import json
import random
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pipelines.errors import UserError
from pipelines.models.llm import ModelFailure, Usage
from pipelines.models.llm_settings import KEY_VARIABLE, EndpointAddress, EndpointSettings, check_key_is_safe

T = TypeVar("T")
MOST_BYTES = 32 << 20
_CHUNK_BYTES = 1 << 16
_SHOWN = 200
_PASSING = frozenset({408, 409, 425, 429}) | frozenset(range(500, 600))


class Refused(Exception):
    """A request that the server took for wrong: its status and its words."""

    def __init__(self, status: int, words: str) -> None:
        self.status, self.words = status, words
        super().__init__(f"{status} {words}")


class _Passing(Exception):
    """A failure that may pass. wait_s: what the server asks to wait, None where it says nothing."""

    def __init__(self, found: str, wait_s: float | None = None, is_unreachable: bool = False) -> None:
        self.found, self.wait_s, self.is_unreachable = found, wait_s, is_unreachable
        super().__init__(found)


class JsonClient:
    """Requests to one endpoint. Shared between threads; they share its limits."""

    def __init__(self, address: EndpointAddress, settings: EndpointSettings) -> None:
        check_key_is_safe(address, settings)
        self.address, self.settings = address, settings
        self._slots = threading.BoundedSemaphore(settings.concurrency)
        self._not_before = 0.0
        self._down: tuple[float, str] = (0.0, "")

    def request(self, path: str, payload: Mapping[str, Any] | None, read: Callable[[dict[str, Any]], T]
                ) -> tuple[T, int]:
        """Send a payload (None: GET) and read the answer; the value read, and how often it was sent again.

        read: takes the JSON object; raises ValueError or KeyError for one that it cannot use, which counts
        as a failure that may pass. Raises ModelFailure when no retry helped, UserError for a refused key, an
        unknown address or a certificate that is not trusted, Refused for other requests that are refused.
        """
        until, found = self._down
        if (left := until - time.monotonic()) > 0:
            raise self._failure(f"{found}; it is not asked again for {left:.0f} s", 0)
        for n_retries in range(self.settings.retries + 1):
            try:
                return self._once(path, payload, read), n_retries
            except _Passing as error:
                wait_s = self._wait(n_retries, error)
                if n_retries == self.settings.retries or wait_s is None:
                    if error.is_unreachable:
                        self._down = (time.monotonic() + self.settings.cool_down_s, error.found)
                    raise self._failure(f"{error.found}, after {n_retries} retries", n_retries) from None
                time.sleep(wait_s)
        raise AssertionError("the last try returns or raises")

    def _failure(self, found: str, n_retries: int) -> ModelFailure:
        return ModelFailure(
            f"endpoint {self.address.url}", found, "an OpenAI-compatible server that answers",
            "Start it or correct the address; limits are set by ESPALIER_LLM_*."
        ).with_usage(Usage(retries=n_retries))

    def _wait(self, n_retries: int, error: _Passing) -> float | None:
        """Seconds to wait before the next try; None where the server asks for more than the longest wait."""
        longest_s = self.settings.longest_wait_s
        if error.wait_s is not None:
            if error.wait_s > longest_s:
                return None
            # Asked of one request, meant for all that go to this server.
            self._not_before = max(self._not_before, time.monotonic() + error.wait_s)
            return error.wait_s
        # Between half and all of it, so that threads that failed together do not come back together.
        return float(min(longest_s, self.settings.backoff_s * 2 ** n_retries) * random.uniform(0.5, 1.0))

    def _once(self, path: str, payload: Mapping[str, Any] | None, read: Callable[[dict[str, Any]], T]) -> T:
        with self._slots:
            if (wait_s := self._not_before - time.monotonic()) > 0:
                time.sleep(wait_s)
            status, headers, body = self._send(path, payload)
        if status == 200:
            try:
                value = json.loads(body)
                if not isinstance(value, dict):
                    raise ValueError("no JSON object")
                return read(value)
            except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
                raise _Passing(f"an answer that is not of the protocol ({_short(str(error))})") from None
        words = self._words(body)
        found = f"{status} {http.client.responses.get(status, '')} {words}".strip()
        if status in _PASSING:
            raise _Passing(found, retry_after_s(headers.get("Retry-After")))
        self._raise_for(status, found, headers.get("Location"))
        raise Refused(status, words)

    def _raise_for(self, status: int, found: str, location: str | None) -> None:
        """The statuses that only the user can mend."""
        subject = f"endpoint {self.address.url}"
        if status in (401, 403):
            raise UserError(subject, found, f"a key that it takes in {KEY_VARIABLE}",
                            f"Set {KEY_VARIABLE}." if self.settings.api_key is None else "Correct the key.")
        if 300 <= status < 400:
            raise UserError(subject, f"{found} to {_short(location or 'nowhere')}",
                            "the address where it answers", "Give that address.")
        if status in (404, 405):
            raise UserError(subject, found, "the base address of an OpenAI-compatible server, and a model "
                            "that it has", "Correct the address (often it ends in /v1) or the model behind #.")

    def _send(self, path: str, payload: Mapping[str, Any] | None) -> tuple[int, http.client.HTTPMessage, bytes]:
        parts, settings = self.address.parts, self.settings
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        assert parts.hostname is not None
        connection = kind(parts.hostname, parts.port, timeout=settings.connect_timeout_s)
        end = time.monotonic() + settings.timeout_s
        try:
            try:
                connection.connect()
            except ssl.SSLCertVerificationError as error:
                raise UserError(f"endpoint {self.address.url}", f"its certificate: {error.verify_message}",
                                "a certificate that this machine trusts",
                                "Correct the address, or add the authority to SSL_CERT_FILE.") from None
            except OSError as error:
                raise _Passing(f"no connection ({error.strerror or error})", is_unreachable=True) from None
            connection.sock.settimeout(settings.timeout_s)
            body = None if payload is None else json.dumps(payload).encode()
            headers = {"Accept": "application/json", "User-Agent": "espalier"}
            if body is not None:
                headers["Content-Type"] = "application/json"
            if settings.api_key is not None:
                headers["Authorization"] = f"Bearer {settings.api_key.get_secret_value()}"
            connection.request("GET" if body is None else "POST", parts.path + path, body, headers)
            response = connection.getresponse()
            return response.status, response.headers, _read_body(response, connection, end)
        except TimeoutError:
            raise _Passing(f"no whole answer within {settings.timeout_s:g} s", is_unreachable=True) from None
        except (OSError, http.client.HTTPException) as error:
            raise _Passing(f"a connection that broke off ({_short(str(error) or type(error).__name__)})") from None
        finally:
            connection.close()

    def _words(self, body: bytes) -> str:
        """What the server says is wrong, on one line, without the key should it repeat it."""
        words = body.decode(errors="replace")
        try:
            value = json.loads(words)
            error = value.get("error", value)
            words = str(error.get("message", error) if isinstance(error, dict) else error)
        except (ValueError, AttributeError, RecursionError):
            # No JSON, or none of the usual form: its text is shown as it is.
            words = words.strip()
        if self.settings.api_key is not None:
            words = words.replace(self.settings.api_key.get_secret_value(), "…")
        return _short(words)


def _read_body(response: http.client.HTTPResponse, connection: http.client.HTTPConnection, end: float) -> bytes:
    """The whole body within the time that is left, however slowly it drips in."""
    parts: list[bytes] = []
    size = 0
    while True:
        if (left := end - time.monotonic()) <= 0:
            raise TimeoutError
        if connection.sock is not None:
            connection.sock.settimeout(left)
        part = response.read1(_CHUNK_BYTES)
        if not part:
            break
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise http.client.HTTPException(f"more than {MOST_BYTES >> 20} MiB")
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(parts)


def retry_after_s(value: str | None) -> float | None:
    """Seconds of a `Retry-After` header, given as seconds or as a date; None for none and for rubbish."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds == seconds else None


def _short(text: str) -> str:
    line = "".join(character if character.isprintable() else " " for character in " ".join(text.split()))
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} …"
