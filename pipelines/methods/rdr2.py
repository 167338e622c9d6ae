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

from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, get_args

from pipelines.methods.ablations import ABLATIONS, NO_ROUTER
from pipelines.methods.base import Hit, Option, Piece, Request, RetrievalCorpus, Retrieved, Trace
from pipelines.methods.flat import Flat
from pipelines.methods.llm_router import DECODES
from pipelines.methods.options import read_options
from pipelines.methods.passages import Ranking, find_passages
from pipelines.methods.routers import make_router
from pipelines.methods.routing import Router
from pipelines.methods.routing_loop import RoutedDocument, RoutingLoop, route_questions
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


@dataclass
class _Asked:
    """A question in routing. ks: the numbers of passages that are still to be routed. routed: by the last one."""

    request: Request
    trace: Trace
    loop: RoutingLoop
    hits: list[Hit]
    ks: deque[int]
    routed: list[RoutedDocument] = field(default_factory=list)

    def content(self) -> list[Piece]:
        """Pieces of the routed documents, in their order, without asides."""
        return [piece for document in self.routed for piece in document.pieces()]

    def pieces(self) -> list[Piece]:
        """The same, then the asides."""
        return self.content() + [piece for document in self.routed for piece in document.pieces(asides=True)]


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
        return self.retrieve_many([request], corpus, [trace])[0]

    def retrieve_many(self, requests: Sequence[Request], corpus: RetrievalCorpus,
                      traces: Sequence[Trace]) -> list[Retrieved]:
        """The same for several questions with router and options in common: their documents are routed together."""
        options = read_options(f"method {self.name}", OPTIONS, requests[0].options)
        if NO_ROUTER in self.ablations:
            return [self._passages(options["ranking"], request, corpus, trace)
                    for request, trace in zip(requests, traces, strict=True)]
        router = make_router(requests[0].router, corpus, options)
        asked = [self._begin(request, corpus, router, options, trace)
                 for request, trace in zip(requests, traces, strict=True)]
        waiting = asked
        while waiting:
            routed = route_questions([(one.loop, one.hits[:one.ks[0]], one.trace) for one in waiting])
            for one, documents in zip(waiting, routed, strict=True):
                one.routed = documents
            waiting = [one for one in waiting if self._goes_on(one, corpus)]
        return [_assembled(one) for one in asked]

    def _begin(self, request: Request, corpus: RetrievalCorpus, router: Router, options: Mapping[str, Any],
               trace: Trace) -> _Asked:
        k = (self.default_k if request.k is None else request.k) or 0
        ks = deque(_fill_ks(k) if self.fill else [k])
        hits = find_passages(options["ranking"], request, ks[-1], corpus, trace)
        if options["ranking"] != "dense":
            # Whatever ranked them, what routers read of a passage is its cosine.
            cosines = corpus.cosines(request.question, hits)
            hits = [replace(hit, score=cosines.get(hit.unit_id, 0.0)) for hit in hits]
        loop = RoutingLoop(request.question, corpus, router, options, self.ablations)
        return _Asked(request, trace, loop, hits, ks)

    def _goes_on(self, asked: _Asked, corpus: RetrievalCorpus) -> bool:
        """Whether more passages are to be routed: `fill` alone, until the context is full or there are no more."""
        k = asked.ks.popleft()
        return bool(asked.ks) and k < len(asked.hits) and not self._is_full(asked, corpus, k)

    def _passages(self, ranking: Ranking, request: Request, corpus: RetrievalCorpus, trace: Trace) -> Retrieved:
        """Without a router: the same passages as they are; with `fill`, as many as fill the budget."""
        k = request.k if self.fill or request.k is not None else self.default_k
        return Flat(self.name, ranking).retrieve(replace(request, k=k, options={}), corpus, trace)

    def _is_full(self, asked: _Asked, corpus: RetrievalCorpus, k: int) -> bool:
        budget_tokens = asked.request.budget_tokens
        with asked.trace.step("fill", k=k) as step:
            step["context_tokens"] = pack(asked.content(), corpus, budget_tokens).n_tokens
        return bool(step["context_tokens"] >= FILL_SHARE * budget_tokens)


def _assembled(asked: _Asked) -> Retrieved:
    """The pieces, with what all routing took."""
    pieces = asked.pieces()
    with asked.trace.step("assemble", n_pieces=len(pieces)) as step:
        step["answers"] = {document.view.document.doc_id: sorted(document.answers)
                           for document in asked.routed if document.answers}
    all_routed = asked.loop.all_routed()
    usage = reduce(Usage.__add__, (one.usage for one in all_routed), NO_USAGE)
    return Retrieved(pieces, usage.calls, usage.tokens_in, usage.tokens_out,
                     sum(one.fallbacks for one in all_routed), usage.cost_usd)


def _fill_ks(first_k: int) -> Iterator[int]:
    """The values of k that `+fill` tries: doubled each time, up to 50."""
    k = first_k
    while k < FILL_MOST_K:
        yield k
        k = max(2 * k, 1)
    yield max(first_k, FILL_MOST_K)
