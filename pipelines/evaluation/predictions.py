"""What a method returned for a question, as the evaluation sees it.

What belongs here: `Prediction`, read from the JSON form of an answer (`ask --json`), which is also
what the table `predictions` keeps; so metrics can be computed again from stored rows. What does not:
the metrics themselves.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_FRAGMENT = re.compile(r"#/(?P<path>\d+(?:/\d+)*)?(?::(?P<begin>\d+)-(?P<end>\d+))?$")


@dataclass(frozen=True)
class Citation:
    """A cited range of one node. Without a range in its address the whole node is meant."""

    uri: str
    quote: str

    @property
    def path(self) -> tuple[int, ...]:
        """Path of the node. Raises ValueError when the address has none."""
        path = self._fragment()["path"]
        return tuple(map(int, path.split("/"))) if path else ()

    @property
    def begin(self) -> int:
        """First code point of the node's own text that is cited."""
        return int(self._fragment()["begin"] or 0)

    def _fragment(self) -> re.Match[str]:
        match = _FRAGMENT.search(self.uri)
        if match is None:
            raise ValueError(f"citation {self.uri!r} has no path")
        return match


@dataclass(frozen=True)
class EvidenceDocument:
    """Evidence of one document: the plain text of its pieces in document order, and their citations."""

    doc_id: str
    title: str
    text: str
    score: float
    citations: tuple[Citation, ...]


@dataclass(frozen=True)
class RankedPiece:
    """A piece of evidence that is in the context: ranges (node_id, begin, end) of a document, its score."""

    doc_id: str
    ranges: tuple[tuple[int, int, int], ...]
    score: float


@dataclass(frozen=True, repr=False)
class Prediction:
    """Evidence, context and cost of one question and method.

    evidence: by document, in the order of their first piece. pieces: the same in the method's own order;
    none where only the JSON form of an answer is known.
    """

    question_id: str
    method: str
    release: int
    context: str
    context_tokens: int
    evidence: tuple[EvidenceDocument, ...]
    pieces: tuple[RankedPiece, ...] = ()
    answer: str | None = None
    trace: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    llm_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    latency_s: float = 0.0
    cost_usd: float = 0.0

    def __repr__(self) -> str:
        return (f"<Prediction {self.question_id} by {self.method}, release {self.release}: "
                f"{len(self.evidence)} documents, {self.context_tokens} tokens>")

    @classmethod
    def from_answer(cls, question_id: str, answer: Mapping[str, Any],
                    pieces: tuple[RankedPiece, ...] = ()) -> Prediction:
        """From the JSON form of an answer (`ask --json`) and the pieces that its context shows."""
        return cls(
            question_id=question_id, method=answer["method"], release=answer["release"],
            context=answer["context"], context_tokens=answer["context_tokens"],
            evidence=tuple(_evidence(entry) for entry in answer["evidence"]), pieces=pieces,
            answer=answer["answer"], trace=tuple(answer["trace"]), llm_calls=answer["llm_calls"],
            tokens_in=answer["tokens_in"], tokens_out=answer["tokens_out"], latency_s=answer["latency_s"],
            cost_usd=math.fsum(step.get("cost_usd") or 0.0 for step in answer["trace"]))

    def table_row(self, run_id: str, dataset: str, metrics: Mapping[str, float | None]) -> dict[str, Any]:
        """A row of the table `predictions`. Metrics without a value are left out of its map."""
        evidence = {
            "documents": [{"doc_id": e.doc_id, "title": e.title, "text": e.text, "score": e.score,
                           "citations": [{"uri": c.uri, "quote": c.quote} for c in e.citations]}
                          for e in self.evidence],
            "pieces": [{"doc_id": p.doc_id, "ranges": p.ranges, "score": p.score} for p in self.pieces],
        }
        return {
            "run_id": run_id, "dataset": dataset, "question_id": self.question_id, "method": self.method,
            "release": self.release, "evidence": json.dumps(evidence, ensure_ascii=False),
            "context": self.context, "context_tokens": self.context_tokens, "answer": self.answer,
            "trace": json.dumps(list(self.trace), ensure_ascii=False),
            "metrics": {name: float(value) for name, value in metrics.items() if value is not None},
            "llm_calls": self.llm_calls, "tokens_in": self.tokens_in, "tokens_out": self.tokens_out,
            "latency_s": self.latency_s, "cost_usd": self.cost_usd,
        }

    @classmethod
    def from_table_row(cls, row: Mapping[str, Any]) -> Prediction:
        """The prediction that `table_row` wrote."""
        evidence = json.loads(row["evidence"])
        return cls(
            question_id=row["question_id"], method=row["method"], release=row["release"],
            context=row["context"], context_tokens=row["context_tokens"],
            evidence=tuple(_evidence(entry) for entry in evidence["documents"]),
            pieces=tuple(
                RankedPiece(p["doc_id"], tuple((r[0], r[1], r[2]) for r in p["ranges"]), p["score"])
                for p in evidence["pieces"]),
            answer=row["answer"], trace=tuple(json.loads(row["trace"])), llm_calls=row["llm_calls"],
            tokens_in=row["tokens_in"], tokens_out=row["tokens_out"], latency_s=row["latency_s"],
            cost_usd=row["cost_usd"])


def _evidence(entry: Mapping[str, Any]) -> EvidenceDocument:
    citations = tuple(Citation(c["uri"], c["quote"]) for c in entry["citations"])
    return EvidenceDocument(entry["doc_id"], entry["title"], entry["text"], float(entry["score"]), citations)
