"""RDR²: retrieve passages, route in the structure of their documents, assemble (paper 2510.04293).

Passages are matched to the nodes that they were cut from (no alignment); several passages of a document
share one retrieval subtree. A router answers with nodes and expands headings, at most `expand_iterations` a
document; the evidence is the answered nodes in document order below their headings, documents in the order
of their first passage. `rdr2+fill` retrieves more passages until the context fills the budget.

What belongs here: the loop and the assembly. What does not: the view (`subtree.py`), text and grammar
(`routing.py`), routers, budget.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pipelines.documents.blocks import ROW_TAG, block_members, header_row
from pipelines.documents.render import whole
from pipelines.methods.base import Hit, Option, Piece, Request, RetrievalCorpus, Retrieved, Trace
from pipelines.methods.flat import hit_summary
from pipelines.methods.options import read_options
from pipelines.methods.routers import make_router
from pipelines.methods.routing import PROMPT_FORMAT, Router, RouterState, parse_actions, router_state
from pipelines.methods.similarity_router import NodeScorer, question_weights
from pipelines.methods.subtree import SubtreeView, view_of
from pipelines.retrieval.budget import pack

FILL_MOST_K = 50
FILL_SHARE = 0.9
"""`+fill` stops once the context holds this share of the budget (docs/evaluation.md)."""

OPTIONS = (
    Option("expand_iterations", 5, "headings expanded in one document at most", 0, 100),
    Option("router_text_tokens", 3000, "length of a router text at most, in tokens", 100, 1_000_000),
    Option("line_words", 60, "words of a node that a router sees", 5, 10_000),
    Option("table_headers", True, "print the column headings of a table above its answered rows"),
    Option("answer_threshold", None, "router similarity: ANSWER from this score on", 0, 1),
    Option("expand_threshold", None, "router similarity: EXPAND from this score on", 0, 1),
)


@dataclass
class RoutedDocument:
    """What routing chose in one document, and what it took."""

    view: SubtreeView
    score: NodeScorer
    table_headers: bool = True
    answers: set[int] = field(default_factory=set)
    steps: list[dict[str, Any]] = field(default_factory=list)
    llm_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    fallbacks: int = 0

    def pieces(self) -> list[Piece]:
        """One piece an answered node, the best score first; equal ones in document order."""
        document, blocks = self.view.document, self.view.blocks

        def ranges(block_ids: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
            members = [node.node_id for block_id in block_ids
                       for node in block_members(document, block_id, blocks)]
            return whole(document, members)

        ranked = sorted(self.answers, key=lambda node_id: (-self.score(node_id), node_id))
        return [Piece(document.doc_id, ranges([node_id]), self.score(node_id),
                      ranges(self._context_of(node_id)), "subdocument") for node_id in ranked]

    def _context_of(self, node_id: int) -> list[int]:
        """What is printed above a node besides headings: content ancestors, a row's column headings."""
        above = self.view.content_ancestors(node_id)
        if self.table_headers and self.view.document[node_id].tag == ROW_TAG:
            header_id = header_row(self.view.document, node_id)
            if header_id is not None:
                above.append(header_id)
        return above


class Rdr2:
    """Retrieve, route, and leave the reading to a reader."""

    default_k: int | None = 5
    options = OPTIONS

    def __init__(self, fill: bool = False) -> None:
        self.fill = fill
        self.name = "rdr2+fill" if fill else "rdr2"

    def retrieve(self, request: Request, corpus: RetrievalCorpus, trace: Trace) -> Retrieved:
        """Search, route each document, return the answered nodes by document rank, then score."""
        options = read_options(f"method {self.name}", OPTIONS, request.options)
        router = make_router(request.router, corpus, options)
        k = self.default_k if request.k is None else request.k
        ks = list(_fill_ks(k or 0)) if self.fill else [k or 0]
        with trace.step("search", ranking="dense", question=request.question, k=ks[-1]) as step:
            hits = corpus.search_dense(request.question, ks[-1], request.filters) if ks[-1] else []
            step["hits"] = [hit_summary(hit) for hit in hits]
        loop = _RoutingLoop(request.question, corpus, router, options)
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
        return Retrieved(pieces, llm_calls=sum(one.llm_calls for one in all_routed),
                         tokens_in=sum(one.tokens_in for one in all_routed),
                         tokens_out=sum(one.tokens_out for one in all_routed),
                         fallbacks=sum(one.fallbacks for one in all_routed))

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


class _RoutingLoop:
    """Routes documents for one question; a document with the same passages is routed once."""

    def __init__(self, question: str, corpus: RetrievalCorpus, router: Router,
                 options: Mapping[str, Any]) -> None:
        self._question, self._corpus, self._router, self._options = question, corpus, router, options
        self._weights = question_weights(question, corpus.inverse_document_frequency)
        self._routed: dict[tuple[str, ...], RoutedDocument] = {}

    def all_routed(self) -> list[RoutedDocument]:
        """Everything that was routed, what `+fill` routed again included: it was paid for."""
        return list(self._routed.values())

    def route_all(self, hits: Sequence[Hit], trace: Trace) -> list[RoutedDocument]:
        """Route the documents of these passages, in the order of their first passage."""
        by_document: dict[str, list[Hit]] = {}
        for hit in hits:
            by_document.setdefault(hit.doc_id, []).append(hit)
        keys = {doc_id: (doc_id, *sorted(hit.unit_id for hit in own)) for doc_id, own in by_document.items()}
        missing = [doc_id for doc_id in by_document if keys[doc_id] not in self._routed]
        with trace.step("read_trees", documents=len(missing)):
            documents = self._corpus.documents(missing)
        views = [view_of(documents[doc_id]) for doc_id in missing]
        own_hits = [by_document[doc_id] for doc_id in missing]
        if self._router.parallel > 1:
            with ThreadPoolExecutor(self._router.parallel) as pool:
                results = list(pool.map(self._route, views, own_hits))
        else:
            results = list(map(self._route, views, own_hits))
        for doc_id, routed in zip(missing, results, strict=True):
            trace.steps += routed.steps
            self._routed[keys[doc_id]] = routed
        return [self._routed[key] for key in keys.values()]

    def _route(self, view: SubtreeView, hits: Sequence[Hit]) -> RoutedDocument:
        routed = RoutedDocument(view, NodeScorer(self._weights, view, hits), self._options["table_headers"])
        matched = view.matched(node_id for hit in hits for node_id in hit.node_ids)
        seen: set[int] = set()
        queue: deque[int] = deque()
        self._turn(routed, view.light(matched), matched, 0, seen, queue)
        for turn in range(1, self._options["expand_iterations"] + 1):
            heading_id, content = _next_heading(view, queue, seen)
            if heading_id is None:
                break
            self._turn(routed, content, {heading_id}, turn, seen, queue)
        return routed

    def _turn(self, routed: RoutedDocument, lit: set[int], anchors: set[int], turn: int, seen: set[int],
              queue: deque[int]) -> None:
        """Show one subtree to the router and take its actions."""
        trace = Trace()
        document = routed.view.document
        with trace.step("route", doc_id=document.doc_id, title=document.title, turn=turn,
                        anchors=sorted(anchors)) as step:
            state = self._state(routed, lit, anchors, turn)
            output = self._router.route(state)
            actions = parse_actions(output.text, state)
            step |= {"router": self._router.name, "prompt_format": PROMPT_FORMAT, "router_text": state.text,
                     "output": output.text, "lines_left_out": state.n_left_out,
                     "used_fallback": output.used_fallback, **actions.counts()}
        routed.steps += trace.steps
        routed.answers.update(actions.answers)
        routed.llm_calls += output.llm_calls
        routed.tokens_in += output.tokens_in
        routed.tokens_out += output.tokens_out
        routed.fallbacks += output.used_fallback
        seen.update(state.visible)
        queue.extend(heading_id for heading_id in actions.expands if heading_id not in queue)

    def _state(self, routed: RoutedDocument, lit: set[int], anchors: set[int], turn: int) -> RouterState:
        return router_state(self._question, routed.view, lit, anchors, turn=turn,
                            line_words=self._options["line_words"],
                            max_tokens=self._options["router_text_tokens"],
                            count_tokens=self._corpus.count_tokens, score=routed.score)


def _next_heading(view: SubtreeView, queue: deque[int], seen: set[int]) -> tuple[int | None, set[int]]:
    """The next queued heading that has direct content not shown yet, and that content.

    Headings without are skipped and cost no iteration.
    """
    while queue:
        heading_id = queue.popleft()
        content = set(view.direct_content(heading_id)) - seen
        if content:
            return heading_id, content
    return None, set()
