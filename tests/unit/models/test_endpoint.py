"""An endpoint as a language model, against a real server: payloads, schemas, what a server cannot do, costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from language_model_server import Asked, Sent, always, as_json, chat, error, first, served
from pydantic import BaseModel, SecretStr

from pipelines.errors import UserError
from pipelines.models.endpoint import Endpoint, load_endpoint
from pipelines.models.llm import Completion, LineGrammar, Message, ModelFailure, Usage
from pipelines.models.llm_settings import EndpointSettings, parse_endpoint
from pipelines.models.response_cache import ResponseCache
from pipelines.models.tokens import load_token_counter
from pipelines.settings import TOKEN_COUNTER_NAME

ASKED = [Message("system", "Be brief."), Message("user", "Where?")]
LINES = LineGrammar(("[ANSWER] 3: a", "[ANSWER] 4: b", "[EXPAND] 7: c"), "Cannot answer", 2)


class Place(BaseModel):
    town: str
    people: int


def endpoint(url: str, cache: Path | None = None, **settings: Any) -> Endpoint:
    own = EndpointSettings(backoff_s=0.0, retries=1, timeout_s=5.0, cool_down_s=0.0, **settings)
    return Endpoint(parse_endpoint(f"{url}#m" if "#" not in url else url), own,
                    None if cache is None else ResponseCache(cache))


def test_a_completion_and_what_it_cost() -> None:
    with served(always("Here.")) as server:
        said = endpoint(server.url, price_in=1_000.0, price_out=2_000.0).complete(ASKED, 20)
    assert said == Completion("Here.", Usage(1, 0, 0, 7, 3, pytest.approx(0.013)), False)
    assert server.requests[0].body == {
        "model": "m", "max_tokens": 20, "temperature": 0,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where?"}]}


def test_tokens_are_counted_where_the_server_does_not() -> None:
    count = load_token_counter(TOKEN_COUNTER_NAME).count
    with served(lambda asked: chat("Here it is.", finish="length")) as server:
        said = endpoint(server.url).complete(ASKED, 20)
    assert (said.usage.tokens_in, said.usage.tokens_out) == (count("Be brief.\nWhere?"), count("Here it is."))
    assert said.is_cut


def test_thoughts_are_no_part_of_an_answer() -> None:
    with served(always("<think>Perhaps\nthere?</think>\n\nHere.")) as server:
        assert endpoint(server.url).complete(ASKED, 20).text == "Here."


def test_retries_are_counted() -> None:
    with served(first(error(500, "x"), then=always("Here."))) as server:
        assert endpoint(server.url).complete(ASKED, 20).usage.retries == 1


def test_a_value_is_asked_for_by_schema_and_checked() -> None:
    with served(always('{"town": "Ghent", "people": 265000}')) as server:
        found = endpoint(server.url).structured(ASKED, Place, 50)
    assert found.value == Place(town="Ghent", people=265000)
    schema = server.requests[0].body["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["required"] == ["town", "people"]
    assert schema["schema"]["additionalProperties"] is False
    assert '"people"' in server.requests[0].last_words, "the model is told too"


def test_a_wrong_value_goes_back_once_with_its_fault() -> None:
    with served(always('{"town": "Ghent"}', 'Sorry: {"town": "Ghent", "people": 1}')) as server:
        found = endpoint(server.url).structured(ASKED, Place, 50)
    assert (found.value.people, found.usage.calls, found.usage.tokens_in) == (1, 2, 14)
    again = server.requests[1].body["messages"]
    assert again[-2] == {"role": "assistant", "content": '{"town": "Ghent"}'}
    assert "people: Field required" in again[-1]["content"]


def test_a_value_that_is_wrong_twice_is_a_failure_that_says_what_it_took() -> None:
    with served(always("no", "never", "yes")) as server, pytest.raises(ModelFailure, match="no JSON") as caught:
        endpoint(server.url).structured(ASKED, Place, 50)
    assert len(server.requests) == 2
    assert caught.value.usage == Usage(2, tokens_in=14, tokens_out=6)


def test_a_server_that_goes_away_before_the_second_try_has_cost_the_first() -> None:
    said = chat("no", usage={"prompt_tokens": 7, "completion_tokens": 3})
    with served(first(said, then=lambda _: error(500, "x"))) as server, \
            pytest.raises(ModelFailure, match="500") as caught:
        endpoint(server.url).structured(ASKED, Place, 50)
    assert caught.value.usage == Usage(1, 0, 1, 7, 3)


def without_schemas(asked: Asked) -> Sent:
    if "response_format" in asked.body:
        return error(400, "response_format of type json_schema is not supported by this model")
    return chat('```json\n{"town": "Ghent", "people": 1}\n```')


def test_a_server_without_schemas_is_asked_in_words_from_then_on() -> None:
    with served(without_schemas) as server:
        model = endpoint(server.url)
        assert model.structured(ASKED, Place, 50).value.town == "Ghent"
        assert model.structured(ASKED, Place, 50).value.town == "Ghent"
    assert ["response_format" in asked.body for asked in server.requests] == [True, False, False]


def newest_models(asked: Asked) -> Sent:
    for name in ("max_tokens", "temperature"):
        if name in asked.body:
            return error(400, f"Unsupported parameter: '{name}' is not supported with this model.")
    return chat(f"limit {asked.body['max_completion_tokens']}")


def test_parameters_that_a_model_refuses_are_renamed_or_left_out() -> None:
    with served(newest_models) as server:
        model = endpoint(server.url)
        assert model.complete(ASKED, 20).text == "limit 20"
        assert model.complete(ASKED, 21).text == "limit 21"
        assert len(server.requests) == 4


def test_other_refusals_are_the_users_to_mend() -> None:
    with served(lambda asked: error(400, "the prompt is too long")) as server, \
            pytest.raises(UserError, match=r"400 the prompt is too long.*router_text_tokens"):
        endpoint(server.url).complete(ASKED, 20)


@pytest.mark.parametrize(("said", "taken"), [
    (["[EXPAND] 7: c", "[ANSWER] 3: a"], "[EXPAND] 7: c\n[ANSWER] 3: a"),
    (["Cannot answer"], "Cannot answer"), ([], "Cannot answer"),
    (["[ANSWER] 3: a", "Cannot answer", "[ANSWER] 3: a"], "[ANSWER] 3: a"),
    (["[ANSWER] 3: a", "[ANSWER] 4: b", "[EXPAND] 7: c"], "[ANSWER] 3: a\n[ANSWER] 4: b")])
def test_lines_are_chosen_from_an_enumeration(said: list[str], taken: str) -> None:
    with served(always(json.dumps({"lines": said}))) as server:
        assert endpoint(server.url).complete_lines(ASKED, LINES, 50).text == taken
    items = server.requests[0].body["response_format"]["json_schema"]["schema"]["properties"]["lines"]["items"]
    assert items["enum"] == [*LINES.lines, "Cannot answer"]


def test_no_line_outside_the_grammar_comes_out() -> None:
    with served(always('{"lines": ["[ANSWER] 9: z"]}', '{"lines": ["[ANSWER] 4: b"]}')) as server:
        said = endpoint(server.url).complete_lines(ASKED, LINES, 50)
    assert (said.text, said.usage.calls) == ("[ANSWER] 4: b", 2)
    with served(always('{"lines": ["[ANSWER] 9: z"]}')) as server, pytest.raises(ModelFailure):
        endpoint(server.url).complete_lines(ASKED, LINES, 50)
    with served(always('{"lines": []}')) as server, pytest.raises(ModelFailure, match="no line chosen"):
        endpoint(server.url).complete_lines(ASKED, LineGrammar(("a", "b")), 50)


def test_a_grammar_has_lines_each_once_and_on_one_line() -> None:
    for lines in ((), ("a", "a"), ("a\nb",), ("",)):
        with pytest.raises(ValueError, match="lines"):
            LineGrammar(lines)


def echoed(asked: Asked) -> Sent:
    """Tokens are characters; the log-probability of each is minus its place in the prompt over 100."""
    choices = []
    for index, prompt in enumerate(asked.body["prompt"]):
        n = len(prompt) + asked.body["max_tokens"]
        choices.append({"index": index, "text": prompt + "!", "logprobs": {
            "text_offset": list(range(n)), "token_logprobs": [None, *(-place / 100 for place in range(1, n))]}})
    return as_json({"choices": choices[::-1], "usage": {"prompt_tokens": 100, "completion_tokens": 2}})


def test_candidates_are_scored_in_one_request() -> None:
    with served(echoed) as server:
        scores = endpoint(server.url).score(ASKED, ["ab", "c"])
    (asked,) = server.requests
    assert asked.path == "/completions"
    prompt = "Be brief.\n\nWhere?\n"
    assert asked.body["prompt"] == [f"{prompt}ab", f"{prompt}c"]
    n = len(prompt)
    assert scores.log_probabilities == pytest.approx((-(2 * n + 1) / 100, -n / 100))
    assert (scores.n_tokens, scores.usage) == ((2, 1), Usage(1, tokens_in=100, tokens_out=2))


def test_a_server_without_log_probabilities_cannot_score() -> None:
    with served(lambda asked: as_json({"choices": [{"index": 0, "text": "x", "logprobs": None}]})) as server, \
            pytest.raises(UserError, match="'decode': 'constrained'"):
        endpoint(server.url).score(ASKED, ["ab"])


def models(*names: str) -> Sent:
    return as_json({"data": [{"id": name} for name in names]})


def test_the_only_model_of_a_server_is_taken() -> None:
    with served(first(models("org/only"), then=always("x"))) as server:
        model = Endpoint(parse_endpoint(server.url), EndpointSettings())
        model.complete(ASKED, 5)
        model.complete(ASKED, 5)
    assert [asked.path for asked in server.requests] == ["/models", "/chat/completions", "/chat/completions"]
    assert (server.requests[1].body["model"], model.name) == ("org/only", "org/only")


@pytest.mark.parametrize("names", [(), ("a", "b")])
def test_with_several_models_one_must_be_named(names: tuple[str, ...]) -> None:
    with served(lambda asked: models(*names)) as server, pytest.raises(UserError, match="#MODEL"):
        Endpoint(parse_endpoint(server.url), EndpointSettings()).complete(ASKED, 5)


def test_what_was_asked_once_comes_from_the_cache(tmp_path: Path) -> None:
    with served(always("one", "two", "three", "four")) as server:
        model = endpoint(server.url, tmp_path, price_in=1_000_000.0)
        assert model.complete(ASKED, 5).usage == Usage(1, 0, 0, 7, 3, 7.0)
        again = endpoint(server.url, tmp_path, price_in=1_000_000.0).complete(ASKED, 5)
        assert (again.text, again.usage) == ("one", Usage(1, 1, 0, 7, 3, 7.0)), "counted in full"
        assert model.complete(ASKED, 6).text == "two", "another payload"
        assert endpoint(f"{server.url}#n", tmp_path).complete(ASKED, 5).text == "three", "another model"
        assert endpoint(server.url.replace("127.0.0.1", "localhost"), tmp_path).complete(ASKED, 5).text == "four"
    assert endpoint(server.url, tmp_path).complete(ASKED, 5).text == "one", "the server is down by now"


def test_failures_are_not_cached(tmp_path: Path) -> None:
    with served(first(error(500, ""), error(500, ""), then=always("fine"))) as server:
        model = endpoint(server.url, tmp_path)
        with pytest.raises(ModelFailure):
            model.complete(ASKED, 5)
        assert model.complete(ASKED, 5).text == "fine"


def test_no_key_reaches_the_cache(tmp_path: Path) -> None:
    with served(always("x")) as server:
        endpoint(server.url, tmp_path, api_key="sesame").complete(ASKED, 5)
        assert server.requests[0].headers["authorization"] == "Bearer sesame"
    (stored,) = tmp_path.rglob("*.json")
    assert "sesame" not in stored.read_text()


def test_an_endpoint_is_made_once_a_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path))
    one = load_endpoint("http://127.0.0.1:9/v1#m")
    assert load_endpoint("http://127.0.0.1:9/v1/#m") is one
    monkeypatch.setenv("ESPALIER_LLM_CONCURRENCY", "2")
    assert load_endpoint("http://127.0.0.1:9/v1#m").parallel == 2


@pytest.mark.parametrize("told", [10 ** 400, -1_000_000, True, 7.0, "7", None, [], float("nan"), float("inf")])
def test_a_count_of_tokens_that_can_be_none_is_not_taken(told: Any, tmp_path: Path) -> None:
    with served(lambda asked: chat("one two", usage={"prompt_tokens": told, "completion_tokens": told})) as server:
        own = endpoint(server.url, price_in=1.0).complete(ASKED, 10).usage
        assert 0 < own.tokens_in < 100
        assert 0 < own.tokens_out < 10
        assert 0 < own.cost_usd < 1
        stored = [endpoint(server.url, tmp_path, price_in=1.0).complete(ASKED, 10).usage for _ in range(2)]
    assert [(each.tokens_in, each.tokens_out, each.cache_hits) for each in stored] == [
        (own.tokens_in, own.tokens_out, 0), (own.tokens_in, own.tokens_out, 1)]


def test_an_answer_far_longer_than_asked_for_is_cut_and_says_so() -> None:
    with served(lambda asked: chat("x" * 10_000_000)) as server:
        answer = endpoint(server.url).complete(ASKED, 10)
    assert len(answer.text) == 1_320
    assert answer.is_cut


def test_text_that_no_table_can_hold_is_replaced_and_the_key_masked() -> None:
    with served(lambda asked: chat("a\0b\ud800c sk-secret-0123456789 \U0001f600")) as server:
        text = endpoint(server.url, api_key=SecretStr("sk-secret-0123456789")).complete(ASKED, 10).text
    assert text == "a\ufffdb\ufffdc … \U0001f600"


@pytest.mark.parametrize("body", [
    {"choices": {}}, {"choices": []}, {"choices": [1]}, {"choices": [[]]}, {"choices": [{"message": "x"}]},
    {"choices": [{"message": {"content": [{"type": "text", "text": "x"}]}}]}, {},
    {"choices": [{"message": {"content": None, "refusal": "no"}}]}, {"error": {"message": "no"}}])
def test_an_answer_of_another_form_is_a_failure_and_not_kept(body: Any, tmp_path: Path) -> None:
    with served(lambda asked: as_json(body)) as server, pytest.raises(ModelFailure, match="not of the protocol"):
        endpoint(server.url, tmp_path).complete(ASKED, 10)
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("change", [
    {"tokens_in": 10 ** 400}, {"tokens_in": -1}, {"tokens_out": True}, {"text": None}, {"is_cut": 2}, {"new": 1}])
def test_a_stored_answer_that_cannot_be_one_is_asked_for_again(change: dict[str, Any], tmp_path: Path) -> None:
    with served(always("fine")) as server:
        endpoint(server.url, tmp_path).complete(ASKED, 10)
        (path,) = tmp_path.rglob("*.json")
        stored = json.loads(path.read_bytes())
        stored["answer"] |= change
        path.write_text(json.dumps(stored))
        again = endpoint(server.url, tmp_path).complete(ASKED, 10)
        assert (again.text, again.usage.cache_hits, len(server.requests)) == ("fine", 0, 2)
