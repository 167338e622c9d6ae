"""The client against a real server on this machine that is down, slow, limited, cut, rubbish or closed."""

from __future__ import annotations

import base64
import email.utils
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from language_model_server import Behaviour, Sent, always, as_json, chat, error, first, served
from pydantic import SecretStr

from pipelines.errors import UserError
from pipelines.models.http_client import JsonClient, Refused, retry_after_s
from pipelines.models.llm import ModelFailure
from pipelines.models.llm_settings import EndpointSettings, parse_endpoint

FAST = EndpointSettings(backoff_s=0.01, retries=2, timeout_s=5.0, cool_down_s=0.0)


def client(url: str, **settings: Any) -> JsonClient:
    return JsonClient(parse_endpoint(url), FAST.model_copy(update=settings))


def words(body: dict[str, Any]) -> str:
    return str(body["choices"][0]["message"]["content"])


def ask(url: str, **settings: Any) -> tuple[str, int]:
    return client(url, **settings).request("/chat/completions", {"messages": []}, words)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_an_answer_comes_back_without_retries() -> None:
    with served(always("hello")) as server:
        assert ask(server.url) == ("hello", 0)
        assert (server.requests[0].path, server.requests[0].body) == ("/chat/completions", {"messages": []})
        assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("fault", [
    pytest.param(error(500, "overloaded"), id="500"), pytest.param(error(503, "starting"), id="503"),
    pytest.param(error(429, "slow down"), id="429"),
    pytest.param(Sent(b"<html>bad gateway</html>"), id="rubbish"),
    pytest.param(as_json([1, 2]), id="json that is no object"),
    pytest.param(as_json({"choices": []}), id="wrong json"),
    pytest.param(as_json({"choices": [{"message": None}]}), id="wrong types"),
    pytest.param(chat("a long answer that never ends", cut_after=20), id="cut"),
    pytest.param(Sent(b"[" * 200_000), id="deeper than a parser goes"),
])
def test_a_failure_that_passes_is_tried_again(fault: Sent) -> None:
    with served(first(fault, fault, then=always("fine"))) as server:
        assert ask(server.url) == ("fine", 2)
        assert len(server.requests) == 3


def test_one_that_stays_is_an_error_in_four_parts() -> None:
    with served(lambda asked: error(500, "out of memory")) as server:
        with pytest.raises(ModelFailure) as caught:
            ask(server.url)
        assert len(server.requests) == 3
    failure = caught.value
    assert (failure.subject, failure.exit_code) == (f"endpoint {server.url}", 1)
    assert failure.found == "500 Internal Server Error out of memory, after 2 retries"
    assert failure.expected
    assert failure.next_step
    assert failure.usage is not None
    assert failure.usage.retries == 2


def test_a_server_that_is_down_fails_soon_and_is_left_alone_for_a_while() -> None:
    down = client(f"http://127.0.0.1:{free_port()}/v1", cool_down_s=30.0)
    with pytest.raises(ModelFailure, match=r"no connection .*after 2 retries"):
        down.request("/chat/completions", {}, words)
    begin = time.monotonic()
    with pytest.raises(ModelFailure, match="not asked again for 30 s"):
        down.request("/chat/completions", {}, words)
    assert time.monotonic() - begin < 0.01


def test_a_server_that_comes_up_is_asked_after_the_cool_down() -> None:
    with served(first(error(200, ""), then=always("up"))) as server:
        late = client(server.url, cool_down_s=0.0, retries=0)
        with pytest.raises(ModelFailure):
            late.request("/chat/completions", {}, words)
        assert late.request("/chat/completions", {}, words) == ("up", 0)


@pytest.mark.parametrize("slow", [
    pytest.param(chat("late", delay_s=1.0), id="silent"), pytest.param(chat("late", drip_s=0.02), id="dripping")])
def test_a_slow_server_meets_the_time_limit(slow: Sent) -> None:
    with served(first(slow, then=always("in time"))) as server:
        begin = time.monotonic()
        assert ask(server.url, timeout_s=0.3) == ("in time", 1)
        assert time.monotonic() - begin < 0.9
    with served(lambda asked: slow) as server, pytest.raises(ModelFailure, match=r"no whole answer within 0\.1 s"):
        ask(server.url, timeout_s=0.1, retries=0)


@pytest.mark.parametrize("value", ["0.4", "date"])
def test_retry_after_is_waited_for(value: str) -> None:
    if value == "date":
        # Whole seconds only: the second after next is at least one second away.
        value = email.utils.formatdate(time.time() + 2, usegmt=True)
    with served(first(error(429, "busy", headers={"Retry-After": value}), then=always("now"))) as server:
        begin = time.monotonic()
        assert ask(server.url, backoff_s=0.0) == ("now", 1)
        assert time.monotonic() - begin >= 0.35


def test_a_wait_that_is_too_long_is_not_waited() -> None:
    with served(lambda asked: error(429, "quota", headers={"Retry-After": "3600"})) as server:
        begin = time.monotonic()
        with pytest.raises(ModelFailure, match="429 Too Many Requests quota"):
            ask(server.url, longest_wait_s=1.0)
        assert time.monotonic() - begin < 0.9
        assert len(server.requests) == 1


def test_waits_double_and_stay_below_the_longest() -> None:
    # Between half and all of 0.1 + 0.2 + 0.4 s; then three times 0.05 s at most.
    for settings, least_s, most_s in (({"backoff_s": 0.1}, 0.35, 1.5),
                                      ({"backoff_s": 10.0, "longest_wait_s": 0.05}, 0.0, 1.0)):
        with served(lambda asked: error(500, "")) as server:
            begin = time.monotonic()
            with pytest.raises(ModelFailure):
                ask(server.url, retries=3, **settings)
            assert least_s <= time.monotonic() - begin < most_s


@pytest.mark.parametrize(("value", "seconds"), [
    (None, None), ("5", 5.0), ("0.25", 0.25), ("-3", 0.0), ("soon", None), ("", None), ("nan", None),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0)])
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value) == seconds


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_the_users_to_mend(status: int) -> None:
    with served(lambda asked: error(status, "Incorrect API key provided: sk-secret")) as server:
        with pytest.raises(UserError, match="ESPALIER_LLM_API_KEY") as caught:
            ask(server.url, api_key=SecretStr("sk-secret"))
        assert len(server.requests) == 1, "a second try would be refused too"
        assert server.requests[0].headers["authorization"] == "Bearer sk-secret"
    assert caught.value.exit_code == 2
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(("response", "said"), [
    (error(404, "no model x"), "404 Not Found no model x"),
    (Sent(b"", 301, {"Location": "https://elsewhere.example/v1"}), "https://elsewhere.example/v1")])
def test_a_wrong_address_is_the_users_to_mend(response: Sent, said: str) -> None:
    with served(lambda asked: response) as server, pytest.raises(UserError, match=said):
        ask(server.url)
    assert len(server.requests) == 1, "a redirect would take the key along"


def test_other_refusals_keep_the_servers_words_on_one_short_line() -> None:
    with served(lambda asked: error(400, "too\nlong " + "x" * 1000)) as server, pytest.raises(Refused) as caught:
        ask(server.url)
    assert caught.value.status == 400
    assert caught.value.words.startswith("too long xxx")
    assert len(caught.value.words) < 220


def test_few_requests_run_at_the_same_time() -> None:
    with served(lambda asked: chat("x", delay_s=0.05)) as server:
        shared = client(server.url, concurrency=2)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: shared.request("/chat/completions", {}, words), range(8)))
    assert answers == [("x", 0)] * 8
    assert server.most_at_once == 2


def test_a_limit_holds_back_every_thread() -> None:
    begin: dict[int, float] = {}
    lock = threading.Lock()

    def behaviour(asked: Any) -> Sent:
        with lock:
            begin[asked.place] = time.monotonic()
        return error(429, "busy", headers={"Retry-After": "0.4"}) if asked.place == 0 else chat("x")

    limited: Behaviour = behaviour
    with served(limited) as server:
        shared = client(server.url, concurrency=1, backoff_s=0.0)
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda _: shared.request("/chat/completions", {}, words), range(3)))
    assert all(begin[place] - begin[0] >= 0.35 for place in range(1, 4))


@contextmanager
def raw_server(behave: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that gets each connection as it is, before a byte is read, and its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return  # The test is over.
                threading.Thread(target=one, args=(connection,), daemon=True).start()

        def one(connection: socket.socket) -> None:
            # The client goes away in the midst, as it should.
            with connection, suppress(OSError):
                behave(connection)

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}/v1"
        # Wakes the thread that accepts.
        listener.shutdown(socket.SHUT_RDWR)


def drip(begin: bytes, repeated: bytes) -> Callable[[socket.socket], None]:
    """Reads the request, sends the begin at once, then the rest for ever, a byte each 20 ms."""
    def behave(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(begin)
        while True:
            for byte in repeated:
                connection.sendall(bytes([byte]))
                time.sleep(0.02)

    return behave


def flood(begin: bytes, repeated: bytes) -> Callable[[socket.socket], None]:
    """Reads the request, then sends as fast as it can."""
    def behave(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(begin)
        while True:
            connection.sendall(repeated)

    return behave


def silent(connection: socket.socket) -> None:
    """Takes the connection and says nothing."""
    while connection.recv(1 << 16):
        pass


KEY = "sk-secret-0123456789"
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("behave", [
    pytest.param(drip(b"", b"HTTP/1.1 200 " + b"x" * 10_000), id="status line drips"),
    pytest.param(drip(OK, b"X-Header: y\r\n"), id="headers drip"),
    pytest.param(drip(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"), id="chunks drip"),
    pytest.param(drip(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0"), id="a chunk's length drips"),
    pytest.param(drip(OK + b"Content-Length: 100000\r\n\r\n", b" "), id="body drips"),
    pytest.param(drip(OK + b"Connection: close\r\n\r\n", b" "), id="body without an end"),
    pytest.param(drip(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: y\r\n"), id="trailers drip"),
    pytest.param(flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), id="100 Continue for ever"),
    pytest.param(silent, id="takes the connection and says nothing"),
])
def test_every_try_ends_at_its_limit_whatever_drips(behave: Callable[[socket.socket], None]) -> None:
    with raw_server(behave) as place:
        begin = time.monotonic()
        with pytest.raises(ModelFailure, match=r"no whole answer within 0\.2 s, after 1 retries"):
            ask(f"http://{place}", timeout_s=0.2, retries=1)
        assert 0.4 <= time.monotonic() - begin < 1.2


def test_a_request_that_is_not_read_ends_at_the_limit() -> None:
    with raw_server(lambda connection: time.sleep(3)) as place:
        begin = time.monotonic()
        with pytest.raises(ModelFailure, match="no whole answer within"):
            client(f"http://{place}", timeout_s=0.2, retries=0).request("/x", {"text": "x" * (32 << 20)}, words)
        assert time.monotonic() - begin < 1.2


@pytest.mark.parametrize("behave", [
    pytest.param(silent, id="silent"),
    pytest.param(drip(b"", b"\x16\x03\x03\x40\x00" + b"\x02" * 10_000), id="drips")])
def test_a_handshake_that_hangs_ends_at_the_limit_of_connecting(behave: Callable[[socket.socket], None]) -> None:
    with raw_server(behave) as place:
        begin = time.monotonic()
        with pytest.raises(ModelFailure, match=r"no connection \(.*\), after 1 retries"):
            ask(f"https://{place}", connect_timeout_s=0.2, retries=1)
        assert time.monotonic() - begin < 1.2


def test_a_look_up_that_hangs_ends_at_the_limit_of_connecting(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()

    def look_up(*_: object, **__: object) -> list[Any]:
        gate.wait(5)
        raise socket.gaierror("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    begin = time.monotonic()
    with pytest.raises(ModelFailure, match=r"no connection \(none within 0\.1 s\), after 1 retries"):
        ask("http://host.invalid/v1", connect_timeout_s=0.1, retries=1)
    assert time.monotonic() - begin < 1.0
    gate.set()


@pytest.mark.parametrize("behave", [
    pytest.param(flood(OK, b"X-Header: y\r\n"), id="headers without end"),
    pytest.param(flood(OK, b"x" * 65_536), id="a line without end"),
    pytest.param(flood(OK + b"Connection: close\r\n\r\n", b" " * 65_536), id="a body without end"),
    pytest.param(flood(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"800\r\n" + b" " * 0x800 + b"\r\n"),
                 id="chunks"),
    pytest.param(flood(OK + b"Content-Length: 99999999999\r\n\r\n", b" " * 65_536), id="a false length"),
])
def test_what_has_no_end_is_left_at_a_limit_of_size(behave: Callable[[socket.socket], None]) -> None:
    with raw_server(behave) as place, pytest.raises(ModelFailure, match="a connection that broke off"):
        ask(f"http://{place}", retries=0, timeout_s=30.0)


def test_no_thread_and_no_file_is_left_behind() -> None:
    with raw_server(silent) as place:
        for _ in range(3):
            with pytest.raises(ModelFailure):
                ask(f"http://{place}", timeout_s=0.05, retries=0)
        end = time.monotonic() + 5
        while any(thread.name == "http-exchange" for thread in threading.enumerate()) and time.monotonic() < end:
            time.sleep(0.01)
    assert not [thread for thread in threading.enumerate() if thread.name == "http-exchange"]


def test_redirects_are_never_followed_and_the_key_goes_nowhere_else() -> None:
    with served(always("stolen")) as other, served(
            lambda asked: Sent(b"", 307, {"Location": other.url + "/chat/completions"})) as server:
        with pytest.raises(UserError, match="307"):
            ask(server.url, api_key=SecretStr("sk-secret"))
        assert not other.requests


@pytest.mark.parametrize("status", [200, 400, 401, 404, 500])
def test_no_status_shows_the_key_in_any_form(status: int) -> None:
    header = base64.b64encode(f"Bearer {KEY}".encode()).decode()
    with (served(lambda asked: error(status, f"bad header {header} of {KEY}")) as server,
          pytest.raises((UserError, ModelFailure, Refused)) as caught):
        ask(server.url, api_key=SecretStr(KEY), retries=0)
    told = "".join(traceback.format_exception(caught.value))
    assert "bad header …" in str(caught.value)
    assert KEY not in told
    assert header[12:24] not in told


@pytest.mark.parametrize("line", [f"HTTP/1.1 {KEY}\r\n\r\n", f"{KEY}\r\n\r\n"])
def test_a_status_line_does_not_show_the_key(line: str) -> None:
    with raw_server(flood(line.encode(), b" ")) as place, pytest.raises(ModelFailure, match="broke off") as caught:
        ask(f"http://{place}", api_key=SecretStr(KEY), retries=0)
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_an_error_in_words_with_the_status_of_success_is_told() -> None:
    with served(lambda asked: error(200, "model is loading")) as server, pytest.raises(
            ModelFailure, match="model is loading"):
        ask(server.url, retries=0)


def test_control_characters_of_a_server_are_not_passed_on() -> None:
    said = "a\x1b[31m\x07\u202eb\u2028c"
    with served(lambda asked: error(400, said)) as server, pytest.raises(Refused) as caught:
        ask(server.url)
    assert caught.value.words == "a [31m  b c"
