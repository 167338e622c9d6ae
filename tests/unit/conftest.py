"""A small corpus in memory: the real protocol of `methods/base.py` over a few trees, without tables.

Ranking is real (BM25, and cosine of tf-idf vectors in place of an encoder), so is the token counter; trees
are built here. Used where a method, the budget or the facade is tested and no data folder is needed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from pipelines.documents.blocks import block_ids
from pipelines.documents.tree import Document, Sentence, TreeBuilder
from pipelines.methods.base import Filters, Hit
from pipelines.models.tokens import load_token_counter
from pipelines.retrieval.terms import terms
from pipelines.settings import TOKEN_COUNTER_NAME

PASSAGE_WORDS = 30
ANYWHERE = Filters()


class MemoryCorpus:
    """Trees, sentences and passages of some documents. Implements `RetrievalCorpus`."""

    def __init__(self, documents: Sequence[Document], thresholds: Mapping[str, float] | None = None) -> None:
        self._documents = {document.doc_id: document for document in documents}
        self._sentences = {document.doc_id: split(document) for document in documents}
        self._units = [unit for document in documents
                       for unit in passages(document, self._sentences[document.doc_id])]
        self._thresholds = dict(thresholds or {"answer": 0.3, "expand": 0.2})
        self._counter = load_token_counter(TOKEN_COUNTER_NAME)
        self._terms = {unit.unit_id: Counter(terms(unit.text)) for unit in self._units}
        self._n_units_with = Counter(term for counts in self._terms.values() for term in counts)
        self.n_tree_reads = 0

    def search_dense(self, question: str, k: int, filters: Filters = ANYWHERE) -> list[Hit]:
        wanted = self._vector(Counter(terms(question)))
        return self._best(k, filters, lambda counts: _cosine(wanted, self._vector(counts)))

    def search_sparse(self, question: str, k: int, filters: Filters = ANYWHERE) -> list[Hit]:
        mean_length = sum(sum(counts.values()) for counts in self._terms.values()) / len(self._units)

        def bm25(counts: Counter[str]) -> float:
            norm = 1.2 * (0.25 + 0.75 * sum(counts.values()) / mean_length)
            return sum(self.inverse_document_frequency(term) * counts[term] * 2.2 / (counts[term] + norm)
                       for term in set(terms(question)))

        return [hit for hit in self._best(k, filters, bm25) if hit.score > 0]

    def cosines(self, question: str, hits: Sequence[Hit]) -> dict[str, float]:
        wanted = {hit.unit_id for hit in hits}
        return {hit.unit_id: hit.score for hit in self.search_dense(question, len(self._units))
                if hit.unit_id in wanted}

    def document(self, doc_id: str) -> Document:
        return self._documents[doc_id]

    def documents(self, doc_ids: Sequence[str]) -> dict[str, Document]:
        self.n_tree_reads += len(doc_ids)
        return {doc_id: self._documents[doc_id] for doc_id in doc_ids}

    def sentences(self, doc_id: str) -> Sequence[Sentence]:
        return self._sentences[doc_id]

    def sentences_of(self, doc_ids: Sequence[str]) -> dict[str, Sequence[Sentence]]:
        return {doc_id: self._sentences[doc_id] for doc_id in doc_ids}

    def inverse_document_frequency(self, term: str) -> float:
        n_with = self._n_units_with[term]
        return math.log(1 + (len(self._units) - n_with + 0.5) / (n_with + 0.5))

    def count_tokens(self, text: str) -> int:
        return self._counter.count(text)

    def router_thresholds(self) -> Mapping[str, float]:
        return self._thresholds

    def _vector(self, counts: Counter[str]) -> dict[str, float]:
        return {term: n * self.inverse_document_frequency(term) for term, n in counts.items()}

    def _best(self, k: int, filters: Filters, score: object) -> list[Hit]:
        hits = [Hit(unit.unit_id, unit.doc_id, unit.node_ids, score(self._terms[unit.unit_id]), unit.text,
                    unit.first_sentence_id, unit.last_sentence_id)
                for unit in self._units
                if (not filters.titles or self._documents[unit.doc_id].title in filters.titles)
                and (not filters.doc_ids or unit.doc_id in filters.doc_ids)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.unit_id))[:k]


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    length = math.sqrt(sum(v * v for v in one.values()) * sum(v * v for v in other.values()))
    return sum(value * other.get(term, 0.0) for term, value in one.items()) / length if length else 0.0


def split(document: Document) -> list[Sentence]:
    """Sentences end at a full stop and a space; headings have none."""
    found: list[Sentence] = []
    for node in document:
        if node.is_structure:
            continue
        for match in re.finditer(r"\S.*?(?:\.(?=\s|$)|$)", node.text, re.DOTALL):
            found.append(Sentence(len(found), node.node_id, match.start(), match.end(), match[0]))
    return found


def passages(document: Document, sentences: Sequence[Sentence]) -> list[Hit]:
    """Consecutive sentences up to 30 words; the cells of a row stay together."""
    blocks = block_ids(document)
    lines: list[list[Sentence]] = []
    for sentence in sentences:
        block = document[blocks[sentence.node_id]]
        if lines and block.tag == "tr" and blocks[lines[-1][0].node_id] == block.node_id:
            lines[-1].append(sentence)
        else:
            lines.append([sentence])
    groups: list[list[Sentence]] = []
    for line in lines:
        n_words = sum(len(sentence.text.split()) for sentence in line)
        if groups and sum(len(one.text.split()) for one in groups[-1]) + n_words <= PASSAGE_WORDS:
            groups[-1] += line
        else:
            groups.append(list(line))
    return [Hit(f"{document.doc_id}#passage/{number:016x}/0", document.doc_id,
                tuple(sorted({one.node_id for one in group})), 0.0,
                "\n".join([document.title, *(one.text for one in group)]),
                group[0].sentence_id, group[-1].sentence_id) for number, group in enumerate(groups)]


def add_table(builder: TreeBuilder, rows: Sequence[Sequence[str]]) -> None:
    """A table of plain cells, the first row of header cells."""
    builder.open("table")
    for place, row in enumerate(rows):
        builder.open("tr")
        for text in row:
            builder.add("td" if place else "th", text=text)
        builder.close()
    builder.close()


@pytest.fixture(scope="session")
def owl() -> Document:
    """Lead; Diet (p, nested list, p); Range (p, table); Owls in art (definitions); See also (empty)."""
    builder = TreeBuilder("Owl")
    builder.add("p", text="Owls are birds of prey. They hunt at night.")
    builder.open("section", text="Diet", level=2)
    builder.add("p", text="Most owls eat these animals:")
    builder.open("ul")
    builder.open("li", text="small mammals")
    builder.open("ol")
    builder.add("li", text="voles")
    builder.add("li", text="field mice")
    builder.close()
    builder.close()
    builder.add("li", text="fish, by the fishing owls of Asia")
    builder.close()
    builder.add("p", text="Pellets hold what they cannot digest. Bones and fur are found in them.")
    builder.close_to(0)
    builder.open("section", text="Range", level=2)
    builder.add("p", text="Owls live on all continents but one.")
    add_table(builder, [["Species", "Wingspan", "Countries"], ["Barn owl", "95 cm", "140"],
                        ["Snowy owl", "", "12"]])
    builder.close_to(0)
    builder.open("section", text="Owls in art", level=2)
    builder.open("dl")
    builder.add("dt", text="Athena")
    builder.add("dd", text="The goddess carries an owl on the silver coins of Athens.")
    builder.close()
    builder.close_to(0)
    builder.open("section", text="See also", level=2)
    return Document("xx:1", builder.finish(), uri="https://xx.example/Owl", language="en", revision="77",
                    parser_version=3)


@pytest.fixture(scope="session")
def heron() -> Document:
    """Lead; Nesting > Colonies (p with three sentences)."""
    builder = TreeBuilder("Heron")
    builder.add("p", text="Herons are long-legged wading birds of marshes and river banks.")
    builder.open("section", text="Nesting", level=2)
    builder.open("section", text="Colonies", level=3)
    builder.add("p", text="Grey herons nest in colonies called heronries. The largest heronry of the county "
                          "has two hundred nests. It lies beside the old reservoir.")
    return Document("xx:2", builder.finish(), uri="https://xx.example/Heron", language="en", revision="5",
                    parser_version=3)


@pytest.fixture(scope="session")
def bird_corpus(owl: Document, heron: Document) -> MemoryCorpus:
    """Both birds in one corpus."""
    return MemoryCorpus([owl, heron])
