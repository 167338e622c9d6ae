"""RDR²: retrieve passages, route in the structure of their documents, assemble (paper 2510.04293).

Passages are matched to the nodes that they were cut from (no alignment); several passages of a document
share one retrieval subtree. A router answers with nodes and expands headings, at most `expand_iterations` a
document; the evidence is the answered nodes in document order below their headings, documents in the order
of their first passage. `rdr2+fill` retrieves more passages until the context fills the budget; the other
switches are the paper's ablations (`ablations.py`).

What belongs here: search and assembly. What does not: the turns in a document (`routing_loop.py`), text and
grammar (`routing.py`), routers, budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import reduce
from typing import get_args

from pipelines.methods.ablations import ABLATIONS, NO_ROUTER
from pipelines.methods.base import Option, Request, RetrievalCorpus, Retrieved, Trace
from pipelines.methods.flat import Flat
from pipelines.methods.llm_router import DECODES
from pipelines.methods.options import read_options
from pipelines.methods.passages import Ranking, find_passages
from pipelines.methods.routers import make_router
from pipelines.methods.routing_loop import RoutedDocument, RoutingLoop
from pipelines.models.llm import NO_USAGE, Usage
from pipelines.retrieval.budget import pack

FILL_MOST_K = 50
FILL_SHARE = 0.9
"""`+fill` stops once the context holds this share of the budget (docs/evaluation.md)."""

OPTIONS = (
    Option("ranking", "dense", "how passages are found", choices=get_args(Ranking)),
    Option("expand_iterations", 5, "headings expanded in one document at most", 0, 100),
    Option("router_text_tokens", 3000, "length of a router text at most, in tokens", 100, 1_000_000),
    Option("line_words", 60, "words of a node that a router sees", 5, 10_000),
    Option("table_headers", True, "print the column headings of a table above its answered rows"),
    Option("decode", "constrained", "router local or URL: how its output is made", choices=DECODES),
    Option("score_threshold", None, "decode=score: take a line from this score on", -100, 100),
    Option("router_output_tokens", 256, "router local or URL: length of an output at most", 8, 100_000),
    Option("most_actions", 10, "router local or URL: actions of an output at most, not for free", 1, 1000),
    Option("router_fallback", True, "the similarity router decides where a model fails or collapses"),
    Option("answer_threshold", None, "router similarity: ANSWER from this score on", 0, 1),
    Option("expand_threshold", None, "router similarity: EXPAND from this score on", 0, 1),
    Option("scorer_margin", 0.0, "router scorer: log-odds by which a line may miss its threshold", -100, 100),
)


class Rdr2:
    """Retrieve, route, and leave the reading to a reader."""

    default_k: int | None = 5
    options = OPTIONS

    def __init__(self, fill: bool = False, ablations: Set[str] = frozenset()) -> None:
        self.fill, self.ablations = fill, frozenset(ablations)
        self.name = "+".join(["rdr2", *(["fill"] if fill else []),
                              *(name for name in ABLATIONS if name in self.ablations)])

    def retrieve(self, request: Request, corpus: RetrievalCorpus, trace: Trace) -> Retrieved:
        """Search, route each document, return the answered nodes by document rank, then score."""
        options = read_options(f"method {self.name}", OPTIONS, request.options)
        if NO_ROUTER in self.ablations:
            return self._passages(options["ranking"], request, corpus, trace)
        router = make_router(request.router, corpus, options)
        k = self.default_k if request.k is None else request.k
        ks = list(_fill_ks(k or 0)) if self.fill else [k or 0]
        hits = find_passages(options["ranking"], request, ks[-1], corpus, trace)
        if options["ranking"] != "dense":
            # Whatever ranked them, what routers read of a passage is its cosine.
            cosines = corpus.cosines(request.question, hits)
            hits = [replace(hit, score=cosines.get(hit.unit_id, 0.0)) for hit in hits]
        loop = RoutingLoop(request.question, corpus, router, options, self.ablations)
        routed: list[RoutedDocument] = []
        for k in ks:
            routed = loop.route_all(hits[:k], trace)
            if not self.fill or k >= len(hits) or self._is_full(routed, corpus, request, k, trace):
                break
        pieces = [piece for document in routed for piece in document.pieces()]
        with trace.step("assemble", n_pieces=len(pieces)) as step:
            step["answers"] = {document.view.document.doc_id: sorted(document.answers)
                               for document in routed if document.answers}
        all_routed = loop.all_routed()
        usage = reduce(Usage.__add__, (one.usage for one in all_routed), NO_USAGE)
        return Retrieved(pieces, usage.calls, usage.tokens_in, usage.tokens_out,
                         sum(one.fallbacks for one in all_routed), usage.cost_usd)

    def _passages(self, ranking: Ranking, request: Request, corpus: RetrievalCorpus, trace: Trace) -> Retrieved:
        """Without a router: the same passages as they are; with `fill`, as many as fill the budget."""
        k = request.k if self.fill or request.k is not None else self.default_k
        return Flat(self.name, ranking).retrieve(replace(request, k=k, options={}), corpus, trace)

    def _is_full(self, routed: Sequence[RoutedDocument], corpus: RetrievalCorpus, request: Request, k: int,
                 trace: Trace) -> bool:
        with trace.step("fill", k=k) as step:
            pieces = [piece for document in routed for piece in document.pieces()]
            step["context_tokens"] = pack(pieces, corpus, request.budget_tokens).n_tokens
        return bool(step["context_tokens"] >= FILL_SHARE * request.budget_tokens)


def _fill_ks(first_k: int) -> Iterator[int]:
    """The values of k that `+fill` tries: doubled each time, up to 50."""
    k = first_k
    while k < FILL_MOST_K:
        yield k
        k = max(2 * k, 1)
    yield max(first_k, FILL_MOST_K)
