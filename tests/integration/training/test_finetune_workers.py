"""Fine-tuning a small random model in processes that are killed, and in several that share each step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_language_model import make_config, make_task, write_small_model

from pipelines.errors import UserError
from training import finetune_checkpoint as checkpoint
from training import finetune_ray
from training.finetune_checkpoint import Progress
from training.finetune_config import FinetuneConfig
from training.finetune_loop import Report, Task
from training.finetune_ray import run_training
from training.ray_cluster import ray_session
from training.workers import Workers

TESTS = Path(__file__).resolve().parents[2]
KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from small_language_model import make_config, make_task
from training.finetune_loop import train
from training.workers import Workers

def report(progress):
    if progress.step == 5:
        os.kill(os.getpid(), signal.SIGKILL)

torch.set_num_threads(1)
config = make_config(Path(sys.argv[1]), Path(sys.argv[2]))
train(config, make_task(config), Workers(torch.device("cpu")), report)
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_model(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    """One Ray for all tests of this file."""
    with ray_session(2):
        yield


def progress_of(config: FinetuneConfig) -> Progress:
    found = checkpoint.load(config.checkpoint_path, make_task(config).fingerprint)
    assert found is not None
    return found[0].progress


def trained(config: FinetuneConfig) -> Progress:
    run_training(config, make_task(config))
    return progress_of(config)


def test_a_killed_process_goes_on_with_the_same_losses(base: Path, tmp_path: Path) -> None:
    config = make_config(base, tmp_path / "killed")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(base), str(config.out)], check=False,
                           env={**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}"})
    assert ended.returncode == -signal.SIGKILL
    assert progress_of(config).step == 4, "a step behind it was lost"
    whole = trained(make_config(base, tmp_path / "whole"))
    assert len(whole.losses) == 8
    assert trained(config).losses == pytest.approx(whole.losses, abs=1e-12)


@pytest.mark.usefixtures("ray")
@pytest.mark.parametrize("strategy", ["ddp", pytest.param("fsdp", marks=pytest.mark.slow)])
def test_two_workers_have_the_losses_of_one(base: Path, tmp_path: Path, strategy: str) -> None:
    fields = {"precision": "float32", "max_steps": 20, "batch_states": 5}
    one = trained(make_config(base, tmp_path / "one", **fields))
    two = trained(make_config(base, tmp_path / "two", **fields, workers=2, ray=None, strategy=strategy))
    assert len(two.losses) == 20
    assert two.losses == pytest.approx(one.losses, abs=1e-4)
    assert two.looks[-1].macro_f1 == one.looks[-1].macro_f1
    assert one.losses[-1] < one.losses[0] - 1, "something was learnt on the way"


@pytest.mark.usefixtures("ray")
def test_a_worker_that_is_killed_is_replaced(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = make_config(base, tmp_path / "out", precision="float32", max_steps=12, workers=2, ray=True)
    killed = tmp_path / "killed"
    def dying(given: dict[str, Any]) -> None:
        """The worker, whose second process ends itself once, a step behind a checkpoint."""
        from training import finetune_ray as in_worker

        train = in_worker.train

        def train_and_die(config: FinetuneConfig, task: Task, workers: Workers, report: Report) -> None:
            def reported(progress: Progress) -> None:
                report(progress)
                if progress.step == 5 and workers.rank == 1 and not killed.exists():
                    killed.write_text(str(progress.step))
                    os.kill(os.getpid(), signal.SIGKILL)

            train(config, task, workers, reported)

        in_worker.train = train_and_die
        in_worker._worker(given)

    monkeypatch.setattr(finetune_ray, "_worker", dying)
    progress = trained(config)
    assert killed.exists()
    assert len(progress.losses) == 12
    assert progress.losses == pytest.approx(
        trained(make_config(base, tmp_path / "one", precision="float32", max_steps=12)).losses, abs=1e-4)


@pytest.mark.usefixtures("ray")
def test_what_a_worker_finds_wrong_is_told(base: Path, tmp_path: Path) -> None:
    config = make_config(base, tmp_path / "out", targets=["q_projection"], ray=True, max_failures=0)
    with pytest.raises(UserError, match=r"targets: .*q_projection"):
        run_training(config, make_task(config))
