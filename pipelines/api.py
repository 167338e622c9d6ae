"""The facade: open a corpus, ask it, show its documents. What the command line and notebooks use.

    >>> from pipelines import Corpus                                                  # doctest: +SKIP
    >>> Corpus.open("data").ask("Who founded it?", method="rdr2").context             # doctest: +SKIP

What belongs here: checking what the user asks for, calling a method, packing under the budget, and finding
the release that a citation names. What does not: retrieval (`retrieval/`), methods (`methods/`), rendering.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.documents.citation import Address, parse_address, resolve, version_of
from pipelines.documents.render import Rendering
from pipelines.documents.tree import Document, Node
from pipelines.errors import UserError, argument, shortened
from pipelines.methods.base import BatchMethod, Filters, Request, RetrievalCorpus, Retrieved, Trace
from pipelines.methods.options import read_options
from pipelines.methods.reader import NO_READER, READER_OPTIONS, Reader, check_reader, make_reader, split_options
from pipelines.methods.registry import make_method
from pipelines.methods.routers import check_router
from pipelines.models.llm import NO_USAGE, Usage
from pipelines.retrieval.budget import Context, Evidence, pack
from pipelines.retrieval.titles import near_titles
from pipelines.schemas import SOURCES
from pipelines.settings import DataFolder

if TYPE_CHECKING:
    from pipelines.retrieval.corpus import ReleasedCorpus

MOST_K = 1000
MOST_BUDGET_TOKENS = 1_000_000
EXPORT_CHUNK_DOCUMENTS = 64


@dataclass(frozen=True, repr=False)
class Answer:
    """What `ask` returns. `packed` is the context with the places of what it shows; not part of the JSON."""

    question: str
    method: str
    release: int
    budget_tokens: int
    answer: str | None
    trace: list[dict[str, Any]]
    llm_calls: int
    tokens_in: int
    tokens_out: int
    latency_s: float
    packed: Context
    cost_usd: float = 0.0
    fallbacks: int = 0

    def __repr__(self) -> str:
        said = "" if self.answer is None else f" answer={shortened(self.answer)!r}"
        return (f"<Answer to {shortened(self.question)!r} by {self.method}, release {self.release}:{said} "
                f"{len(self.evidence)} documents, {self.context_tokens} of {self.budget_tokens} tokens>")

    @property
    def context(self) -> str:
        """The rendered evidence, as a reader gets it."""
        return self.packed.text

    @property
    def context_tokens(self) -> int:
        """Length of the context by the release's token counter."""
        return self.packed.n_tokens

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The evidence by document."""
        return self.packed.evidence

    def to_json(self) -> dict[str, Any]:
        """The object that `ask --json` prints."""
        return {
            "question": self.question, "method": self.method, "release": self.release,
            "budget_tokens": self.budget_tokens, "context_tokens": self.context_tokens,
            "context": self.context, "evidence": [item.to_json() for item in self.evidence],
            "answer": self.answer, "trace": self.trace, "llm_calls": self.llm_calls,
            "tokens_in": self.tokens_in, "tokens_out": self.tokens_out,
            "latency_s": round(self.latency_s, 6),
        }


@dataclass(frozen=True, repr=False)
class Shown:
    """What an address names: the document at the release where it has that version, the node, its words."""

    address: Address
    release: int
    document: Document
    node: Node
    words: Rendering

    def __repr__(self) -> str:
        return f"<Shown {self.address}, release {self.release}: {shortened(self.words.text)!r}>"


class Corpus:
    """One release of a data folder. Instances may be shared between threads."""

    def __init__(self, data: DataFolder, corpus: ReleasedCorpus) -> None:
        self.data, self._corpus = data, corpus

    def __repr__(self) -> str:
        return f"<Corpus {self.data.root}, release {self.release}>"

    @classmethod
    def open(cls, data: str | os.PathLike[str] | DataFolder | None = None,
             release: int | None = None) -> Corpus:
        """Open the served release of a data folder, or another one of its releases.

        data: the folder; None takes ESPALIER_DATA. Raises UserError for a folder without releases or a
        release that does not exist, RunFailure for a damaged one.
        """
        from pipelines.retrieval.corpus import ReleasedCorpus

        folder = data if isinstance(data, DataFolder) else DataFolder.at(data)
        return cls(folder, ReleasedCorpus.open(folder, release))

    @property
    def release(self) -> int:
        """Number of the release."""
        return self._corpus.release.number

    @property
    def retrieval(self) -> RetrievalCorpus:
        """What methods read."""
        return self._corpus

    def ask(self, question: str, method: str = "rdr2", budget: int = 1000, k: int | None = None,
            router: str = "similarity", source: str | None = None, titles: Sequence[str] = (),
            reader: str = "none", options: Mapping[str, object] | None = None) -> Answer:
        """Find evidence for a question within a budget of tokens.

        k: units to retrieve, None for the method's default. source, titles: search only there. options: the
        settings of method and reader. Raises UserError for whatever of this cannot be, RunFailure
        where a reader's model cannot be had.
        """
        return self.ask_many([question], method, budget, k, router, source, titles, reader, options)[0]

    def ask_many(self, questions: Sequence[str], method: str = "rdr2", budget: int = 1000, k: int | None = None,
                 router: str = "similarity", source: str | None = None, titles: Sequence[str] = (),
                 reader: str = "none", options: Mapping[str, object] | None = None) -> list[Answer]:
        """`ask` for several questions: what a language model routes is routed side by side.

        `latency_s` of each is then its share of the time that retrieving for all of them took. Raises TypeError
        for one text in place of a list.
        """
        if isinstance(questions, str):
            raise TypeError("questions: a list of texts, not one text")
        titles = (titles,) if isinstance(titles, str) else titles
        self._check_titles(titles)
        requests = [make_request(question, budget, k=k, router=router, source=source, titles=titles,
                                 options=options, reader=reader) for question in questions]
        return answer_many(requests, method, self._corpus, self.release, reader)

    def _check_titles(self, titles: Sequence[str]) -> None:
        self._corpus.doc_ids(titles)  # In one read, from which the single ones below and the searches follow.
        for title in titles:
            reason = self._corpus.why_no_document(title)
            if reason is None:
                continue
            found = {"no_tree": "its page has no tree",
                     "no_redirect_target": "a redirect has it and leads to no document"}.get(
                         reason, "no document has it")
            near = near_titles(self._corpus.reader, title) if reason == "no_such_title" else []
            raise UserError(f"title {title!r}", f"{found} in release {self.release}",
                            "the title of a document, or one that redirects to it",
                            f"Near it: {'; '.join(near)}." if near else f"Correct {argument('title')}.")

    def unknown_words(self, question: str) -> list[str]:
        """The words of a question that no passage has, as the sparse index compares them, each once."""
        return self._corpus.unknown_words(question)

    def show(self, address: str) -> Shown:
        """The words at a document id or a citation.

        Without @ the document of this release is taken. One whose version differs is looked up in the kept
        releases, the newest first, also when this release no longer has the document. Raises UserError when
        no release has it, naming both versions.
        """
        parsed = parse_address(address)
        release = self.release
        try:
            document = self.document(parsed.doc_id)
        except UserError as error:
            if parsed.version is None:
                raise
            release, document = self._in_kept_releases(parsed, error.found)
        else:
            if not parsed.fits(document):
                release, document = self._in_kept_releases(
                    parsed, f"{parsed.doc_id} has version {version_of(document)} in release {self.release}")
        node, words = resolve(parsed, document)
        return Shown(parsed, release, document, node, words)

    def document(self, doc_id: str) -> Document:
        """The tree of a document. Raises UserError for an id without a tree, naming what became of it."""
        try:
            return self._corpus.document(doc_id)
        except KeyError:
            raise self._no_document(doc_id) from None

    def _no_document(self, doc_id: str) -> UserError:
        found = f"release {self.release} has no such document"
        reader = self._corpus.reader
        for row in reader.rows_of_documents("documents", ["status", "reason"], [doc_id]):
            found = f"it has no tree: {row['status']}" + (f" ({row['reason']})" if row["reason"] else "")
        return UserError(f"document {doc_id}", found, "the id of a document with a tree, such as enwiki:12",
                         "See the ids with `espalier export-trees`, or in the citations of an answer.")

    def _in_kept_releases(self, address: Address, found: str) -> tuple[int, Document]:
        """The newest other release with the version that an address names. found: what this one has."""
        from pipelines.releases import list_releases
        from pipelines.retrieval.corpus import ReleasedCorpus

        kept = {release.number for release in list_releases(self.data) if not release.cleaned}
        for number in sorted(kept - {self.release}, reverse=True):
            try:
                document = ReleasedCorpus.open(self.data, number).document(address.doc_id)
            except KeyError:
                continue
            if address.fits(document):
                return number, document
        raise UserError(
            f"citation {address}", f"{found}, and no kept release has one that fits",
            f"version {address.version}",
            f"See its present words with `espalier show {address.doc_id}`.")

    def documents(self) -> list[dict[str, Any]]:
        """All documents with a tree, by id: doc_id, title, uri, status, n_nodes, n_sentences, n_tokens."""
        columns = ["doc_id", "title", "uri", "status", "n_nodes", "n_sentences", "n_tokens"]
        return self._corpus.reader.rows("documents", columns, "n_nodes > 0", order_by=["doc_id"])

    def trees(self) -> Iterator[Document]:
        """All trees, bucket by bucket, a bounded number in memory at a time."""
        rows = self._corpus.reader.rows("documents", ["doc_id"], "n_nodes > 0", order_by=["bucket", "doc_id"])
        doc_ids = [row["doc_id"] for row in rows]
        for begin in range(0, len(doc_ids), EXPORT_CHUNK_DOCUMENTS):
            chunk = doc_ids[begin: begin + EXPORT_CHUNK_DOCUMENTS]
            documents = self._corpus.documents(chunk)
            yield from (documents[doc_id] for doc_id in chunk)


def make_request(question: str, budget: int = 1000, *, k: int | None = None, router: str = "similarity",
                 source: str | None = None, titles: Sequence[str] = (),
                 options: Mapping[str, object] | None = None, reader: str = NO_READER) -> Request:
    """A checked request. Raises UserError for an empty question, numbers out of range, unknown names."""
    if not isinstance(question, str):
        raise UserError("question", repr(question), "a text", "Give the question in words.")
    # What a terminal passes on as undecodable bytes has no tokens; the rest of the question has.
    words = question.encode("utf-8", "replace").decode().strip()
    if not words:
        raise UserError("question", "empty", "a question in words", "Give a question in words.")
    for name, value in (("router", router), ("reader", reader)):
        if not isinstance(value, str):
            raise UserError(name, repr(value), f"the name of a {name}, as a text", f"Correct {argument(name)}.")
    if isinstance(titles, str) or not all(isinstance(title, str) for title in titles):
        raise UserError("titles", shortened(repr(titles)), "a list of titles", f"Correct {argument('title')}.")
    if not isinstance(options or {}, Mapping):
        raise UserError("options", shortened(repr(options)), "values by the name of their option",
                        f"Correct {argument('set')}.")
    _check_number("budget", budget, 1, MOST_BUDGET_TOKENS)
    if k is not None:
        _check_number("k", k, 0, MOST_K)
    if source is not None and source not in SOURCES:
        raise UserError(f"source {source!r}", "no such source", f"one of {', '.join(SOURCES)}",
                        f"Correct {argument('source')}.")
    check_router(router)
    check_reader(reader)
    return Request(words, budget, k, Filters(source, tuple(titles)), router,
                   {name: _option_text(value) for name, value in (options or {}).items()})


def _check_number(name: str, value: int, lowest: int, highest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise UserError(name, repr(value), f"a whole number from {lowest} to {highest}",
                        f"Correct {argument(name)}.")


def _option_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def answer(request: Request, method_name: str, corpus: RetrievalCorpus, release: int,
           reader_name: str = NO_READER) -> Answer:
    """Run one method for one request, pack what it found, read it.

    Raises UserError for an unknown method or option, RunFailure where a reader's model cannot be had.
    """
    return answer_many([request], method_name, corpus, release, reader_name)[0]


def answer_many(requests: Sequence[Request], method_name: str, corpus: RetrievalCorpus, release: int,
                reader_name: str = NO_READER) -> list[Answer]:
    """The same for several requests that differ in the question alone: the one path of `ask` and `evaluate`."""
    method = make_method(method_name)
    if not requests:
        return []
    reader_options, method_options = split_options(requests[0].options)
    reader = make_reader(reader_name, read_options(f"reader {reader_name}", READER_OPTIONS, reader_options),
                         corpus.count_tokens)
    requests = [replace(request, options=method_options) for request in requests]
    traces = [Trace() for _ in requests]
    if len(requests) > 1 and isinstance(method, BatchMethod):
        begin = time.perf_counter()
        found = method.retrieve_many(requests, corpus, traces)
        seconds = [(time.perf_counter() - begin) / len(requests)] * len(requests)
    else:
        found, seconds = [], []
        for request, trace in zip(requests, traces, strict=True):
            begin = time.perf_counter()
            found.append(method.retrieve(request, corpus, trace))
            seconds.append(time.perf_counter() - begin)
    return [_packed_and_read(request, method.name, corpus, release, reader, trace, retrieved, took)
            for request, trace, retrieved, took in zip(requests, traces, found, seconds, strict=True)]


def _packed_and_read(request: Request, method: str, corpus: RetrievalCorpus, release: int, reader: Reader | None,
                     trace: Trace, retrieved: Retrieved, seconds: float) -> Answer:
    """seconds: what retrieving took."""
    begin = time.perf_counter()
    with trace.step("pack", n_pieces=len(retrieved.pieces), budget_tokens=request.budget_tokens) as step:
        context = pack(retrieved.pieces, corpus, request.budget_tokens)
        step |= {"n_taken": context.n_taken, "n_skipped": context.n_skipped, "is_cut": context.is_cut,
                 "context_tokens": context.n_tokens}
    text, usage = None, NO_USAGE
    if reader is not None:
        with trace.step("read", reader=reader.name, form=reader.form) as step:
            reading = reader.read(request.question, context.text)
            step |= {"model": reader.model.name, "said": reading.said, "n_words_cut": reading.n_words_cut,
                     **reading.usage.to_json()}
        text, usage = reading.answer, reading.usage
    return _answer(request, method, release, text, trace, retrieved, usage, context,
                   seconds + time.perf_counter() - begin)


def _answer(request: Request, method: str, release: int, text: str | None, trace: Trace, retrieved: Retrieved,
            reading: Usage, context: Context, latency_s: float) -> Answer:
    """What `ask` returns, the costs of routing and reading together."""
    return Answer(
        request.question, method, release, request.budget_tokens, text, trace.steps,
        retrieved.llm_calls + reading.calls, retrieved.tokens_in + reading.tokens_in,
        retrieved.tokens_out + reading.tokens_out, latency_s, context,
        retrieved.cost_usd + reading.cost_usd, retrieved.fallbacks)
