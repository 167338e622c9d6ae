"""The client against a real server on this machine that is down, slow, limited, cut, rubbish or closed."""

from __future__ import annotations

import email.utils
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
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
