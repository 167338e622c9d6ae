"""One request over HTTP and its answer, within a limit of time and of size, whatever the other side does.

What belongs here: the limits. What does not: retries and what a status means (`http_client.py`). A socket's own
time limit starts anew with each byte, and a look-up of a name has none: the request runs in a thread of its own,
and the caller closes the connection when time is up. Such a thread ends with its connection, or with its look-up.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
import urllib.parse
from collections.abc import Mapping
from contextlib import suppress

Answer = tuple[int, http.client.HTTPMessage, bytes]
MOST_BYTES = 32 << 20
"""Of a body; log-probabilities of a long prompt take some MiB."""


class NoConnection(Exception):
    """Nothing answers at the address."""


class BrokenOff(Exception):
    """An answer that ended early, is no HTTP or is too long."""


class Untrusted(Exception):
    """A certificate that this machine does not trust."""


def exchange(parts: urllib.parse.SplitResult, path: str, body: bytes | None, headers: Mapping[str, str], *,
             connect_s: float, whole_s: float) -> Answer:
    """Send a request (body None: GET) to an address and read status, headers and body.

    connect_s: limit of look-up, connection and TLS; whole_s: of all, these included. Raises NoConnection,
    BrokenOff, Untrusted, and TimeoutError when a connected server has not answered in full in time.
    """
    end = time.monotonic() + whole_s
    one = _Exchange(parts, path, body, headers, min(connect_s, whole_s))
    # A daemon: the look-up of a name cannot be ended, and must not hold up the end of the process.
    threading.Thread(target=one.run, name="http-exchange", daemon=True).start()
    try:
        if not one.connected.wait(min(connect_s, whole_s)):
            raise NoConnection(f"none within {min(connect_s, whole_s):g} s")
        if not one.done.wait(max(0.0, end - time.monotonic())):
            raise TimeoutError
    finally:
        one.close()
    if one.error is not None:
        raise one.error
    assert one.answer is not None
    return one.answer


class _Exchange:
    """What the two threads share."""

    def __init__(self, parts: urllib.parse.SplitResult, path: str, body: bytes | None, headers: Mapping[str, str],
                 connect_s: float) -> None:
        assert parts.hostname is not None
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._http = kind(parts.hostname, parts.port, timeout=connect_s)
        self._http._create_connection = self._connect  # type: ignore[attr-defined]
        self._request = ("GET" if body is None else "POST", parts.path + path, body, dict(headers))
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_over = False
        self.connected, self.done = threading.Event(), threading.Event()
        self.answer: Answer | None = None
        self.error: Exception | None = None

    def run(self) -> None:
        """In the thread: ask, and keep the answer or the error."""
        try:
            self.answer = self._ask()
        except Exception as error:  # noqa: BLE001 - the caller's thread raises it
            self.error = error
        finally:
            self._http.close()
            self.connected.set()
            self.done.set()

    def _ask(self) -> Answer:
        try:
            self._http.connect()
        except ssl.SSLCertVerificationError as error:
            raise Untrusted(error.verify_message) from None
        except OSError as error:
            raise NoConnection(error.strerror or str(error) or type(error).__name__) from None
        self._http.sock.settimeout(None)  # The caller's clock counts from here.
        self.connected.set()
        try:
            self._http.request(*self._request)
            response = self._http.getresponse()
            return response.status, response.headers, _read_body(response)
        except (OSError, http.client.HTTPException) as error:
            raise BrokenOff(str(error) or type(error).__name__) from None

    def _connect(self, *address: object, **options: object) -> socket.socket:
        """A connection that `close` can reach while TLS is still negotiated on it."""
        connected = socket.create_connection(*address, **options)  # type: ignore[arg-type]
        with self._lock:
            self._socket = connected.dup()
            if self._is_over:
                self._shut()
        return connected

    def close(self) -> None:
        """End the connection, in whatever state it is, now or as soon as there is one."""
        with self._lock:
            self._is_over = True
            if self._socket is not None:
                self._shut()

    def _shut(self) -> None:
        # Wakes the thread that reads or writes; closing alone would not.
        assert self._socket is not None
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _read_body(response: http.client.HTTPResponse) -> bytes:
    body = response.read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        raise http.client.HTTPException(f"more than {MOST_BYTES >> 20} MiB")
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return body
