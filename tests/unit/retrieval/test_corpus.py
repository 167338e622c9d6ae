"""ReleasedCorpus over a real data folder: searches, trees, filters, a cold process, its errors."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipelines import files
from pipelines.cleanup import clean_up
from pipelines.errors import RunFailure, UserError
from pipelines.methods.base import Filters, RetrievalCorpus
from pipelines.models.encoder import load_encoder
from pipelines.models.tokens import load_token_counter
from pipelines.releases import mark_cleaned
from pipelines.retrieval.corpus import ReleasedCorpus
from pipelines.retrieval.terms import terms
from pipelines.settings import ENCODER_NAME, DataFolder, cache_folder, profile_by_name

Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def corpus(shared_data: DataFolder) -> ReleasedCorpus:
    return ReleasedCorpus.open(shared_data)


def test_it_is_what_methods_expect(corpus: ReleasedCorpus) -> None:
    checked: RetrievalCorpus = corpus
    assert checked.router_thresholds() == {"answer": 0.3, "expand": 0.4}
    assert corpus.release.number == 1


def test_dense_search_is_the_exact_ranking(corpus: ReleasedCorpus, sample_rows: Rows) -> None:
    question = "How cold are the nights in the Sahara?"
    vectors = np.array([row["vector"] for row in sample_rows["embeddings"]], np.float32)
    scores = vectors @ load_encoder(ENCODER_NAME).encode([question]).vectors[0]
    units = [row["unit_id"] for row in sample_rows["embeddings"]]
    expected = sorted(zip(-scores, units, strict=True))[:7]
    hits = corpus.search_dense(question, 7)
    assert [hit.unit_id for hit in hits] == [unit for _, unit in expected]
    np.testing.assert_allclose([hit.score for hit in hits], [-score for score, _ in expected], atol=1e-5)
    assert hits[0].text.startswith("Algeria\n")


def test_cosines_are_those_of_dense_search(corpus: ReleasedCorpus) -> None:
    question = "How cold are the nights in the Sahara?"
    dense = {hit.unit_id: hit.score for hit in corpus.search_dense(question, 1_000_000)}
    hits = corpus.search_sparse("philosophy of the cold desert nights", 60)
    assert len({hit.doc_id for hit in hits}) > 1
    expected = {hit.unit_id: dense[hit.unit_id] for hit in hits}
    assert corpus.cosines(question, hits) == pytest.approx(expected, abs=1e-6)
    assert corpus.cosines(question, []) == {}


def test_hits_carry_the_units_rows(corpus: ReleasedCorpus, sample_rows: Rows) -> None:
    rows = {row["unit_id"]: row for row in sample_rows["units"]}
    for hit in corpus.search_dense("philosophy of the ancient world", 20):
        row = rows[hit.unit_id]
        assert (hit.doc_id, list(hit.node_ids), hit.text, hit.first_sentence_id, hit.last_sentence_id) == (
            row["doc_id"], row["node_ids"], row["text"], row["first_sentence_id"], row["last_sentence_id"])


def test_more_results_than_units_gives_all_once(corpus: ReleasedCorpus, sample_rows: Rows) -> None:
    hits = corpus.search_dense("anything", 10_000)
    assert sorted(hit.unit_id for hit in hits) == sorted(row["unit_id"] for row in sample_rows["units"])
    assert corpus.search_dense("anything", 0) == corpus.search_sparse("anything", 0) == []


def test_sparse_search_finds_rare_words_and_nothing_for_unknown_ones(corpus: ReleasedCorpus) -> None:
    assert corpus.search_sparse("algeria", 3)[0].text.startswith("Algeria\n")
    plain = corpus.search_sparse("and or not title x 2", 3)
    assert corpus.search_sparse('"AND OR NOT (title:x^2 ~', 3) == plain != []
    assert corpus.search_sparse("qwertzuiop", 5) == []
    assert corpus.search_sparse("?!", 5) == []


@pytest.mark.parametrize("search", ["search_dense", "search_sparse"])
def test_filters(corpus: ReleasedCorpus, sample_rows: Rows, search: str) -> None:
    titles = {row["doc_id"]: row["title"] for row in sample_rows["documents"]}
    wanted = ("Algeria", sorted(titles.values())[-1])
    question = "the history of the world"
    hits = getattr(corpus, search)(question, 500, Filters(titles=wanted))
    assert {titles[hit.doc_id] for hit in hits} == set(wanted)
    everything = getattr(corpus, search)(question, 500)
    expected = [hit for hit in everything if titles[hit.doc_id] in wanted]
    assert [hit.unit_id for hit in hits] == [hit.unit_id for hit in expected]
    np.testing.assert_allclose([hit.score for hit in hits], [hit.score for hit in expected], atol=1e-5)
    assert getattr(corpus, search)(question, 500, Filters(source="wikipedia")) == everything
    one = expected[0].doc_id
    assert {hit.doc_id for hit in getattr(corpus, search)(question, 500, Filters(doc_ids=(one,)))} == {one}
    other = Filters(titles=wanted, doc_ids=("enwiki:0", one))
    assert {hit.doc_id for hit in getattr(corpus, search)(question, 500, other)} == {one}
    assert getattr(corpus, search)(question, 5, Filters(titles=("No such title",))) == []
    with pytest.raises(UserError, match=r"source 'pdf'.*one of wikipedia"):
        getattr(corpus, search)(question, 5, Filters(source="pdf"))


def test_titles_with_quotes_are_only_titles(corpus: ReleasedCorpus) -> None:
    assert corpus.doc_ids(["x' OR '1'='1"]) == []
    assert len(corpus.doc_ids(["Algeria", "Algeria"])) == 1


def test_trees_and_sentences_come_back_as_written(corpus: ReleasedCorpus, sample_rows: Rows) -> None:
    doc_ids = [row["doc_id"] for row in sample_rows["documents"]]
    for doc_id, document in corpus.documents(doc_ids).items():
        rows = [row for row in sample_rows["tree_nodes"] if row["doc_id"] == doc_id]
        assert [node._asdict() for node in document] == [
            {name: value for name, value in row.items() if name != "doc_id"} | {"spans": ()} for row in rows]
        for sentence in corpus.sentences(doc_id):
            assert document[sentence.node_id].text[sentence.begin: sentence.end] == sentence.text
        assert [s.sentence_id for s in corpus.sentences(doc_id)] == list(range(len(corpus.sentences(doc_id))))
    assert corpus.sentences_of(doc_ids[:2]) == {doc_id: corpus.sentences(doc_id) for doc_id in doc_ids[:2]}


def test_an_unknown_document_is_a_key_error(corpus: ReleasedCorpus) -> None:
    with pytest.raises(KeyError, match="enwiki:999999"):
        corpus.document("enwiki:999999")
    assert corpus.sentences("enwiki:999999") == []


def test_inverse_document_frequency(corpus: ReleasedCorpus, sample_rows: Rows) -> None:
    n_units = len(sample_rows["units"])
    for term in ("algeria", "the", "qwertzuiop"):
        n = sum(term in terms(row["text"]) for row in sample_rows["units"])
        expected = math.log(1 + (n_units - n + 0.5) / (n + 0.5))
        assert corpus.inverse_document_frequency(term) == pytest.approx(expected)


def test_tokens_are_the_token_counters(corpus: ReleasedCorpus) -> None:
    assert corpus.count_tokens("one two three") == load_token_counter("SmolLM2").count("one two three")


def test_an_unknown_release_and_an_empty_folder_are_explained(shared_data: DataFolder, tmp_path: Any) -> None:
    with pytest.raises(UserError, match=r"release 7.*one of the releases: 1"):
        ReleasedCorpus.open(shared_data, 7)
    with pytest.raises(UserError, match=r"no published release.*espalier build"):
        ReleasedCorpus.open(str(tmp_path / "nothing"))


def test_a_release_whose_files_were_removed_is_explained(build_data: Any, tmp_path: Path) -> None:
    data, release = build_data(tmp_path / "data")
    mark_cleaned(data, release)
    with pytest.raises(UserError, match=r"release 1: clean-up has removed its files"):
        ReleasedCorpus.open(data, 1)


@pytest.mark.parametrize(("index", "search"), [("dense", "search_dense"), ("sparse", "search_sparse")])
def test_an_index_of_another_format_is_not_read(build_data: Any, tmp_path: Path, index: str,
                                                search: str) -> None:
    data, release = build_data(tmp_path / "data")
    manifest = f"{data.root}/{release.indexes[index]}/manifest.json"
    files.write_json(manifest, {**files.read_json(manifest), "format": 0})
    with pytest.raises(RunFailure, match=r"format 0; expected format \d.*espalier build"):
        getattr(ReleasedCorpus.open(data), search)("nights", 3)


def test_a_data_folder_behind_an_address(build_data: Any, tmp_path: Path,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPALIER_STATE", str(tmp_path / "state"))
    (tmp_path / "store").mkdir()
    data, release = build_data(f"file://{tmp_path}/store")
    corpus = ReleasedCorpus.open(data.root)
    assert corpus.release == release
    hits = corpus.search_dense("How cold are the nights in the Sahara?", 2)
    assert corpus.document(hits[0].doc_id).title == "Algeria"
    assert len(corpus.search_sparse("algeria", 2)) == 2
    assert clean_up(data, profile_by_name("fast")).releases == []
    assert ReleasedCorpus.open(data).search_dense("How cold are the nights in the Sahara?", 2) == hits


COLD = """
import sys
import tempfile
from pathlib import Path
from pipelines.releases import mark_cleaned
from pipelines.retrieval.corpus import ReleasedCorpus
corpus = ReleasedCorpus.open(sys.argv[1])
hits = corpus.search_dense("How cold are the nights in the Sahara?", 5)
corpus.search_sparse("sunlight", 5)
corpus.document(hits[0].doc_id), corpus.sentences(hits[0].doc_id), corpus.count_tokens(hits[0].text)
heavy = {"torch", "transformers", "pyspark", "dagster", "ray", "mlflow", "pandas", "pyarrow.dataset"}
print(len(hits), *sorted(heavy & set(sys.modules)))
"""


def test_a_cold_process_loads_nothing_heavy_and_ends_well(shared_data: DataFolder) -> None:
    done = subprocess.run([sys.executable, "-c", COLD, shared_data.root], capture_output=True, text=True,
                          check=False)
    assert (done.stdout, done.returncode) == ("5\n", 0), done.stderr


READ_ONLY = """
import os, sys
from pipelines.releases import mark_cleaned
from pipelines.retrieval.corpus import ReleasedCorpus

def search():
    corpus = ReleasedCorpus.open(sys.argv[1])
    hits = corpus.search_dense("nights", 3)
    corpus.document(hits[0].doc_id), corpus.count_tokens("word")
    return len(hits), len(corpus.search_sparse("the", 3))

if os.getuid() == 0:
    # Everything is loaded first: the interpreter itself may be readable by its owner alone.
    search()
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    open(os.path.join(sys.argv[1], "probe"), "w")
except PermissionError:
    print(*search())
"""


def test_who_may_only_read_the_folder_can_ask(shared_data: DataFolder) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        folder, cache = Path(scratch, "data"), Path(scratch, "cache")
        shutil.copytree(shared_data.root, folder, ignore=shutil.ignore_patterns(".state"))
        for name in ("models", "tokenizers"):
            shutil.copytree(cache_folder() / name, cache / name)
        folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
        for path in folders:
            path.chmod(0o555)
        done = subprocess.run([sys.executable, "-c", READ_ONLY, str(folder)], capture_output=True, text=True,
                              check=False, env={**os.environ, "ESPALIER_CACHE": str(cache)})
        for path in folders:
            path.chmod(0o755)
    assert (done.stdout, done.returncode) == ("3 3\n", 0), done.stderr
