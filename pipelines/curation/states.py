"""The states in which a router decides on a question, as rows of `routing_states`, and actions as rows.

Passages are retrieved, each document gets one retrieval subtree, and the teacher's own actions lead to the
next turns, as they would in `rdr2`. A row holds what a router of any kind is trained and measured with: the
router text and the legal lines for a language model, the scores and cosines of their nodes for a scorer.

What belongs here: running the loop with a teacher, and rows. What does not: tables, and who calls this.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.curation.class_tags import class_tag
from pipelines.evaluation.datasets import Question
from pipelines.methods.base import RetrievalCorpus, Trace
from pipelines.methods.options import read_options
from pipelines.methods.rdr2 import OPTIONS
from pipelines.methods.router_prompt import router_messages
from pipelines.methods.routing import PROMPT_FORMAT, Router, RouterOutput, RouterState, parse_actions
from pipelines.methods.routing_loop import RoutingLoop, route_questions
from pipelines.schemas import TABLES


@dataclass(frozen=True)
class StateSettings:
    """What the states of a question depend on, beside release and question.

    k: passages retrieved. turns: headings expanded in a document at most, by the teacher's actions; 0, as in
    the paper: only what the first turn shows. router_text_tokens, line_words: as `rdr2` has them.
    """

    k: int = 5
    turns: int = 0
    router_text_tokens: int = 3000
    line_words: int = 60


Met = list[tuple[RouterState, RouterOutput]]


def meet_states(question: Question, corpus: RetrievalCorpus, teacher: Router, settings: StateSettings) -> Met:
    """Every state with a legal line that routing meets for a question, with the teacher's output.

    In the order of the documents' first passages, then of turns.
    """
    return meet_states_together([question], corpus, teacher, settings)[0]


def meet_states_together(questions: Sequence[Question], corpus: RetrievalCorpus, teacher: Router,
                         settings: StateSettings) -> list[Met]:
    """The same for several questions, whose documents the teacher decides on together."""
    options = read_options("curation", OPTIONS, {
        "expand_iterations": str(settings.turns), "router_text_tokens": str(settings.router_text_tokens),
        "line_words": str(settings.line_words)})
    asked = [(RoutingLoop(question.question, corpus, teacher, options),
              corpus.search_dense(question.question, settings.k), Trace()) for question in questions]
    return [[(state, output) for document in documents for state, output in document.asked
             if state.visible or state.expandable] for documents in route_questions(asked)]


def distinct(questions: Iterable[Question]) -> list[Question]:
    """The questions without those that ask the same words as an earlier one by id: they would meet the same states,
    and a state has one teacher's decision. In their order.
    """
    first: dict[str, str] = {}
    questions = list(questions)
    for question in sorted(questions, key=lambda one: one.question_id):
        first.setdefault(question.question, question.question_id)
    return [question for question in questions if first[question.question] == question.question_id]


def state_id(question: str, doc_id: str, router_text: str) -> str:
    """32 hex of SHA-256 over question, document, router text and prompt format."""
    described = json.dumps([question, doc_id, router_text, PROMPT_FORMAT], ensure_ascii=True)
    return hashlib.sha256(described.encode()).hexdigest()[:32]


def state_row(state: RouterState, question: Question, dataset: str, release: int,
              bucket: int) -> dict[str, Any]:
    """A row of `routing_states`."""
    doc_id = state.view.document.doc_id
    node_ids = [*state.visible, *state.expandable]
    return {
        "state_id": state_id(question.question, doc_id, state.text), "dataset": dataset,
        "question_id": question.question_id, "doc_id": doc_id, "bucket": bucket, "release": release,
        "prompt_format": PROMPT_FORMAT, "turn": state.turn,
        "question": question.question, "router_text": state.text, "lit_node_ids": list(state.visible),
        "hidden_node_ids": list(state.expandable), "lines": list(state.legal_lines()),
        "scores": [state.score(node_id) for node_id in node_ids],
    }


def action_row(row: Mapping[str, Any], state: RouterState, output: RouterOutput, teacher: str) -> dict[str, Any]:
    """A row of `routing_actions`: the legal actions of an output alone, and how many were not legal."""
    actions = parse_actions(output.text, state)
    faults = (output.replaced or actions).fault_counts()
    by_node = _lines_by_node(row)
    answers = [by_node[node_id][0] for node_id in actions.answers]
    expands = [by_node[node_id][1] for node_id in actions.expands]
    prompt = json.dumps([message.to_json() for message in router_messages(state)], ensure_ascii=True)
    return {
        **{name: row[name] for name in TABLES["routing_states"].key}, "teacher": teacher,
        "actions": [*answers, *expands],
        "tag": class_tag(actions), "expelled": faults["expelled"] + faults["unknown"],
        "collapsed": bool(faults["collapsed"]),
        "prompt_sha256": hashlib.sha256(prompt.encode()).hexdigest(),
        "tokens_in": output.usage.tokens_in, "tokens_out": output.usage.tokens_out,
        "cost_usd": output.usage.cost_usd,
    }


def _lines_by_node(row: Mapping[str, Any]) -> dict[int, tuple[str, str]]:
    """The ANSWER and the EXPAND line of each node; a heading has only the second, content only the first."""
    n_visible = len(row["lit_node_ids"])
    lines: Sequence[str] = row["lines"]
    found = {node_id: (line, "") for node_id, line in zip(row["lit_node_ids"], lines, strict=False)}
    found |= {node_id: ("", line) for node_id, line in zip(row["hidden_node_ids"], lines[n_visible:], strict=True)}
    return found
