"""The facade on a real data folder: answers as JSON, wrong input, citations across releases."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from language_model_server import Asked, Sent, chat, served

from jobs.cli import main
from pipelines import Corpus
from pipelines.errors import UserError
from pipelines.methods.registry import method_names
from pipelines.releases import Release, next_number, publish
from pipelines.settings import DataFolder
from pipelines.storage import TableReader, open_table

QUESTION = "What do anarchists think of the state?"
ANSWER_KEYS = ["question", "method", "release", "budget_tokens", "context_tokens", "context", "evidence",
               "answer", "trace", "llm_calls", "tokens_in", "tokens_out", "latency_s"]


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
    assert exported["trace"][0]["step"] == "search"
    assert exported["trace"][-1]["step"] == "pack"
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


@pytest.mark.parametrize("method", ["rdr2", "rdr2+fill", "flat_hybrid"])
def test_questions_that_are_asked_together_have_the_answers_of_each_alone(corpus: Corpus, method: str) -> None:
    questions = [QUESTION, "Who wrote about autism?", QUESTION]
    options = easy(method)
    together = corpus.ask_many(questions, method=method, budget=300, options=options)
    alone = [corpus.ask(question, method=method, budget=300, options=options) for question in questions]
    assert [(one.question, one.context, one.llm_calls) for one in together] == [
        (one.question, one.context, one.llm_calls) for one in alone]
    assert all(one.latency_s > 0 for one in together)
    assert corpus.ask_many([]) == []


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


def test_titles_are_looked_up_once_a_question(shared_data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows of `documents` are read for them, which two searches and the check of --title would each do."""
    corpus = Corpus.open(shared_data)
    titles = [row["title"] for row in corpus.documents()[2:5]]
    asked: list[str] = []
    execute = TableReader._execute

    def counted(reader: TableReader, name: str, sql: str) -> Iterator[Any]:
        asked.append(sql)
        return execute(reader, name, sql)

    monkeypatch.setattr(TableReader, "_execute", counted)
    answer = corpus.ask("history of the country", method="flat_hybrid", titles=titles)
    assert {item.title for item in answer.evidence} <= set(titles)
    assert len(answer.evidence) > 1
    assert len([sql for sql in asked if '"title" IN' in sql]) == 1


def test_titles_restrict_the_search(corpus: Corpus) -> None:
    title = corpus.documents()[3]["title"]
    for method in ("flat", "flat_bm25", "flat_hybrid"):
        answer = corpus.ask("history of the country", method=method, titles=[title], source="wikipedia")
        assert {item.title for item in answer.evidence} == {title}
        assert corpus.ask("history of the country", method=method, titles=title).evidence == answer.evidence


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


def test_a_citation_of_a_removed_document_is_found_in_a_kept_release(
        build_data: Callable[[Path], tuple[DataFolder, Release]], tmp_path: Path) -> None:
    data, first = build_data(tmp_path / "data")
    doc_id = Corpus.open(data).documents()[0]["doc_id"]
    for table in ("tree_nodes", "documents"):
        open_table(data, table).delete(f"doc_id = '{doc_id}'")
    versions = {name: int(open_table(data, name).version()) for name in first.tables}
    publish(data, first.model_copy(update={"number": next_number(data), "tables": versions}))
    corpus = Corpus.open(data)
    shown = corpus.show(f"{doc_id}@1.1#/0")
    assert (shown.release, shown.document.doc_id) == (1, doc_id)
    for address in (doc_id, f"{doc_id}@2.1#/0"):
        with pytest.raises(UserError, match="release 2 has no such document"):
            corpus.show(address)


def publish_next(data: DataFolder, release: Release, table: str, changes: dict[str, str],
                 doc_id: str) -> Release:
    """Change the rows of a document and publish the changed table with everything else as it was."""
    delta = open_table(data, table)
    delta.update(updates=changes, predicate=f"doc_id = '{doc_id}'")
    versions = {**release.tables, table: int(open_table(data, table).version())}
    following = release.model_copy(update={"number": next_number(data), "tables": versions})
    return publish(data, following)


def test_trees_stream_every_document_once(corpus: Corpus) -> None:
    ids = [document.doc_id for document in corpus.trees()]
    assert sorted(ids) == [row["doc_id"] for row in corpus.documents()]


COLD = """
import sys
from jobs.cli import main
code = main(["ask", "--data", sys.argv[1], "--method", sys.argv[2], *sys.argv[3:]])
heavy = ("torch", "transformers", "pyspark", "dagster", "ray", "mlflow", "pandas", "pyarrow", "sklearn",
         "great_expectations", "matplotlib")
print([name for name in heavy if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("method", ["flat", "flat_bm25", "rdr2"])
def test_ask_loads_no_engine_and_prints_evidence_with_citations(shared_data: DataFolder, method: str) -> None:
    options = [f"--set={name}={value}" for name, value in easy(method).items()]
    done = subprocess.run([sys.executable, "-c", COLD, shared_data.root, method, *options, QUESTION],
                          capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")
    assert re.search(r"^\[1\] .+ \(enwiki:\d+, score \d\.\d{3}\)$", done.stdout, re.MULTILINE)
    assert re.search(r"^    enwiki:\d+@1\.1#/[\d/]+", done.stdout, re.MULTILINE)
    assert re.search(rf"^{re.escape(method)}, release 1: \d+ of 1000 tokens", done.stdout, re.MULTILINE)


def said(asked: Asked) -> Sent:
    """A model that picks the first line it may, and answers in two words."""
    if "response_format" not in asked.body:
        return chat("Abolish it.", usage={"prompt_tokens": 90, "completion_tokens": 4})
    lines = asked.body["response_format"]["json_schema"]["schema"]["properties"]["lines"]["items"]["enum"]
    return chat(json.dumps({"lines": lines[:1]}), usage={"prompt_tokens": 200, "completion_tokens": 9})


def test_a_model_routes_and_reads(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPALIER_LLM_PRICE_IN", "1")
    with served(said) as server:
        name = f"{server.url}#m"
        answer = corpus.ask(QUESTION, k=1, router=name, reader=name, options={"reader_form": "list"})
    turns = [step for step in answer.trace if step["step"] == "route"]
    assert answer.answer == "Abolish it"
    assert answer.llm_calls == len(turns) + 1 == len(server.requests)
    assert (answer.tokens_in, answer.tokens_out) == (200 * len(turns) + 90, 9 * len(turns) + 4)
    assert answer.cost_usd == pytest.approx(answer.tokens_in / 1e6)
    assert answer.fallbacks == 0
    read = answer.trace[-1]
    assert {"step": "read", "reader": name, "model": "m", "form": "list", "said": "Abolish it.", "llm_calls": 1,
            "tokens_in": 90, "tokens_out": 4, "n_words_cut": 0}.items() <= read.items()
    assert answer.context in server.requests[-1].last_words
    assert server.url not in json.dumps(answer.to_json()["evidence"])


@pytest.mark.parametrize("method", method_names())
def test_every_method_can_be_read(corpus: Corpus, method: str) -> None:
    with served(said) as server:
        answer = corpus.ask(QUESTION, method=method, reader=f"{server.url}#m", options=easy(method))
    assert answer.answer == "Abolish it"
    assert answer.llm_calls == 1


def test_wrong_options_of_a_reader_are_named(corpus: Corpus) -> None:
    with pytest.raises(UserError, match="reader_form"):
        corpus.ask(QUESTION, reader="http://127.0.0.1:9/v1#m", options={"reader_form": "verse"})


def test_ask_says_what_models_took_and_what_failed(shared_data: DataFolder, capsys: pytest.CaptureFixture[str],
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPALIER_LLM_RETRIES", "0")
    with served(said) as server:
        name = f"{server.url}#m"
        code, out, _ = cli(capsys, "ask", "--data", shared_data.root, "--k", "1", "--router", name,
                           "--reader", name, "--set", "expand_iterations=0", QUESTION)
        assert code == 0
        assert "Answer:   Abolish it" in out
        assert "2 model calls (290 tokens in, 13 out)" in out
    code, out, _ = cli(capsys, "ask", "--data", shared_data.root, "--k", "1", "--router", name, QUESTION)
    assert code == 0, "a router falls back"
    assert "decided by the similarity router instead" in out
    assert "no connection" in out
    code, _, errors = cli(capsys, "ask", "--data", shared_data.root, "--method", "flat", "--reader", name, QUESTION)
    assert code == 1, "a reader has nothing to fall back to"
    assert errors.count("\n") == 1
    assert errors.startswith(f"espalier: endpoint {server.url}: ")


def cli(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    return (code, *capsys.readouterr())


def test_the_commands_print_json_markdown_outline_and_words(shared_data: DataFolder, corpus: Corpus,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    data = ("--data", shared_data.root)
    doc_id = corpus.documents()[0]["doc_id"]
    code, out, _ = cli(capsys, "ask", *data, "--json", "--method", "flat", "--budget", "200", QUESTION)
    assert code == 0
    answer = json.loads(out)
    assert list(answer) == ANSWER_KEYS
    citation = answer["evidence"][0]["citations"][0]
    assert cli(capsys, "show", *data, citation["uri"])[1] == citation["quote"] + "\n"
    document = corpus.document(doc_id)
    assert cli(capsys, "show", *data, doc_id)[1].startswith(f"# {document.title}\n")
    assert cli(capsys, "show", *data, doc_id, "--markdown")[1] == cli(capsys, "show", *data, doc_id)[1]
    assert cli(capsys, "show", *data, doc_id, "--outline")[1].count("\n") == len(document)
    shown = json.loads(cli(capsys, "show", *data, doc_id + "#/0", "--json")[1])
    assert (shown["release"], shown["nodes"][0]["path"], shown["address"]) == (1, [0], doc_id + "#/0")
    code, _, errors = cli(capsys, "show", *data, doc_id + "@9.9#/0")
    assert code == 2
    assert "9.9" in errors
    assert "1.1" in errors


def test_a_refusal_says_so(shared_data: DataFolder, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = cli(capsys, "ask", "--data", shared_data.root, "--set", "answer_threshold=1",
                       "--set", "expand_threshold=1", QUESTION)
    assert code == 0
    assert "No evidence found" in out


def test_export_writes_one_document_a_line_or_no_file(shared_data: DataFolder, corpus: Corpus, tmp_path: Path,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "trees.jsonl"
    assert cli(capsys, "export-trees", "--data", shared_data.root, "--out", str(target))[0] == 0
    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert sorted(line["doc_id"] for line in lines) == [row["doc_id"] for row in corpus.documents()]
    for line in lines:
        assert list(line) == ["doc_id", "title", "uri", "nodes"]
        assert list(line["nodes"][0]) == ["id", "parent", "path", "kind", "tag", "level", "text"]
        assert [node["text"] for node in line["nodes"]] == [n.text for n in corpus.document(line["doc_id"])]
    assert cli(capsys, "export-trees", "--data", shared_data.root, "--out", "-")[1] == \
        target.read_text(encoding="utf-8")
    missing = str(tmp_path / "no" / "folder.jsonl")
    code, _, errors = cli(capsys, "export-trees", "--data", shared_data.root, "--out", missing)
    assert code == 2
    assert missing in errors
    assert [path.name for path in tmp_path.iterdir()] == ["trees.jsonl"]
