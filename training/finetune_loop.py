"""The steps of fine-tuning, in every worker: gradients of a global batch, looks at dev states, checkpoints.

The loss of a step is the mean over the output tokens of its whole global batch, however they are dealt to passes
and workers: sums are divided by the batch's tokens, never means averaged. Training ends behind the last step, or
when `patience` looks were not better than the best; the best look's adapter is what counts.

What belongs here: the loop. What does not: one pass (`finetune_step.py`), starting workers (`finetune_ray.py`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.models.base_weights import BaseWeights
from pipelines.models.local_llm import LocalModel
from training import finetune_checkpoint as checkpoint
from training.finetune_batches import Order, plan
from training.finetune_checkpoint import Progress, RunState
from training.finetune_config import FinetuneConfig
from training.finetune_dev import line_odds, look
from training.finetune_samples import TextState, TrainSample, n_tokens
from training.finetune_step import output_loss
from training.lora_model import LoraModel, make_lora_model
from training.workers import Workers, whole

Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Task:
    """All that a worker needs beside its config. fingerprint: whose checkpoints are its own."""

    base: BaseWeights
    samples: Sequence[TrainSample]
    dev: Sequence[TextState]
    fingerprint: str


def n_steps(config: FinetuneConfig, n_samples: int) -> int:
    """Steps of a whole run."""
    return config.max_steps or Order(n_samples, config.batch_states, config.seed).steps(config.epochs)


def learning_rate(config: FinetuneConfig, step: int, steps: int) -> float:
    """The rate of a step, counted from 0: a linear rise, then the schedule to zero behind the last step."""
    n_warm = round(config.warmup * steps)
    if step < n_warm:
        return config.learning_rate * (step + 1) / n_warm
    done = (step - n_warm) / max(1, steps - n_warm)
    factor = {"constant": 1.0, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}
    return config.learning_rate * factor[config.schedule]


def train(config: FinetuneConfig, task: Task, workers: Workers, report: Report) -> RunState:
    """Train from the checkpoint where there is one, else from the beginning. report: after each step.

    Raises UserError for a base model that cannot be loaded and for another run's checkpoint.
    """
    return Training(config, task, workers).run(report)


class Training:
    """A run in one worker, from its checkpoint where there is one."""

    def __init__(self, config: FinetuneConfig, task: Task, workers: Workers) -> None:
        import torch

        self._config, self._task, self._workers = config, task, workers
        self._model: LoraModel = make_lora_model(task.base, config, workers.device)
        self._scoring = LocalModel(task.base.title, self._model.causal, self._model.tokenizer, None)
        self._wrapped, self._sync = workers.wrap(self._model.peft, self._model.causal)
        self._trained = self._model.trained()
        self._optimizer = torch.optim.AdamW(self._trained.values(), config.learning_rate,
                                            weight_decay=config.weight_decay)
        self._lengths = [len(sample.ids) for sample in task.samples]
        self._order = Order(len(task.samples), config.batch_states, config.seed)
        self._steps = n_steps(config, len(task.samples))
        self.state = RunState(Progress(task.fingerprint))
        found = checkpoint.load(config.checkpoint_path, task.fingerprint)
        if found is not None:
            self.state, tensors = found
            checkpoint.restore(tensors, self._model, self._optimizer)

    def run(self, report: Report) -> RunState:
        """All steps that are left, with looks and checkpoints."""
        progress = self.state.progress
        every = self._config.eval_every or self._order.steps_an_epoch
        if not progress.is_done and not progress.looks:
            self._look()
        while not progress.is_done:
            self.step()
            is_last = progress.step >= self._steps
            if progress.step % every == 0 or is_last:
                self._look()
            progress.is_done = is_last or progress.looks_since_best() >= self._config.patience
            if progress.is_done or progress.step % self._config.checkpoint_every == 0:
                self._save()
            report(progress)
        return self.state

    def step(self) -> None:
        """One step of the optimizer on its global batch."""
        import torch

        config, workers, progress = self._config, self._workers, self.state.progress
        begin = time.perf_counter()
        # Random numbers follow from the step: a run that goes on has those of one that was never ended.
        torch.manual_seed((config.seed * 1_000_003 + progress.step) * 1_009 + workers.rank)
        self._model.peft.train()
        places = self._order.of_step(progress.step)
        n_output = sum(self._task.samples[place].n_output for place in places)
        own = plan(places, self._lengths, config.micro_tokens, workers.size, workers.is_sharded)[workers.rank]
        total = torch.zeros((), dtype=torch.float64, device=workers.device)
        for number, micro in enumerate(own):
            with self._sync(number == len(own) - 1):
                loss = output_loss(self._wrapped, [self._task.samples[place] for place in micro.places],
                                   workers.device)
                # Gradients of workers are averaged: what is divided by their number here is multiplied there.
                (loss * (workers.size / n_output if micro.counts else 0.0)).backward()
            if micro.counts:
                total += loss.detach().double()
        rate = learning_rate(config, progress.step, self._steps)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        torch.nn.utils.clip_grad_norm_(self._trained.values(), config.max_grad_norm)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        progress.losses.append(workers.total(float(total)) / n_output)
        progress.learning_rates.append(rate)
        progress.step += 1
        progress.seconds += time.perf_counter() - begin
        progress.tokens += n_tokens([self._task.samples[place] for place in places])
        progress.memory = max(progress.memory, _peak_bytes(workers.device))

    def _look(self) -> None:
        """Measure on the dev states; what is not trained yet is measured, and never the best."""
        import torch

        progress, workers = self.state.progress, self._workers
        self._model.peft.eval()
        # With sharded weights all must make the same passes.
        own = self._task.dev if workers.is_sharded else self._task.dev[workers.rank::workers.size]
        # The decoder makes its tensors without naming a device.
        with torch.device(workers.device):
            odds = [line_odds(self._scoring, state) for state in own]
        odds = odds if workers.is_sharded else workers.gathered(odds)
        found = look(progress.step, self._task.dev, odds)
        progress.looks.append(found)
        if progress.step and (progress.best is None or found.quality > progress.best.quality):
            progress.best = found
            self.state.best = {name: whole(value) for name, value in self._trained.items()}

    def _save(self) -> None:
        checkpoint.save(self._config.checkpoint_path, self.state, self._model, self._optimizer, self._workers)


def _peak_bytes(device: Any) -> int:
    """The most memory that this process has had: of the GPU, else of the machine."""
    import resource

    import torch

    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
