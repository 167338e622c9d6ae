"""Train the router `scorer` on curated actions (docs/training.md): a small network, seconds on one core.

States are met again as curation did, each legal line gives a row of features and whether the teacher took it.
After each epoch the thresholds are tuned on the dev states and the routing metrics taken there; the best epoch
stays, and training ends when none was better for `patience` epochs. Equal seeds give equal scorers.

Run: `python -m training.train_scorer --config FILE` with YAML or JSON as `TrainScorerConfig`.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from pipelines.curation.class_tags import TAGS, most_of_each
from pipelines.curation.router_metrics import Decision, answer_f1, macro_f1
from pipelines.errors import EspalierError, UserError
from pipelines.evaluation.datasets import Question, Split
from pipelines.evaluation.question_table import read_question_set
from pipelines.methods.routing import ANSWER, REFUSAL, Actions
from pipelines.methods.scorer_router import Scorer, decide
from pipelines.retrieval.corpus import ReleasedCorpus
from pipelines.settings import DataFolder
from training.config_file import load_config
from training.labelled_states import Sample, make_samples, read_labels
from training.states_config import StatesConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RAY_ABOVE = 2_000
_GRID = 24


class TrainScorerConfig(StatesConfig):
    """What is trained on, and how."""

    dev_dataset: str | None = Field(None, description="Set with the dev split; none: the same set")
    at_most: dict[str, float] = Field(default_factory=dict, description="Largest share of a class, as REFUSE: 0.5")
    hidden: tuple[int, ...] = Field((64, 32), description="Units of the hidden layers")
    epochs: int = Field(60, ge=1, description="Epochs at most")
    patience: int = Field(10, ge=1, description="Epochs without a better dev metric after which training ends")
    batch_states: int = Field(32, ge=1, description="States of a step")
    learning_rate: float = Field(2e-3, gt=0, description="Of AdamW, with a cosine to zero")
    weight_decay: float = Field(1e-2, ge=0, description="Of AdamW")
    dropout: float = Field(0.1, ge=0, lt=1, description="Behind each hidden layer")
    seed: int = Field(7, description="Seed of weights, order and dropout")
    ray: bool | None = Field(None, description=f"Make samples on Ray; none: from {RAY_ABOVE} questions on")
    workers: int | None = Field(None, ge=1, description="Workers on Ray; none: one a CPU")
    out: Path = Field(description="The scorer's file, .safetensors")


@dataclass(frozen=True)
class Trained:
    """The best scorer, and macro-F1 and ANS-F1 on the dev states after each epoch."""

    scorer: Scorer
    best_epoch: int
    losses: tuple[float, ...]
    dev: tuple[tuple[float, float], ...]


def balanced(samples: Sequence[Sample], at_most: Mapping[str, float]) -> list[Sample]:
    """The samples of which no class has more than its share, drawn by the hash of their ids, in their order."""
    counts: dict[str, int] = {tag: sum(sample.tag == tag for sample in samples) for tag in TAGS}
    try:
        kept = most_of_each(counts, at_most)
    except ValueError as error:
        raise UserError("at_most", str(error), "shares that can be met", "Raise one.") from None
    ranked = sorted(samples, key=lambda sample: hashlib.sha256(sample.state_id.encode()).digest())
    chosen = {sample.state_id for tag in TAGS
              for sample in [one for one in ranked if one.tag == tag][:kept[tag]]}
    return [sample for sample in samples if sample.state_id in chosen]


def actions_of(sample_lines: Sequence[str], text: str) -> Actions:
    """The actions of an output that holds legal lines only, by the places of the lines instead of node ids."""
    if text == REFUSAL:
        return Actions(is_refusal=True)
    places = {line: place for place, line in enumerate(sample_lines)}
    taken = text.splitlines()
    return Actions(tuple(places[line] for line in taken if line.startswith(ANSWER)),
                   tuple(places[line] for line in taken if not line.startswith(ANSWER)))


def gold_actions(sample: Sample) -> Actions:
    """What the teacher did, by the places of the lines."""
    gold = [line for line, is_chosen in zip(sample.lines, sample.chosen, strict=True) if is_chosen]
    return actions_of(sample.lines, "\n".join(gold) or REFUSAL)


def decisions(samples: Sequence[Sample], golds: Sequence[Actions], odds: Sequence[Sequence[float]],
              thresholds: Mapping[str, float]) -> list[Decision]:
    """What a scorer with these thresholds does in each state, beside the teacher."""
    return [Decision(gold, actions_of(sample.lines, decide(sample.lines, values, thresholds)))
            for sample, gold, values in zip(samples, golds, odds, strict=True)]


def quality(found: Sequence[Decision]) -> tuple[float, float]:
    """(macro-F1, ANS-F1): their sum is what is maximised."""
    return macro_f1(found), answer_f1(found) or 0.0


def tuned_thresholds(samples: Sequence[Sample], golds: Sequence[Actions],
                     odds: Sequence[Sequence[float]]) -> dict[str, float]:
    """Thresholds with the best sum of macro-F1 and ANS-F1: one after the other over a grid, twice."""
    import numpy as np

    kinds = {"answer": ANSWER, "expand": ""}
    values = {name: np.array([value for sample, row in zip(samples, odds, strict=True)
                              for line, value in zip(sample.lines, row, strict=True)
                              if line.startswith(ANSWER) == bool(prefix)])
              for name, prefix in kinds.items()}
    grids = {name: sorted({float(value) for value in np.quantile(found, 1 - np.geomspace(0.002, 0.6, _GRID))})
             if len(found) else [0.0] for name, found in values.items()}
    best = {name: grid[len(grid) // 2] for name, grid in grids.items()}
    for _ in range(2):
        for name, grid in grids.items():
            best[name] = max(grid, key=lambda value: (
                sum(quality(decisions(samples, golds, odds, {**best, name: value}))), value))
    return best


def fit(train: Sequence[Sample], dev: Sequence[Sample], config: TrainScorerConfig) -> Trained:
    """Train on states; a line's loss is the binary cross-entropy of whether the teacher took it.

    Lines of a state weigh 1 / √(their number), so that long tables do not drown short documents.
    """
    import numpy as np
    import torch

    generator = torch.Generator().manual_seed(config.seed)
    torch.manual_seed(config.seed)
    rows = np.concatenate([sample.features for sample in train])
    mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-3)
    inputs = [torch.from_numpy((sample.features - mean) / scale) for sample in train]
    targets = [torch.from_numpy(sample.chosen.astype(np.float32)) for sample in train]
    network = _network(rows.shape[1], config)
    optimiser = torch.optim.AdamW(network.parameters(), config.learning_rate, weight_decay=config.weight_decay)
    n_steps = config.epochs * -(-len(train) // config.batch_states)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, n_steps)
    golds = [gold_actions(sample) for sample in dev]
    losses: list[float] = []
    dev_figures: list[tuple[float, float]] = []
    best: tuple[float, int, Scorer] | None = None
    for epoch in range(config.epochs):
        network.train()
        total = 0.0
        order = torch.randperm(len(train), generator=generator).tolist()
        for begin in range(0, len(order), config.batch_states):
            batch = order[begin: begin + config.batch_states]
            weights = torch.cat([torch.full((len(targets[n]),), len(targets[n]) ** -0.5) for n in batch])
            odds = network(torch.cat([inputs[n] for n in batch]))[:, 0]
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                odds, torch.cat([targets[n] for n in batch]), weights, reduction="sum") / weights.sum()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
            total += float(loss.detach()) * len(batch)
        losses.append(total / len(train))
        scorer = _scorer(network, mean, scale, {"answer": 0.0, "expand": 0.0})
        odds_of_dev = [scorer.log_odds(sample.features).tolist() for sample in dev]
        scorer = replace(scorer, thresholds=tuned_thresholds(dev, golds, odds_of_dev))
        dev_figures.append(quality(decisions(dev, golds, odds_of_dev, scorer.thresholds)))
        print(f"epoch {epoch + 1}: loss {losses[-1]:.4f}, dev macro-F1 {dev_figures[-1][0]:.3f}, "
              f"ANS-F1 {dev_figures[-1][1]:.3f}", flush=True)
        if best is None or sum(dev_figures[-1]) > best[0]:
            best = sum(dev_figures[-1]), epoch, scorer
        elif epoch - best[1] >= config.patience:
            break
    assert best is not None
    return Trained(best[2], best[1] + 1, tuple(losses), tuple(dev_figures))


def _network(n_inputs: int, config: TrainScorerConfig) -> Any:
    import torch

    layers: list[Any] = []
    width = n_inputs
    for units in config.hidden:
        layers += [torch.nn.Linear(width, units), torch.nn.ReLU(), torch.nn.Dropout(config.dropout)]
        width = units
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, 1))


def _scorer(network: Any, mean: NDArray[np.float32], scale: NDArray[np.float32],
            thresholds: Mapping[str, float]) -> Scorer:
    import numpy as np
    import torch

    layers = tuple((np.ascontiguousarray(layer.weight.detach().numpy().T), layer.bias.detach().numpy().copy())
                   for layer in network if isinstance(layer, torch.nn.Linear))
    return Scorer(mean.astype(np.float32), scale.astype(np.float32), layers, thresholds)


def questions_of(data: DataFolder, dataset: str, split: Split) -> list[Question]:
    """The questions of a split, one without a split counting as train. Raises UserError when there is none."""
    found = [question for question in read_question_set(data, dataset).questions
             if (question.split or "train") == split]
    if not found:
        raise UserError(f"question set {dataset!r}", f"no question of the split {split}", "train and dev questions",
                        "Give the set's questions splits, by article.")
    return found


def train_scorer(data: DataFolder, config: TrainScorerConfig) -> Trained:
    """Train from the curated actions of a set, and write the scorer. Raises UserError for a set without them."""
    corpus = ReleasedCorpus.open(data, config.release)
    samples: dict[str, list[Sample]] = {}
    sets: dict[Split, str] = {"train": config.dataset, "dev": config.dev_dataset or config.dataset}
    for split, dataset in sets.items():
        labels = read_labels(data, dataset, corpus.release.number, config.teacher)
        questions = questions_of(data, dataset, split)
        ray = config.ray if config.ray is not None else len(questions) >= RAY_ABOVE
        samples[split] = make_samples(corpus, questions, labels, config.states, ray, config.workers)
        if not samples[split]:
            raise UserError(f"question set {dataset!r}", f"no curated state of its {split} questions",
                            "states met with the settings of curation", "Give k, turns, lengths as there.")
    train = balanced(samples["train"], config.at_most)
    print(f"{len(train):,} train states of {len(samples['train']):,}, {len(samples['dev']):,} dev states",
          flush=True)
    trained = fit(train, samples["dev"], config)
    config.out.parent.mkdir(parents=True, exist_ok=True)
    trained.scorer.save(config.out, {
        "dataset": config.dataset, "teacher": config.teacher, "release": corpus.release.number,
        "states": len(train), "epoch": trained.best_epoch,
        "config": config.model_dump(mode="json", exclude={"data"})})
    return trained


def main(arguments: Sequence[str] | None = None) -> int:
    """Train from a config file and print. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m training.train_scorer",
                                     description="Train the router scorer on curated actions.")
    parser.add_argument("--config", type=Path, required=True, help="YAML or JSON file of TrainScorerConfig")
    try:
        config = load_config(parser.parse_args(arguments).config, TrainScorerConfig)
        trained = train_scorer(DataFolder.at(config.data), config)
    except EspalierError as error:
        print(f"train_scorer: {error}", file=sys.stderr)
        return error.exit_code
    print(f"epoch {trained.best_epoch}: {config.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
