"""Routers in MLflow's model registry: versions of a name, and which one is the champion.

A version is a router's own files (safetensors and JSON) with the code that runs them (`router_model.py`), its
signature, a card, and tags: `kind`, `format` (of a scorer's features, of an adapter's prompt) and the digest of
what it was trained on. Nothing in it is pickled. A reference is `models:/NAME@champion` or `models:/NAME/3`,
as in MLflow; `fetch` copies a version's files below the data folder once, and refuses one of another format.

What belongs here: the store of models. What does not: training, deciding which version is the champion
(`promote_router.py`), and runs without a model (`tracking.py`).
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pipelines import files
from pipelines.errors import RunFailure, UserError
from pipelines.methods.line_features import FEATURE_FORMAT
from pipelines.methods.routing import PROMPT_FORMAT
from pipelines.methods.scorer_router import Scorer
from pipelines.models.adapter import read_card
from pipelines.settings import DataFolder
from training.tracking import TrackedRun, Tracker, open_client

Kind = Literal["scorer", "adapter"]
PREFIX = "training"
"""Experiments of trained routers: `training/NAME`."""
SCHEME = "models:/"
CHAMPION = "champion"
FORMATS: Mapping[str, str] = {"scorer": FEATURE_FORMAT, "adapter": PROMPT_FORMAT}
"""The one format of each kind that this version of the project reads."""
FILES: Mapping[str, str] = {"scorer": "router.safetensors", "adapter": "adapter"}
"""Under which name a router's file or folder lies in the store and below the data folder."""
ENDINGS = frozenset({".safetensors", ".json"})
"""What an adapter's folder may hold."""
MOST_BYTES = 4 << 30
"""Of a router's files: an adapter of a model far larger than those that train here has less."""
_ORIGIN = "origin.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REFERENCE = re.compile(rf"{SCHEME}(?P<name>{_NAME.pattern})(?:@(?P<alias>[A-Za-z0-9_-]+)|/(?P<version>\d+))")
_CODE = Path(__file__).with_name("router_model.py")
_REQUIREMENTS = ("espalier-rag",)
_CARD, _MODEL = "card.md", "router"


class RouterVersion(NamedTuple):
    """A registered version. uri: `models:/NAME/VERSION`."""

    name: str
    version: int
    uri: str


class TrainingRun(NamedTuple):
    """What MLflow keeps of the training of a version. parameters: as texts. metrics: the last value of each."""

    run_id: str
    experiment_id: str
    parameters: dict[str, str]
    metrics: dict[str, float]
    card: str


def is_name(name: str) -> bool:
    """Whether a router can be registered under this name, which also MLflow's filters take as it is."""
    return _NAME.fullmatch(name) is not None


def is_reference(name: str) -> bool:
    """Whether a router's name is a reference into the registry."""
    return name.startswith(SCHEME)


class RouterRegistry:
    """The routers of one data folder."""

    def __init__(self, data: DataFolder) -> None:
        self._data = data
        self._client = open_client(data)

    def log(self, kind: Kind, path: Path, *, name: str, parameters: Mapping[str, Any],
            metrics: Mapping[str, float], curves: Mapping[str, Sequence[tuple[int, float]]] | None = None,
            card: str, dataset_digest: str) -> RouterVersion:
        """Record a training as a run of the experiment `training/NAME`, and its router as a new version.

        path: the scorer's file or the adapter's folder. parameters: `dataset` among them names what it was
        trained on. curves: metric → (step, value). card: Markdown, what it is and how good.
        Raises UserError for a name that the registry does not take and for files that are no such router.
        """
        if not is_name(name):
            raise UserError(f"router name {name!r}", "characters that a model's name cannot have",
                            "letters, digits, dots, dashes and underscores", "Choose another name.")
        check_files(kind, path)
        tags = {"kind": kind, "format": FORMATS[kind], "dataset_digest": dataset_digest}
        with Tracker(self._data, PREFIX).run(name, f"{kind} {name}", tags=tags) as run:
            run.log_params({**parameters, "kind": kind, "format": FORMATS[kind]})
            run.log_input(str(parameters.get("dataset", name)), dataset_digest, "training", "routing_actions")
            run.log_metrics(metrics)
            run.log_curves(curves or {})
            run.log_text(card, _CARD)
            version = self._log_model(run, kind, path, name, tags)
        self._client.update_model_version(name, str(version), description=card)
        for key, value in tags.items():
            self._client.set_model_version_tag(name, str(version), key, value)
        return RouterVersion(name, version, f"{SCHEME}{name}/{version}")

    def _log_model(self, run: TrackedRun, kind: Kind, path: Path, name: str, tags: Mapping[str, str]) -> int:
        import mlflow

        with tempfile.TemporaryDirectory() as temporary, _quiet():
            source = Path(temporary) / FILES[kind]
            _copy(path, source)
            # The run stays open until the model is in it: leaving the block would end it.
            with mlflow.start_run(run_id=run.run_id):
                info = mlflow.pyfunc.log_model(
                    name=_MODEL, python_model=str(_CODE), artifacts={_MODEL: str(source)},
                    signature=signature(kind), registered_model_name=name, metadata=dict(tags),
                    pip_requirements=list(_REQUIREMENTS), await_registration_for=0)
        return int(info.registered_model_version)

    def fetch(self, reference: str) -> Path:
        """The files of a version below the data folder: a scorer's file, or an adapter's folder.

        Raises UserError for a reference to nothing, and for a router of a format that this version of the
        project does not read; RunFailure where the store lacks the files.
        """
        found = self.version(reference)
        kind, format_ = found.tags.get("kind", ""), found.tags.get("format", "")
        if kind not in FORMATS:
            raise UserError(f"router {reference}", f"a model of the kind {kind or 'unknown'}",
                            f"one of {', '.join(FORMATS)}", "Name a router that training has registered.")
        if format_ != FORMATS[kind]:
            raise UserError(f"router {reference}", f"trained for the format {format_ or 'unknown'}",
                            f"the format {FORMATS[kind]}", "Train it again, and promote the new version.")
        local = self._data.state if files.is_remote(self._data.root) else Path(self._data.root)
        folder: Path = local / "routers" / found.name / str(found.version)
        # Another store may have counted to the same version before: the run tells them apart.
        origin = {"run_id": found.run_id, "kind": kind, "format": format_}
        if _read_origin(folder) != origin or not (folder / FILES[kind]).exists():
            self._download(found, folder, origin, kind)
        return folder / FILES[kind]

    def _download(self, version: Any, folder: Path, origin: Mapping[str, str], kind: Kind) -> None:
        from mlflow.artifacts import download_artifacts
        from mlflow.exceptions import MlflowException

        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as temporary:
            try:
                with _quiet():
                    got = Path(download_artifacts(f"{SCHEME}{version.name}/{version.version}", dst_path=temporary,
                                                  tracking_uri=self._data.mlflow_uri))
                router = got / "artifacts" / FILES[kind]
                if not router.exists():
                    raise FileNotFoundError(router.name)
                check_contained(router)
            except (MlflowException, OSError) as error:
                raise RunFailure(f"router {version.name}, version {version.version}",
                                 f"its files cannot be read ({str(error).splitlines()[0]})",
                                 f"files below {self._data.mlflow_artifacts}",
                                 "Restore them, or name another version.") from error
            check_files(kind, router)
            new = Path(temporary) / "new"
            new.mkdir()
            router.rename(new / FILES[kind])
            (new / _ORIGIN).write_text(json.dumps(dict(origin), sort_keys=True), encoding="utf-8")
            if folder.exists():
                folder.rename(Path(temporary) / "old")
            new.rename(folder)

    def version(self, reference: str) -> Any:
        """MLflow's record of the version that a reference names. Raises UserError when there is none."""
        from mlflow.exceptions import MlflowException

        parts = _REFERENCE.fullmatch(reference)
        if parts is None:
            raise UserError(f"router {reference!r}", "no reference to a version",
                            f"{SCHEME}NAME@{CHAMPION} or {SCHEME}NAME/VERSION", "Correct the router's name.")
        name, alias, version = parts["name"], parts["alias"], parts["version"]
        try:
            return (self._client.get_model_version_by_alias(name, alias) if alias
                    else self._client.get_model_version(name, version))
        except MlflowException:
            raise self._not_there(reference, name) from None

    def _not_there(self, reference: str, name: str) -> UserError:
        names = sorted(model.name for model in self._client.search_registered_models())
        if name not in names:
            return UserError(f"router {reference}", "no registered model of that name",
                             f"one of {', '.join(names)}" if names else "a registered router",
                             "Train one: training registers it.")
        known = sorted(int(version.version) for version in self._client.search_model_versions(f"name='{name}'"))
        aliases = self._client.get_registered_model(name).aliases
        expected = [*(f"@{alias}" for alias in sorted(aliases)), *(f"/{version}" for version in known)]
        return UserError(f"router {reference}", f"{name} has no such version",
                         f"one of {', '.join(expected)}" if expected else "a registered version",
                         "Name one of these, or promote one: python -m training.promote_router --config FILE.")

    def champion(self, name: str) -> RouterVersion | None:
        """The champion of a name; None where no version was promoted yet, or none is registered."""
        from mlflow.exceptions import MlflowException

        try:
            found = self._client.get_model_version_by_alias(name, CHAMPION)
        except MlflowException:
            return None
        return RouterVersion(name, int(found.version), f"{SCHEME}{name}/{found.version}")

    def newest(self, name: str) -> RouterVersion:
        """The version that was registered last. Raises UserError for a name without versions."""
        known = [int(found.version) for found in self._client.search_model_versions(f"name='{name}'")]
        if not known:
            raise self._not_there(f"{SCHEME}{name}", name)
        return RouterVersion(name, max(known), f"{SCHEME}{name}/{max(known)}")

    def set_champion(self, version: RouterVersion) -> None:
        """Make a version the champion in place of the one before. Raises UserError for one that is not there."""
        self.version(version.uri)
        self._client.set_registered_model_alias(version.name, CHAMPION, str(version.version))

    def run_of(self, version: RouterVersion) -> TrainingRun:
        """The run that a version came from. Raises UserError for a version that is not there."""
        found = self.version(version.uri)
        run = self._client.get_run(found.run_id)
        return TrainingRun(run.info.run_id, run.info.experiment_id, dict(run.data.params), dict(run.data.metrics),
                           found.description or "")

    def annotate(self, version: RouterVersion, tags: Mapping[str, str]) -> None:
        """Add tags to a version: what a comparison found."""
        for key, value in tags.items():
            self._client.set_model_version_tag(version.name, str(version.version), key, value)


def resolve_router(name: str, data: DataFolder) -> str:
    """A router's name with a reference replaced by the path of its files; other names are given back.

    Raises as `RouterRegistry.fetch`.
    """
    return str(RouterRegistry(data).fetch(name)) if is_reference(name) else name


def pinned_router(name: str, data: DataFolder) -> str:
    """A router's name with an alias replaced by the version that has it now: what a result must name.

    Raises UserError for a reference to nothing.
    """
    if not is_reference(name):
        return name
    found = RouterRegistry(data).version(name)
    return f"{SCHEME}{found.name}/{found.version}"


def check_files(kind: Kind, path: Path) -> None:
    """Raise UserError unless a path holds a router of this kind, in files that load without running code."""
    if kind == "scorer":
        Scorer.load(path)
        return
    read_card(path)
    held = sorted(file for file in path.rglob("*") if file.is_file())
    if other := [file.name for file in held if file.suffix not in ENDINGS]:
        raise UserError(f"adapter {path}", f"{other[0]}", f"files that end with {', '.join(sorted(ENDINGS))} only",
                        "Remove what does not belong to the adapter.")


def check_contained(path: Path) -> None:
    """Raise OSError unless a router that comes from a store is plain files of a size that one can have."""
    every = [path, *(path.rglob("*") if path.is_dir() else ())]
    if other := [each.name for each in every if each.is_symlink() or not (each.is_file() or each.is_dir())]:
        raise OSError(f"{other[0]} is a link or no file")
    if (size := sum(each.stat().st_size for each in every if each.is_file())) > MOST_BYTES:
        raise OSError(f"{size:,} bytes, more than {MOST_BYTES:,}")


def signature(kind: Kind) -> Any:
    """MLflow's signature: the texts that a state consists of, and action lines."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema

    columns = ["question", "router_text", "lines", *(["features"] if kind == "scorer" else [])]
    return ModelSignature(Schema([ColSpec("string", name) for name in columns]),
                          Schema([ColSpec("string", "actions")]))


def _copy(path: Path, target: Path) -> None:
    if path.is_dir():
        shutil.copytree(path, target)
    else:
        shutil.copyfile(path, target)


def _read_origin(folder: Path) -> dict[str, str] | None:
    try:
        found: dict[str, str] = json.loads((folder / _ORIGIN).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return found


@contextmanager
def _quiet() -> Iterator[None]:
    """Without MLflow's bars, hints and progress, which would stand among a command's lines; errors are raised."""
    os.environ["MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR"] = "false"
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
