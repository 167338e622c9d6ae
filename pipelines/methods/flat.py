"""Flat baselines: passages of about 100 words in rank order (RDR²'s retrieve-and-read).

`flat` ranks by cosine of sentence vectors, `flat_bm25` by BM25, `flat_hybrid` by reciprocal rank fusion of
both. Each passage stands alone below its document's title; passages are taken until the budget is full.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.documents.render import Range
from pipelines.documents.tree import Sentence
from pipelines.methods.base import Hit, Option, Piece, Request, RetrievalCorpus, Retrieved, Trace
from pipelines.methods.options import read_options
from pipelines.methods.passages import DEPTH, Ranking, find_passages
from pipelines.retrieval.fusion import KAPPA

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
                Option("depth", DEPTH, "units of each ranking that are fused", 1, 10_000),
            )

    def retrieve(self, request: Request, corpus: RetrievalCorpus, trace: Trace) -> Retrieved:
        """Search and cut each hit back to the sentences that it covers."""
        options = read_options(f"method {self.name}", self.options, request.options)
        k = units_for_budget(request.budget_tokens) if request.k is None else request.k
        hits = find_passages(self.ranking, request, k, corpus, trace, **options)
        with trace.step("read_sentences") as step:
            sentences = corpus.sentences_of(list(dict.fromkeys(hit.doc_id for hit in hits)))
            step["documents"] = len(sentences)
        return Retrieved([Piece(hit.doc_id, hit_ranges(hit, sentences[hit.doc_id]), float(hit.score))
                          for hit in hits])
