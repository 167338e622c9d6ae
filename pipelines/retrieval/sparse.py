"""Sparse retrieval: a tantivy index over the units' terms, ranked by BM25.

What belongs here: building, opening and searching the index of one release. What does not: making terms
(`terms.py`) and the units' texts (`corpus.py`). Terms are made in Python and handed over joined by spaces
under the tokenizer `whitespace`, for tantivy's own cut Hindi words and cannot pair Han characters; queries
are built of terms and never parsed, so that no question is a syntax error.

Fields: `unit_id` (stored), `doc_id` and `source` (whole values, for filters), `terms` (with frequencies), and
`names`: in the first unit of a document the terms of the titles that redirect to it. A term that has a spelling
without accents is followed in `terms` by that spelling with a mark, so that `cafe` finds `café`. One character of
a script without spaces is looked for in the pairs that hold it, which takes no room in the index.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.retrieval.index_files import Manifest, finish_folder
from pipelines.retrieval.spelling import plain
from pipelines.retrieval.terms import is_unspaced, terms
from pipelines.scratch import scratch_folder
from pipelines.storage import doc_id_of

SPARSE_FORMAT = 2
_PLAIN_MARK = "~"
"""Before a spelling without accents; no term begins with it."""
_LIKE = 0.9
"""A spelling that is not the question's, and a name that redirects, count this share of the word itself at most."""
_WRITER_HEAP_BYTES = 128_000_000
_TIE_MARGIN = 16


class Match(NamedTuple):
    """A unit that an index found: its id, its document's, and the score (higher is better)."""

    unit_id: str
    doc_id: str
    score: float


def rank(matches: Iterable[Match], k: int) -> list[Match]:
    """The k best, in a fixed order: equal scores by unit_id."""
    return sorted(matches, key=lambda match: (-match.score, match.unit_id))[:k]


def build_sparse(folder: Path, units: Iterable[Mapping[str, Any]], inputs: str) -> Manifest:
    """Build the index of units (unit_id, doc_id, source, text, perhaps names) in an empty local folder.

    names: other titles of the unit's document. units: in a fixed order, streamed.
    inputs: what identifies them, kept in the manifest.
    """
    import tantivy

    index = tantivy.Index(_schema(), path=str(folder))
    # One thread: the same units then make the same segments.
    writer = index.writer(heap_size=_WRITER_HEAP_BYTES, num_threads=1)
    n_units = 0
    for unit in units:
        document = tantivy.Document()
        for field in ("unit_id", "doc_id", "source"):
            document.add_text(field, unit[field])
        document.add_text("terms", " ".join(_indexed(unit["text"])))
        if unit.get("names"):
            document.add_text("names", " ".join(_indexed("\n".join(unit["names"]))))
        writer.add_document(document)
        n_units += 1
    writer.commit()
    writer.wait_merging_threads()
    return finish_folder(folder, {"kind": "sparse", "format": SPARSE_FORMAT, "inputs": inputs,
                                  "n_units": n_units})


def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("unit_id", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("doc_id", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("source", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("names", tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def _indexed(text: str) -> Iterator[str]:
    """The terms of a text, each followed by its marked spelling without accents where that is another one."""
    for term in terms(text):
        yield term
        if plain(term) != term:
            yield _PLAIN_MARK + plain(term)


class SparseIndex:
    """An opened index. Instances may be shared between threads."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        if not os.access(folder, os.W_OK):
            # tantivy locks a file beside the index even to read it: others open it through links.
            links = scratch_folder("sparse")
            for path in folder.iterdir():
                if path.suffix != ".lock":
                    (links / path.name).symlink_to(path)
            folder = links
        self._index = tantivy.Index.open(str(folder))
        self._schema = self._index.schema
        self._searcher = self._index.searcher()

    @property
    def n_units(self) -> int:
        return int(self._searcher.num_docs)

    def search(self, question: str, k: int, *, source: str | None = None,
               doc_ids: Collection[str] | None = None) -> list[Match]:
        """The k best units by BM25 over the question's terms, best first; ties by unit_id.

        A term that occurs twice in the question counts twice. Without a term that the index knows, nothing
        is found.
        """
        query = self._query(terms(question), source, doc_ids)
        if query is None or k < 1:
            return []
        limit = k + _TIE_MARGIN
        while True:
            hits = self._searcher.search(query, limit=limit, count=False).hits
            # Units with the score of the k-th may be beyond the limit: only all of them can be ordered.
            if len(hits) < limit or hits[-1][0] < hits[k - 1][0]:
                break
            limit *= 4
        found = []
        for score, address in hits:
            unit_id = self._searcher.doc(address).get_first("unit_id")
            found.append(Match(unit_id, doc_id_of(unit_id), float(score)))
        return rank(found, k)

    def _query(self, words: list[str], source: str | None, doc_ids: Collection[str] | None) -> Any:
        from tantivy import Occur, Query

        if not words or (doc_ids is not None and not doc_ids):
            return None
        query = Query.boolean_query([(Occur.Should, self._word_query(word)) for word in words])
        filters = []
        if source is not None:
            filters.append(Query.term_query(self._schema, "source", source, index_option="basic"))
        if doc_ids is not None:
            filters.append(Query.term_set_query(self._schema, "doc_id", sorted(doc_ids)))
        if not filters:
            return query
        # A filter decides what is found and adds nothing to the score.
        return Query.boolean_query([(Occur.Must, query)] + [
            (Occur.Must, Query.const_score_query(one, 0.0)) for one in filters])

    def _word_query(self, word: str) -> Any:
        """A word of the question: itself, else a spelling of it, else a name with it; the best one counts."""
        from tantivy import Query

        def term_query(field: str, term: str) -> Any:
            return Query.term_query(self._schema, field, term, index_option="freq")

        others = [("terms", _PLAIN_MARK + plain(word)), ("names", word), ("names", _PLAIN_MARK + plain(word))]
        if plain(word) != word:
            others += [("terms", plain(word)), ("names", plain(word))]
        known = [(field, term, n) for field, term in others if (n := self._searcher.doc_freq(field, term))]
        weight = self.inverse_document_frequency(word)
        alternatives = [Query.boost_query(term_query(field, term), _LIKE * min(1.0, weight / self._weight(n)))
                        for field, term, n in known]
        if len(word) == 1 and is_unspaced(word):
            holding = Query.regex_query(self._schema, "terms", f"{word}.|.{word}")
            n = self._searcher.search(holding, limit=1, count=True).count or 0
            if n:
                alternatives.append(Query.const_score_query(holding, _LIKE * min(weight, self._weight(n))))
        if not alternatives:
            return term_query("terms", word)
        return Query.disjunction_max_query([term_query("terms", word), *alternatives])

    def knows(self, term: str) -> bool:
        """Whether a search for this term alone finds anything."""
        return bool(self._searcher.search(self._word_query(term), limit=1, count=False).hits)

    def inverse_document_frequency(self, term: str) -> float:
        """ln(1 + (N - n + 0.5) / (n + 0.5)), N units of which n have the term, as BM25 weighs it."""
        return self._weight(self._searcher.doc_freq("terms", term))

    def _weight(self, n: int) -> float:
        return math.log(1 + (self.n_units - n + 0.5) / (n + 0.5))
