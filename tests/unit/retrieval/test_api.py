"""The facade on a real data folder: answers as JSON, wrong input, citations across releases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines import Corpus
from pipelines.errors import UserError
from pipelines.methods.registry import method_names
from pipelines.releases import Release, next_number, publish
from pipelines.settings import DataFolder
from pipelines.storage import open_table

QUESTION = "What do anarchists think of the state?"
ANSWER_KEYS = ["question", "method", "release", "budget_tokens", "context_tokens", "context", "evidence", "answer",
               "trace", "llm_calls", "tokens_in", "tokens_out", "latency_s"]


@pytest.fixture(scope="module")
def corpus(shared_data: DataFolder) -> Corpus:
    return Corpus.open(shared_data)


@pytest.mark.parametrize("method", method_names())
def test_an_answer_is_the_object_of_ask_json(corpus: Corpus, method: str) -> None:
    answer = corpus.ask(QUESTION, method=method, budget=300, options=easy(method))
    exported = json.loads(json.dumps(answer.to_json()))
    assert list(exported) == ANSWER_KEYS
    assert (exported["method"], exported["release"], exported["budget_tokens"]) == (method, 1, 300)
    assert exported["answer"] is None
    assert 0 < exported["context_tokens"] <= 300
    assert exported["context_tokens"] == corpus.retrieval.count_tokens(exported["context"])
    assert [step["step"] for step in exported["trace"]][0] == "search"
    assert [step["step"] for step in exported["trace"]][-1] == "pack"
    assert all(step["duration_s"] >= 0 for step in exported["trace"])
    for item in exported["evidence"]:
        assert list(item) == ["doc_id", "title", "paths", "citations", "text", "score"]
        for citation in item["citations"]:
            assert corpus.show(citation["uri"]).words.text == citation["quote"]
            assert citation["quote"] in item["text"]
            assert list(corpus.show(citation["uri"]).node.path) in item["paths"]


def easy(method: str) -> dict[str, object]:
    """Options under which routing answers at all in a corpus this small."""
    return {"answer_threshold": 0.1, "expand_threshold": 0.05} if method.startswith("rdr2") else {}


def test_equal_questions_have_equal_answers(corpus: Corpus, shared_data: DataFolder) -> None:
    other = Corpus.open(shared_data)
    for method in method_names():
        one, two = (it.ask(QUESTION, method=method).to_json() for it in (corpus, other))
        assert (one["context"], one["evidence"]) == (two["context"], two["evidence"])


@pytest.mark.parametrize(("fields", "subject"), [
    ({"question": ""}, "question"), ({"question": " \n"}, "question"), ({"budget": 0}, "budget"),
    ({"budget": -5}, "budget"), ({"budget": 1.5}, "budget"), ({"budget": True}, "budget"), ({"k": -1}, "k"),
    ({"k": 100_000}, "k"), ({"method": "bert"}, "method"), ({"router": "oracle"}, "router"),
    ({"reader": "human"}, "reader"), ({"source": "pdf"}, "source"), ({"titles": ["No such title"]}, "title"),
    ({"options": {"depth": 3}}, "option"), ({"options": {"expand_iterations": "x"}}, "option")])
def test_wrong_input_is_a_users_error(corpus: Corpus, fields: dict[str, Any], subject: str) -> None:
    with pytest.raises(UserError) as caught:
        corpus.ask(**{"question": QUESTION} | fields)
    assert caught.value.subject.startswith(subject)


def test_titles_restrict_the_search(corpus: Corpus) -> None:
    title = corpus.documents()[3]["title"]
    for method in ("flat", "flat_bm25", "flat_hybrid"):
        answer = corpus.ask("history of the country", method=method, titles=[title], source="wikipedia")
        assert {item.title for item in answer.evidence} == {title}


def test_undecodable_characters_of_a_question_do_not_stop_it(corpus: Corpus) -> None:
    assert corpus.ask("anarchism \udcff", method="flat").evidence


def test_a_large_budget_is_filled_by_flat(corpus: Corpus) -> None:
    answer = corpus.ask("history", method="flat", budget=5000)
    assert 4500 < answer.context_tokens <= 5000


def test_show_finds_documents_nodes_and_characters(corpus: Corpus) -> None:
    doc_id = corpus.documents()[0]["doc_id"]
    shown = corpus.show(doc_id)
    assert (shown.release, shown.node.node_id) == (1, 0)
    paragraph = next(node for node in shown.document if node.tag == "p")
    uri = f"{doc_id}@1.1#/" + "/".join(map(str, paragraph.path))
    assert corpus.show(uri).words.text == paragraph.text
    assert corpus.show(f"{uri}:3-9").words.text == paragraph.text[3:9]


@pytest.mark.parametrize("address", ["enwiki:999999", "nothing", "enwiki:12#/0/0/0/0/0"])
def test_what_cannot_be_shown_is_a_users_error(corpus: Corpus, address: str) -> None:
    with pytest.raises(UserError):
        corpus.show(address)


def test_a_citation_of_an_older_version_is_found_in_a_kept_release(
        build_data: Callable[[Path], tuple[DataFolder, Release]], tmp_path: Path) -> None:
    data, first = build_data(tmp_path / "data")
    doc_id = Corpus.open(data).documents()[0]["doc_id"]
    old = Corpus.open(data).show(doc_id).document
    publish_next(data, first, "documents", {"revision": "'2'"}, doc_id)
    corpus = Corpus.open(data)
    assert corpus.release == 2
    assert corpus.show(f"{doc_id}#/0").document.revision == "2", "without @ the served release"
    shown = corpus.show(f"{doc_id}@1.1#/0")
    assert (shown.release, shown.document.nodes) == (1, old.nodes)
    with pytest.raises(UserError) as caught:
        corpus.show(f"{doc_id}@3.1#/0")
    assert "3.1" in str(caught.value)
    assert "2.1" in str(caught.value)


def publish_next(data: DataFolder, release: Release, table: str, changes: dict[str, str], doc_id: str) -> Release:
    """Change the rows of a document and publish the changed table with everything else as it was."""
    delta = open_table(data, table)
    delta.update(updates=changes, predicate=f"doc_id = '{doc_id}'")
    versions = {**release.tables, table: int(open_table(data, table).version())}
    following = release.model_copy(update={"number": next_number(data), "tables": versions})
    return publish(data, following)


def test_trees_stream_every_document_once(corpus: Corpus) -> None:
    ids = [document.doc_id for document in corpus.trees()]
    assert sorted(ids) == [row["doc_id"] for row in corpus.documents()]
