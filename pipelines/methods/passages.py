"""Passages of a question, by one of three rankings; every method that begins with passages finds them here.

`dense` ranks by cosine of sentence vectors, `bm25` by BM25, `hybrid` by reciprocal rank fusion of both.

What belongs here: the rankings. What does not: indexes (`pipelines/retrieval/`), and what becomes of passages.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pipelines.methods.base import Hit, Request, RetrievalCorpus, Trace
from pipelines.retrieval.fusion import KAPPA, reciprocal_rank_fusion

Ranking = Literal["dense", "bm25", "hybrid"]
DEPTH = 100
"""Passages of each ranking that are fused, at least."""


def find_passages(ranking: Ranking, request: Request, k: int, corpus: RetrievalCorpus, trace: Trace,
                  kappa: int = KAPPA, depth: int = DEPTH) -> list[Hit]:
    """The best k passages, best first, as a step of the trace. kappa, depth: of `hybrid`."""
    with trace.step("search", ranking=ranking, question=request.question, k=k) as step:
        hits = _ranked(ranking, request, k, corpus, kappa, max(k, depth)) if k else []
        step["hits"] = [{"unit_id": hit.unit_id, "doc_id": hit.doc_id, "score": round(float(hit.score), 6)}
                        for hit in hits]
    return hits


def _ranked(ranking: Ranking, request: Request, k: int, corpus: RetrievalCorpus, kappa: int,
            depth: int) -> list[Hit]:
    if ranking == "dense":
        return corpus.search_dense(request.question, k, request.filters)
    if ranking == "bm25":
        return corpus.search_sparse(request.question, k, request.filters)
    rankings = [corpus.search_dense(request.question, depth, request.filters),
                corpus.search_sparse(request.question, depth, request.filters)]
    by_id = {hit.unit_id: hit for one in rankings for hit in one}
    fused = reciprocal_rank_fusion([[hit.unit_id for hit in one] for one in rankings], kappa)
    return [replace(by_id[unit_id], score=score) for unit_id, score in fused[:k]]
