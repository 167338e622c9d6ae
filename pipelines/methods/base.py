"""What every retrieval method is: a function from a question and a budget to evidence with citations.

To add a method, write one module beside this one with a class that has `name`, `switches` and `retrieve`,
and enter it in `registry.py`. A method sees the corpus only through `RetrievalCorpus`, never changes a
tree, returns pieces in its own order, and leaves budget and rendering to `retrieval/budget.py`, so that a
difference between two methods is a difference between methods and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from pipelines.documents.render import Range
from pipelines.documents.tree import Document, Sentence


@dataclass(frozen=True)
class Hit:
    """A retrieved unit: its id, document, nodes and score (higher is better)."""

    unit_id: str
    doc_id: str
    node_ids: tuple[int, ...]
    score: float
    text: str
    """The text as embedded."""
    first_sentence_id: int
    last_sentence_id: int


@dataclass(frozen=True)
class Filters:
    """Restricts a search to a source (`wikipedia`), to documents of exactly one of these titles, and to these."""

    source: str | None = None
    titles: tuple[str, ...] = ()
    doc_ids: tuple[str, ...] = ()


class RetrievalCorpus(Protocol):
    """What a method may read of a release. Implemented by `retrieval/corpus.py`."""

    def search_dense(self, question: str, k: int, filters: Filters = ...) -> list[Hit]:
        """The k units nearest to the question by cosine, best first."""

    def search_sparse(self, question: str, k: int, filters: Filters = ...) -> list[Hit]:
        """The k best units by BM25, best first."""

    def cosines(self, question: str, hits: Sequence[Hit]) -> dict[str, float]:
        """The cosine of the question with each of these units, by unit_id."""

    def document(self, doc_id: str) -> Document:
        """The tree of a document. Raises KeyError when the release has no tree for it."""

    def documents(self, doc_ids: Sequence[str]) -> dict[str, Document]:
        """Several trees in one read."""

    def sentences(self, doc_id: str) -> Sequence[Sentence]:
        """The sentences of a document: number i has sentence_id i."""

    def sentences_of(self, doc_ids: Sequence[str]) -> Mapping[str, Sequence[Sentence]]:
        """The sentences of several documents in one read."""

    def inverse_document_frequency(self, term: str) -> float:
        """ln(1 + (N - n + 0.5) / (n + 0.5)) over the units, as in BM25."""

    def count_tokens(self, text: str) -> int:
        """Length of a text by the release's token counter."""

    def router_thresholds(self) -> Mapping[str, float]:
        """Thresholds of routers that the release stores: `answer` and `expand` of the similarity router, and
        `score` of those with a language model (older releases lack it)."""


@dataclass(frozen=True)
class Piece:
    """What a method puts forward as one piece of evidence of a document.

    ranges: the evidence itself, which is cited. context: what must stand around it to be understood (the
    list items above, the block that introduces a list, header cells): rendered and part of the plain text,
    but not cited. Headings are never ranges: the layout prints them.
    """

    doc_id: str
    ranges: tuple[Range, ...]
    score: float
    context: tuple[Range, ...] = ()
    layout: Literal["passage", "subdocument"] = "passage"
    """passage: stands alone below the title, in the method's order. subdocument: all pieces of a document
    are rendered together, in document order, with the headings above each, printed once."""


@dataclass
class Trace:
    """Timed steps of one query, in order; plain data that `training/tracking.py` turns into spans."""

    steps: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def step(self, name: str, **details: Any) -> Iterator[dict[str, Any]]:
        """Time a step. What the caller adds to the yielded dict is kept with it (JSON values only)."""
        entry: dict[str, Any] = {"step": name, "started_at_s": time.time(), **details}
        begin = time.perf_counter()
        self.steps.append(entry)
        try:
            yield entry
        finally:
            entry["duration_s"] = time.perf_counter() - begin


@dataclass(frozen=True)
class Request:
    """A question with what the user set for it. `options` are the method's own `--set key=value`."""

    question: str
    budget_tokens: int = 1000
    k: int | None = None
    filters: Filters = Filters()
    router: str = "similarity"
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Retrieved:
    """What a method returns: pieces in its own order, before the budget, and what they cost."""

    pieces: list[Piece]
    llm_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    fallbacks: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True)
class Option:
    """One setting that `--set name=value` changes. The default's type is the value's type.

    minimum and maximum bound a number, `choices` lists the values of a text. A default of None stands for
    a number that the release stores.
    """

    name: str
    default: float | int | bool | str | None
    meaning: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


class Method(Protocol):
    """One retrieval method. Instances hold settings only and may be shared between threads."""

    @property
    def name(self) -> str:
        """The name with its switches, as `rdr2+fill`."""

    @property
    def default_k(self) -> int | None:
        """Units retrieved where the user sets no k; None: as many as may fill the budget."""

    @property
    def options(self) -> Sequence[Option]:
        """What `--set` may change."""

    def retrieve(self, request: Request, corpus: RetrievalCorpus, trace: Trace) -> Retrieved:
        """Find evidence for a question. Raises UserError for an option that the method does not have."""


@runtime_checkable
class BatchMethod(Method, Protocol):
    """A method that gains by several questions at once: a model decides side by side on all of them."""

    def retrieve_many(self, requests: Sequence[Request], corpus: RetrievalCorpus,
                      traces: Sequence[Trace]) -> list[Retrieved]:
        """What `retrieve` finds for each of these questions, which have router and options in common."""
