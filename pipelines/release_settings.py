"""What a release depends on beside its tables: settings and formats of indexes, as one digest.

What belongs here: these settings, and how they differ from those that a release was made with. What does not:
settings of a table's rows (`stage_settings.py`), and those that change speed alone.
"""

from __future__ import annotations

import hashlib
import json

from pipelines.releases import Release
from pipelines.settings import Profile

RELEASE_SETTINGS = ("namespaces", "passage_words", "encoder", "encoder_max_tokens", "token_counter",
                    "dense_flat_below", "router_answer_threshold", "router_expand_threshold",
                    "router_score_threshold")
"""The settings that decide what a reader of a release gets."""


def index_formats() -> dict[str, int]:
    """Formats of the indexes: a new one makes a release due, since the old indexes cannot be opened."""
    from pipelines.retrieval.dense_build import DENSE_FORMAT
    from pipelines.retrieval.sparse import SPARSE_FORMAT

    return {"dense_format": DENSE_FORMAT, "sparse_format": SPARSE_FORMAT}


def settings_sha256(profile: Profile) -> str:
    """Digest of the settings that a release depends on."""
    chosen = profile.model_dump(mode="json", include=set(RELEASE_SETTINGS)) | index_formats()
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()


def router_thresholds(profile: Profile) -> dict[str, float]:
    """The thresholds that a release keeps, by name."""
    return {"answer": profile.router_answer_threshold, "expand": profile.router_expand_threshold,
            "score": profile.router_score_threshold}


def release_difference(release: Release, profile: Profile) -> str | None:
    """How the settings differ from those that a release was made with, in words; None where they are equal."""
    if release.settings_sha256 == settings_sha256(profile):
        return None
    told = {"encoder": (release.encoder, profile.encoder),
            "token_counter": (release.token_counter, profile.token_counter),
            **{f"router_{name}_threshold": (release.router.get(name), value)
               for name, value in router_thresholds(profile).items()}}
    changed = [f"{name} is {now}, it was made with {then}" for name, (then, now) in told.items() if then != now]
    # Of the others a release keeps the digest alone.
    return "; ".join(changed) or f"made with other values of one of {', '.join(sorted(RELEASE_SETTINGS))}, or by " \
                                 "other formats of indexes"
