"""What a router reads and writes: the router text of a retrieval subtree and the grammar of its actions.

Paper 2510.04293, section 3.3, with the choices of docs/methods.md. A router text is the question and one
node a line, `id: text` behind one tab a level. A router answers with one action a line, `[ANSWER] id: first
words` or `[EXPAND] id: heading`, or with the one line `Cannot answer`. Parsing counts what is not legal:
*expelled* (a node of the document, but of the wrong kind, not shown, or with other words), *unknown* (no such
node); an output from which nothing usable comes, and that is no refusal, is *collapsed*.

What belongs here: text and grammar. What does not: routers (`similarity_router.py`) and the loop (`rdr2.py`).
"""

from __future__ import annotations

import bisect
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from pipelines.documents.words import count_words
from pipelines.methods.subtree import ROOT_ID, SubtreeView
from pipelines.models.llm import NO_USAGE, Usage

PROMPT_FORMAT = "rdr2-tag/1"
"""Version of text and grammar: kept with routing states and adapters, which a change makes useless."""
ANSWER, EXPAND, REFUSAL = "[ANSWER]", "[EXPAND]", "Cannot answer"
PREFIX_WORDS = 5
_NOTE_TOKENS = 12
ELLIPSIS = " …"
_ACTION = re.compile(r"\[(ANSWER|EXPAND)\]\s*(\d{1,18})\s*(?::(.*))?", re.IGNORECASE)


@dataclass(frozen=True)
class RouterState:
    """What a router decides on: a question and one retrieval subtree of one document.

    visible: the content nodes whose lines the text shows. expandable: the headings with content that is
    not shown. score: the deterministic score of a node, in [0, 1] (docs/methods.md). can_refuse: whether
    `Cannot answer` is legal.
    """

    question: str
    view: SubtreeView
    text: str
    visible: tuple[int, ...]
    expandable: tuple[int, ...]
    n_left_out: int
    turn: int
    score: Callable[[int], float]
    can_refuse: bool = True

    def legal_lines(self) -> dict[str, int]:
        """Every legal action line with its node: ANSWER of what is visible, then EXPAND."""
        pairs = [(ANSWER, node_id) for node_id in self.visible] + [(EXPAND, node_id) for node_id in self.expandable]
        return {format_action(tag, self.view, node_id): node_id for tag, node_id in pairs}


@dataclass(frozen=True)
class RouterOutput:
    """What a router decided, in the grammar, and what that took.

    replaced: the actions of a model's own output where the fallback decided in its place; they are counted,
    and not taken. used_fallback: also where no output came at all. details: more for the trace, JSON values.
    """

    text: str
    usage: Usage = NO_USAGE
    used_fallback: bool = False
    replaced: Actions | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Router(Protocol):
    """One router. Instances hold settings only and may be shared between threads."""

    name: str
    parallel: int
    """Documents that may be routed at the same time; 1 where threads gain nothing."""

    def route(self, state: RouterState) -> RouterOutput:
        """Decide on one retrieval subtree."""


@runtime_checkable
class BatchRouter(Router, Protocol):
    """A router that decides on several subtrees in less time than on one after the other."""

    def route_many(self, states: Sequence[RouterState]) -> list[RouterOutput]:
        """What `route` says in each state."""


def route_together(router: Router, states: Sequence[RouterState]) -> list[RouterOutput]:
    """What a router says in each state: at once, side by side or one after the other, as it gains by it."""
    if len(states) > 1 and isinstance(router, BatchRouter):
        return router.route_many(states)
    if len(states) > 1 and router.parallel > 1:
        with ThreadPoolExecutor(router.parallel) as pool:
            return list(pool.map(router.route, states))
    return [router.route(state) for state in states]


@dataclass(frozen=True)
class Actions:
    """The legal actions of an output, each id once, in the order of the output, and the illegal ones."""

    answers: tuple[int, ...] = ()
    expands: tuple[int, ...] = ()
    is_refusal: bool = False
    expelled: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unparsed: tuple[str, ...] = ()

    @property
    def is_collapsed(self) -> bool:
        return not (self.answers or self.expands or self.is_refusal)

    def counts(self) -> dict[str, Any]:
        """What a trace keeps."""
        return {"answers": list(self.answers), "expands": list(self.expands), "refused": self.is_refusal,
                **self.fault_counts()}

    def fault_counts(self) -> dict[str, Any]:
        """What of the output was not legal."""
        return {"expelled": len(self.expelled), "unknown": len(self.unknown),
                "unparsed": len(self.unparsed), "collapsed": self.is_collapsed}


@lru_cache(maxsize=4096)
def first_words(text: str, n_words: int) -> str:
    """The first words of a text on one line, counted as everywhere (`documents/words.py`).

    Remembered: a heading stands in every turn of its document.
    """
    if text.isascii():
        return " ".join(text.split()[:n_words])
    taken: list[str] = []
    left = n_words
    for run in text.split():
        n_run = count_words(run)
        if n_run > left:
            # Only a run of an unspaced script holds several words; the longest part that fits is taken.
            shorter = next((run[:end] for end in range(min(len(run), 2 * left + 1), 0, -1)
                            if count_words(run[:end]) <= left), "")
            return " ".join([*taken, shorter] if shorter else taken)
        taken.append(run)
        left -= n_run
    return " ".join(taken)


def normalise(text: str) -> str:
    """NFKC, casefold, letters and digits only: how an action's prefix is compared with a node's text."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def format_action(tag: str, view: SubtreeView, node_id: int) -> str:
    """The line of one action."""
    return f"{tag} {node_id}: {first_words(view.text[node_id], PREFIX_WORDS)}"


def parse_actions(text: str, state: RouterState) -> Actions:
    """Read a router's output. Never raises: what is not legal is counted."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and state.can_refuse and normalise(lines[0]) == normalise(REFUSAL):
        return Actions(is_refusal=True)
    legal: dict[str, dict[int, None]] = {ANSWER: {}, EXPAND: {}}
    allowed = {ANSWER: frozenset(state.visible), EXPAND: frozenset(state.expandable)}
    expelled, unknown, unparsed = [], [], []
    for line in lines:
        match = _ACTION.fullmatch(line)
        if match is None:
            unparsed.append(line)
            continue
        tag, node_id = f"[{match[1].upper()}]", int(match[2])
        if node_id not in state.view:
            unknown.append(line)
        elif node_id not in allowed[tag] or not _prefix_fits(match[3] or "", state.view.text[node_id]):
            expelled.append(line)
        else:
            legal[tag][node_id] = None
    return Actions(tuple(legal[ANSWER]), tuple(legal[EXPAND]), False,
                   tuple(expelled), tuple(unknown), tuple(unparsed))


def _prefix_fits(prefix: str, text: str) -> bool:
    """Whether a node's words begin with the prefix; an empty one fits text without letters."""
    wanted, words = normalise(prefix), normalise(text)
    return words.startswith(wanted) if wanted else not words


def router_state(question: str, view: SubtreeView, lit: Iterable[int], anchors: Iterable[int], *, turn: int,
                 line_words: int, max_tokens: int, count_tokens: Callable[[str], int],
                 score: Callable[[int], float], can_expand: bool = True, can_refuse: bool = True,
                 with_headings: bool = True) -> RouterState:
    """Write the router text of the subtree with these lit nodes.

    anchors: the matched nodes, or the expanded heading; where the text is longer than `max_tokens`, the lit
    lines farthest from them go first, then the headings farthest from what is left, and a last line says
    how many. The root's line always stays; a question is cut where it would take more than half.
    with_headings: without, the lit lines stand alone and flat.
    """
    lit_set = set(lit)
    shown = [node_id for node_id in view if node_id in lit_set or (with_headings and view.is_structure(node_id))]
    lines = {node_id: _line(view, node_id, line_words, view.depth[node_id] if with_headings else 0)
             for node_id in shown}
    head = _question_line(question, max_tokens // 2, count_tokens)
    text = "\n".join([head, *lines.values()])
    n_left_out = 0
    if count_tokens(text) > max_tokens:
        costs = {node_id: count_tokens(line) + 1 for node_id, line in lines.items()}
        left = sum(costs.values()) + count_tokens(head) + _NOTE_TOKENS
        for node_id in _far_first(view, shown, lit_set, anchors):
            # The sum of the lines is only near the length of the text: the last steps count exactly.
            if left <= max_tokens and count_tokens(_with_note(head, lines, n_left_out)) <= max_tokens:
                break
            left -= costs[node_id]
            del lines[node_id]
            n_left_out += 1
        text = _with_note(head, lines, n_left_out)
    visible = tuple(node_id for node_id in lines if node_id in lit_set)
    expandable = tuple(node_id for node_id in lines
                       if can_expand and view.is_structure(node_id) and _hides_content(view, node_id, lines))
    return RouterState(question, view, text, visible, expandable, n_left_out, turn, score, can_refuse)


def _question_line(question: str, most_tokens: int, count_tokens: Callable[[str], int]) -> str:
    """The question on one line, cut to its first words where a pasted page would leave no room for nodes."""
    line, n_words = f"Question: {' '.join(question.split())}", count_words(question)
    while count_tokens(line) > most_tokens and n_words > 1:
        n_words //= 2
        line = f"Question: {first_words(question, n_words)}{ELLIPSIS}"
    return line


def _with_note(head: str, lines: dict[int, str], n_left_out: int) -> str:
    return "\n".join([head, *lines.values(), f"({n_left_out} lines left out)"])


def _line(view: SubtreeView, node_id: int, line_words: int, depth: int) -> str:
    words = view.text[node_id]
    shown = first_words(words, line_words)
    cut = ELLIPSIS if len(shown) < len(" ".join(words.split())) else ""
    return "\t" * depth + f"{node_id}: {shown}{cut}"


def _hides_content(view: SubtreeView, node_id: int, lines: dict[int, str]) -> bool:
    return any(content_id not in lines for content_id in view.direct_content(node_id))


def _far_first(view: SubtreeView, shown: Sequence[int], lit: set[int], anchors: Iterable[int]) -> list[int]:
    """The lines in the order in which they are left out: lit ones, then headings, the farthest first."""
    places = {node_id: place for place, node_id in enumerate(shown)}
    anchor_places = sorted(places[anchor] for anchor in anchors if anchor in places) or [0]

    def farness(node_id: int) -> tuple[bool, int, int]:
        place = places[node_id]
        after = bisect.bisect_left(anchor_places, place)
        distance = min(abs(place - anchor) for anchor in anchor_places[max(after - 1, 0): after + 1])
        return node_id in lit, distance, place

    return [node_id for node_id in sorted(shown, key=farness, reverse=True) if node_id != ROOT_ID]
