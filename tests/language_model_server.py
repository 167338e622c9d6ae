"""An OpenAI-compatible server on 127.0.0.1 that behaves as a test wants: a real one, over real sockets.

`with served(behaviour) as server:` starts it on a free port. A behaviour gets every request in its turn and
returns what to send; `server.requests` keeps them all. Behaviours below are the faults that clients meet.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request: `/chat/completions`, its JSON, its headers (lower case), the number of those before it."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    place: int

    @property
    def last_words(self) -> str:
        """The content of the last message."""
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Sent:
    """One response. cut_after: close the connection after so many bytes of the body. delay_s: wait first."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut_after: int | None = None
    drip_s: float = 0.0
    """Wait between single bytes of the body."""


Behaviour = Callable[[Asked], Sent]


@dataclass
class Server:
    """A running server."""

    url: str
    requests: list[Asked]
    most_at_once: int = 0


def as_json(value: Any, status: int = 200, **fields: Any) -> Sent:
    """A JSON response."""
    return Sent(json.dumps(value).encode(), status, **fields)


def chat(text: str | None, *, usage: dict[str, int] | None = None, finish: str = "stop", **fields: Any) -> Sent:
    """A chat completion."""
    body: dict[str, Any] = {"object": "chat.completion", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}]}
    if usage is not None:
        body["usage"] = usage
    return as_json(body, **fields)


def error(status: int, message: str, **fields: Any) -> Sent:
    """An error as OpenAI's API words it."""
    return as_json({"error": {"message": message, "type": "test"}}, status, **fields)


def always(*texts: str) -> Behaviour:
    """Says these texts one after the other, the last one for ever; counts 7 tokens in and 3 out."""
    return lambda asked: chat(texts[min(asked.place, len(texts) - 1)],
                              usage={"prompt_tokens": 7, "completion_tokens": 3})


def first(*faults: Sent, then: Behaviour) -> Behaviour:
    """These responses first, then another behaviour."""
    return lambda asked: faults[asked.place] if asked.place < len(faults) else then(asked)


@contextmanager
def served(behaviour: Behaviour) -> Iterator[Server]:
    """A server on a free port of this machine, until the end of the block."""
    lock = threading.Lock()
    running = 0

    class Handler(BaseHTTPRequestHandler):
        def _answer(self, body: dict[str, Any]) -> None:
            nonlocal running
            with lock:
                asked = Asked(self.path.removeprefix("/v1"), body,
                              {name.lower(): value for name, value in self.headers.items()}, len(server.requests))
                server.requests.append(asked)
                running += 1
                server.most_at_once = max(server.most_at_once, running)
            try:
                sent = behaviour(asked)
                time.sleep(sent.delay_s)
            finally:
                # Before the client can have the answer, and ask again.
                with lock:
                    running -= 1
            try:
                self._send(sent)
            except (BrokenPipeError, ConnectionResetError):
                return  # The client went away, as a test of its time limits wants.

        def _send(self, sent: Sent) -> None:
            self.send_response(sent.status)
            for name, value in {"Content-Type": "application/json", **sent.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(sent.body)))
            self.end_headers()
            shown = sent.body if sent.cut_after is None else sent.body[: sent.cut_after]
            if sent.drip_s:
                for byte in shown:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(sent.drip_s)
            else:
                self.wfile.write(shown)
            if sent.cut_after is not None:
                self.close_connection = True

        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def log_message(self, *_: object) -> None:
            """Nothing: the requests are kept."""

    class QuietServer(ThreadingHTTPServer):
        daemon_threads = True

    listener = QuietServer(("127.0.0.1", 0), Handler)
    server = Server(f"http://127.0.0.1:{listener.server_address[1]}/v1", [])
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join(5)
