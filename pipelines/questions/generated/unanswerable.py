"""Questions that their document does not answer, though it comes close: what teaches a router to refuse.

Two kinds. *Details*: what a sentence tells happened is asked after something else than it tells (English).
*Attributes*: what tables and infoboxes tell of other documents is asked of one whose text has not one word of
it; `AttributePool` collects them in a first pass over the corpus.

What belongs here: what can be asked, and the proof by words that the document is silent. What does not:
questions on documents that are simply others (whoever pairs questions with documents has those for nothing).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.questions.generated.cloze import MOST_SHARED, cloze_of
from pipelines.questions.generated.draws import Draws, Lowest, draw
from pipelines.questions.generated.english_phrases import words as word_set
from pipelines.questions.generated.english_verbs import participle_of
from pipelines.questions.generated.english_words import in_other_words
from pipelines.questions.generated.source import Candidate, SourceDocument, Wanted
from pipelines.questions.generated.tables import ENGLISH_KEYS, infobox_rows
from pipelines.retrieval.terms import terms

GENERATOR = "unanswerable"
MAX_ATTRIBUTES = 2_000
"""Attributes that the pool keeps, of a corpus of any size."""
_TRIES = 12
_MAKING = ("write", "translate", "design", "build", "construct", "compose", "develop", "paint", "edit", "film",
           "direct", "create", "make", "restore", "draft", "shoot", "put", "draw", "invent")
_GOING = ("move", "return", "march", "arrive", "leave", "land", "fight", "attack", "cross", "travel", "visit", "go",
          "come", "invade", "capture", "seize", "take", "depart", "flee", "assault")
_DECIDING = ("move", "leave", "marry", "wed", "resign", "sign", "return", "publish", "bring", "join", "retire",
             "reject", "refuse", "decline", "adopt", "abolish", "ban", "found", "establish", "set", "sell", "buy",
             "purchase", "step", "give", "turn", "divorce")
_SHOWING = ("perform", "play", "deliver", "open", "fly", "announce", "present", "launch", "proclaim", "declare",
            "win", "unveil", "put", "stage", "receive")
_STATES = word_set("state")
"""Verbs that tell of no event."""


@dataclass(frozen=True)
class Detail:
    """What may be asked of an event. verbs: bases of which it must have one, none: any. forbidden: words of which
    its block may have none."""

    opening: str
    verbs: tuple[str, ...]
    forbidden: tuple[str, ...]


DETAILS = (
    Detail("At what time of day", (), (
        "morning", "noon", "afternoon", "evening", "night", "midnight", "am", "pm", "dawn", "clock", "hours", "utc",
        "day")),
    Detail("On which day of the week", (), (
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")),
    Detail("For what fee", _MAKING, (
        "fee", "paid", "pay", "dollars", "pounds", "cost", "price", "million", "sum", "money", "salary")),
    Detail("At what cost", (*_MAKING, "open", "launch", "buy", "purchase", "obtain", "release", "bring"), (
        "cost", "costs", "dollars", "pounds", "price", "million", "sum", "money", "expensive", "paid", "bought")),
    Detail("On whose advice", _DECIDING, (
        "advice", "advised", "suggestion", "suggested", "urged", "persuaded", "recommended", "recommendation")),
    Detail("In what kind of weather", _GOING, (
        "weather", "rain", "snow", "storm", "wind", "fog", "sunny", "cold", "hot")),
    Detail("In front of how many onlookers", _SHOWING, (
        "spectators", "audience", "crowd", "people", "onlookers", "viewers", "watched")),
    Detail("After how many weeks of preparation", (*_SHOWING, *_GOING), (
        "weeks", "months", "preparation", "prepared")),
    Detail("Against whose will", _DECIDING, (
        "opposed", "opposition", "against", "objected", "protest", "despite")),
    Detail("With how many helpers", _MAKING, (
        "helpers", "assistants", "assistant", "staff", "help", "helped", "team")),
)


class AttributePool:
    """What infoboxes tell of their subjects, by the kind of infobox: the attributes of one corpus.

    Which ones are kept does not depend on the order of documents.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._seen: set[str] = set()
        self._lowest: Lowest[tuple[str, str]] = Lowest(MAX_ATTRIBUTES)
        self._by_kind: dict[str, list[str]] | None = None

    def add(self, source: SourceDocument) -> None:
        """Take in the attributes of a document."""
        for kind, key in attributes_of(source):
            name = f"{kind}\x1f{key}"
            rank = draw(self._seed, "attribute", name)
            if self._lowest.wants(rank) and name not in self._seen:
                self._seen.add(name)
                self._lowest.add(rank, name, (kind, key))

    def of_kind(self, kind: str) -> list[str]:
        """The attributes of a kind of infobox, sorted."""
        if self._by_kind is None:
            self._by_kind = {}
            for each, key in sorted(self._lowest.values()):
                self._by_kind.setdefault(each, []).append(key)
        return self._by_kind.get(kind, [])


def attributes_of(source: SourceDocument) -> Iterator[tuple[str, str]]:
    """(kind of infobox, attribute) of a document."""
    for table in source.document:
        if table.tag == "table" and "infobox" in table.attrs:
            for row in infobox_rows(source, table):
                yield table.attrs["infobox"].casefold(), row.name.casefold()


def candidates(source: SourceDocument, seed: int, pool: AttributePool, wanted: Wanted,
               most_shared: float = MOST_SHARED) -> Iterator[Candidate]:
    """Questions without answers and evidence: at most one a block, and one for each infobox."""
    yield from _details(source, seed, wanted, most_shared)
    yield from _attributes(source, seed, pool, wanted)


def _details(source: SourceDocument, seed: int, wanted: Wanted, most_shared: float) -> Iterator[Candidate]:
    if not source.is_english:
        return
    for node in source.nodes("p"):
        rank = draw(seed, GENERATOR, source.doc_id, node.node_id)
        if not wanted(rank):
            continue
        cloze = cloze_of(source, node, seed, most_shared)
        event = cloze.asked.event if cloze is not None else ""
        # The subject must be named in the event: nothing else says where to look.
        words = event.split()
        if len(words) < 6 or words[0] not in ("did", "was", "were") or not source.name_terms & set(terms(event)):
            continue
        said = set(terms(node.text))
        bases = {*words, *(verb.base for word in words if (verb := participle_of(word)) is not None)}
        draws = Draws(seed, GENERATOR, source.doc_id, node.node_id)
        silent = [detail for detail in DETAILS if not said & set(detail.forbidden)]
        fitting = [detail for detail in silent if bases & set(detail.verbs)]
        if (not fitting or draws.chance(0.3, "any event")) and words[0] == "did" and not bases & _STATES:
            fitting = [detail for detail in silent if not detail.verbs]
        if fitting:
            detail = draws.pick(fitting, "detail")
            question = in_other_words(f"{detail.opening} {event}?", draws)
            yield Candidate(GENERATOR, "unanswerable", question, (), (), source.doc_id, node.node_id, rank)


def _attributes(source: SourceDocument, seed: int, pool: AttributePool, wanted: Wanted) -> Iterator[Candidate]:
    for table in source.document:
        if table.tag != "table" or "infobox" not in table.attrs:
            continue
        rank = draw(seed, GENERATOR, source.doc_id, table.node_id, "attribute")
        if not wanted(rank):
            continue
        draws = Draws(seed, GENERATOR, source.doc_id, table.node_id)
        # Of attributes with words of their own, the text may tell in others: "came out" for "release date".
        keys = [key for key in pool.of_kind(table.attrs["infobox"].casefold())
                if not source.is_english or key not in ENGLISH_KEYS]
        for number in range(min(_TRIES, len(keys))):
            key = draws.pick(keys, f"key {number}")
            question = _attribute_question(source, key, draws)
            asked = {term for term in terms(question) if len(term) > 4} - source.name_terms
            if (set(terms(key)) | asked) & source.terms:
                continue
            yield Candidate(GENERATOR, "unanswerable", question, (), (), source.doc_id, table.node_id, rank)
            break


def _attribute_question(source: SourceDocument, key: str, draws: Draws) -> str:
    if not source.is_english:
        return f"{source.name} {key}"
    return draws.pick((f"What is the {key} of {source.name}?", f"What {key} does {source.name} have?"), "form")
