"""Builds the indexes of a release: dense shards and the sparse index, over pinned table versions.

What belongs here: where the work runs (in this process, or one Ray task a shard) and what is kept from the
release before. What does not: how a shard is built (`pipelines/retrieval/`), and publishing. Run by itself:
`python -m training.build_index --config FILE` with YAML as `BuildIndexConfig`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pipelines.errors import EspalierError, RunFailure
from pipelines.locking import build_lock
from pipelines.releases import list_releases
from pipelines.retrieval.dense_build import DENSE_FORMAT, ShardPlan, build_shard, plan_shards, shard_inputs
from pipelines.retrieval.index_files import Manifest, building, finish_folder, opened, read_manifest
from pipelines.retrieval.sparse import SPARSE_FORMAT, build_sparse
from pipelines.retrieval.titles import other_titles
from pipelines.settings import DataFolder, Profile, profile_by_name
from pipelines.storage import TableReader, sql_text
from training.command import run_command

log = logging.getLogger(__name__)

SPARSE_COLUMNS = ("unit_id", "doc_id", "source", "text", "first_sentence_id")


class BuildIndexConfig(BaseModel):
    """Configuration of `python -m training.build_index`."""

    model_config = ConfigDict(extra="forbid")

    data: str = Field(description="Data folder")
    profile: str = Field("fast", description="fast or full")
    release: int = Field(ge=1, description="Number of the release that the indexes belong to")
    versions: dict[str, int] = Field({}, description="Versions of units, embeddings; without, the newest")
    settings: dict[str, Any] = Field({}, description="Settings in place of the profile's, as dense_ray_above")

    @model_validator(mode="after")
    def _settings_fit(self) -> BuildIndexConfig:
        self.made_profile()
        return self

    def made_profile(self) -> Profile:
        """The profile with the settings. Raises UserError for an unknown profile, ValueError for settings."""
        return Profile.model_validate({**profile_by_name(self.profile).model_dump(), **self.settings})


def build_indexes(data: DataFolder, profile: Profile, versions: Mapping[str, int],
                  release_number: int) -> dict[str, str]:
    """Build what is missing of the release's indexes; returns their folders relative to the data folder.

    versions: of the tables documents, units and embeddings at least. An index that a killed run has finished
    over the same versions is kept, and shards whose data files did not change are taken from the newest release
    that has them. Raises RunFailure when a table cannot be read or holds vectors of several dimensions.
    """
    reader = TableReader(data, versions)
    base = f"indexes/{release_number}"
    indexes = {"dense": f"{base}/dense", "sparse": f"{base}/sparse"}
    _build_dense(data, profile, reader, indexes["dense"])
    _build_sparse(data, reader, indexes["sparse"])
    return indexes


# --- dense

def _build_dense(data: DataFolder, profile: Profile, reader: TableReader, relative: str) -> None:
    plans = plan_shards(reader, profile.encoder, profile.dense_flat_below)
    inputs = {plan.name: shard_inputs(reader, profile.encoder, plan) for plan in plans}
    wanted = {"kind": "dense", "format": DENSE_FORMAT, "model": profile.encoder}
    finished = read_manifest(f"{data.root}/{relative}")
    if finished and _facts(finished, wanted) == wanted and _shard_inputs(finished) == inputs:
        log.info("dense index %s is there already", relative)
        return
    dim = _dimension(reader, profile.encoder)
    n_vectors = sum(plan.n_vectors for plan in plans)
    with building(data, relative) as folder:
        entries = {plan.name: entry for plan in plans
                   if (entry := _reused(data, relative, plan, inputs[plan.name], wanted, folder))}
        due = [plan for plan in plans if plan.name not in entries]
        log.info("dense index: %d vectors, %d shards, %d of them kept", n_vectors, len(plans), len(entries))
        version = reader.version("embeddings")
        build = _build_on_ray if len(due) > 1 and n_vectors > profile.dense_ray_above else _build_here
        for entry in build(data, version, profile.encoder, dim, due, folder):
            entries[entry["name"]] = entry
        shards = [entries[plan.name] for plan in plans]
        finish_folder(folder, {**wanted, "dim": dim, "shards": shards,
                               "n_vectors": sum(shard["n_vectors"] for shard in shards)})


def _dimension(reader: TableReader, model: str) -> int:
    found = reader.counts("embeddings", "dim", f'"model" = {sql_text(model)}')
    if len(found) != 1:
        raise RunFailure("table embeddings", f"dimensions of {model}: {sorted(found) or 'none'}",
                         "vectors of one dimension", "Run `espalier build` again; it embeds what is missing.")
    return int(next(iter(found)))


def _facts(manifest: Manifest, wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {name: manifest.get(name) for name in wanted}


def _shard_inputs(manifest: Manifest) -> dict[str, str]:
    return {entry["name"]: entry["inputs"] for entry in manifest["shards"]}


def _reused(data: DataFolder, relative: str, plan: ShardPlan, inputs: str, wanted: Mapping[str, Any],
            folder: Path) -> dict[str, Any] | None:
    """Take an equal shard over from the newest release that has one, if its index is whole."""
    for release in reversed(list_releases(data)):
        source = release.indexes.get("dense")
        manifest = read_manifest(f"{data.root}/{source}") if source and source != relative else None
        if manifest is None or _facts(manifest, wanted) != wanted:
            continue
        for entry in manifest["shards"]:
            if entry["inputs"] != inputs:
                continue
            try:
                origin, _ = opened(data, str(source))
            except EspalierError as error:
                log.warning("shard %s is built again: %s", plan.name, error)
                break
            for name in manifest["files"]:
                if name.startswith(f"{entry['name']}."):
                    _link_or_copy(origin / name, folder / name.replace(entry["name"], plan.name, 1))
            return {**entry, "name": plan.name}
    return None


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        # Another file system, or one without links.
        shutil.copyfile(source, target)


def _build_here(data: DataFolder, version: int, model: str, dim: int, plans: list[ShardPlan],
                folder: Path) -> Iterator[dict[str, Any]]:
    for plan in plans:
        yield build_shard(data, version, model, dim, plan, folder)


def _build_on_ray(data: DataFolder, version: int, model: str, dim: int, plans: list[ShardPlan],
                  folder: Path) -> Iterator[dict[str, Any]]:
    """One task a shard. The workers must see `folder`: the same machine, or a shared file system."""
    from training.ray_cluster import ray_session

    with ray_session():
        import ray

        task = ray.remote(num_cpus=1, max_retries=2)(build_shard)
        yield from ray.get([task.remote(data, version, model, dim, plan, folder) for plan in plans])


# --- sparse

def _build_sparse(data: DataFolder, reader: TableReader, relative: str) -> None:
    names = other_titles(reader)
    digest = hashlib.sha256(json.dumps(sorted(names.items())).encode()).hexdigest()[:16]
    inputs = f"units@{reader.version('units')}, names {digest}"
    wanted = {"kind": "sparse", "format": SPARSE_FORMAT, "inputs": inputs}
    finished = read_manifest(f"{data.root}/{relative}")
    if finished and _facts(finished, wanted) == wanted:
        log.info("sparse index %s is there already", relative)
        return
    with building(data, relative) as folder:
        build_sparse(folder, _units(reader, names), inputs)


def _units(reader: TableReader, names: Mapping[tuple[str, str], list[str]]) -> Iterator[dict[str, Any]]:
    """All units in a fixed order, one bucket in memory at a time; the first of a document has its other titles."""
    for bucket in sorted(reader.counts("units", "bucket")):
        here = f'"bucket" = {bucket}'
        titles = {row["doc_id"]: row["title"] for row in reader.rows("documents", ("doc_id", "title"), here)} \
            if names else {}
        rows = reader.rows("units", SPARSE_COLUMNS, here, ("doc_id", "unit_id"))
        first: dict[str, dict[str, Any]] = {}
        for row in rows:
            best = first.setdefault(row["doc_id"], row)
            if row["first_sentence_id"] < best["first_sentence_id"]:
                first[row["doc_id"]] = row
        for doc_id, row in first.items():
            row["names"] = names.get((doc_id.partition(":")[0], titles.get(doc_id, "")), [])
        yield from rows


def run(config: BuildIndexConfig) -> str:
    """Build, and say the indexes' folders as JSON."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    data = DataFolder.at(config.data)
    with build_lock(data):
        return json.dumps(build_indexes(data, config.made_profile(), config.versions, config.release))


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the indexes that a config file describes and print their folders as JSON. Returns the exit code."""
    return run_command("build_index", "Build the indexes of a release.", BuildIndexConfig, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
