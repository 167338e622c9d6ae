"""Routers in a real MLflow store: what a version holds, references, what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipelines.errors import RunFailure, UserError
from pipelines.methods.line_features import FEATURE_FORMAT, NAMES
from pipelines.methods.routing import PROMPT_FORMAT
from pipelines.methods.scorer_router import Scorer, decide
from pipelines.settings import DataFolder
from training.router_registry import RouterRegistry, RouterVersion, pinned_router, resolve_router
from training.tracking import open_client

CARD = "# Trees\n\nA scorer of trees."
DIGEST = "0123456789abcdef" * 4


def scorer(bias: float = 0.0) -> Scorer:
    """Takes what is as near as possible: log-odds are the first feature but for the kind, plus a bias."""
    weight = np.zeros((len(NAMES), 1), np.float32)
    weight[1, 0] = 1
    return Scorer(np.zeros(len(NAMES), np.float32), np.ones(len(NAMES), np.float32),
                  (((weight, np.array([bias], np.float32)),),), {"answer": 0.5, "expand": 0.5})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "own.safetensors"
    scorer().save(path, {"dataset": "trees"})
    return path


def log(registry: RouterRegistry, path: Path, **fields: Any) -> RouterVersion:
    return registry.log("scorer", path, **{
        "name": "trees", "parameters": {"dataset": "trees", "epochs": 3}, "metrics": {"macro_f1": 0.5},
        "curves": {"loss": [(1, 0.9), (2, 0.4)]}, "card": CARD, "dataset_digest": DIGEST, **fields})


def test_a_version_has_run_card_tags_signature_and_files_that_are_not_pickled(
        data: DataFolder, file: Path, tmp_path: Path) -> None:
    import mlflow
    import pandas

    registry = RouterRegistry(data)
    version = log(registry, file)
    assert version == ("trees", 1, "models:/trees/1")
    client = open_client(data)
    found = client.get_model_version("trees", "1")
    assert found.description == CARD
    assert found.tags == {"kind": "scorer", "format": FEATURE_FORMAT, "dataset_digest": DIGEST}
    run = client.get_run(found.run_id)
    assert client.get_experiment(run.info.experiment_id).name == "training/trees"
    assert run.info.status == "FINISHED"
    assert run.data.params["epochs"] == "3"
    assert (run.data.metrics["macro_f1"], run.data.metrics["loss"]) == (0.5, 0.4)
    assert [(entry.step, entry.value) for entry in client.get_metric_history(found.run_id, "loss")] == \
        [(1, 0.9), (2, 0.4)]
    assert [(one.dataset.name, one.dataset.digest) for one in run.inputs.dataset_inputs] == [
        ("trees", DIGEST[:32])]
    assert registry.run_of(version).card == CARD

    model = mlflow.pyfunc.load_model(version.uri)
    assert [column.name for column in model.metadata.signature.inputs] == \
        ["question", "router_text", "lines", "features"]
    lines = ["[ANSWER] 1: a", "[ANSWER] 2: b", "[EXPAND] 3: c"]
    features = np.zeros((3, len(NAMES)))
    features[:, 1] = [0.7, 0.2, 0.9]
    frame = pandas.DataFrame([{"question": "Who?", "router_text": "0: T", "lines": "\n".join(lines),
                               "features": json.dumps(rows.tolist())} for rows in (features, 0 * features)])
    assert model.predict(frame)["actions"].tolist() == ["[ANSWER] 1: a\n[EXPAND] 3: c", "Cannot answer"]
    assert decide(lines, [0.7, 0.2, 0.9], scorer().thresholds) == "[ANSWER] 1: a\n[EXPAND] 3: c"

    artifacts = [path for path in Path(data.mlflow_artifacts).rglob("*") if path.is_file()]
    assert {path.suffix for path in artifacts} == {".safetensors", ".py", ".yaml", ".txt", ".md", ""}
    assert {path.name for path in artifacts if not path.suffix} == {"MLmodel", "registered_model_meta"}
    assert not [path for path in artifacts if path.read_bytes()[:1] == b"\x80"], "a pickle begins so"
    assert (tmp_path / "own.safetensors").read_bytes() in [path.read_bytes() for path in artifacts]


@pytest.mark.parametrize(("threshold", "expected"), [
    (-1e6, "[ANSWER] 1: a\n[EXPAND] 2: b"), (1e6, "Cannot answer")])
def test_an_adapter_runs_from_its_version_with_its_own_threshold(
        data: DataFolder, tmp_path: Path, threshold: float, expected: str) -> None:
    import mlflow
    import pandas
    from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
    from small_language_model import write_small_model

    from pipelines.models.adapter import AdapterCard, save_adapter
    from pipelines.models.base_weights import find_base, load_base, weights_sha256

    base = find_base(str(write_small_model(tmp_path / "base", "float32")))
    lora = LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=["q_proj"])
    model = get_peft_model(load_base(base)[0], lora)
    save_adapter(tmp_path / "adapter", get_peft_model_state_dict(model), lora,
                 AdapterCard(PROMPT_FORMAT, base.name, weights_sha256(base.folder), threshold, {}))
    version = RouterRegistry(data).log(
        "adapter", tmp_path / "adapter", name="adapters", parameters={}, metrics={}, card=CARD,
        dataset_digest=DIGEST)
    assert open_client(data).get_model_version("adapters", "1").tags["format"] == PROMPT_FORMAT
    loaded = mlflow.pyfunc.load_model(version.uri)
    assert [column.name for column in loaded.metadata.signature.inputs] == ["question", "router_text", "lines"]
    frame = pandas.DataFrame([{"question": "Who?", "router_text": "Question: Who?\n0: T\n\t1: a\n\t2: b",
                               "lines": "[ANSWER] 1: a\n[EXPAND] 2: b"}])
    assert loaded.predict(frame)["actions"].tolist() == [expected]
    fetched = RouterRegistry(data).fetch(version.uri)
    assert {path.name: path.read_bytes() for path in fetched.iterdir()} == {
        path.name: path.read_bytes() for path in (tmp_path / "adapter").iterdir()}


def test_references_follow_the_champion_and_files_are_fetched_once(
        data: DataFolder, file: Path, tmp_path: Path) -> None:
    registry = RouterRegistry(data)
    assert registry.champion("trees") is None
    first = log(registry, file)
    scorer(bias=1).save(tmp_path / "other.safetensors", {})
    second = log(registry, tmp_path / "other.safetensors")
    assert (registry.newest("trees"), registry.champion("trees")) == (second, None)
    with pytest.raises(UserError, match="trees has no such version; expected one of /1, /2"):
        registry.fetch("models:/trees@champion")
    registry.set_champion(first)
    assert registry.champion("trees") == first
    path = Path(resolve_router("models:/trees@champion", data))
    assert path == Path(data.root) / "routers" / "trees" / "1" / "router.safetensors"
    assert path.read_bytes() == file.read_bytes()
    assert pinned_router("models:/trees@champion", data) == "models:/trees/1"
    assert resolve_router("similarity", data) == pinned_router("similarity", data) == "similarity"
    made_at = path.stat().st_mtime_ns
    assert registry.fetch("models:/trees/1") == path
    assert path.stat().st_mtime_ns == made_at
    registry.set_champion(second)
    assert Scorer.load(registry.fetch("models:/trees@champion")).networks[0][0][1].tolist() == [1.0]
    path.unlink()
    assert registry.fetch("models:/trees/1").read_bytes() == file.read_bytes()
    assert not [entry for entry in path.parents[1].iterdir() if entry.name.startswith(".")]


def test_a_store_that_counts_anew_does_not_get_the_files_of_the_one_before(
        data: DataFolder, file: Path, tmp_path: Path) -> None:
    version = log(RouterRegistry(data), file)
    RouterRegistry(data).fetch(version.uri)
    other = DataFolder(data.root, tmp_path / "other-state")
    scorer(bias=2).save(tmp_path / "other.safetensors", {})
    assert log(RouterRegistry(other), tmp_path / "other.safetensors") == version
    assert Scorer.load(RouterRegistry(other).fetch(version.uri)).networks[0][0][1].tolist() == [2.0]


@pytest.mark.parametrize(("tags", "message"), [
    ({"format": "lines/0"}, f"trained for the format lines/0; expected the format {FEATURE_FORMAT}"),
    ({"format": ""}, f"trained for the format unknown; expected the format {FEATURE_FORMAT}"),
    ({"kind": "adapter", "format": "rdr2-tag/0"}, f"the format {PROMPT_FORMAT}"),
    ({"kind": "forest"}, "a model of the kind forest; expected one of scorer, adapter"),
])
def test_a_version_of_another_format_or_kind_is_refused(data: DataFolder, file: Path, tags: dict[str, str],
                                                        message: str) -> None:
    registry = RouterRegistry(data)
    version = log(registry, file)
    registry.fetch(version.uri)
    registry.annotate(version, tags)
    with pytest.raises(UserError, match=message.replace("(", r"\(")):
        registry.fetch(version.uri)


def test_references_to_nothing_and_lost_files_are_told(data: DataFolder, file: Path) -> None:
    registry = RouterRegistry(data)
    with pytest.raises(UserError, match="no registered model of that name; expected a registered router"):
        registry.fetch("models:/trees/1")
    log(registry, file)
    with pytest.raises(UserError, match="expected one of trees"):
        registry.fetch("models:/oaks@champion")
    with pytest.raises(UserError, match="expected one of trees"):
        registry.newest("oaks")
    for reference in ("models:/trees", "models:/trees/x", "models:/trees/1/2"):
        with pytest.raises(UserError, match="no reference to a version"):
            registry.fetch(reference)
    with pytest.raises(UserError, match="has no such version"):
        registry.set_champion(RouterVersion("trees", 9, "models:/trees/9"))
    shutil.rmtree(data.mlflow_artifacts)
    with pytest.raises(RunFailure, match="router trees, version 1: its files cannot be read"):
        registry.fetch("models:/trees/1")


def test_only_whole_routers_in_safe_files_are_registered(data: DataFolder, file: Path, tmp_path: Path) -> None:
    registry = RouterRegistry(data)
    with pytest.raises(UserError, match="characters that a model's name cannot have"):
        log(registry, file, name="a/b")
    (tmp_path / "empty.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match=r"empty.safetensors: cannot be read"):
        log(registry, tmp_path / "empty.safetensors")
    folder = tmp_path / "adapter"
    folder.mkdir()
    card = {"prompt_format": PROMPT_FORMAT, "base": {"name": "b", "sha256": "0"}, "score_threshold": 0,
            "trained": {}}
    for name in ("adapter_model.safetensors", "adapter_config.json"):
        (folder / name).write_text("{}", encoding="utf-8")
    for change, extra, message in (({"prompt_format": "rdr2-tag/0"}, "", "for the prompt format rdr2-tag/0"),
                                   ({}, "optimizer.pt", r"optimizer.pt; expected files that end with .json")):
        (folder / "espalier.json").write_text(json.dumps(card | change), encoding="utf-8")
        if extra:
            (folder / extra).write_bytes(b"")
        with pytest.raises(UserError, match=message):
            registry.log("adapter", folder, name="trees", parameters={}, metrics={}, card=CARD,
                         dataset_digest=DIGEST)
    client = open_client(data)
    assert not client.search_registered_models()
    assert client.get_experiment_by_name("training/trees") is None, "nothing is recorded of what is refused"


def test_a_folder_that_was_copied_or_moved_has_its_own_artifacts(data: DataFolder, file: Path,
                                                                 tmp_path: Path) -> None:
    log(RouterRegistry(data), file)
    copied, moved = (DataFolder.at(tmp_path / name) for name in ("a copy", "moved"))
    shutil.copytree(data.root, copied.root)
    shutil.copytree(data.state, copied.state, dirs_exist_ok=True)
    before = sorted(Path(data.root).rglob("*"))
    log(RouterRegistry(copied), file)
    assert sorted(Path(data.root).rglob("*")) == before, "a copy does not write into what it was copied from"
    shutil.rmtree(data.root)
    Path(copied.root).rename(moved.root)
    registry = RouterRegistry(moved)
    for version in (1, 2):
        assert registry.fetch(f"models:/trees/{version}").read_bytes() == file.read_bytes()
    log(registry, file)
    assert not Path(data.root).exists()
    assert not Path(copied.root).exists()
    client = open_client(moved)
    runs = client.search_runs([one.experiment_id for one in client.search_experiments()])
    assert len(runs) == 3
    for run in runs:
        assert run.info.artifact_uri.startswith(f"{Path(moved.mlflow_artifacts).as_uri()}/")
        assert [one.path for one in client.list_artifacts(run.info.run_id)]


def test_an_experiment_with_a_place_of_its_own_keeps_it(data: DataFolder, file: Path, tmp_path: Path) -> None:
    client = open_client(data)
    client.create_experiment("elsewhere", artifact_location=(tmp_path / "own place").as_uri())
    log(RouterRegistry(data), file)
    moved = DataFolder.at(tmp_path / "moved")
    shutil.copytree(data.root, moved.root)
    shutil.copytree(data.state, moved.state, dirs_exist_ok=True)
    found = open_client(moved).get_experiment_by_name("elsewhere")
    assert found.artifact_location == (tmp_path / "own place").as_uri()
