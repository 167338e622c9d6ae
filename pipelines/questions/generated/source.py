"""What generators see of a document: its tree with what they all ask of it, and what they offer.

What belongs here: `SourceDocument` (sections to leave alone, quotes that the gold rule finds, how the subject
is named) and `Candidate`. What does not: making questions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from pipelines.documents.blocks import block_ids
from pipelines.documents.sentences import split_nodes
from pipelines.documents.tree import Document, Node, Sentence
from pipelines.evaluation.datasets import GoldEvidence
from pipelines.evaluation.normalise import normalise_quote
from pipelines.questions.generated.english_phrases import words
from pipelines.retrieval.terms import terms

Wanted = Callable[[float], bool]
"""Whether a candidate of that rank would be kept: generators ask before they work."""
BACK_MATTER = words("back_matter")
"""English headings of what is no prose of the article; elsewhere what has no sentences goes by itself."""
_DISAMBIGUATION = re.compile(r"\s*\([^()]*\)\Z")
_LIFE = re.compile(
    r"\(.{0,120}?(?:\d{4}\s?[–-]\s?(?:[A-Z][a-z]+ )?(?:\d{1,2},? )?(?:[A-Z][a-z]+ )?(?:\d{1,2}, )?\d{4}|\bborn\b)|"
    r"\bwas born\b")
_ENDS_NAME = (r"(?=[.,;:)]|\n|\Z| (?:was|is|were|are|in|of|and|to|had|has|by|with|from|as|that|on|at|for|between|"
              r"or|can|may|did|became|began|which|who|also|after|before)\b)")
"""What stands behind a name that is one: "the Alabama legislature" says nothing of how Alabama is named."""
_COMMONEST = frozenset(("the", "of", "and", "in", "to", "is", "was"))
_COMMON_ENDING = re.compile(
    r"(?:[^s]s|tion|sion|ment|ance|ence|ing|ism|ics|ture|ology|graphy|onomy|ety|ity|age|life|ed)\Z")
_SPELT = re.compile(r"[^\W\d_][\w-]+")
_HE = re.compile(r"\b(?:[Hh]e|[Hh]is)\b")
_SHE = re.compile(r"\b(?:[Ss]he|[Hh]er)\b")


@dataclass(frozen=True)
class Candidate:
    """A question that a generator offers. rank: a draw in [0, 1), the lowest are taken. node_id: of what it was
    made; -1 for the document as a whole. generator: as in `Question`; type: likewise."""

    generator: str
    type: str
    question: str
    answers: tuple[tuple[str, ...], ...]
    evidence: tuple[GoldEvidence, ...]
    doc_id: str
    node_id: int
    rank: float


class SourceDocument:
    """One document as generators read it. What costs time is made when it is first asked for."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.doc_id, self.title = document.doc_id, document.title
        self.blocks = block_ids(document)

    @cached_property
    def is_english(self) -> bool:
        """Whether it is in English; where the language is not known, by its commonest words."""
        if self.document.language:
            return self.document.language in ("en", "simple")
        spelt = _SPELT.findall(self.prose)
        return sum(word in _COMMONEST for word in spelt) > 0.1 * len(spelt)

    @cached_property
    def name(self) -> str:
        """The title as a question says it: without what tells it from others of the name.

        In English documents as their text mostly has it: `the American Revolutionary War`, `alchemy`.
        """
        name = _DISAMBIGUATION.sub("", self.title) or self.title
        if not self.is_english:
            return name
        if name.startswith("List of "):
            return f"the {name.removeprefix('List of ')}"
        small = name[0].lower() + name[1:]
        n_small, n_large = (len(re.findall(rf"\w,? {re.escape(each)}{_ENDS_NAME}", self.prose))
                            for each in (small, name))
        if small != name and n_small > n_large:
            name = small
        if self.pronoun is not None or name.startswith(("the ", "The ")):
            return name
        n_with_the = len(re.findall(rf"\b[Tt]he {re.escape(name)}{_ENDS_NAME}", self.prose))
        return f"the {name}" if n_with_the > max(n_small, n_large) / 2 else name

    @cached_property
    def topic(self) -> str:
        """The name as a topic: of a common noun its plural, where the English text has that."""
        plural = f"{self.name}s"
        if self.is_english and self.name.isalpha() and self.name.islower() and self.has_small(plural, 3):
            return plural
        return self.name

    @cached_property
    def prose(self) -> str:
        """The first paragraphs, some 20,000 characters."""
        return "\n".join(node.text for node in self.document if node.tag == "p")[:20_000]

    @cached_property
    def is_place(self) -> bool:
        """Whether the English text says "in" the subject, as of countries, wars and books."""
        return self.is_english and len(re.findall(rf"\b[Ii]n {re.escape(self.name)}\b", self.prose)) > 2

    @cached_property
    def _word_counts(self) -> Counter[str]:
        return Counter(word for node in self.document if not node.is_structure and node.tag != "th"
                       for word in _SPELT.findall(node.text))

    def is_mostly_small(self, word: str) -> bool:
        """Whether the content has a word without a capital as often: a capital only opens a sentence or heading.

        Of a word that it does not have at all, its ending decides.
        """
        match = _SPELT.match(word)
        bare = match[0] if match is not None else word
        n_small, n_large = self._word_counts[bare.lower()], self._word_counts[bare]
        return n_small >= n_large if n_small + n_large else _COMMON_ENDING.search(bare) is not None

    def has_small(self, word: str, times: int) -> bool:
        """Whether the content has a word without a capital so many times."""
        return self._word_counts[word.lower()] >= times

    def lowered(self, phrase: str) -> str:
        """An opening phrase inside a sentence: its first word loses a capital that only its place gave it."""
        first = phrase.split()[0]
        if (len(first) > 1 and not first[1:].islower()) or not self.is_mostly_small(first):
            return phrase
        return phrase[0].lower() + phrase[1:]

    @cached_property
    def is_article(self) -> bool:
        """Whether it is about one thing: a list of what a name may mean is no ground for questions."""
        if self.title.endswith("(disambiguation)"):
            return False
        first = next((node.text for node in self.document if node.tag == "p"), "")
        return re.search(r"\b(?:may|can|could|might) (?:also )?(?:refer to|mean)\b", first[:200]) is None

    @cached_property
    def name_terms(self) -> frozenset[str]:
        """Terms of the name from three letters on."""
        return frozenset(term for term in terms(self.name) if len(term) > 2) or frozenset(terms(self.name))

    @cached_property
    def pronoun(self) -> str | None:
        """`he` or `she` where an English document is the life of one person; None otherwise."""
        lead = next((node.text for node in self.document if node.tag == "p" and len(node.text) > 80), "")
        if not self.is_english or _LIFE.search(lead[:400]) is None:
            return None
        text = " ".join(node.text for node in self.document.nodes[:200] if node.tag == "p")
        n_he, n_she = len(_HE.findall(text)), len(_SHE.findall(text))
        if max(n_he, n_she) < 5 or min(n_he, n_she) * 3 > max(n_he, n_she):
            return None
        return "he" if n_he > n_she else "she"

    @cached_property
    def normalised(self) -> str:
        """All content in the form in which the gold rule compares it."""
        return normalise_quote("\n".join(node.text for node in self.document if not node.is_structure))

    @cached_property
    def terms(self) -> frozenset[str]:
        """Every term of the document, headings included."""
        return frozenset(terms(self.document.visible_text()))

    @cached_property
    def sentences(self) -> dict[int, list[Sentence]]:
        """The sentences of each content node."""
        found: dict[int, list[Sentence]] = {}
        for sentence in split_nodes(self.document.nodes, self.document.language):
            found.setdefault(sentence.node_id, []).append(sentence)
        return found

    def nodes(self, *tags: str) -> Iterator[Node]:
        """Nodes of these tags with content of the article proper: not in its back matter, not in a table."""
        for node in self.document:
            if node.tag in tags and self.blocks[node.node_id] == node.node_id and self.is_proper(node):
                yield node

    def is_proper(self, node: Node) -> bool:
        """Whether a node is outside sections such as References."""
        return not any(heading.casefold() in BACK_MATTER for heading in node.heading_path)

    def gold(self, node: Node, quote: str) -> GoldEvidence | None:
        """The quote as evidence, standing in a node; None unless it stands in the document exactly once.

        The gold rule takes the first place of a quote: of two places it might be the wrong one.
        """
        wanted = normalise_quote(quote)
        if len(wanted) < 8 or self.normalised.count(wanted) != 1:
            return None
        return GoldEvidence(self.title, node.heading_path, quote)
