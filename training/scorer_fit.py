"""Fit a scorer's networks to states, and see after each epoch what they would decide (docs/training.md).

What belongs here: networks, loss, epochs. What does not: samples (`labelled_states.py`), thresholds
(`scorer_thresholds.py`), files and the registry (`train_scorer.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pipelines.methods.scorer_router import Scorer
from training.labelled_states import Sample
from training.scorer_thresholds import decisions, quality, tuned_thresholds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BEFORE_TUNING: Mapping[str, float] = {"answer": 0.0, "expand": 0.0}


@dataclass(frozen=True)
class FitSettings:
    """How the networks are made and trained; the fields of `TrainScorerConfig` of the same names."""

    hidden: tuple[int, ...] = (64, 32)
    networks: int = 5
    epochs: int = 16
    batch_states: int = 32
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    dropout: float = 0.3
    state_loss: float = 0.3
    seed: int = 7


@dataclass(frozen=True)
class Fitted:
    """A scorer with its thresholds. losses: of each epoch. dev: (macro-F1, ANS-F1) on the dev states after each."""

    scorer: Scorer
    losses: tuple[float, ...]
    dev: tuple[tuple[float, float], ...]


@dataclass
class _Member:
    """One network of the ensemble while it is trained."""

    network: Any
    optimiser: Any
    schedule: Any
    order: Any
    losses: list[float] = field(default_factory=list)


def fit(train: Sequence[Sample], dev: Sequence[Sample], settings: FitSettings) -> Fitted:
    """Train all networks for all epochs on two losses, of lines and of states.

    A line's is the binary cross-entropy of whether the teacher took it; lines of a state weigh 1 / √(their
    number), so that long tables do not drown short documents. A state's is the cross-entropy of one choice among
    its lines and, with log-odds of 0, refusing: it is this which says whether anything here answers (the listwise
    loss of Cao et al. 2007, with a refusal). The networks differ in weights, order and dropout. All epochs are
    run: the best of them on a small dev set is one of luck. Equal samples and settings give equal scorers on any
    number of cores.
    """
    import numpy as np
    import torch

    rows = np.concatenate([sample.features for sample in train])
    mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-3)
    inputs = [torch.from_numpy((sample.features - mean) / scale) for sample in train]
    targets = [torch.from_numpy(sample.chosen.astype(np.float32)) for sample in train]
    n_steps = settings.epochs * -(-len(train) // settings.batch_states)
    scorer = Scorer(mean.astype(np.float32), scale.astype(np.float32), (), _BEFORE_TUNING)
    losses: list[float] = []
    dev_figures: list[tuple[float, float]] = []
    with _one_thread():
        members = [_member(rows.shape[1], settings, number, n_steps) for number in range(settings.networks)]
        for epoch in range(1, settings.epochs + 1):
            losses.append(sum(_epoch(member, inputs, targets, settings) for member in members) / len(members))
            scorer = replace(scorer, networks=tuple(_layers(member.network) for member in members))
            odds = [scorer.log_odds(sample.features).tolist() for sample in dev]
            scorer = replace(scorer, thresholds=tuned_thresholds(dev, odds))
            dev_figures.append(quality(decisions(dev, odds, scorer.thresholds)))
            print(f"epoch {epoch}: loss {losses[-1]:.4f}, dev macro-F1 {dev_figures[-1][0]:.3f}, "
                  f"ANS-F1 {dev_figures[-1][1]:.3f}", flush=True)
    return Fitted(scorer, tuple(losses), tuple(dev_figures))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Products of these sizes gain nothing by threads, and sums would depend on how many there are."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _member(n_inputs: int, settings: FitSettings, number: int, n_steps: int) -> _Member:
    import torch

    torch.manual_seed(settings.seed + number)
    layers: list[Any] = []
    width = n_inputs
    for units in settings.hidden:
        layers += [torch.nn.Linear(width, units), torch.nn.ReLU(), torch.nn.Dropout(settings.dropout)]
        width = units
    network = torch.nn.Sequential(*layers, torch.nn.Linear(width, 1))
    optimiser = torch.optim.AdamW(network.parameters(), settings.learning_rate,
                                  weight_decay=settings.weight_decay)
    return _Member(network, optimiser, torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, n_steps),
                   torch.Generator().manual_seed(settings.seed + number))


def _epoch(member: _Member, inputs: Sequence[Any], targets: Sequence[Any], settings: FitSettings) -> float:
    """All states once. Returns the mean loss of a state."""
    import torch

    member.network.train()
    total = 0.0
    order = torch.randperm(len(inputs), generator=member.order).tolist()
    for begin in range(0, len(order), settings.batch_states):
        batch = order[begin: begin + settings.batch_states]
        odds = member.network(torch.cat([inputs[n] for n in batch]))[:, 0]
        loss = loss_of(odds, [targets[n] for n in batch], settings.state_loss)
        member.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        member.optimiser.step()
        member.schedule.step()
        total += float(loss.detach()) * len(batch)
    return total / len(inputs)


def loss_of(odds: Any, targets: Sequence[Any], state_loss: float) -> Any:
    """The mean over lines, and `state_loss` times the mean over states. odds: of all lines, state behind state."""
    import torch

    weights = torch.cat([torch.full((len(target),), len(target) ** -0.5) for target in targets])
    of_lines = torch.nn.functional.binary_cross_entropy_with_logits(
        odds, torch.cat(list(targets)), weights, reduction="sum") / weights.sum()
    of_states = []
    for line_odds, target in zip(odds.split([len(target) for target in targets]), targets, strict=True):
        wanted = torch.cat([target, (target.sum(0, keepdim=True) == 0).float()])
        choices = torch.cat([line_odds, line_odds.new_zeros(1)]).log_softmax(0)
        of_states.append(-(wanted / wanted.sum() * choices).sum())
    return of_lines + state_loss * torch.stack(of_states).mean()


def _layers(network: Any) -> tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]:
    """(weight (in, out), bias) of each layer, as a scorer has them; copies."""
    import numpy as np
    import torch

    return tuple((np.ascontiguousarray(layer.weight.detach().numpy().T).copy(), layer.bias.detach().numpy().copy())
                 for layer in network if isinstance(layer, torch.nn.Linear))
