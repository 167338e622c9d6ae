"""Training a small random model: losses as a plain loop has them, whatever passes, checkpoints and looks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_language_model import make_config, make_task, write_small_model

from pipelines.errors import UserError
from training import finetune_checkpoint as checkpoint
from training import finetune_loop
from training.finetune_batches import Order
from training.finetune_checkpoint import Look, Progress, RunState
from training.finetune_config import FinetuneConfig
from training.finetune_loop import learning_rate, n_steps, train
from training.finetune_samples import n_tokens
from training.workers import Workers

PINNED: list[float] = json.loads(Path(__file__).with_name("finetune_losses.json").read_text())


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_model(tmp_path_factory.mktemp("base"))


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def run(config: FinetuneConfig, stop_at: int | None = None, **sizes: int) -> RunState:
    def report(progress: Progress) -> None:
        if progress.step == stop_at:
            raise KeyboardInterrupt

    return train(config, make_task(config, **sizes), Workers(_cpu()), report)


def _cpu() -> Any:
    import torch

    return torch.device("cpu")


@pytest.mark.parametrize("fields", [
    {}, {"micro_tokens": 64}, {"micro_tokens": 100_000}, {"gradient_checkpointing": True}],
    ids=["some samples a pass", "one sample a pass", "all in one pass", "activations computed twice"])
def test_losses_are_those_of_a_plain_loop(base: Path, tmp_path: Path, fields: dict[str, Any]) -> None:
    config = make_config(base, tmp_path / "out", **fields)
    progress = run(config).progress
    assert progress.losses == pytest.approx(PINNED, abs=1e-5)
    samples = make_task(config).samples
    ninth = Order(len(samples), config.batch_states, config.seed).of_step(8)
    assert progress.tokens == 3 * n_tokens(samples) - n_tokens(samples[place] for place in ninth), \
        "three epochs of 12 samples without the last step, and no padding"


def test_a_run_goes_on_from_its_checkpoint(base: Path, tmp_path: Path) -> None:
    config = make_config(base, tmp_path / "out", dropout=0.1, eval_every=3)
    whole = run(config)
    checkpoint.remove(config.checkpoint_path)
    with pytest.raises(KeyboardInterrupt):
        run(config, stop_at=5)
    found = checkpoint.load(config.checkpoint_path, make_task(config).fingerprint)
    assert found is not None
    assert found[0].progress.step == 4, "every second step"
    again = run(config)
    assert again.progress.losses == whole.progress.losses
    assert again.progress.looks == whole.progress.looks
    assert again.best.keys() == whole.best.keys()
    assert all(again.best[name].equal(whole.best[name]) for name in whole.best)


def test_a_run_that_is_done_is_not_trained_again(base: Path, tmp_path: Path) -> None:
    config = make_config(base, tmp_path / "out", max_steps=2)
    first = run(config)
    assert run(config, stop_at=1).progress == first.progress


@pytest.mark.parametrize(("fields", "sizes"), [({"learning_rate": 0.01}, {}), ({}, {"n_train": 11})])
def test_a_checkpoint_of_another_run_is_refused(base: Path, tmp_path: Path, fields: dict[str, Any],
                                                sizes: dict[str, int]) -> None:
    run(make_config(base, tmp_path / "out", max_steps=2))
    with pytest.raises(UserError, match="other settings or other states"):
        run(make_config(base, tmp_path / "out", max_steps=2, **fields), **sizes)


def test_workers_and_passes_may_change_between_two_halves(base: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(make_config(base, tmp_path / "out"), stop_at=4)
    state = run(make_config(base, tmp_path / "out", micro_tokens=64, gradient_checkpointing=True))
    assert state.progress.losses == pytest.approx(PINNED, abs=1e-5)


def test_a_damaged_checkpoint_is_named(base: Path, tmp_path: Path) -> None:
    config = make_config(base, tmp_path / "out")
    Path(config.checkpoint_path).write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00{}      ")
    with pytest.raises(UserError, match="Delete it to begin anew"):
        run(config)


def test_training_ends_when_the_dev_states_get_no_better(base: Path, tmp_path: Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    by_step = {0: 0.9, 2: 0.3, 4: 0.5, 6: 0.4, 8: 0.5, 10: 0.9}
    monkeypatch.setattr(finetune_loop, "look", lambda step, *_: Look(step, by_step[step], 0.1, -1.0))
    kept: dict[int, Any] = {}
    config = make_config(base, tmp_path / "out", eval_every=2, patience=2, max_steps=12)
    state = train(config, make_task(config), Workers(_cpu()), lambda progress: kept.setdefault(progress.step, None))
    assert state.progress.best == Look(4, 0.5, 0.1, -1.0), "the untrained one is measured, and never the best"
    assert list(kept) == list(range(1, 9)), "two looks after the best one that were not better"
    other = make_config(base, tmp_path / "other", eval_every=2, patience=2, max_steps=12)
    with pytest.raises(KeyboardInterrupt):
        run(other, stop_at=4)
    found = checkpoint.load(other.checkpoint_path, make_task(other).fingerprint)
    assert found is not None
    assert all(found[1][f"adapter.{name}"].equal(value) for name, value in state.best.items())


def test_the_learning_rate_rises_and_falls() -> None:
    config = FinetuneConfig(dataset="d", out=Path("x"), learning_rate=1.0, warmup=0.2, schedule="linear")
    assert [learning_rate(config, step, 10) for step in range(10)] == pytest.approx(
        [0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])
    cosine = config.model_copy(update={"schedule": "cosine"})
    assert [learning_rate(cosine, step, 10) for step in (2, 6)] == pytest.approx([1.0, 0.5])
    assert learning_rate(config.model_copy(update={"schedule": "constant"}), 9, 10) == 1.0


def test_the_papers_defaults() -> None:
    config = FinetuneConfig(dataset="d", out=Path("x"))
    assert (config.rank, config.alpha, config.learning_rate, config.batch_states, config.epochs) == (
        8, 16, 1e-5, 8, 3.5)
    assert n_steps(config, 23_827) == 3 * 2_979 + 1_490, "epochs end with a smaller batch"
