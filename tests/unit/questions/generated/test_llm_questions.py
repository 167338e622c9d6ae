"""Questions that a language model writes: the checks, rejects, prompts, and a real endpoint with its cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from generated_builders import mill
from language_model_server import Asked, Sent, chat, error, served

from pipelines.models.endpoint import Endpoint
from pipelines.models.llm_settings import EndpointSettings, parse_endpoint
from pipelines.models.response_cache import ResponseCache
from pipelines.questions.generated.generate import GenerationSettings, generate
from pipelines.questions.generated.llm_questions import (
    Block,
    WrittenQuestion,
    check,
    generate_with_model,
    joined,
    messages_for,
    named,
)
from pipelines.questions.generated.source import Candidate, SourceDocument

SETTINGS = GenerationSettings(counts={}, most_per_document=20)
DOCUMENTS = [mill(1, "Ottery Mill"), mill(2, "Tamar Mill")]


def block(tag: str = "p") -> Block:
    """The first block of Ottery Mill's section History, or the table row of 1811."""
    source = SourceDocument(DOCUMENTS[0])
    text = "In 1701 the Devon bakers" if tag == "p" else "1811 | "
    from pipelines.documents.blocks import block_text

    node = next(node for node in source.document if node.tag == tag
                and block_text(source.document, node.node_id, source.blocks).startswith(text))
    sentences = tuple(source.sentences.get(node.node_id, ())) if tag == "p" else ()
    return Block(source.doc_id, node.node_id, source.title, node.heading_path, tag,
                 block_text(source.document, node.node_id, source.blocks), (True,) * max(1, len(sentences)),
                 sentences, 0.5)


@pytest.mark.parametrize(("question", "answer", "reason"), [
    ("Who turned down the town of Exeter in 1701?", "the Devon bakers", None),
    ("What turned on?", "The wheel", "no_question"),
    ("Who turned down the town of Exeter?", "the bakers of Kent", "answer_not_in_block"),
    ("Who turned down the town of Exeter?", " — ", "answer_not_in_block"),
    ("What did the bakers do then?",
     "In 1701 the Devon bakers rejected an offer of the town of Exeter for Ottery Mill", "answer_too_long"),
    ("When in 1701 did the bakers reject it?", "1701", "question_holds_answer"),
    ("According to this passage, who rejected an offer?", "the Devon bakers", "names_the_article"),
    ("Who rejected an offer in the text above?", "the Devon bakers", "names_the_article"),
    ("Who turned down the document of Exeter?", "the Devon bakers", None),
])
def test_checks(question: str, answer: str, reason: str | None) -> None:
    outcome = check(block(), WrittenQuestion(question=question, answer=answer), "llm:m")
    if reason is None:
        assert isinstance(outcome, Candidate)
        assert outcome.question == question
        assert outcome.answers == ((answer,),)
        assert outcome.evidence[0].quote == (
            "In 1701 the Devon bakers rejected an offer of the town of Exeter for Ottery Mill.")
    else:
        assert isinstance(outcome, dict)
        assert outcome["reason"] == reason


def test_a_row_is_quoted_whole() -> None:
    written = WrittenQuestion(question="Who ground in the year 1811?", answer="Will Cobb 1")
    outcome = check(block("tr"), written, "llm:m")
    assert isinstance(outcome, Candidate)
    assert (outcome.type, outcome.evidence[0].quote) == ("table", "1811 | 1,201 | Will Cobb 1")


def test_the_prompt_shows_the_headings_and_one_block() -> None:
    system, user = messages_for(block())
    assert (system.role, user.role) == ("system", "user")
    assert user.content.splitlines()[0] == "Headings: Ottery Mill > History"
    assert "John Cook" not in user.content


def answering(asked: Asked) -> Sent:
    """Asks for the last word of the block; an unusable answer on every row of a table; fails on terms."""
    words = asked.body["messages"][1]["content"].split("Block:\n")[1].split("\n\nAnswer with")[0]
    if words.startswith("The upper"):
        return error(400, "too hot")
    answer = "nowhere at all" if " | " in words else words.rstrip(".").split()[-1]
    return chat(json.dumps({"question": f"Which word closes what begins with the letters {words[:7]!r}?",
                            "answer": answer}), usage={"prompt_tokens": 50, "completion_tokens": 20})


def model(url: str, cache: Path | None = None, **settings: Any) -> Endpoint:
    own = EndpointSettings(backoff_s=0.0, retries=0, timeout_s=5.0, cool_down_s=0.0, **settings)
    return Endpoint(parse_endpoint(f"{url}#m"), own, None if cache is None else ResponseCache(cache))


def test_a_set_by_a_model_is_the_same_again_and_from_the_cache(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with served(lambda asked: answering(asked)) as server:
        first, usage = generate_with_model(
            lambda: DOCUMENTS, SETTINGS, 4, model(server.url, tmp_path, concurrency=2),
            lambda good, n_asked: told.append((good, n_asked)))
        n_requests = len(server.requests)
        again, cached = generate_with_model(lambda: DOCUMENTS[::-1], SETTINGS, 4,
                                            model(server.url, tmp_path, concurrency=1))
        assert len(server.requests) - n_requests <= 1
    assert [question.generator for question in first.questions] == ["llm:m"] * 4
    assert first.counts() == {"llm:m": 4}
    assert again.questions == first.questions
    assert usage.calls == n_requests
    assert cached.cache_hits >= cached.calls - 1
    assert told[-1][0] == 4


def test_outputs_that_are_not_taken_are_rejects(tmp_path: Path) -> None:
    rows_alone = GenerationSettings(counts={}, most_per_document=50, include=frozenset({"Ottery Mill"}))
    with served(answering) as server:
        generated, _ = generate_with_model(lambda: DOCUMENTS, rows_alone, 50, model(server.url))
    reasons = {reject["reason"] for reject in generated.rejects}
    assert reasons <= {"answer_not_in_block", "asked_before", "model_failed", "quote_not_unique",
                       "question_holds_answer"}
    assert len(generated.questions) + len(generated.rejects) == len(server.requests)
    for row in named(generated.rejects, "my-set"):
        assert row["table"] == "questions"
        assert row["source_ref"].startswith("my-set:xx:1#")
    assert generated.counts()["llm:m"] == len(generated.questions) < 50


def test_a_model_that_fails_gives_a_reject() -> None:
    with served(lambda asked: chat("no JSON at all")) as server:
        generated, usage = generate_with_model(lambda: DOCUMENTS, SETTINGS, 2, model(server.url))
    assert generated.questions == []
    assert {reject["reason"] for reject in generated.rejects} == {"model_failed"}
    assert usage.calls == len(server.requests) == 2 * len(generated.rejects)


def test_sets_of_rules_and_of_a_model_are_joined() -> None:
    with served(answering) as server:
        by_model, _ = generate_with_model(lambda: DOCUMENTS, SETTINGS, 2, model(server.url))
    by_rules = generate(lambda: DOCUMENTS, GenerationSettings(counts={"table_cell": 2}))
    both = joined([by_rules, by_model])
    assert both.counts() == {"table_cell": 2, "llm:m": 2}
    assert both.rejects == by_model.rejects
    assert [question.question_id for question in both.questions] == sorted(
        question.question_id for question in [*by_rules.questions, *by_model.questions])
