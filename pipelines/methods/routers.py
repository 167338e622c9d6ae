"""The routers that exist, by the name that `--router` takes.

To add one, write a module with a class that fits `routing.Router` and enter it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.errors import UserError
from pipelines.methods.base import RetrievalCorpus
from pipelines.methods.routing import Router
from pipelines.methods.similarity_router import SimilarityRouter

ROUTER_NAMES = (SimilarityRouter.name,)


def check_router(name: str) -> None:
    """Raise UserError for a name that no router has."""
    if name not in ROUTER_NAMES:
        raise UserError(f"router {name!r}", "no such router", f"one of {', '.join(ROUTER_NAMES)}",
                        "Correct --router.")


def make_router(name: str, corpus: RetrievalCorpus, options: Mapping[str, Any]) -> Router:
    """The router of that name; a threshold that the user did not set is the release's."""
    check_router(name)
    thresholds = corpus.router_thresholds()
    answer, expand = options["answer_threshold"], options["expand_threshold"]
    return SimilarityRouter(thresholds["answer"] if answer is None else answer,
                            thresholds["expand"] if expand is None else expand)
