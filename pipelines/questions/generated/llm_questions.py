"""Questions that a language model writes, one on a block, each checked against the block.

What belongs here: which blocks are shown, the prompt, the checks of an output, their counts as rejects. What does
not: models and their cache (`pipelines/models`), questions by rules.

The blocks are drawn by hash and asked in the order of their ranks until enough questions are good, so that a second
run asks the same and finds the answers in the cache of the model's endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, Field

from pipelines.documents.blocks import block_text
from pipelines.documents.tree import Document, Sentence
from pipelines.documents.words import count_words
from pipelines.evaluation.datasets import GoldEvidence, Question
from pipelines.evaluation.normalise import AnswerText, normalise_quote
from pipelines.models.llm import NO_USAGE, LanguageModel, Message, ModelFailure, Usage
from pipelines.questions.generated.draws import Lowest, draw
from pipelines.questions.generated.generate import Generated, GenerationSettings, question_of, sources
from pipelines.questions.generated.source import Candidate, SourceDocument

GENERATOR = "llm"
TAGS = ("p", "li", "dd", "tr")
MIN_WORDS, MAX_WORDS = 12, 250
MAX_ANSWER_WORDS, MIN_QUESTION_WORDS, MAX_QUESTION_WORDS = 12, 4, 40
MAX_TOKENS = 200
_SPARE = 3
"""Blocks that are kept for each question that is wanted: so many outputs may fail."""
_TYPES = {"p": "fact", "li": "list", "dd": "list", "tr": "table"}
_SELF_REFERENCE = re.compile(
    r"\bthe (?:article|passage|text|paragraph|section|block|excerpt)\b|\b(?:this|above|given|following) "
    r"(?:article|passage|text|paragraph|section|block|excerpt|document|page|table|sentence|list)\b|"
    r"\baccording to (?:it|this)\b", re.IGNORECASE)
SYSTEM = (
    "You write questions that test whether a search system finds the right place of an encyclopaedia. You are "
    "shown one block of an article with the headings above it. Write one question that this block answers and that "
    "a curious reader who has not seen the block might ask. Name what it is about, for the reader sees no article; "
    "do not mention an article, text or block. Use other words than the block where you can. The answer is short "
    "and copied from the block, character by character; the question must not contain it. Write in the block's "
    "language.")

Reason = Literal["model_failed", "answer_not_in_block", "answer_too_long", "question_holds_answer",
                 "names_the_article", "no_question", "quote_not_unique", "asked_before"]


class WrittenQuestion(BaseModel):
    """What the model is asked for."""

    question: str = Field(description="One question, ending in a question mark")
    answer: str = Field(description="Its answer: a short stretch of the block, copied")


@dataclass(frozen=True)
class Block:
    """A block to ask about. sentences: ranges of its text; none in a table row, which is quoted whole."""

    doc_id: str
    node_id: int
    title: str
    section: tuple[str, ...]
    tag: str
    text: str
    unique: tuple[bool, ...]
    """Whether each sentence, or the row, stands in its document once."""
    sentences: tuple[Sentence, ...]
    rank: float

    @property
    def place(self) -> str:
        return f"{self.doc_id}#{self.node_id}"


def generate_with_model(documents: Callable[[], Iterable[Document]], settings: GenerationSettings, number: int,
                        model: LanguageModel, progress: Callable[[int, int], None] | None = None
                        ) -> tuple[Generated, Usage]:
    """So many questions by a model, fewer where the blocks run out, and what they took.

    progress: told how many are good and how many blocks were asked. Raises UserError for settings that the model
    does not take; a block on which it fails is a reject.
    """
    kept = Lowest[Block](number * _SPARE)
    for source in sources(documents(), settings):
        blocks = sorted(_blocks(source, settings.seed, kept), key=lambda block: block.rank)
        for block in blocks[: settings.most_per_document]:
            kept.add(block.rank, block.place, block)
    waiting = kept.values()
    generated = Generated([], {})
    usage = NO_USAGE
    asked: set[str] = set()
    n_asked = 0
    with ThreadPoolExecutor(max_workers=max(1, model.parallel)) as pool:
        while waiting and len(generated.questions) < number:
            size = min(max(1, model.parallel), number - len(generated.questions))
            batch, waiting = waiting[:size], waiting[size:]
            for block, (outcome, taken) in zip(batch, pool.map(lambda each: _ask(model, each), batch), strict=True):
                usage += taken
                n_asked += 1
                if isinstance(outcome, Candidate) and normalise_quote(outcome.question) in asked:
                    outcome = _reject("asked_before", f"question {outcome.question!r}", block.text)
                if isinstance(outcome, Candidate):
                    asked.add(normalise_quote(outcome.question))
                    generated.questions.append(question_of(outcome, settings.split_of(outcome.doc_id)))
                else:
                    generated.rejects.append({"table": "questions", "source_ref": block.place, **outcome})
            if progress is not None:
                progress(len(generated.questions), n_asked)
    generated.wanted[f"{GENERATOR}:{model.name}"] = number
    generated.questions.sort(key=lambda each: each.question_id)
    return generated, usage


def _blocks(source: SourceDocument, seed: int, kept: Lowest[Block]) -> Iterator[Block]:
    document = source.document
    for node in document:
        rank = draw(seed, GENERATOR, source.doc_id, node.node_id)
        if node.tag not in TAGS or not kept.wants(rank) or not source.is_proper(node) \
                or source.blocks[node.node_id] != node.node_id:
            continue
        text = block_text(document, node.node_id, source.blocks)
        if not MIN_WORDS <= count_words(text) <= MAX_WORDS:
            continue
        sentences = tuple(source.sentences.get(node.node_id, ())) if node.tag != "tr" else ()
        quotes = [sentence.text for sentence in sentences] or [text]
        yield Block(source.doc_id, node.node_id, source.title, node.heading_path, node.tag, text,
                    tuple(source.gold(node, quote) is not None for quote in quotes), sentences, rank)


def messages_for(block: Block) -> list[Message]:
    """The prompt for one block."""
    where = " > ".join([block.title, *block.section])
    return [Message("system", SYSTEM), Message("user", f"Headings: {where}\n\nBlock:\n{block.text}")]


def _ask(model: LanguageModel, block: Block) -> tuple[Candidate | dict[str, Any], Usage]:
    try:
        written = model.structured(messages_for(block), WrittenQuestion, MAX_TOKENS)
    except ModelFailure as error:
        return _reject("model_failed", f"{error.subject}: {error.found}", ""), error.usage or NO_USAGE
    return check(block, written.value, f"{GENERATOR}:{model.name}"), written.usage


def check(block: Block, written: WrittenQuestion, generator: str) -> Candidate | dict[str, Any]:
    """The question as a candidate; a reject's reason, detail and sample where it breaks a rule."""
    question, answer = " ".join(written.question.split()), " ".join(written.answer.split())
    reason: Reason | None = None
    if not MIN_QUESTION_WORDS <= count_words(question) <= MAX_QUESTION_WORDS:
        reason = "no_question"
    elif not normalise_quote(answer) or normalise_quote(answer) not in normalise_quote(block.text):
        reason = "answer_not_in_block"
    elif count_words(answer) > MAX_ANSWER_WORDS:
        reason = "answer_too_long"
    elif AnswerText(question).holds(answer):
        reason = "question_holds_answer"
    elif _SELF_REFERENCE.search(question) is not None:
        reason = "names_the_article"
    quote = _quote(block, answer) if reason is None else None
    if reason is None and quote is None:
        reason = "quote_not_unique"
    if reason is not None or quote is None:
        return _reject(reason or "quote_not_unique", f"question {question!r}, answer {answer!r}", block.text)
    evidence = GoldEvidence(block.title, block.section, quote)
    return Candidate(generator, _TYPES[block.tag], question, ((answer,),), (evidence,), block.doc_id, block.node_id,
                     block.rank)


def _reject(reason: Reason, detail: str, sample: str) -> dict[str, Any]:
    return {"reason": reason, "detail": detail, "sample": sample or None}


def _quote(block: Block, answer: str) -> str | None:
    """The first sentence that holds the answer and stands in its document once; a row as a whole."""
    wanted = normalise_quote(answer)
    if not block.sentences:
        return block.text if block.unique[0] else None
    for sentence, is_unique in zip(block.sentences, block.unique, strict=True):
        if is_unique and wanted in normalise_quote(sentence.text):
            return sentence.text
    return None


def named(rejects: Iterable[dict[str, Any]], dataset: str) -> list[dict[str, Any]]:
    """Rejects with their set in the reference, as the table `rejects` takes them."""
    return [{**reject, "source_ref": f"{dataset}:{reject['source_ref']}"} for reject in rejects]


def joined(parts: Iterable[Generated]) -> Generated:
    """What several generators made, as one set."""
    whole = Generated([], {})
    questions: dict[str, Question] = {}
    for part in parts:
        questions.update((question.question_id, question) for question in part.questions)
        whole = replace(whole, wanted={**whole.wanted, **part.wanted}, rejects=[*whole.rejects, *part.rejects])
    return replace(whole, questions=[questions[key] for key in sorted(questions)])
