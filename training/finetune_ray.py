"""Fine-tuning in worker processes of Ray Train, or in this one.

A worker that dies is replaced: Ray Train starts the group again, up to `max_failures` times, and training goes on
from the checkpoint, which all workers read from one file or address. The same loop runs in either case.

What belongs here: choosing, starting and joining workers. What does not: the loop (`finetune_loop.py`), and
starting Ray itself (`ray_cluster.py`).
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

from pipelines.errors import EspalierError, RunFailure
from training.finetune_checkpoint import Progress
from training.finetune_config import FinetuneConfig
from training.finetune_loop import Task, train
from training.ray_cluster import ADDRESS_VARIABLE, ray_session
from training.workers import Workers


def run_training(config: FinetuneConfig, task: Task) -> None:
    """Train to the end; the result stands in the checkpoint.

    Raises UserError for settings that do not fit, RunFailure where workers died too often.
    """
    import torch

    use_gpu = torch.cuda.is_available() if config.use_gpu is None else config.use_gpu
    on_ray = config.ray if config.ray is not None else (
        config.workers > 1 or bool(config.use_gpu) or ADDRESS_VARIABLE in os.environ)
    if on_ray:
        _on_ray(config, task, use_gpu)
    else:
        torch.set_num_threads(config.threads or len(os.sched_getaffinity(0)))
        train(config, task, Workers(torch.device("cuda" if use_gpu else "cpu")), _print_step)


def _print_step(progress: Progress) -> None:
    """A line behind each look and each tenth step."""
    if progress.looks[-1].step == progress.step or progress.step % 10 == 0:
        print(line_of(progress), flush=True)


def line_of(progress: Progress) -> str:
    """What a step left behind, in words."""
    recent = progress.losses[-10:]
    words = f"step {progress.step}: loss {sum(recent) / len(recent):.4f}, " \
            f"{progress.tokens / progress.seconds:.0f} tokens/s"
    if progress.looks[-1].step == progress.step:
        last = progress.looks[-1]
        words += f", dev macro-F1 {last.macro_f1:.3f}, ANS-F1 {last.ans_f1:.3f}, threshold {last.threshold:.2f}"
    return words


def _on_ray(config: FinetuneConfig, task: Task, use_gpu: bool) -> None:
    with ray_session(), tempfile.TemporaryDirectory(prefix="espalier_train_") as scratch:
        import ray
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchConfig, TorchTrainer
        from ray.train.v2.api.config import LoggingConfig
        from ray.train.v2.api.exceptions import TrainingFailedError

        n_cpus = int(ray.cluster_resources().get("CPU", 1))
        threads = config.threads or max(1, n_cpus // config.workers)
        cpus = 1 if use_gpu else max(1, min(threads, n_cpus // config.workers))
        trainer = TorchTrainer(
            _worker, train_loop_config={"config": config, "task": ray.put(task), "threads": threads},
            scaling_config=ScalingConfig(num_workers=config.workers, use_gpu=use_gpu,
                                         resources_per_worker={"CPU": cpus}),
            # Ray keeps no checkpoint of its own here, only its record of the run.
            run_config=RunConfig(name="finetune", storage_path=scratch, logging_config=LoggingConfig("WARNING"),
                                 failure_config=FailureConfig(max_failures=config.max_failures)),
            torch_config=TorchConfig(backend=None if use_gpu else "gloo"))
        try:
            trainer.fit()
        except TrainingFailedError as error:
            raise _failure(error) from error


def _worker(given: dict[str, Any]) -> None:
    """One worker of Ray Train."""
    import ray
    import torch
    from ray import train as ray_train
    from ray.train.torch import get_device

    config: FinetuneConfig = given["config"]
    torch.set_num_threads(given["threads"])
    context = ray_train.get_context()

    def report(progress: Progress) -> None:
        # A report is a barrier of all workers: only where they meet anyway.
        if progress.is_done or progress.step % config.checkpoint_every == 0:
            ray_train.report({"step": progress.step, "loss": progress.losses[-1],
                              "learning_rate": progress.learning_rates[-1],
                              "tokens_per_second": progress.tokens / progress.seconds})

    train(config, ray.get(given["task"]),
          Workers(get_device(), context.get_world_rank(), context.get_world_size(), config.strategy), report)


def _failure(error: Exception) -> EspalierError:
    """What a worker raised, where that is for the user; else what Ray says."""
    failures = getattr(error, "worker_failures", None) or {}
    for failure in failures.values():
        cause: Any = failure
        while cause is not None:
            if isinstance(cause, EspalierError):
                return cause
            cause = getattr(cause, "cause", None) or cause.__cause__
    first = next(iter(failures.values()), error)
    return RunFailure("training on Ray", f"{type(first).__name__}: {str(first).strip().splitlines()[-1]}",
                      "workers that live to the end", "Start it again: it goes on from its checkpoint.")
