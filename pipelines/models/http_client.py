"""JSON over HTTP to one endpoint: retries with growing waits, few requests at a time.

What belongs here: one POST or GET as an operator needs it. What does not: one try within its limits
(`http_exchange.py`), what is said (`endpoint.py`). A failure that may pass (no connection, a time limit, 429, 5xx,
an answer that is cut or rubbish) is tried again, after `Retry-After` where the server gives it; the others are the
user's to mend. Redirects are not followed: the key would go along. All tries and waits together take at most
(retries + 1) · (timeout_s + longest_wait_s), beside the wait for a free place among `concurrency`.
"""

from __future__ import annotations

import email.utils
import http.client
import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pipelines.errors import UserError
from pipelines.models.http_exchange import BrokenOff, NoConnection, Untrusted, exchange
from pipelines.models.llm import ModelFailure, Usage
from pipelines.models.llm_settings import KEY_VARIABLE, EndpointAddress, EndpointSettings, check_key_is_safe
from pipelines.models.masking import mask

T = TypeVar("T")
_SHOWN = 200
_READ = 4_000
"""Characters of a server's words that are looked at: of more only the begin could be shown."""
_MOST_DIGITS = 400
"""Of a whole number; one with more is as infinite as a float of its digits."""
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
            return 0.0
        # Between half and all of it, so that threads that failed together do not come back together.
        return float(min(longest_s, self.settings.backoff_s * 2 ** n_retries) * random.uniform(0.5, 1.0))

    def _once(self, path: str, payload: Mapping[str, Any] | None, read: Callable[[dict[str, Any]], T]) -> T:
        with self._slots:
            if (wait_s := self._not_before - time.monotonic()) > 0:
                time.sleep(wait_s)
            status, headers, body = self._send(path, payload)
        if status == 200:
            try:
                value = json.loads(body, parse_int=_integer)
                if not isinstance(value, dict):
                    raise ValueError("no JSON object")
                return read(value)
            except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
                # Some servers report what went wrong with the status of success.
                found = self._words(body) if isinstance(error, LookupError) else self.shown(str(error))
                raise _Passing(f"an answer that is not of the protocol ({found})") from None
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
            raise UserError(subject, f"{found} to {self.shown(location or 'nowhere')}",
                            "the address where it answers", "Give that address.")
        if status in (404, 405):
            raise UserError(subject, found, "the base address of an OpenAI-compatible server, and a model "
                            "that it has", "Correct the address (often it ends in /v1) or the model behind #.")

    def _send(self, path: str, payload: Mapping[str, Any] | None) -> tuple[int, http.client.HTTPMessage, bytes]:
        settings = self.settings
        headers = {"Accept": "application/json", "User-Agent": "espalier"}
        body = None if payload is None else json.dumps(payload).encode()
        if body is not None:
            headers["Content-Type"] = "application/json"
        if settings.api_key is not None:
            headers["Authorization"] = f"Bearer {settings.api_key.get_secret_value()}"
        try:
            return exchange(self.address.parts, path, body, headers, connect_s=settings.connect_timeout_s,
                            whole_s=settings.timeout_s)
        except Untrusted as error:
            raise UserError(f"endpoint {self.address.url}", f"its certificate: {self.shown(str(error))}",
                            "a certificate that this machine trusts",
                            "Correct the address, or add the authority to SSL_CERT_FILE.") from None
        except TimeoutError:
            raise _Passing(f"no whole answer within {settings.timeout_s:g} s", is_unreachable=True) from None
        except NoConnection as error:
            raise _Passing(f"no connection ({self.shown(str(error))})", is_unreachable=True) from None
        except BrokenOff as error:
            raise _Passing(f"a connection that broke off ({self.shown(str(error))})") from None

    def _words(self, body: bytes) -> str:
        """What the server says is wrong, as it may be shown."""
        words = body.decode("utf-8-sig", errors="replace")
        try:
            value = json.loads(words)
            error = value.get("error", value)
            words = str(error.get("message", error) if isinstance(error, dict) else error)
        except (ValueError, AttributeError, RecursionError):
            # No JSON, or none of the usual form: its text is shown as it is.
            words = words.strip()
        return self.shown(words)

    def masked(self, text: str) -> str:
        """A text of the server without the key, in whatever form it repeats it."""
        key = self.settings.api_key
        return text if key is None else mask(text, key.get_secret_value())

    def shown(self, text: str) -> str:
        """What the server said as a message may show it: without the key, on one short line."""
        line = " ".join(self.masked(text[:_READ]).split())
        line = "".join(character if character.isprintable() else " " for character in line)
        return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} …"


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


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)
