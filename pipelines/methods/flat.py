"""Flat baselines: passages of about 100 words in rank order (RDR²'s retrieve-and-read).

`flat` ranks by cosine of sentence vectors, `flat_bm25` by BM25, `flat_hybrid` by reciprocal rank fusion of
both. Each passage stands alone below its document's title; passages are taken until the budget is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pipelines.documents.render import Range
from pipelines.documents.tree import Sentence
from pipelines.methods.base import Hit, Option, Piece, Request, RetrievalCorpus, Retrieved, Trace
from pipelines.methods.options import read_options
from pipelines.retrieval.fusion import KAPPA, reciprocal_rank_fusion

Ranking = Literal["dense", "bm25", "hybrid"]
FEWEST_TOKENS = 25
"""Length of a short passage: so many of them at most fill a budget, and so many are retrieved."""
MOST_UNITS = 1000


def units_for_budget(budget_tokens: int) -> int:
    """How many units to retrieve so that even short ones fill the budget."""
    return min(max(20, budget_tokens // FEWEST_TOKENS), MOST_UNITS)


def hit_ranges(hit: Hit, sentences: Sequence[Sentence]) -> tuple[Range, ...]:
    """What of its nodes a unit covers: from its first to its last sentence, one range a node."""
    ranges: dict[int, tuple[int, int]] = {}
    for sentence in sentences[hit.first_sentence_id: hit.last_sentence_id + 1]:
        begin, end = ranges.get(sentence.node_id, (sentence.begin, sentence.end))
        ranges[sentence.node_id] = (min(begin, sentence.begin), max(end, sentence.end))
    return tuple((node_id, begin, end) for node_id, (begin, end) in sorted(ranges.items()))


class Flat:
    """Passages in the order of one ranking."""

    default_k: int | None = None

    def __init__(self, name: str, ranking: Ranking) -> None:
        self.name, self.ranking = name, ranking
        self.options: tuple[Option, ...] = ()
        if ranking == "hybrid":
            self.options = (
                Option("kappa", KAPPA, "κ of reciprocal rank fusion", 0, 1000),
                Option("depth", 100, "units of each ranking that are fused", 1, 10_000),
            )

    def retrieve(self, request: Request, corpus: RetrievalCorpus, trace: Trace) -> Retrieved:
        """Search and cut each hit back to the sentences that it covers."""
        options = read_options(f"method {self.name}", self.options, request.options)
        k = units_for_budget(request.budget_tokens) if request.k is None else request.k
        with trace.step("search", ranking=self.ranking, question=request.question, k=k) as step:
            hits = self._search(request, corpus, k, options)
            step["hits"] = [hit_summary(hit) for hit in hits]
        with trace.step("read_sentences") as step:
            sentences = corpus.sentences_of(list(dict.fromkeys(hit.doc_id for hit in hits)))
            step["documents"] = len(sentences)
        return Retrieved([Piece(hit.doc_id, hit_ranges(hit, sentences[hit.doc_id]), float(hit.score))
                          for hit in hits])

    def _search(self, request: Request, corpus: RetrievalCorpus, k: int,
                options: dict[str, int]) -> list[Hit]:
        if k == 0:
            return []
        if self.ranking == "dense":
            return corpus.search_dense(request.question, k, request.filters)
        if self.ranking == "bm25":
            return corpus.search_sparse(request.question, k, request.filters)
        depth = max(k, options["depth"])
        rankings = [corpus.search_dense(request.question, depth, request.filters),
                    corpus.search_sparse(request.question, depth, request.filters)]
        by_id = {hit.unit_id: hit for ranking in rankings for hit in ranking}
        fused = reciprocal_rank_fusion([[hit.unit_id for hit in ranking] for ranking in rankings],
                                       options["kappa"])
        return [replace(by_id[unit_id], score=score) for unit_id, score in fused[:k]]


def hit_summary(hit: Hit) -> dict[str, str | float]:
    """What a trace keeps of a hit."""
    return {"unit_id": hit.unit_id, "doc_id": hit.doc_id, "score": round(float(hit.score), 6)}
