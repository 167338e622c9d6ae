"""The routers that exist, by the name that `--router` takes.

To add one, write a module with a class that fits `routing.Router` and enter it here. What belongs here:
names. What does not: deciding (`similarity_router.py`, `llm_router.py`) and loading models.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines.methods.base import RetrievalCorpus
from pipelines.methods.llm_router import LlmRouter, LlmRouterSettings
from pipelines.methods.routing import Router
from pipelines.methods.scorer_router import FeatureMaker, Scorer, ScorerRouter
from pipelines.methods.similarity_router import SimilarityRouter
from pipelines.models.adapter import is_adapter, load_adapter, read_card
from pipelines.models.load_llm import check_model, load_model
from pipelines.settings import profile_by_name

LOCAL_ROUTER = "local"
"""The language model that set-up converts, in this process."""
SCORER_ENDING = ".safetensors"


def check_router(name: str) -> None:
    """Raise UserError for a name that no router has, files that are no scorer or adapter of this version, a URL
    that is no endpoint's."""
    if is_scorer(name):
        Scorer.load(Path(name))
    elif is_adapter(name):
        read_card(Path(name))
    else:
        check_model(name, LOCAL_ROUTER, "router", (SimilarityRouter.name,))


def is_scorer(name: str) -> bool:
    """Whether a name is the path of a scorer's file."""
    return name.endswith(SCORER_ENDING) and "://" not in name


def make_router(name: str, corpus: RetrievalCorpus, options: Mapping[str, Any]) -> Router:
    """The router of that name; a threshold that the user did not set is the release's.

    An adapter's own threshold comes before the release's, which was tuned for another model.
    Raises UserError for an unknown name, RunFailure for a local model that was not set up.
    """
    check_router(name)
    if is_scorer(name):
        return ScorerRouter(Scorer.load(Path(name)), FeatureMaker(corpus), options["scorer_margin"])
    # A release that was made before there was a score threshold has none.
    thresholds = {"score": profile_by_name().router_score_threshold, **corpus.router_thresholds()}
    if is_adapter(name):
        thresholds["score"] = read_card(Path(name)).score_threshold

    def threshold(option: str, stored: str) -> float:
        return float(thresholds[stored] if options[option] is None else options[option])

    similarity = SimilarityRouter(threshold("answer_threshold", "answer"),
                                  threshold("expand_threshold", "expand"))
    if name == SimilarityRouter.name:
        return similarity
    settings = LlmRouterSettings(options["decode"], threshold("score_threshold", "score"),
                                 options["router_output_tokens"], options["most_actions"])
    model = load_adapter(Path(name)) if is_adapter(name) else load_model(name)
    return LlmRouter(name, model, settings, similarity if options["router_fallback"] else None)
