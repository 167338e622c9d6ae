"""Heading chains: what a section is about as the query, all that it says as the evidence.

The section's words are often hidden when its document is first shown: what teaches a router to expand.

What belongs here: which sections are asked for, and how. What does not: sentences (`cloze.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipelines.documents.tree import Node
from pipelines.documents.words import count_words
from pipelines.questions.generated.draws import Draws, draw
from pipelines.questions.generated.english_phrases import forms
from pipelines.questions.generated.source import Candidate, SourceDocument, Wanted
from pipelines.retrieval.terms import terms

GENERATOR = "heading_chain"
BLOCK_TAGS = ("p", "li", "dd")
MIN_WORDS, MAX_WORDS, MAX_BLOCKS = 25, 350, 8
"""Of a section's own blocks: what is asked for as a whole must be short enough to be given as a whole."""
_ENGLISH = (
    "What is known about {heading} in the case of {name}?",
    "What is there to say about {heading} when it comes to {name}?",
    "What can be told about {heading} in relation to {name}?", "As for {name}, what about {heading}?")
_ENGLISH_BY_HEADING = forms("heading")
"""Of headings that stand right below the title of many articles."""
_HAS_LETTERS = re.compile(r"[^\W\d_]{3,}")


def candidates(source: SourceDocument, seed: int, wanted: Wanted) -> Iterator[Candidate]:
    """One question for each section with a paragraph and few, short blocks of its own."""
    for section in source.document:
        rank = draw(seed, GENERATOR, source.doc_id, section.node_id)
        if section.tag != "section" or not wanted(rank):
            continue
        chain = [*section.heading_path, section.text]
        if not source.is_proper(section._replace(heading_path=tuple(chain))) \
                or not _HAS_LETTERS.search(section.text) or len(section.text.split()) > 8:
            continue
        blocks = _own_blocks(source, section)
        n_words = sum(count_words(block.text) for block in blocks)
        if not any(block.tag == "p" for block in blocks) or len(blocks) > MAX_BLOCKS \
                or not MIN_WORDS <= n_words <= MAX_WORDS:
            continue
        evidence = [gold for block in blocks if (gold := source.gold(block, block.text)) is not None]
        if len(evidence) == len(blocks):
            question = _question(source, chain, Draws(seed, source.doc_id, section.node_id))
            yield Candidate(GENERATOR, "section", question, (), tuple(evidence), source.doc_id, section.node_id,
                            rank)


def _own_blocks(source: SourceDocument, section: Node) -> list[Node]:
    """The section's blocks with text, without those of sections below it; empty where a table stands there."""
    blocks: list[Node] = []
    node_id = section.node_id + 1
    while node_id <= section.end_id:
        node = source.document[node_id]
        if node.tag == "section":
            node_id = node.end_id + 1
            continue
        if node.tag == "table":
            return []
        if node.tag in BLOCK_TAGS and node.text:
            blocks.append(node)
        node_id += 1
    return blocks


def _question(source: SourceDocument, chain: list[str], draws: Draws) -> str:
    """The chain as a question in most English documents, as bare words in the others and in other languages."""
    if not source.is_english or draws.chance(0.3, "bare"):
        return " ".join(dict.fromkeys([source.name, *chain[-2:]]))
    known = _ENGLISH_BY_HEADING.get(chain[-1].casefold()) if len(chain) == 1 else None
    if known is not None:
        return draws.pick(known, "form").format(name=source.name)
    heading = source.lowered(chain[-1])
    if len(chain) > 1 and draws.chance(0.5, "parent") and not set(terms(chain[-2])) & set(terms(chain[-1])):
        heading = f"{heading} ({source.lowered(chain[-2])})"
    question = draws.pick(_ENGLISH, "form").format(name=source.topic, heading=heading)
    return question[0].upper() + question[1:]
