"""Routers with a language model against a real server: three ways of decoding, faults, fallbacks, costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from language_model_server import Asked, Behaviour, Sent, always, as_json, chat, error, served

from pipelines.errors import UserError
from pipelines.evaluation.metrics import route_counts
from pipelines.methods.base import Request, Trace
from pipelines.methods.llm_router import choose_by_score
from pipelines.methods.registry import make_method
from pipelines.methods.routers import make_router
from pipelines.models.llm import ModelFailure

QUESTION = "wingspan of the barn owl"
ROW = "[ANSWER] 18: Barn owl | 95 cm"


@pytest.fixture(autouse=True)
def _few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RETRIES": "1", "BACKOFF_S": "0", "COOL_DOWN_S": "0", "TIMEOUT_S": "5"}.items():
        monkeypatch.setenv(f"ESPALIER_LLM_{name}", value)


def ask(corpus: Any, behaviour: Behaviour, *, method: str = "rdr2", k: int = 1, **options: str
        ) -> tuple[Any, list[dict[str, Any]], list[Asked]]:
    """Route one question through an endpoint; what came of it, the routing steps, the requests."""
    trace = Trace()
    with served(behaviour) as server:
        request = Request(QUESTION, k=k, router=f"{server.url}#m", options=options)
        retrieved = make_method(method).retrieve(request, corpus, trace)
    return retrieved, [step for step in trace.steps if step["step"] == "route"], server.requests


def lines(*chosen: str) -> str:
    return json.dumps({"lines": chosen})


def test_free_output_is_mended_judged_and_priced(bird_corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPALIER_LLM_PRICE_IN", "1000000")
    said = f"Here you are:\n- **{ROW}**\n[ANSWER] 14: lions\n[ANSWER] 11: Range\n[ANSWER] 999: x"
    retrieved, (step,), (asked,) = ask(bird_corpus, always(said), decode="free")
    assert len(retrieved.pieces) == 1
    assert {"said": said, "decode": "free", "model": "m", "repaired": 1, "expelled": 2, "unknown": 1, "unparsed": 1,
            "collapsed": False, "answers": [18], "used_fallback": False, "llm_calls": 1, "tokens_in": 7,
            "tokens_out": 3, "cost_usd": 7.0}.items() <= step.items()
    assert (retrieved.llm_calls, retrieved.tokens_in, retrieved.tokens_out, retrieved.cost_usd) == (1, 7, 3, 7.0)
    assert asked.last_words == step["router_text"]
    assert asked.last_words.startswith(f"Question: {QUESTION}\n0: Owl\n")
    assert route_counts([step]) == {"expelled": 3, "collapsed": 0, "fallbacks": 0, "llm_cache_hits": 0,
                                    "llm_retries": 0}


def test_a_last_line_that_the_limit_cuts_is_left_out(bird_corpus: Any) -> None:
    said = f"{ROW}\n[ANSWER] 14: Spec"
    for finish, answers in (("length", [18]), ("stop", [18, 14])):
        _, (step,), _ = ask(bird_corpus, lambda asked, finish=finish: chat(said, finish=finish), decode="free")
        assert step["answers"] == answers


def test_constrained_output_cannot_be_illegal(bird_corpus: Any) -> None:
    def behaviour(asked: Asked) -> Sent:
        schema = asked.body["response_format"]["json_schema"]["schema"]
        return chat(lines(*schema["properties"]["lines"]["items"]["enum"]))

    retrieved, (step, *_), _ = ask(bird_corpus, behaviour, expand_iterations="0", most_actions="100")
    assert (step["expelled"], step["unknown"], step["collapsed"], step["used_fallback"]) == (0, 0, False, False)
    assert step["answers"] == [3, 5, 7, 8, 9, 10, 12, 14, 18, 22], "all of Diet and Range"
    assert step["expands"] == [0, 26], "the lead and Owls in art"
    assert len(retrieved.pieces) == 10


def test_an_output_outside_the_grammar_is_asked_again_then_the_fallback_decides(bird_corpus: Any) -> None:
    retrieved, (step,), asked = ask(bird_corpus, always(lines("[ANSWER] 2: Diet"), lines(ROW)))
    assert (step["answers"], step["llm_calls"], step["used_fallback"], len(asked)) == ([18], 2, False, 2)
    retrieved, (step,), _ = ask(bird_corpus, always(lines("[ANSWER] 2: Diet")))
    plain = make_method("rdr2").retrieve(Request(QUESTION, k=1), bird_corpus, Trace())
    assert retrieved.pieces == plain.pieces
    assert (step["used_fallback"], step["fallback"], step["llm_calls"], step["collapsed"]) == (
        True, "similarity", 2, False)
    assert "no usable JSON" in step["failure"]
    assert (retrieved.fallbacks, retrieved.tokens_in) == (1, 14)


def scored(values: Callable[[str], float]) -> Behaviour:
    """Gives each prompt the value of its last line, all of it at the first character of that line."""
    def behaviour(asked: Asked) -> Sent:
        choices = []
        for index, prompt in enumerate(asked.body["prompt"]):
            last = prompt.rpartition("\n")[2]
            choices.append({"index": index, "logprobs": {
                "text_offset": [0, len(prompt) - len(last), len(prompt)],
                "token_logprobs": [None, values(last), -1.0]}})
        return as_json({"choices": choices, "usage": {"prompt_tokens": 50, "completion_tokens": 1}})

    return behaviour


def test_scores_against_refusing_choose_the_lines(bird_corpus: Any) -> None:
    behaviour = scored(lambda line: {"Cannot answer": -5.0, ROW: -4.0}.get(line, -9.0))
    _, (step,), asked = ask(bird_corpus, behaviour, decode="score", score_threshold="0.5")
    assert len(asked) == 1, "all candidates in one request"
    assert (step["answers"], step["expelled"], step["collapsed"]) == ([18], 0, False)
    assert step["scores"][ROW] == 1.0
    assert step["scores"]["[EXPAND] 26: Owls in art"] == -4.0
    _, (step,), _ = ask(bird_corpus, behaviour, decode="score", score_threshold="1.5")
    assert step["refused"]


def test_the_threshold_of_scores_is_the_releases_unless_set(bird_corpus: Any, owl: Any) -> None:
    corpus = type(bird_corpus)([owl], {"answer": 0.3, "expand": 0.2, "score": 2.0})
    behaviour = scored(lambda line: {"Cannot answer": -5.0, ROW: -4.0}.get(line, -9.0))
    assert ask(corpus, behaviour, decode="score")[1][0]["score_threshold"] == 2.0
    assert ask(bird_corpus, behaviour, decode="score")[1][0]["score_threshold"] == -12.0, "an older release"


def test_scores_are_chosen_best_first_within_their_limits() -> None:
    names = ["[ANSWER] 1: a", "[EXPAND] 2: b", "[EXPAND] 3: c", "[EXPAND] 4: d", "[ANSWER] 5: e"]
    values = [0.1, 0.9, 0.5, 0.7, -0.2]
    assert choose_by_score(names, values, 0.0, 10, True) == [names[0], names[1], names[3]]
    assert choose_by_score(names, values, 0.0, 2, True) == [names[1], names[3]]
    assert choose_by_score(names, values, 1.0, 10, True) == []
    assert choose_by_score(names, values, 1.0, 10, False) == [names[1]]
    assert choose_by_score(names, [0.5] * 5, 0.9, 10, False) == [names[0]]


@pytest.mark.parametrize("fault", [
    pytest.param(error(500, "x"), id="500"), pytest.param(Sent(b"<html>"), id="rubbish"),
    pytest.param(chat("cut", cut_after=5), id="cut"), pytest.param(as_json({}), id="wrong json"),
    pytest.param(error(429, "x", headers={"Retry-After": "0"}), id="limited")])
def test_a_failing_endpoint_leaves_routing_to_the_similarity_router(bird_corpus: Any, fault: Sent) -> None:
    for decode in ("free", "constrained", "score"):
        retrieved, (step, *_), asked = ask(bird_corpus, lambda _: fault, decode=decode)
        assert 18 in step["answers"]
        assert (step["used_fallback"], step["retries"], step["llm_calls"], len(asked)) == (True, 1, 0, 2)
        assert (retrieved.fallbacks, retrieved.llm_calls) == (1, 0)


def test_an_endpoint_that_is_down_is_counted_in_every_document(bird_corpus: Any) -> None:
    with served(always("x")) as server:
        url = server.url
    trace = Trace()
    retrieved = make_method("rdr2").retrieve(Request("owls and herons nest", k=5, router=f"{url}#m"), bird_corpus,
                                             trace)
    turns = [step for step in trace.steps if step["step"] == "route"]
    assert len({step["doc_id"] for step in turns}) == 2
    assert retrieved.fallbacks == len(turns)
    assert all("no connection" in step["failure"] for step in turns)


def test_without_fallback_a_failure_is_raised(bird_corpus: Any) -> None:
    with pytest.raises(ModelFailure, match="500"):
        ask(bird_corpus, lambda asked: error(500, "x"), router_fallback="false")


@pytest.mark.parametrize("status", [401, 404, 400])
def test_wrong_settings_are_not_hidden_by_a_fallback(bird_corpus: Any, status: int) -> None:
    with pytest.raises(UserError):
        ask(bird_corpus, lambda asked: error(status, "no"))


def test_a_collapsed_output_is_counted_and_replaced(bird_corpus: Any) -> None:
    said = "I think it is 95 cm.\n[ANSWER] 2: Diet"
    retrieved, (step,), _ = ask(bird_corpus, always(said), decode="free")
    assert (step["collapsed"], step["expelled"], step["unparsed"], step["used_fallback"]) == (True, 1, 1, True)
    assert step["said"] == said
    assert 18 in step["answers"]
    assert retrieved.fallbacks == 1
    retrieved, (step,), _ = ask(bird_corpus, always(said), decode="free", router_fallback="false")
    assert (step["collapsed"], step["used_fallback"], retrieved.pieces) == (True, False, [])


def test_documents_are_routed_at_the_same_time(bird_corpus: Any) -> None:
    with served(lambda asked: chat(lines("Cannot answer"), delay_s=0.2)) as server:
        request = Request("owls and herons nest", k=5, router=f"{server.url}#m")
        make_method("rdr2").retrieve(request, bird_corpus, Trace())
    assert len(server.requests) == 2
    assert server.most_at_once == 2


def test_only_legal_actions_are_named(bird_corpus: Any) -> None:
    cases = {"rdr2": (True, True), "rdr2+no_expand": (False, True), "rdr2+no_refuse": (True, False)}
    for method, (expands, refuses) in cases.items():
        _, _, asked = ask(bird_corpus, always(lines(ROW)), method=method)
        told = asked[0].body["messages"][0]["content"]
        assert ("[EXPAND]" in told, "Cannot answer" in told) == (expands, refuses)


@pytest.mark.parametrize("name", ["locl", "champion", "127.0.0.1:80", "http://"])
def test_a_router_that_does_not_exist(bird_corpus: Any, name: str) -> None:
    with pytest.raises(UserError):
        make_router(name, bird_corpus, {})
