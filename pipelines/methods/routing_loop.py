"""RDR²'s routing loop: subtrees to a router, its actions to answered nodes (paper 2510.04293, section 3.1).

Headings that a router expands queue; each turn shows one heading's content that was not shown before; at most
`expand_iterations` a document. Switches change what is shown and what is legal (`ablations.py`).

What belongs here: the turns of each document, and what they took. What does not: retrieval and assembly
(`rdr2.py`), the view (`subtree.py`), text and grammar (`routing.py`), routers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pipelines.documents.blocks import ROW_TAG, block_members, header_row
from pipelines.documents.render import whole
from pipelines.documents.tree import Document
from pipelines.methods.ablations import (
    NO_CONTENT,
    NO_EXPAND,
    NO_REFUSE,
    NO_SIMILARITY,
    NO_STRUCTURE,
    random_heading,
)
from pipelines.methods.asides import is_aside
from pipelines.methods.base import Hit, Piece, RetrievalCorpus, Trace
from pipelines.methods.routing import (
    PROMPT_FORMAT,
    Actions,
    Router,
    RouterOutput,
    RouterState,
    parse_actions,
    route_together,
    router_state,
)
from pipelines.methods.similarity_router import NodeScorer, question_weights
from pipelines.methods.subtree import SubtreeView, view_of
from pipelines.models.llm import NO_USAGE, Usage


@dataclass
class RoutedDocument:
    """What routing chose in one document, and what it took. asked: each state with the router's output."""

    view: SubtreeView
    score: NodeScorer
    table_headers: bool = True
    answers: set[int] = field(default_factory=set)
    steps: list[dict[str, Any]] = field(default_factory=list)
    usage: Usage = NO_USAGE
    fallbacks: int = 0
    asked: list[tuple[RouterState, RouterOutput]] = field(default_factory=list)

    def pieces(self, *, asides: bool = False) -> list[Piece]:
        """One piece an answered node, the best score first; equal ones in document order.

        asides: those of captions, links and notes alone; else those of all other nodes.
        """
        document, blocks = self.view.document, self.view.blocks

        def ranges(block_ids: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
            members = [node.node_id for block_id in block_ids
                       for node in block_members(document, block_id, blocks)]
            return whole(document, members)

        chosen = [node_id for node_id in self.answers if is_aside(self.view, node_id) == asides]
        ranked = sorted(chosen, key=lambda node_id: (-self.score(node_id), node_id))
        return [Piece(document.doc_id, ranges([node_id]), self.score(node_id),
                      ranges(self._context_of(node_id)), "subdocument") for node_id in ranked]

    def _context_of(self, node_id: int) -> list[int]:
        """What is printed above a node besides headings: content ancestors, a row's column headings."""
        above = self.view.content_ancestors(node_id)
        if self.table_headers and self.view.document[node_id].tag == ROW_TAG:
            header_id = header_row(self.view.document, node_id)
            if header_id is None:
                header_id = _table_caption(self.view.document, node_id)
            if header_id is not None:
                above.append(header_id)
        return above


def _table_caption(document: Document, row_id: int) -> int | None:
    """The caption of a row's table, which says what its numbers are where no row of headings does."""
    table_id = document[row_id].parent_id
    if table_id is None or document[table_id].tag != "table":
        return None
    return next((node.node_id for node in document.children(table_id) if node.tag == "caption" and node.text), None)


Turns = Generator[RouterState, RouterOutput, None]
"""Yields the state of each turn, is sent what the router says in it."""
Key = tuple[str, ...]
"""A document and the passages of it that were retrieved."""


@dataclass
class PendingDocument:
    """A document in routing."""

    routed: RoutedDocument
    turns: Turns


class RoutingLoop:
    """Routes documents for one question; a document with the same passages is routed once."""

    def __init__(self, question: str, corpus: RetrievalCorpus, router: Router, options: Mapping[str, Any],
                 ablations: Set[str] = frozenset()) -> None:
        self._question, self._corpus, self.router, self._options = question, corpus, router, options
        self._ablations = ablations
        self._weights = question_weights(question, corpus.inverse_document_frequency)
        self._routed: dict[Key, RoutedDocument] = {}

    def all_routed(self) -> list[RoutedDocument]:
        """Everything that was routed, what `+fill` routed again included: it was paid for."""
        return list(self._routed.values())

    def route_all(self, hits: Sequence[Hit], trace: Trace) -> list[RoutedDocument]:
        """Route the documents of these passages, in the order of their first passage."""
        return route_questions([(self, hits, trace)])[0]

    def begin(self, hits: Sequence[Hit], trace: Trace) -> dict[Key, PendingDocument | None]:
        """Read the trees of these passages: each document with its turns to come, None if it was routed before."""
        by_document: dict[str, list[Hit]] = {}
        for hit in hits:
            by_document.setdefault(hit.doc_id, []).append(hit)
        keys = {doc_id: (doc_id, *sorted(hit.unit_id for hit in own)) for doc_id, own in by_document.items()}
        missing = [doc_id for doc_id in by_document if keys[doc_id] not in self._routed]
        with trace.step("read_trees", documents=len(missing)):
            documents = self._corpus.documents(missing)
        begun: dict[Key, PendingDocument | None] = dict.fromkeys(keys.values())
        for doc_id in missing:
            view = view_of(documents[doc_id])
            scored = [] if NO_SIMILARITY in self._ablations else by_document[doc_id]
            routed = RoutedDocument(view, NodeScorer(self._weights, view, scored), self._options["table_headers"])
            begun[keys[doc_id]] = PendingDocument(routed, self._turns(routed, by_document[doc_id]))
        return begun

    def end(self, begun: Mapping[Key, PendingDocument | None], trace: Trace) -> list[RoutedDocument]:
        """Keep what was routed; the documents of the passages that `begin` was given."""
        for key, document in begun.items():
            if document is not None:
                trace.steps += document.routed.steps
                self._routed[key] = document.routed
        return [self._routed[key] for key in begun]

    def _turns(self, routed: RoutedDocument, hits: Sequence[Hit]) -> Turns:
        """The turns of one document: yields each state, is sent what the router says in it."""
        view = routed.view
        if NO_STRUCTURE in self._ablations:
            for place, hit in enumerate(hits):
                yield from self._judge_passage(routed, view.matched(hit.node_ids), place)
            return
        seen: set[int] = set()
        queue: deque[int] = deque()
        lit, anchors = self._first_lit(view, hits)
        yield from self._turn(routed, lit, anchors, 0, seen, queue)
        for turn in range(1, self._options["expand_iterations"] + 1):
            heading_id, content = _next_heading(view, queue, seen)
            if heading_id is None:
                break
            yield from self._turn(routed, content, {heading_id}, turn, seen, queue)

    def _first_lit(self, view: SubtreeView, hits: Sequence[Hit]) -> tuple[set[int], set[int]]:
        """What the first turn shows of a document, and what that is there for."""
        if NO_CONTENT in self._ablations:
            return set(), set()
        if NO_SIMILARITY in self._ablations:
            heading_id = random_heading(self._question, view)
            return set(view.direct_content(heading_id)), {heading_id}
        matched = view.matched(node_id for hit in hits for node_id in hit.node_ids)
        return view.light(matched), matched

    def _judge_passage(self, routed: RoutedDocument, matched: set[int], turn: int) -> Turns:
        """Without structure: one passage, as the nodes that it was cut from; taken or not as a whole."""
        state = self._state(routed, matched, matched, turn, can_expand=False, with_headings=False)
        actions = yield from self._ask(routed, state, matched)
        if actions.answers:
            routed.answers.update(matched)

    def _turn(self, routed: RoutedDocument, lit: set[int], anchors: set[int], turn: int, seen: set[int],
              queue: deque[int]) -> Turns:
        """Show one subtree to the router and take its actions."""
        state = self._state(routed, lit, anchors, turn, can_expand=NO_EXPAND not in self._ablations)
        actions = yield from self._ask(routed, state, anchors)
        routed.answers.update(actions.answers)
        seen.update(state.visible)
        queue.extend(heading_id for heading_id in actions.expands if heading_id not in queue)

    def _ask(self, routed: RoutedDocument, state: RouterState, anchors: Iterable[int]
             ) -> Generator[RouterState, RouterOutput, Actions]:
        """The router's legal actions in a state, with a step of the trace and what they took.

        A step that was decided with others lasts as long as all of them.
        """
        trace = Trace()
        document = routed.view.document
        with trace.step("route", doc_id=document.doc_id, title=document.title, turn=state.turn,
                        anchors=sorted(anchors)) as step:
            output = yield state
            actions = parse_actions(output.text, state)
            step |= {"router": self.router.name, "prompt_format": PROMPT_FORMAT, "router_text": state.text,
                     "output": output.text, "lines_left_out": state.n_left_out,
                     "used_fallback": output.used_fallback, **actions.counts(), **output.details}
            if output.usage != NO_USAGE:
                step |= output.usage.to_json()
            if output.replaced is not None:
                # What was done is the fallback's; what is counted as illegal, the model's.
                step |= output.replaced.fault_counts()
        routed.asked.append((state, output))
        routed.steps += trace.steps
        routed.usage += output.usage
        routed.fallbacks += output.used_fallback
        return actions

    def _state(self, routed: RoutedDocument, lit: set[int], anchors: set[int], turn: int, *,
               can_expand: bool, with_headings: bool = True) -> RouterState:
        return router_state(self._question, routed.view, lit, anchors, turn=turn,
                            line_words=self._options["line_words"],
                            max_tokens=self._options["router_text_tokens"],
                            count_tokens=self._corpus.count_tokens, score=routed.score, can_expand=can_expand,
                            can_refuse=NO_REFUSE not in self._ablations, with_headings=with_headings)


def route_questions(asked: Sequence[tuple[RoutingLoop, Sequence[Hit], Trace]]) -> list[list[RoutedDocument]]:
    """`RoutingLoop.route_all` for several questions with one router; their documents are routed together."""
    begun = [loop.begin(hits, trace) for loop, hits, trace in asked]
    documents = [document for of_question in begun for document in of_question.values() if document is not None]
    if documents:
        _route(asked[0][0].router, documents)
    return [loop.end(of_question, trace) for (loop, _, trace), of_question in zip(asked, begun, strict=True)]


def _route(router: Router, documents: Sequence[PendingDocument]) -> None:
    """All turns of these documents. A router that waits for others' work gets each document in a thread, so that
    none waits for the slowest one of a turn; every other router decides on a turn of all documents together.
    """
    if router.parallel > 1:
        with ThreadPoolExecutor(router.parallel) as pool:
            list(pool.map(lambda document: _route_together(router, [document]), documents))
    else:
        _route_together(router, documents)


def _route_together(router: Router, documents: Sequence[PendingDocument]) -> None:
    begun = [(document, next(document.turns, None)) for document in documents]
    waiting = [(document, state) for document, state in begun if state is not None]
    while waiting:
        outputs = route_together(router, [state for _, state in waiting])
        answered = [(document, _sent(document.turns, output))
                    for (document, _), output in zip(waiting, outputs, strict=True)]
        waiting = [(document, state) for document, state in answered if state is not None]


def _sent(turns: Turns, output: RouterOutput) -> RouterState | None:
    """The state of the next turn, None behind the last."""
    try:
        return turns.send(output)
    except StopIteration:
        return None


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
