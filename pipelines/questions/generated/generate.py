"""A set of generated questions from a stream of documents: so many of each kind, articles kept apart by split.

What belongs here: settings, the choice among what generators offer (by rank, a few a document), splits, ids.
What does not: what can be asked (the generators), reading documents, writing files.

The result depends on the settings and on the set of documents alone, not on their order: every choice is a draw by
hash. Memory holds one document and the questions that are kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pipelines.documents.tree import Document
from pipelines.evaluation.datasets import Question, Split
from pipelines.evaluation.normalise import normalise_quote, normalise_title
from pipelines.questions.generated import cloze, headings, lists, tables, unanswerable
from pipelines.questions.generated.draws import Lowest, draw
from pipelines.questions.generated.source import Candidate, SourceDocument, Wanted

RULE_GENERATORS: dict[str, str] = {
    cloze.GENERATOR: "a sentence, one thing of it masked, asks for the block it stands in",
    cloze.JOINED: "two such questions of two sections of one article in one",
    headings.GENERATOR: "title and headings ask for what their section says",
    tables.GENERATOR: "headings of column and row ask for a table's cell, an infobox's parameter for its value",
    lists.ITEM: "what a list's item says asks for its name",
    lists.DEFINITION: "a term asks for its definition",
    unanswerable.GENERATOR: "what an article comes close to and does not say",
}
"""The generators without a model, and what each makes."""
DEFAULT_SHARES: dict[str, float] = {
    cloze.GENERATOR: 0.42, cloze.JOINED: 0.08, headings.GENERATOR: 0.08, tables.GENERATOR: 0.2, lists.ITEM: 0.06,
    lists.DEFINITION: 0.02, unanswerable.GENERATOR: 0.14,
}
"""Of a set whose kinds are not given one by one: near the mix of the example questions."""
_SPARE = 1.25
"""More than are asked for are kept, for some turn out to be the same question."""


class GenerationSettings(BaseModel):
    """What is generated, from which documents."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    counts: dict[str, int] = Field(description="Questions of each generator, at most")
    seed: int = Field(0, ge=0, description="Seed of every draw but that of the splits")
    most_per_document: int = Field(4, ge=1, description="Questions of one generator from one document")
    include: frozenset[str] = Field(frozenset(), description="Titles or doc_ids: take only these; none: all")
    exclude: frozenset[str] = Field(frozenset(), description="Titles or doc_ids to leave out")
    most_shared: float = Field(cloze.MOST_SHARED, ge=0, le=1,
                               description="Share of a cloze question's terms that may be its sentence's own")
    dev_share: float = Field(0.1, ge=0, le=1, description="Share of the documents whose questions are dev")
    test_share: float = Field(0.1, ge=0, le=1, description="Share of the documents whose questions are test")

    @model_validator(mode="after")
    def _shares_add_up(self) -> Self:
        if self.dev_share + self.test_share > 1:
            raise ValueError("dev_share and test_share are more than 1 together")
        return self

    def takes(self, document: Document) -> bool:
        """Whether questions are made of a document."""
        names = {document.doc_id, normalise_title(document.title)}
        return not names & self.exclude and (not self.include or bool(names & self.include))

    def split_of(self, doc_id: str) -> Split:
        """The split of a document: the same for every seed, so that sets of two seeds share no article across."""
        place = draw("split", doc_id)
        if place < self.test_share:
            return "test"
        return "dev" if place < self.test_share + self.dev_share else "train"


@dataclass
class Generated:
    """The questions, by id, and how many of each generator were wanted.

    rejects: outputs of a model that were not taken, as rows of the table `rejects` without their set.
    """

    questions: list[Question]
    wanted: dict[str, int]
    rejects: list[dict[str, Any]] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        """Questions of each generator that was asked for any."""
        counts = dict.fromkeys(self.wanted, 0)
        for question in self.questions:
            name = str(question.generator)
            counts[name] = counts.get(name, 0) + 1
        return counts


def default_counts(total: int) -> dict[str, int]:
    """So many questions in all, by `DEFAULT_SHARES`."""
    counts = {name: int(total * share) for name, share in DEFAULT_SHARES.items()}
    counts[cloze.GENERATOR] += total - sum(counts.values())
    return counts


def generate(documents: Callable[[], Iterable[Document]], settings: GenerationSettings) -> Generated:
    """Make questions by rules. documents: gives the stream anew; it is read twice where refusals are asked for.

    Raises ValueError for a generator that does not exist.
    """
    unknown = set(settings.counts) - set(RULE_GENERATORS)
    if unknown:
        raise ValueError(f"no such generator: {', '.join(sorted(unknown))}")
    kept = {name: Lowest[Candidate](int(number * _SPARE) + 8 if number else 0)
            for name, number in settings.counts.items()}
    pool = unanswerable.AttributePool(settings.seed)
    if settings.counts.get(unanswerable.GENERATOR):
        for source in sources(documents(), settings):
            pool.add(source)
    for source in sources(documents(), settings):
        for name, offer in _offers(source, settings, pool).items():
            if not settings.counts.get(name):
                continue
            # What has no chance any more is not even made: a large corpus costs little more than its reading.
            best = sorted(offer(kept[name].wants), key=lambda candidate: (candidate.rank, candidate.question))
            for candidate in best[: settings.most_per_document]:
                place = f"{candidate.doc_id}#{candidate.node_id}#{candidate.question}"
                kept[name].add(candidate.rank, place, candidate)
    questions: dict[str, Question] = {}
    asked: set[str] = set()
    for name, number in settings.counts.items():
        taken = 0
        for candidate in kept[name].values():
            same = normalise_quote(candidate.question)
            if taken < number and same not in asked:
                asked.add(same)
                question = question_of(candidate, settings.split_of(candidate.doc_id))
                questions[question.question_id] = question
                taken += 1
    return Generated([questions[key] for key in sorted(questions)], dict(settings.counts))


def sources(documents: Iterable[Document], settings: GenerationSettings) -> Iterator[SourceDocument]:
    """The documents that questions are made of."""
    for document in documents:
        if len(document) > 1 and settings.takes(document):
            source = SourceDocument(document)
            if source.is_article:
                yield source


def _offers(source: SourceDocument, settings: GenerationSettings, pool: unanswerable.AttributePool
            ) -> Mapping[str, Callable[[Wanted], Iterator[Candidate]]]:
    seed, most_shared = settings.seed, settings.most_shared
    return {
        cloze.GENERATOR: lambda wanted: cloze.candidates(source, seed, wanted, most_shared),
        cloze.JOINED: lambda wanted: cloze.joined_candidates(source, seed, wanted, most_shared),
        headings.GENERATOR: lambda wanted: headings.candidates(source, seed, wanted),
        tables.GENERATOR: lambda wanted: tables.candidates(source, seed, wanted),
        lists.ITEM: lambda wanted: lists.items(source, seed, wanted),
        lists.DEFINITION: lambda wanted: lists.definitions(source, seed, wanted),
        unanswerable.GENERATOR: lambda wanted: unanswerable.candidates(source, seed, pool, wanted, most_shared),
    }


def question_of(candidate: Candidate, split: Split) -> Question:
    """The row of a candidate; its id depends on generator, document and words alone."""
    words = f"{candidate.generator}\x1f{candidate.doc_id}\x1f{candidate.question}"
    kind = candidate.generator.partition(":")[0]
    digest = hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return Question(f"{kind}-{digest}", candidate.question, candidate.answers, candidate.evidence, candidate.type,
                    split, derived=True, generator=candidate.generator)
