"""Lists: an item that opens with its name is asked for by what it says, a term by its definition.

What belongs here: items of the form "name: words" or "name (words), words" in English, definitions of every
language. What does not: items that are sentences (`cloze.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipelines.documents.tree import Node
from pipelines.evaluation.normalise import AnswerText, normalise_quote
from pipelines.questions.generated.draws import Draws, draw
from pipelines.questions.generated.english_clauses import BE, HAVE, MODALS, plain
from pipelines.questions.generated.english_phrases import words as word_set
from pipelines.questions.generated.english_verbs import finite_verb, participle_of
from pipelines.questions.generated.english_words import in_other_words
from pipelines.questions.generated.source import Candidate, SourceDocument, Wanted
from pipelines.retrieval.terms import terms

ITEM, DEFINITION = "list_item", "definition"
_NAMED_ITEM = re.compile(
    r"(?P<name>[^\W\d_][^:,;–—()\[\]]{1,48}?)\s*(?:\([^()]{2,40}\))?\s*(?::| – | — | - |, )\s*(?P<rest>\S.*)",
    re.DOTALL)
_CUT = re.compile(r"[.;:(\[–—]|, (?=and\b|but\b|which\b|who\b|where\b)")
_WEAK = word_set("no_description")
"""No description begins so."""


def items(source: SourceDocument, seed: int, wanted: Wanted) -> Iterator[Candidate]:
    """One question for each item of a section whose heading says what its items are, in English."""
    if not source.is_english:
        return
    for node in source.nodes("li"):
        rank = draw(seed, ITEM, source.doc_id, node.node_id)
        if not wanted(rank) or not node.heading_path:
            continue
        kind = node.heading_path[-1]
        match = _NAMED_ITEM.match(" ".join(node.text.split()))
        if match is None or not re.fullmatch(r"[A-Z][a-z]+(?: [a-z]+){0,3}", kind) or not kind.endswith("s") \
                or kind.endswith(("ss", "us", "is")) or not _is_name(match["name"]) or "ISBN" in node.text:
            continue
        rest = _CUT.split(plain(match["rest"]))[0].strip(" ,'\"“”")
        if not 3 <= len(rest.split()) <= 14 or AnswerText(rest).holds(match["name"]) or not _is_description(rest) \
                or source.normalised.count(normalise_quote(rest)) != 1:
            continue
        gold = source.gold(node, source.sentences[node.node_id][0].text)
        if gold is None:
            continue
        draws = Draws(seed, ITEM, source.doc_id, node.node_id)
        question = _item_question(source, kind, rest, draws)
        yield Candidate(ITEM, "list", question, ((match["name"].strip(),),), (gold,), source.doc_id, node.node_id,
                        rank)


def _item_question(source: SourceDocument, kind: str, rest: str, draws: Draws) -> str:
    kind = kind[0].lower() + kind[1:] if " " in kind else source.lowered(kind)
    rest = in_other_words(source.lowered(rest), draws)
    where = "" if source.name_terms & set(terms(kind)) else \
        f" in {source.name}" if source.is_place else f" of {source.name}"
    if rest.startswith(("the ", "a ", "an ")):
        return draws.pick((f"Which of the {kind}{where} is {rest}?",
                           f"Of the {kind}{where}, which one is {rest}?"), "form")
    return draws.pick((f"Which of the {kind}{where} has to do with {rest}?",
                       f"Which one among the {kind}{where} goes with {rest}?"), "form")


def _is_name(text: str) -> bool:
    words = text.split()
    return (len(words) <= 5 and words[0] not in ("In", "On", "At", "By", "From", "During", "After", "For")
            and not any(_is_finite(word) for word in words[1:]) and re.search(r"\d", text) is None)


def _is_description(text: str) -> bool:
    words = text.split()
    return (words[0].lower() not in _WEAK and finite_verb(words[0]) is None and not any(map(_is_finite, words))
            and re.search(r"www\.|\d\Z|[\"“”]", text) is None)


def _is_finite(word: str) -> bool:
    """Whether a word can be a finite verb and no participle."""
    return word in (*BE, *HAVE, *MODALS) or (finite_verb(word) is not None and participle_of(word) is None)


def definitions(source: SourceDocument, seed: int, wanted: Wanted) -> Iterator[Candidate]:
    """One question for each term with a definition: what the term means."""
    for node in source.nodes("dt"):
        rank = draw(seed, DEFINITION, source.doc_id, node.node_id)
        behind = node.end_id + 1
        if not wanted(rank) or behind >= len(source.document) or not 1 <= len(node.text.split()) <= 6 \
                or not node.text[:1].isalpha():
            continue
        meaning = source.document[behind]
        if meaning.tag != "dd" or meaning.parent_id != node.parent_id or len(meaning.text) < 20:
            continue
        sentence = source.sentences[meaning.node_id][0].text
        gold = source.gold(meaning, sentence)
        if gold is not None:
            question = _definition_question(source, node, Draws(seed, DEFINITION, source.doc_id, node.node_id))
            yield Candidate(DEFINITION, "definition", question, (), (gold,), source.doc_id, node.node_id, rank)


def _definition_question(source: SourceDocument, term: Node, draws: Draws) -> str:
    name = term.text.strip(" :;")
    if not source.is_english:
        return f"{source.name} {name}"
    name = source.lowered(name)
    topic = "" if source.name_terms & set(terms(name)) else f", speaking of {source.topic}"
    return draws.pick((f"What is meant by {name}{topic}?", f"What is {name}{topic}?",
                       f"How is {name} to be understood{topic}?"), "form")
