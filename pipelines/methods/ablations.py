"""RDR²'s ablations (paper 2510.04293, section 5.2): switches that take one part of the method away.

What belongs here: their names and what each means. What does not: the loop that obeys them (`routing_loop.py`).
"""

from __future__ import annotations

import random

from pipelines.methods.subtree import ROOT_ID, SubtreeView

NO_ROUTER, NO_STRUCTURE, NO_SIMILARITY = "no_router", "no_structure", "no_similarity"
NO_CONTENT, NO_EXPAND, NO_REFUSE = "no_content", "no_expand", "no_refuse"

ABLATIONS: dict[str, str] = {
    NO_ROUTER: "no routing: the retrieved passages are the evidence",
    NO_STRUCTURE: "no headings: each retrieved passage is taken or refused alone",
    NO_SIMILARITY: "starts below a random heading of each document, not at its passages",
    NO_CONTENT: "starts with headings alone",
    NO_EXPAND: "without EXPAND: only what is shown first can be answered",
    NO_REFUSE: "without refusing: each turn answers or expands at least one node",
}


def random_heading(question: str, view: SubtreeView) -> int:
    """A heading with content of its own, the root among them; the same for the same question and document."""
    headings = [node_id for node_id in view if view.is_structure(node_id) and view.direct_content(node_id)]
    return random.Random(f"{question}\n{view.document.doc_id}").choice(headings or [ROOT_ID])
