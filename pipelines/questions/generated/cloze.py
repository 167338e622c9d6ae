"""Inverse cloze: a sentence becomes a question for the block that it stands in, one thing of it masked.

The sentence stays in its block. That a router does not learn to look for copies is up to the question: many of its
words are others, answer and side clauses are gone, and one that still shares too many words is not taken. In
English it is a wh-question made by rules; a sentence that the rules do not surely understand gives none. For other
languages it is the document's name and a draw of the sentence's longer words.

What belongs here: which sentences are asked, in which words of the document's subject. What does not: grammar
(`english_clauses.py`, `english_questions.py`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipelines.documents.tree import Node, Sentence
from pipelines.evaluation.datasets import GoldEvidence
from pipelines.evaluation.normalise import AnswerText
from pipelines.questions.generated.draws import Draws, draw
from pipelines.questions.generated.english_clauses import Clause, clause_of
from pipelines.questions.generated.english_phrases import words
from pipelines.questions.generated.english_questions import Asked, is_person, questions_of, with_subject
from pipelines.questions.generated.english_words import REPLACED_SHARE, in_other_words
from pipelines.questions.generated.source import Candidate, SourceDocument, Wanted
from pipelines.retrieval.terms import terms

GENERATOR = "inverse_cloze"
JOINED = "joined_cloze"
TAGS = ("p", "li", "dd")
MIN_WORDS, MAX_WORDS = 5, 26
LONG_WORDS = 13
"""A question of more words mostly loses its last adverbial."""
_PREPOSITION = r"(?:with|for|during|under|as|by|from|through|among|between|into|to|in|on|at)"
_LAST_ADVERBIAL = re.compile(rf" {_PREPOSITION} (?:(?!\b{_PREPOSITION}\b).)*\?\Z")
OPENINGS = ("In connection with", "As regards", "Speaking of", "On the subject of")
_TYPES = {"p": "fact", "li": "list", "dd": "list"}
_PRONOUNS = {"he": "his", "she": "her"}
_POSSESSIVE = re.compile(r"\b(?:his|her|him|himself|herself|he|she)\b")
SMALL_TERMS = words("small")
"""English terms that say nothing of what is asked."""
_MONTHS = words("month")
_INFINITIVE = re.compile(r"(?:\bto|\bof the) \S+\Z")
"""What cannot lose the words behind it."""
_ASKS_FOR_NAME = ("What is a", "What is the", "What do you call", "What was a", "What was the")
MOST_SHARED = 0.85
"""Of the terms of a question, at most so many may be the sentence's own: people's questions share fewer still."""
_KEPT_SHARE = 0.6
"""Of the words of a keyword query that could be asked for."""
_UNSPACED_RUN = re.compile(r"[\u30a0-\u30ff]{2,}|[\u3400-\u9fff]{2,6}|[\u0e00-\u0eff]{4,12}|[\u1000-\u109f]{4,12}|"
                           r"[\u1780-\u17ff]{4,12}")
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Cloze:
    """A question made of one sentence, with where it stands."""

    asked: Asked
    node: Node
    gold: GoldEvidence


def candidates(source: SourceDocument, seed: int, wanted: Wanted, most_shared: float = MOST_SHARED
               ) -> Iterator[Candidate]:
    """At most one question a sentence. most_shared: share of its terms that may be the sentence's own."""
    for node in source.nodes(*TAGS):
        for sentence in source.sentences.get(node.node_id, ()):
            rank = draw(seed, GENERATOR, source.doc_id, node.node_id, sentence.begin)
            if not wanted(rank):
                continue
            cloze = _cloze_of(source, node, sentence, seed, most_shared)
            if cloze is not None:
                yield Candidate(GENERATOR, _TYPES[node.tag], cloze.asked.question, _answers(cloze.asked.answer),
                                (cloze.gold,), source.doc_id, node.node_id, rank)


def joined_candidates(source: SourceDocument, seed: int, wanted: Wanted, most_shared: float = MOST_SHARED
                      ) -> Iterator[Candidate]:
    """At most one question a document that asks two things of two of its sections."""
    rank = draw(seed, JOINED, source.doc_id)
    if not source.is_english or not wanted(rank):
        return
    nodes = sorted(source.nodes("p"), key=lambda node: draw(seed, JOINED, source.doc_id, node.node_id))
    first: Cloze | None = None
    for node in nodes:
        if first is not None and node.heading_path == first.node.heading_path:
            continue
        cloze = cloze_of(source, node, seed, most_shared)
        if cloze is None or len(cloze.asked.question.split()) > 16 or cloze.asked.question.startswith(OPENINGS):
            continue
        if first is None:
            first = cloze
            continue
        one, other = sorted((first, cloze), key=lambda each: each.node.node_id)
        second = other.asked.question.removeprefix(f"In {source.name}, ")
        if source.pronoun is not None and source.name in one.asked.question:
            second = re.sub(rf"\b{re.escape(source.name)}\b(?!['’])", source.pronoun, second)
        question = f"{one.asked.question[:-1]}, and {second[0].lower()}{second[1:]}"
        yield Candidate(JOINED, "multi_section", question,
                        (*_answers(one.asked.answer), *_answers(other.asked.answer)), (one.gold, other.gold),
                        source.doc_id, -1, rank)
        return


def cloze_of(source: SourceDocument, node: Node, seed: int, most_shared: float = MOST_SHARED) -> Cloze | None:
    """A question of one sentence of a block, the first in drawn order that gives one; None where none does."""
    sentences = source.sentences.get(node.node_id, [])
    for sentence in sorted(sentences, key=lambda each: draw(seed, source.doc_id, node.node_id, each.begin)):
        cloze = _cloze_of(source, node, sentence, seed, most_shared)
        if cloze is not None:
            return cloze
    return None


def _cloze_of(source: SourceDocument, node: Node, sentence: Sentence, seed: int, most_shared: float
              ) -> Cloze | None:
    draws = Draws(seed, GENERATOR, source.doc_id, node.node_id, sentence.begin)
    offered = list(_english(source, node, sentence, draws, most_shared) if source.is_english
                   else _keywords(source, sentence, draws))
    gold = source.gold(node, sentence.text) if offered else None
    return None if gold is None else Cloze(draws.pick(offered, "question"), node, gold)


def _answers(answer: str) -> tuple[tuple[str, ...], ...]:
    """The answer, a person's also by the last name; none of a keyword query."""
    if not answer:
        return ()
    return ((answer, answer.split()[-1]),) if is_person(answer) else ((answer,),)


# --- English


def _english(source: SourceDocument, node: Node, sentence: Sentence, draws: Draws, most_shared: float
             ) -> Iterator[Asked]:
    links = [node.text[span.begin: span.end] for span in node.spans
             if span.kind == "link" and sentence.begin <= span.begin and span.end <= sentence.end]
    clause = clause_of(sentence.text)
    named = _named(source, clause) if clause is not None else None
    if named is None:
        return
    for asked in questions_of(named, links, draws):
        # Where some other words are too few, all there are may do.
        for share in (REPLACED_SHARE, 1.0):
            whole = _whole(source, _in_other_words(asked, draws, share), draws)
            if whole is not None and _is_sound(source, whole, sentence.text, most_shared):
                yield whole
                break


def _named(source: SourceDocument, clause: Clause) -> Clause | None:
    """The clause with the person's name for the pronoun of a life; None where a pronoun would be left over."""
    subject = clause.subject
    if subject.casefold() in _PRONOUNS:
        if subject.casefold() != source.pronoun:
            return None
        return with_subject(clause, source.name)
    if _POSSESSIVE.match(subject):
        owner, _, thing = subject.partition(" ")
        if source.pronoun is None or owner != _PRONOUNS[source.pronoun] or not thing:
            return None
        return with_subject(clause, f"{source.name}'s {thing}")
    is_own = source.pronoun is not None and bool(source.name_terms & set(terms(subject)))
    if _POSSESSIVE.search(f"{clause.rest} {clause.lead}") and not is_own and not is_person(subject):
        return None
    first = subject.split()[0]
    if subject[0].isupper() and source.is_mostly_small(first) and not is_own:
        return with_subject(clause, subject[0].lower() + subject[1:])
    return clause


def _whole(source: SourceDocument, asked: Asked, draws: Draws) -> Asked | None:
    """The question so that it can be understood alone: it names the document's subject, or names enough."""
    names = [word for word in asked.question.split()[1:]
             if word[0].isupper() and word.strip("?,.'’s") not in _MONTHS]
    if source.name_terms & set(terms(f"{asked.question} {asked.answer}")):
        return asked
    if len(names) >= 3 and draws.chance(0.7, "context"):
        return asked
    if source.pronoun is not None and len(names) < 2:
        # What a life tells of others in passing is understood in its place only.
        return None
    question = asked.question[0].lower() + asked.question[1:]
    if source.is_place:
        if draws.chance(0.5, "tail") and not re.search(r"\bin [A-Z0-9]", question):
            return replace(asked, question=f"{asked.question[:-1]} in {source.name}?")
        return replace(asked, question=f"In {source.name}, {question}")
    if draws.chance(0.5, "no context"):
        return None
    return replace(asked, question=f"{draws.pick(OPENINGS, 'opening')} {source.topic}, {question}")


def _in_other_words(asked: Asked, draws: Draws, share: float) -> Asked:
    """The question in other words, without the last of many adverbials."""
    question = asked.question
    if len(question.split()) > LONG_WORDS and not question.endswith(" called?") and draws.chance(0.7, "shorter"):
        match = _LAST_ADVERBIAL.search(question)
        shorter = question[: match.start()] if match is not None else ""
        if len(shorter.split()) >= MIN_WORDS + 3 and shorter.count('"') % 2 == 0 \
                and not _INFINITIVE.search(shorter):
            question = f"{shorter}?"
    return replace(asked, question=in_other_words(question, draws, share))


def _is_sound(source: SourceDocument, asked: Asked, sentence: str, most_shared: float) -> bool:
    n_words = len(asked.question.split())
    if not MIN_WORDS <= n_words <= MAX_WORDS or asked.question.count("(") != asked.question.count(")"):
        return False
    own = terms(asked.question)
    said = set(terms(sentence)) | source.name_terms
    if source.is_english and sum(term in said for term in own if term not in SMALL_TERMS) \
            > most_shared * sum(term not in SMALL_TERMS for term in own):
        return False
    if AnswerText(asked.question).holds(asked.answer) or not AnswerText(sentence).holds(asked.answer):
        return False
    # The article's subject is asked for by what it is, not by what happened to it.
    return not set(terms(asked.answer)) <= source.name_terms or asked.question.startswith(_ASKS_FOR_NAME)


# --- other languages


def _keywords(source: SourceDocument, sentence: Sentence, draws: Draws) -> Iterator[Asked]:
    """The document's name and some of the sentence's longer words, in their order."""
    if len(sentence.text) < 30:
        return
    long_words = dict.fromkeys(_long_words(sentence.text))
    own = [word for word in long_words if not set(terms(word)) <= set(terms(source.name))]
    kept = [word for word in own if draws.chance(_KEPT_SHARE, f"keep {word}")][:8]
    if len(kept) >= 3:
        yield Asked(f"{source.name} {' '.join(kept)}", "")


def _long_words(text: str) -> list[str]:
    """Words that say something, by their length alone: four letters where words have spaces between them, in
    other scripts runs of two characters or more of one script other than hiragana."""
    found: list[str] = []
    for word in _LETTERS.findall(text):
        if all(character < "\u3040" or character > "\u9fff" for character in word) and not _is_unspaced(word):
            if len(word) >= 4:
                found.append(word)
            continue
        found += _UNSPACED_RUN.findall(word)
    return found


def _is_unspaced(word: str) -> bool:
    name = unicodedata.name(word[0], "")
    return name.startswith(("THAI", "LAO", "KHMER", "MYANMAR", "CJK"))
