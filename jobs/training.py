"""The jobs of trained routers: train, judge and promote; and the curves of the champions.

What belongs here: which assets and checks a job selects. What does not: what they do (`assets/routers.py`). Both
take the resource `router_plan` (`assets/router_plan.py`), which the launchpad asks for.
"""

from __future__ import annotations

import dagster as dg

_CURVES = dg.AssetSelection.assets("router_curves")

train_routers = dg.define_asset_job(
    "train_routers",
    selection=dg.AssetSelection.groups("routers") - _CURVES,
    executor_def=dg.in_process_executor,
    description="Check that no training question leaks a held-out one, curate actions, train routers on them, "
                "judge them on held-out states, promote what beats the champion, ask the champions end to end.")

draw_router_curves = dg.define_asset_job(
    "draw_router_curves", selection=_CURVES, executor_def=dg.in_process_executor,
    description="Ablations and test-time scaling of rdr2 with the champions beside the router similarity: one "
                "MLflow experiment, and its curves.")

default_jobs = [train_routers, draw_router_curves]
