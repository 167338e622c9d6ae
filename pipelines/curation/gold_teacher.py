"""The offline teacher: actions from gold evidence (paper 2510.04293, section 3.4; docs/methods.md).

ANSWER the visible nodes that hold evidence, EXPAND the headings whose hidden content holds some, refuse a
subtree with neither. What belongs here: that rule. What does not: where quotes stand (`evaluation/gold.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from pipelines.methods.routing import ANSWER, EXPAND, REFUSAL, RouterOutput, RouterState, format_action

GOLD = "gold"
"""Name of this teacher in `routing_actions`."""


class GoldTeacher:
    """A router for one question that knows where its evidence stands.

    nodes_by_document: the nodes that hold gold quotes, by doc_id; other documents hold none.
    """

    name = GOLD
    parallel = 1

    def __init__(self, nodes_by_document: Mapping[str, Set[int]]) -> None:
        self._nodes_by_document = nodes_by_document

    def route(self, state: RouterState) -> RouterOutput:
        """The legal actions that reach the evidence, in the order of the lines; else a refusal."""
        view = state.view
        gold = view.matched(self._nodes_by_document.get(view.document.doc_id, ()))
        shown = set(state.visible)
        lines = [format_action(ANSWER, view, node_id) for node_id in state.visible if node_id in gold]
        lines += [format_action(EXPAND, view, node_id) for node_id in state.expandable
                  if gold.intersection(view.direct_content(node_id)) - shown]
        return RouterOutput("\n".join(lines) or REFUSAL)
