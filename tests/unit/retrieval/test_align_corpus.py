"""A stream of passages against a release: titles, redirects, records, batches, and the command."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.cli import main
from pipelines import storage
from pipelines.api import Corpus
from pipelines.documents.tree import Document, TreeBuilder
from pipelines.errors import UserError
from pipelines.releases import candidate, publish
from pipelines.retrieval.align_corpus import Record, Summary, align_passages
from pipelines.retrieval.corpus import ReleasedCorpus
from pipelines.retrieval.foreign_passages import BadLine, ForeignPassage
from pipelines.retrieval.titles import Resolved, other_titles, resolve_titles, title_forms
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder

SHARED = "Both wikis have this sentence about owls and nothing else in common."
OWL = "Owls are birds of prey that hunt at night, most of them on mice."
UHU = "Eulen sind Greife der Nacht; die meisten fangen auf ihren Flügen Mäuse."
HERON = "Herons wade through marshes and stand still until a fish comes by."
REDIRECTS = {"Owls": "Owl", "Owlet": "Owls#Young", "Round": "About", "About": "Round", "Stork": "Ciconia"}


def tree(doc_id: str, title: str, *texts: str) -> Document:
    builder = TreeBuilder(title)
    for text in texts:
        builder.add("p", text=text)
    return Document(doc_id, builder.finish(), revision="7", parser_version=3)


DOCUMENTS = (tree("enwiki:1", "Owl", OWL, SHARED, OWL), tree("dewiki:1", "Owl", UHU, SHARED),
             tree("enwiki:2", "AT&T heron", HERON))


def rows_of(documents: Sequence[Document]) -> dict[str, list[dict[str, object]]]:
    def about(doc_id: str, title: str, status: str, reason: str | None, n_nodes: int) -> dict[str, object]:
        return {"doc_id": doc_id, "source": "wikipedia", "title": title, "uri": "", "language": "en",
                "revision": "7", "content_sha256": "0" * 64, "parser_version": 3, "n_nodes": n_nodes,
                "n_sentences": 0, "n_tokens": 0, "depth": 1, "status": status, "reason": reason, "counts": {}}

    return {
        "documents": [
            *(about(one.doc_id, one.title, "parsed", None, len(one)) for one in documents),
            *(about(f"enwiki:{100 + number}", title, "redirect", target, 0)
              for number, (title, target) in enumerate(REDIRECTS.items())),
            about("enwiki:9", "Broken", "failed", "TooDeep: …", 0),
        ],
        "tree_nodes": [{**node._asdict(), "doc_id": one.doc_id} for one in documents for node in one],
    }


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """A release of three small documents, five redirects and a page without a tree; without indexes."""
    data = DataFolder.at(tmp_path_factory.mktemp("birds") / "data")
    versions = {}
    for name, rows in rows_of(DOCUMENTS).items():
        storage.create_table(data, name, 4)
        full = [{**row, "bucket": storage.bucket_of(str(row["doc_id"]), 4)} for row in rows]
        write_deltalake(data.table(name), pa.Table.from_pylist(full, schema=TABLES[name].arrow_schema()),
                        mode="append")
        versions[name] = int(storage.open_table(data, name).version())
    publish(data, candidate(data, tables=versions, n_buckets=4, encoder="none", encoder_dim=1, parser_version=3,
                            token_counter="none", router={}, settings_sha256="0" * 64, counts={}))
    return data


def aligned(data: DataFolder, *rows: tuple[str, str], min_score: float = 0.75) -> list[Record]:
    passages = [ForeignPassage(str(number), title, text) for number, (title, text) in enumerate(rows)]
    return list(align_passages(ReleasedCorpus.open(data), passages, min_score))


@pytest.mark.parametrize(("title", "forms"), [
    ("albert_Einstein ", ["albert Einstein", "Albert Einstein"]),
    ("Cafe\u0301", ["Caf\u00e9"]),
    ("AT&amp;T", ["AT&amp;T", "AT&T"]),
    ("ǆ", ["ǆ", "Ǆ"]),
    ("__", []),
])
def test_forms_of_a_title(title: str, forms: list[str]) -> None:
    assert title_forms(title) == forms


def test_titles_resolve_through_redirects_of_their_own_wiki(birds: DataFolder) -> None:
    titles = ["Owl", "owls", "Owlet", "Round", "Stork", "Broken", "Nothing", "at&amp;t_heron", ""]
    assert resolve_titles(ReleasedCorpus.open(birds).reader, titles) == {
        "Owl": Resolved(("dewiki:1", "enwiki:1"), False, None),
        "owls": Resolved(("enwiki:1",), True, None),
        "Owlet": Resolved(("enwiki:1",), True, None),
        "Round": Resolved((), True, "no_redirect_target"),
        "Stork": Resolved((), True, "no_redirect_target"),
        "Broken": Resolved((), False, "no_tree"),
        "Nothing": Resolved((), False, "no_such_title"),
        "at&amp;t_heron": Resolved((), False, "no_such_title"),
        "": Resolved((), False, "no_such_title"),
    }
    assert resolve_titles(ReleasedCorpus.open(birds).reader, ["AT&amp;T_heron"])["AT&amp;T_heron"].doc_ids == (
        "enwiki:2",)


def test_a_record_names_nodes_and_citations_that_show_the_words(birds: DataFolder) -> None:
    [record] = aligned(birds, ("Owlet", f"most of them on mice. {SHARED}"))
    assert record == {
        "id": "0", "title": "Owlet", "doc_id": "enwiki:1", "node_ids": [1, 2], "paths": [[0], [1]],
        "citations": [f"enwiki:1@7.3#/0:{OWL.index('most')}-{len(OWL)}", f"enwiki:1@7.3#/1:0-{len(SHARED)}"],
        "score": 1.0, "n_places": 1, "redirected": True, "reason": None}
    corpus = Corpus.open(birds)
    assert [corpus.show(uri).words.text for uri in record["citations"]] == ["most of them on mice.", SHARED]


def test_each_reason(birds: DataFolder) -> None:
    records = aligned(birds, ("Nothing", OWL), ("Stork", OWL), ("Broken", OWL), ("Owl", " … "), ("Owl", HERON),
                      ("Owls", "Owl"), ("Owl", SHARED), ("Owl", UHU))
    assert [record["reason"] for record in records] == [
        "no_such_title", "no_redirect_target", "no_tree", "empty_passage", "below_threshold", "only_headings",
        "ambiguous", None]
    assert records[-1]["doc_id"] == "dewiki:1"
    assert all(record["node_ids"] == record["citations"] == [] for record in records[:-1])
    assert math.isclose(records[6]["score"], 1.0)
    summary = Summary()
    for record in [*records, {"line": 3, "reason": "not_utf8", "sample": ""}]:
        summary.count(record)
    assert (summary.n_passages, summary.n_aligned, summary.unaligned.total()) == (8, 1, 7)
    assert summary.bad_lines == {"not_utf8": 1}


def test_the_threshold_is_a_setting(birds: DataFolder) -> None:
    half = f"{HERON} Other words stand here, as many as those that the page has of its own."
    assert [aligned(birds, ("AT&T heron", half), min_score=least)[0]["reason"] for least in (0.75, 0.4)] == [
        "below_threshold", None]


def test_repeated_words_follow_the_order_of_the_file(birds: DataFolder) -> None:
    records = aligned(birds, ("Owls", OWL), ("Owls", SHARED), ("Owls", OWL))
    assert [record["node_ids"] for record in records] == [[1], [2], [3]]
    assert [record["n_places"] for record in records] == [2, 1, 2]


class CountingCorpus:
    """A released corpus that counts the trees that are read."""

    def __init__(self, data: DataFolder) -> None:
        self._corpus = ReleasedCorpus.open(data)
        self.reader = self._corpus.reader
        self.read: list[str] = []

    def documents(self, doc_ids: Sequence[str]) -> dict[str, Document]:
        self.read += doc_ids
        return self._corpus.documents(doc_ids)


def test_rows_in_title_order_read_each_tree_once_and_keep_their_order(birds: DataFolder) -> None:
    rows: list[ForeignPassage | BadLine] = [ForeignPassage(str(n), "Owls", OWL) for n in range(7)]
    rows += [BadLine(9, "not_utf8", "")]
    rows += [ForeignPassage(str(n), "AT&T heron", HERON) for n in range(7, 11)]
    corpus = CountingCorpus(birds)
    records = list(align_passages(corpus, rows, batch_rows=3))
    assert corpus.read == ["enwiki:1", "enwiki:2"]
    assert [record.get("id", "bad") for record in records] == [*map(str, range(7)), "bad", *map(str, range(7, 11))]
    assert all(record["reason"] is None for record in records if "id" in record)
    # A title with very many passages does not grow the batch without bound.
    endless = (ForeignPassage(str(n), "Owls", OWL) for n in range(40))
    corpus = CountingCorpus(birds)
    assert len(list(align_passages(corpus, endless, batch_rows=3))) == 40
    assert corpus.read == ["enwiki:1"] * 4


def test_the_command_writes_a_line_for_each_and_a_summary(birds: DataFolder, tmp_path: Path,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "psgs.tsv", tmp_path / "aligned.jsonl"
    source.write_text(f"id\ttext\ttitle\n1\t{OWL}\tOwlet\nno tabs\n2\t{OWL}\tNothing\n", encoding="utf-8")
    assert main(["align", "--data", birds.root, "--passages", str(source), "--out", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [line.get("id") for line in lines] == ["1", None, "2"]
    assert lines[1] == {"line": 3, "reason": "not_three_fields", "sample": "no tabs"}
    assert capsys.readouterr().err.splitlines() == [
        "2 passages: 1 aligned (50.0%), 1 of them through a redirect", "  1 no_such_title",
        "  lines without a passage: 1 not_three_fields; the first are 3"]


def test_the_command_takes_gold_quotes(birds: DataFolder, tmp_path: Path,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "questions.jsonl"
    evidence = [{"title": "Owls", "section": [], "quote": "birds of prey"},
                {"title": "Stork", "section": [], "quote": "white"}]
    source.write_text(json.dumps({"id": "q1", "question": "?", "answers": ["x"], "evidence": evidence}) + "\n")
    assert main(["align", "--data", birds.root, "--questions", str(source)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["id"], line["citations"]) for line in lines] == [("q1/0", ["enwiki:1@7.3#/0:9-22"]), ("q1/1", [])]


@pytest.mark.parametrize(("arguments", "words"), [
    (["--passages", "absent.tsv"], "No such file"),
    (["--passages", "empty.tsv"], "no passage in its 0 lines"),
    (["--passages", "."], "a folder, pipe or device"),
    (["--passages", "absent.tsv", "--min-score", "75"], "--min-score"),
    (["--passages", "absent.tsv", "--out", "/"], "no file"),
])
def test_wrong_input_is_one_line_and_leaves_no_file(birds: DataFolder, arguments: list[str], words: str,
                                                    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.tsv").write_bytes(b"")
    out = [] if "--out" in arguments else ["--out", "aligned.jsonl"]
    assert main(["align", "--data", birds.root, *arguments, *out]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert words in error
    assert [path.name for path in tmp_path.iterdir()] == ["empty.tsv"]


@pytest.mark.parametrize("title", ["Owls", "owls", "Owlet", "Owls ", "Owl"])
def test_a_title_that_redirects_names_the_documents_of_its_target(birds: DataFolder, title: str) -> None:
    assert "enwiki:1" in ReleasedCorpus.open(birds).doc_ids([title])


@pytest.mark.parametrize(("title", "found", "step"), [
    ("Stork", "a redirect has it and leads to no document", "Correct titles=."),
    ("Round", "a redirect has it and leads to no document", "Correct titles=."),
    ("Broken", "its page has no tree", "Correct titles=."),
    ("Owlz", "no document has it", "Near it: Owl"),
    ("", "no document has it", "Correct titles=."),
    ("'; --", "no document has it", "Correct titles=."),
])
def test_a_title_without_a_document_says_what_it_is_and_what_is_near(birds: DataFolder, title: str, found: str,
                                                                     step: str) -> None:
    with pytest.raises(UserError) as raised:
        Corpus.open(birds).ask("What does it eat?", titles=[title])
    assert found in raised.value.found
    assert raised.value.next_step.startswith(step)


def test_titles_that_redirect_are_other_titles_of_their_target(birds: DataFolder) -> None:
    assert other_titles(ReleasedCorpus.open(birds).reader) == {
        ("enwiki", "Owl"): ["Owlet", "Owls"], ("enwiki", "Ciconia"): ["Stork"]}
