"""Readers: three forms, evidence fitted to a model, plain answers; against a real server."""

from __future__ import annotations

import pytest
from language_model_server import always, error, served

from pipelines.errors import UserError
from pipelines.methods.reader import Reader, check_reader, make_reader, plain_answer, split_options
from pipelines.models.endpoint import Endpoint
from pipelines.models.llm import NO_USAGE, ModelFailure, Usage
from pipelines.models.llm_settings import EndpointSettings, parse_endpoint
from pipelines.models.tokens import load_token_counter
from pipelines.settings import TOKEN_COUNTER_NAME

COUNT = load_token_counter(TOKEN_COUNTER_NAME).count
CONTEXT = "# Owl\nOwls hunt at night."


def reader(url: str, form: str = "short", context_tokens: int | None = None, max_tokens: int = 0) -> Reader:
    model = Endpoint(parse_endpoint(f"{url}#m"), EndpointSettings(retries=0))
    model.context_tokens = context_tokens
    return Reader("default", model, form, max_tokens, COUNT)


def test_an_answer_from_the_evidence() -> None:
    with served(always("Answer: at night.\nThat is when they hunt.")) as server:
        reading = reader(server.url).read("When do\nowls hunt?", CONTEXT)
    assert (reading.answer, reading.usage, reading.n_words_cut) == (
        "at night", Usage(1, tokens_in=7, tokens_out=3), 0)
    (asked,) = server.requests
    assert asked.last_words == f"Paragraphs:\n{CONTEXT}\n\nQuestion: When do owls hunt?"
    assert asked.body["max_tokens"] == 48


@pytest.mark.parametrize(("form", "word", "max_tokens"), [
    ("short", "one short answer only", 48), ("list", "separated by commas", 256), ("long", "neutral", 384)])
def test_each_form_asks_in_its_own_words(form: str, word: str, max_tokens: int) -> None:
    with served(always("x")) as server:
        reader(server.url, form).read("?", CONTEXT)
        reader(server.url, form, max_tokens=9).read("?", CONTEXT)
    told = server.requests[0].body["messages"][0]["content"]
    assert word in told
    assert "Cannot answer" in told
    assert [asked.body["max_tokens"] for asked in server.requests] == [max_tokens, 9]


def test_without_evidence_no_model_is_asked() -> None:
    with served(always("x")) as server:
        reading = reader(server.url).read("When?", " \n")
    assert (reading.answer, reading.usage, server.requests) == ("Cannot answer", NO_USAGE, [])


def test_evidence_is_cut_to_the_models_context() -> None:
    context = "\n".join(f"Line {n} of the evidence holds some words." for n in range(100))
    with served(always("x")) as server:
        reading = reader(server.url, context_tokens=500).read("?", context)
        shown = server.requests[0].last_words
        assert context.startswith(shown.removeprefix("Paragraphs:\n").split("\n\nQuestion")[0])
        assert COUNT(shown) + COUNT(server.requests[0].body["messages"][0]["content"]) + 48 <= 500
        assert reading.n_words_cut + len(shown.split()) - 3 == len(context.split())
        # One line alone, longer than the model reads: cut at a word.
        long = reader(server.url, context_tokens=300).read("?", "word " * 2000)
        assert 0 < long.n_words_cut < 2000


def test_a_reader_that_is_down_is_an_error_in_four_parts() -> None:
    with served(lambda asked: error(503, "starting")) as server, pytest.raises(ModelFailure) as caught:
        reader(server.url).read("?", CONTEXT)
    assert caught.value.subject == f"endpoint {server.url}"
    assert "503" in caught.value.found


@pytest.mark.parametrize(("said", "form", "answer"), [
    ("  Paris.\n\nIt is", "short", "Paris"), ('"Paris"', "short", "Paris"), ("Answers: a, b", "list", "a, b"),
    ("- a\n- b,\n- c.", "list", "a, b, c"), ("", "short", "Cannot answer"), (" \n", "long", "Cannot answer"),
    ("Cannot answer.", "short", "Cannot answer"), ("One.\n\nTwo.", "long", "One.\nTwo."),
    ("Ratio 3:1", "short", "Ratio 3:1"), ("Answer:", "short", "Answer:"),
    ("The answer to this question is: 1706.", "short", "1706"),
    ("The answer is 1706", "short", "The answer is 1706"),
    ('He called them "Atma" and "Butz".', "short", 'He called them "Atma" and "Butz"')])
def test_the_plain_answer_of_an_output(said: str, form: str, answer: str) -> None:
    assert plain_answer(said, form) == answer


def test_readers_by_name() -> None:
    options = {"reader_form": "short", "reader_tokens": 0}
    assert make_reader("none", options, COUNT) is None
    for name in ("human", "local", "https://me:key@host/v1"):
        with pytest.raises(UserError):
            check_reader(name)


def test_options_are_told_apart() -> None:
    assert split_options({"reader_form": "list", "expand_iterations": "2"}) == (
        {"reader_form": "list"}, {"expand_iterations": "2"})
