"""Where gold quotes stand, what is relevant, and what a prediction ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluation_builders import count_words, make_document, make_prediction, make_question

from pipelines.documents.tree import Document
from pipelines.evaluation.corpus_text import DocumentCache
from pipelines.evaluation.gold import GoldLocator, ranked_sections, relevant_sections
from pipelines.evaluation.predictions import Prediction

FARM = make_document("w:1", "Animal Farm", {
    "": ["Napoleon is a pig."],  # node 1, path 0
    "Pigs": ["He is the villain.", "Another text."],  # section 2 (path 1); nodes 3, 4
    "Humans": ["Frederick is a man."],  # section 5 (path 2); node 6
})
DOCUMENTS = {"w:1": FARM}
LOCATOR = GoldLocator({"Animal Farm": ["w:1"]}, DOCUMENTS, count_words)


def test_a_quote_lies_in_the_nearest_section_above() -> None:
    [lead, pigs] = LOCATOR.locate(
        make_question("q", ("Animal Farm", "napoleon is"), ("Animal_Farm", "the villain")))
    assert (lead.tokens_by_section, lead.problem) == ({"w:1#/": 2}, None)
    assert pigs.tokens_by_section == {"w:1#/1": 2}


def test_a_quote_across_sections_touches_all_of_them() -> None:
    [quote] = LOCATOR.locate(make_question("q", ("Animal Farm", "a pig. He is the villain. Another")))
    assert quote.tokens_by_section == {"w:1#/": 2, "w:1#/1": 5}
    assert relevant_sections([quote]) == {"w:1#/", "w:1#/1"}


def test_what_the_corpus_does_not_hold_stays_relevant_and_is_explained() -> None:
    quotes = LOCATOR.locate(
        make_question("q", ("Animal Farm", "Snowball"), ("Other", "x"), ("Animal Farm", "a pig")))
    assert [quote.problem for quote in quotes] == ["not_in_text", "no_document", None]
    assert relevant_sections(quotes) == {"not-in-corpus#0", "not-in-corpus#1", "w:1#/"}
    # Headings are no evidence text: a quote of one is not found.
    assert LOCATOR.locate(make_question("q", ("Animal Farm", "Humans")))[0].problem == "not_in_text"


def test_sections_rank_in_the_order_of_the_pieces_each_once() -> None:
    prediction = make_prediction("q", "m", FARM, [6, 4, 3, 1])
    assert ranked_sections(prediction, DOCUMENTS) == ["w:1#/2", "w:1#/1", "w:1#/"]


def test_without_pieces_the_citations_rank() -> None:
    whole = make_prediction("q", "m", FARM, [6, 3])
    bare = Prediction("q", "m", 1, whole.context, whole.context_tokens, whole.evidence)
    assert ranked_sections(bare, DOCUMENTS) == ["w:1#/1", "w:1#/2"]  # document order


def test_predictions_survive_the_table() -> None:
    prediction = make_prediction("q", "rdr2+fill", FARM, [6, 4])
    row = prediction.table_row("run", "set", {"evidence_recall": 0.5, "eace": None})
    assert row["metrics"] == {"evidence_recall": 0.5}
    assert Prediction.from_table_row(row) == prediction


def test_the_cache_reads_each_tree_once_while_it_fits() -> None:
    class Reader:
        def __init__(self) -> None:
            self.reads: list[list[str]] = []

        def documents(self, doc_ids: Sequence[str]) -> Mapping[str, Document]:
            self.reads.append(list(doc_ids))
            return {doc_id: make_document(doc_id, doc_id, {"": ["x"]}) for doc_id in doc_ids}

    reader = Reader()
    cache = DocumentCache(reader, limit=2)
    cache.load(["a", "b", "a"])
    assert cache["a"].title == "a"
    assert cache["c"].title == "c"  # drops b, which was used longest ago
    assert cache["a"].title == "a"
    assert cache["b"].title == "b"
    assert reader.reads == [["a", "b"], ["c"], ["b"]]
    assert len(cache) == 2
