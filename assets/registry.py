"""The map of the asset graph: every group, and the module that its assets come from.

What belongs here: the list of groups, and loading them with what all assets have in common. What does not:
any asset. A group is given at load time, so that no decorator can misspell it; owners, tags and freshness
are set once over all specs.
"""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module

import dagster as dg

GROUPS = {
    "wikipedia": "assets.wikipedia",
    "corpus": "assets.corpus",
    "indexes": "assets.indexes",
    "release": "assets.release",
    "evaluation": "assets.evaluation",
    "routers": "assets.routers",
}
"""Group → module. The order is that of the pipeline."""

OWNERS = ("team:corpus",)
EVALUATION_OWNERS = ("team:retrieval",)
FRESHNESS = dg.FreshnessPolicy.time_window(fail_window=timedelta(days=62), warn_window=timedelta(days=35))
"""Wikipedia publishes its dumps twice a month, and the schedule refreshes once: a month missed warns."""


def load_assets() -> list[dg.AssetsDefinition]:
    """All assets, each in its group, with owners, the tag of its domain, and a freshness policy."""
    loaded: list[dg.AssetsDefinition] = []
    for group, module in GROUPS.items():
        found = dg.load_assets_from_modules([import_module(module)], group_name=group)
        loaded += [asset for asset in found if isinstance(asset, dg.AssetsDefinition)]
    return [asset.map_asset_specs(_with_policy) for asset in loaded]


def _with_policy(spec: dg.AssetSpec) -> dg.AssetSpec:
    if spec.group_name in ("evaluation", "routers"):
        return spec.replace_attributes(owners=EVALUATION_OWNERS, tags={**spec.tags, "domain": spec.group_name})
    return spec.replace_attributes(owners=OWNERS, tags={**spec.tags, "domain": "corpus"},
                                   freshness_policy=FRESHNESS)


default_assets = load_assets()
