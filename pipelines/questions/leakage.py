"""Leakage: training questions that already say what held-out questions are to find out.

Figures on held-out questions mean something only where training has seen neither those questions nor the
documents that answer them. A training question leaks by each of these rules that it breaks:

- `id_is_held_out`: it has the id of a held-out question, in the same set or, where the id is no mere number of
  a list (`sample-001`) but eight hexadecimal digits or more (`5a7a06935542990198eaf050`), in any set.
- `question_is_held_out`: its words are those of a held-out question: the same terms, or nearly: the weighted
  Jaccard index of their terms is at least `NEAR`, each term weighing ln(1 + N / n) for n of N questions with
  it, and each name and number of one is a term of the other (`official in Angola` is not `official in Albania`).
- `evidence_is_held_out`: a quote of `TELLING_QUOTE` letters or more is gold evidence of both.
- `document_is_held_out`: gold evidence of both stands in one document.

What belongs here: that judgement, and the error of a training that must not start. What does not: Great
Expectations (`assets/quality`), and splitting.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.errors import UserError
from pipelines.evaluation.datasets import Question
from pipelines.evaluation.normalise import normalise_quote, normalise_title
from pipelines.evaluation.question_table import read_question_set
from pipelines.retrieval.terms import terms
from pipelines.settings import DataFolder

LEAKAGE_RULES: Mapping[str, str] = {
    "id_is_held_out": "No training question has the id of a held-out one",
    "question_is_held_out": "No training question asks in the words of a held-out one, or nearly",
    "evidence_is_held_out": "No gold quote of a training question is one of a held-out question",
    "document_is_held_out": "No gold document of a training question is one of a held-out question",
}
NEAR = 0.8
TELLING_QUOTE = 40
"""Letters and digits: shorter quotes, as a year in a table, are equal by chance."""
_TELLING_ID = re.compile(r"(?=[0-9A-Fa-f]*\d)[0-9A-Fa-f]{8,}")
_WORD_BUT_FIRST = re.compile(r"(?<!\A)\b\w[\w'’-]*")
_NAMED = 3


@dataclass(frozen=True)
class Asked:
    """A question with the name of its set."""

    dataset: str
    question: Question

    @property
    def name(self) -> str:
        """`SET/ID`, as messages name it."""
        return f"{self.dataset}/{self.question.question_id}"


@dataclass(frozen=True)
class Leak:
    """A training question that breaks a rule, with the held-out question that it shares something with.

    shared: what: the id, the held-out question's words, the quote, or the title.
    """

    rule: str
    train: Asked
    held_out: Asked
    shared: str


def find_leaks(train: Sequence[Asked], held_out: Sequence[Asked]) -> list[Leak]:
    """The leaks of every training question, one a rule at most, in the order of questions, then of rules."""
    finders: dict[str, _Finder] = {
        "id_is_held_out": _by_key(held_out, _ids), "question_is_held_out": _by_words(train, held_out),
        "evidence_is_held_out": _by_key(held_out, _quotes), "document_is_held_out": _by_key(held_out, _titles)}
    return [Leak(rule, asked, *met) for asked in train for rule in LEAKAGE_RULES
            if (met := finders[rule](asked)) is not None]


def refuse_leakage(data: DataFolder, dataset: str, held_out_datasets: Iterable[str | None] = (),
                   allow_leakage: bool = False) -> list[Leak]:
    """Judge the train split of a set against its own dev and test questions and those of other sets.

    None among the sets is none. Returns the leaks. Raises UserError for a set that is not there, and where
    there are leaks and they are not allowed: a training calls it before it starts.
    """
    return check_leakage(*sides(data, dataset, held_out_datasets), allow_leakage)


def sides(data: DataFolder, dataset: str, held_out_datasets: Iterable[str | None] = ()
          ) -> tuple[list[Asked], list[Asked]]:
    """(training questions of a set, held-out questions of it and of the others), in the order of their ids.

    A question without a split is one of training. Raises UserError for a set that is not there.
    """
    names = dict.fromkeys(name for name in (dataset, *held_out_datasets) if name is not None)
    asked = [Asked(name, question) for name in names for question in read_question_set(data, name).questions]
    return ([one for one in asked if one.dataset == dataset and (one.question.split or "train") == "train"],
            [one for one in asked if (one.question.split or "train") != "train"])


def check_leakage(train: Sequence[Asked], held_out: Sequence[Asked], allow_leakage: bool = False) -> list[Leak]:
    """The leaks. Raises UserError where there are some and they are not allowed."""
    leaks = find_leaks(train, held_out)
    if leaks and not allow_leakage:
        named = "; ".join(f"{leak.train.name} and {leak.held_out.name}: {leak.shared[:80]!r}"
                          for leak in leaks[:_NAMED])
        by_rule = ", ".join(f"{rule} {n}" for rule, n in Counter(leak.rule for leak in leaks).items())
        n_questions = len({leak.train.name for leak in leaks})
        raise UserError(
            f"training questions of {', '.join(sorted({asked.dataset for asked in train}))}",
            f"{n_questions} of {len(train)} leak held-out ones ({by_rule}): {named}",
            "questions and documents that no held-out question has",
            "Split by article, as espalier questions generate does, or set allow_leakage: true and say so "
            "beside every figure.")
    return leaks


_Keys = Callable[[Asked], Iterator[tuple[str, str]]]
"""What of a question must not be met again: (what is compared, what is shown)."""
_Finder = Callable[[Asked], tuple[Asked, str] | None]
"""From a training question to the held-out one that it leaks, and what they share."""


def _ids(asked: Asked) -> Iterator[tuple[str, str]]:
    own = asked.question.question_id
    yield (own if _TELLING_ID.search(own) else f"{asked.dataset}\n{own}"), own


def _quotes(asked: Asked) -> Iterator[tuple[str, str]]:
    for gold in asked.question.evidence:
        key = normalise_quote(gold.quote)
        if len(key) >= TELLING_QUOTE:
            yield key, gold.quote


def _titles(asked: Asked) -> Iterator[tuple[str, str]]:
    for gold in asked.question.evidence:
        yield normalise_title(gold.title), gold.title


def _by_key(held_out: Iterable[Asked], keys: _Keys) -> _Finder:
    known: dict[str, tuple[Asked, str]] = {}
    for asked in held_out:
        for key, shown in keys(asked):
            known.setdefault(key, (asked, shown))
    return lambda asked: next((known[key] for key, _ in keys(asked) if key in known), None)


class _Words:
    """The terms of a question by falling weight, and those of them that a near question must share one of.

    Where the terms behind a prefix weigh less than `NEAR` of all, two questions that are near share a term of
    the prefixes of both (prefix filtering: Chaudhuri, Ganti, Kaushik 2006). So few pairs are compared.
    """

    def __init__(self, question: str, weights: Mapping[str, float]) -> None:
        ordered = sorted(set(terms(question)), key=lambda term: (-weights[term], term))
        self.terms = frozenset(ordered)
        self._names = frozenset(
            term for word in _WORD_BUT_FIRST.findall(question) if word[0].isupper() or word[0].isnumeric()
            for term in terms(word))
        self.total = sum(weights[term] for term in ordered)
        left, n_first = self.total, 0
        while n_first < len(ordered) and left >= NEAR * self.total - 1e-9:
            left -= weights[ordered[n_first]]
            n_first += 1
        self.first = tuple(ordered[:n_first])

    def may_be(self, other: _Words) -> bool:
        """Whether neither names something that the other does not."""
        return self._names <= other.terms and other._names <= self.terms


def _by_words(train: Sequence[Asked], held_out: Sequence[Asked]) -> _Finder:
    everything = [set(terms(asked.question.question)) for asked in (*train, *held_out)]
    counts = Counter(term for found in everything for term in found)
    weights = {term: math.log(1 + len(everything) / n) for term, n in counts.items()}
    words = [_Words(asked.question.question, weights) for asked in held_out]
    by_term: dict[str, list[int]] = defaultdict(list)
    for place, own in enumerate(words):
        for term in own.first:
            by_term[term].append(place)

    def nearest(asked: Asked) -> tuple[Asked, str] | None:
        own = _Words(asked.question.question, weights)
        best: tuple[float, int] | None = None
        for place in sorted({place for term in own.first for place in by_term.get(term, ())}):
            shared = sum(weights[term] for term in own.terms & words[place].terms)
            index = shared / (own.total + words[place].total - shared)
            if index >= NEAR - 1e-9 and own.may_be(words[place]) and (best is None or index > best[0]):
                best = index, place
        return None if best is None else (held_out[best[1]], held_out[best[1]].question.question)

    return nearest
