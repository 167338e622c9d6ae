"""The rules of training rows, computed: a row's key, and for each rule what is wrong with it or None.

What belongs here: reading what a training would read, by delta-rs, and the trees behind it. What does not: the
rules (`training_rules.py`), judging and reporting (`training_validation.py`). States are read a bucket at a
time, for each holds the text that a router is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from assets.quality.training_rules import TRAINING_RULES
from pipelines.curation.class_tags import class_tag
from pipelines.curation.gold_teacher import GOLD
from pipelines.curation.states import state_id
from pipelines.evaluation.datasets import Question
from pipelines.evaluation.normalise import AnswerText, normalise_quote, normalise_title
from pipelines.evaluation.question_table import read_question_set
from pipelines.methods.routing import ANSWER, EXPAND, PROMPT_FORMAT, Actions, format_action
from pipelines.methods.subtree import SubtreeView, view_of
from pipelines.questions.leakage import Asked, find_leaks
from pipelines.retrieval.corpus import ReleasedCorpus
from pipelines.storage import TableReader, check_columns, sql_text

Fault = dict[str, str | None]
_SHOWN = 120
_OVERLAP = 8
"""Letters and digits that a node at the edge of a quote must share with it."""
_ACTION_KEY = TRAINING_RULES["routing_actions"].key
_STATE_COLUMNS = ("state_id", "dataset", "release", "question_id", "doc_id", "turn", "question", "router_text",
                  "lit_node_ids", "hidden_node_ids", "lines")


def leakage_faults(train: Sequence[Asked], held_out: Sequence[Asked]) -> list[Fault]:
    """One row a training question."""
    faults = {(asked.dataset, asked.question.question_id): _row("training_questions", {
        "dataset": asked.dataset, "question_id": asked.question.question_id}) for asked in train}
    for leak in find_leaks(train, held_out):
        key = leak.train.dataset, leak.train.question.question_id
        faults[key][leak.rule] = f"{leak.held_out.name}: {leak.shared[:_SHOWN]}"
    return list(faults.values())


@dataclass
class RoutingFaults:
    """Rows of both tables that a training of one set by one teacher reads, and the classes of its samples."""

    states: list[Fault] = field(default_factory=list)
    actions: list[Fault] = field(default_factory=list)
    tags: Counter[str] = field(default_factory=Counter)


def routing_faults(corpus: ReleasedCorpus, dataset: str, teacher: str) -> RoutingFaults:
    """One row a state of the set at the corpus's release, and one for each sample that the teacher made of one."""
    questions = {question.question_id: question for question in read_question_set(corpus.data, dataset).questions}
    check_columns(corpus.data, "routing_actions")
    reader = TableReader(corpus.data)
    actions: dict[str, list[dict[str, Any]]] = {}
    of_set = f"dataset = {sql_text(dataset)} AND release = {corpus.release.number}"
    for row in reader.rows("routing_actions", (*_ACTION_KEY, "actions", "tag"),
                           f"{of_set} AND teacher = {sql_text(teacher)} AND NOT collapsed"):
        actions.setdefault(row["state_id"], []).append(row)
    found = RoutingFaults()
    copies: Counter[tuple[Any, ...]] = Counter()
    for state in _states(reader, corpus, dataset, questions):
        copies[_identity(state)] += 1
        view = _view(corpus, state["doc_id"])
        found.states.append(_state_fault(state, view, copies[_identity(state)] > 1))
        for row in actions.get(state["state_id"], ()):
            found.actions.append(_action_fault(row, state, view, questions[state["question_id"]]))
            found.tags[row["tag"]] += 1
    known = {row["state_id"] for row in reader.rows("routing_states", ("state_id",), of_set)}
    for name in sorted(set(actions) - known):
        found.actions += [_action_row(row, state_exists="no such state") for row in actions[name]]
    return found


def _states(reader: TableReader, corpus: ReleasedCorpus, dataset: str,
            questions: Mapping[str, Question]) -> Iterator[dict[str, Any]]:
    """The states that a training meets, by document."""
    own = (f"dataset = {sql_text(dataset)} AND release = {corpus.release.number} "
           f"AND prompt_format = {sql_text(PROMPT_FORMAT)}")
    for bucket in range(corpus.release.n_buckets):
        rows = reader.rows("routing_states", _STATE_COLUMNS, f"{own} AND bucket = {bucket}",
                           order_by=("doc_id", "question_id", "turn", "state_id"))
        for _, of_document in groupby(rows, key=lambda row: row["doc_id"]):
            for row in of_document:
                question = questions.get(row["question_id"])
                if question is not None and question.question == row["question"]:
                    yield row


def _view(corpus: ReleasedCorpus, doc_id: str) -> SubtreeView | None:
    try:
        return view_of(corpus.document(doc_id))
    except KeyError:
        return None


def _row(table: str, key: Mapping[str, Any], **faults: str | None) -> Fault:
    return {**key, **{rule.name: faults.get(rule.name) for rule in TRAINING_RULES[table].rules}}


def _identity(state: Mapping[str, Any]) -> tuple[Any, ...]:
    return state["question_id"], state["doc_id"], state["router_text"]


# --- states

def _state_fault(state: Mapping[str, Any], view: SubtreeView | None, is_copy: bool) -> Fault:
    expected = state_id(state["question"], state["doc_id"], state["router_text"])
    return _row(
        "routing_states", {name: state[name] for name in TRAINING_RULES["routing_states"].key},
        document_is_released=f"no tree of {state['doc_id']}" if view is None else None,
        nodes_have_kind=None if view is None else _wrong_kind(state, view),
        lines_match_nodes=None if view is None else _wrong_line(state, view),
        hash_matches_state=None if state["state_id"] == expected else f"should be {expected}",
        state_is_no_copy=f"{state['question_id']} in {state['doc_id']}" if is_copy else None)


def _wrong_kind(state: Mapping[str, Any], view: SubtreeView) -> str | None:
    for column, should_be_heading in (("lit_node_ids", False), ("hidden_node_ids", True)):
        for node_id in state[column]:
            if node_id not in view:
                return f"{column}: no node {node_id}"
            if view.is_structure(node_id) != should_be_heading:
                return f"{column}: node {node_id} is {'content' if should_be_heading else 'a heading'}"
    return None


def _wrong_line(state: Mapping[str, Any], view: SubtreeView) -> str | None:
    nodes = [*((ANSWER, node_id) for node_id in state["lit_node_ids"]),
             *((EXPAND, node_id) for node_id in state["hidden_node_ids"])]
    lines: Sequence[str] = state["lines"]
    if len(nodes) != len(lines):
        return f"{len(lines)} lines of {len(nodes)} nodes"
    return next((line[:_SHOWN] for line, (tag, node_id) in zip(lines, nodes, strict=True)
                 if node_id in view and line != format_action(tag, view, node_id)), None)


# --- actions

def _action_row(row: Mapping[str, Any], **faults: str | None) -> Fault:
    return _row("routing_actions", {name: row[name] for name in _ACTION_KEY}, **faults)


def _action_fault(row: Mapping[str, Any], state: Mapping[str, Any], view: SubtreeView | None,
                  question: Question) -> Fault:
    legal = dict(zip(state["lines"], [*state["lit_node_ids"], *state["hidden_node_ids"]], strict=False))
    taken: Sequence[str] = row["actions"]
    answered = [legal[line] for line in taken if line in legal and line.startswith(ANSWER)]
    expanded = [legal[line] for line in taken if line in legal and line.startswith(EXPAND)]
    tag = class_tag(Actions(tuple(answered), tuple(expanded)))
    texts = [] if view is None else [view.text[node_id] for node_id in answered if node_id in view]
    title = "" if view is None else view.document.title
    is_gold = row["teacher"] == GOLD
    return _action_row(
        row, actions_are_legal=_illegal(taken, legal),
        tag_matches_actions=None if row["tag"] == tag else f"{row['tag']}, should be {tag}",
        gold_holds_evidence=_without_evidence(texts, question, title) if is_gold else None,
        answers_hold_answer=None if is_gold else _without_answer(texts, question, title))


def _illegal(taken: Sequence[str], legal: Mapping[str, int]) -> str | None:
    twice = [line for line, n in Counter(taken).items() if n > 1]
    return next((line[:_SHOWN] for line in (*(line for line in taken if line not in legal), *twice)), None)


def _quotes(question: Question, title: str) -> list[str]:
    """The gold quotes of a question in the document with this title, in their normal form."""
    return [normalise_quote(gold.quote) for gold in question.evidence
            if normalise_title(gold.title) == normalise_title(title)]


def _without_evidence(texts: Sequence[str], question: Question, title: str) -> str | None:
    quotes = _quotes(question, title)
    return next((text[:_SHOWN] for text in texts
                 if not any(_shares(normalise_quote(text), quote) for quote in quotes)), None)


def _without_answer(texts: Sequence[str], question: Question, title: str) -> str | None:
    """The first words of what was answered where none of it holds what is known to be right."""
    quotes = _quotes(question, title)
    aliases = [alias for answer in question.answers for alias in answer]
    if not texts or not (quotes or aliases):
        return None
    if any(_shares(normalise_quote(text), quote) for text in texts for quote in quotes):
        return None
    words = AnswerText("\n".join(texts))
    return None if any(words.holds(alias) for alias in aliases) else texts[0][:_SHOWN]


def _shares(text: str, quote: str) -> bool:
    """Whether a text holds a quote, is part of it, or stands at one of its edges. Both in normal form."""
    if quote in text or (text and text in quote):
        return True
    lengths = range(_OVERLAP, min(len(text), len(quote)))
    return any(text.endswith(quote[:n]) or text.startswith(quote[-n:]) for n in lengths)
