"""Train the router `scorer` on curated actions (docs/training.md): small networks, seconds on one core.

States are met again as curation did; each legal line gives a row of features and whether the teacher took it.
After each epoch the thresholds are tuned on the dev states and the routing metrics taken there. Equal runs give
equal scorers. With `name`, the scorer is a new version in the registry.

Run: `python -m training.train_scorer --config FILE` with YAML or JSON as `TrainScorerConfig`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from pipelines.curation.class_tags import TAGS
from pipelines.errors import UserError
from pipelines.evaluation.datasets import Split
from pipelines.questions.leakage import refuse_leakage
from pipelines.retrieval.corpus import ReleasedCorpus
from pipelines.settings import DataFolder
from training.command import run_command
from training.config_fields import LargestShares, OutFile, RouterName
from training.labelled_states import Labels, Sample, make_samples, read_labels
from training.router_registry import RouterRegistry, RouterVersion
from training.scorer_fit import FitSettings, Fitted, fit
from training.states_config import StatesConfig
from training.training_states import HeldOut, balanced, digest, held_out_documents, no_state_met, questions_of

RAY_ABOVE = 2_000


class TrainScorerConfig(StatesConfig):
    """What is trained on, and how."""

    dev_dataset: str | None = Field(None, description="Set with the dev split; none: the same set")
    held_out: HeldOut = Field("gold", description=(
        "No state is trained on of a document that answers a held-out question (gold), or that one is shown (met)"))
    at_most: LargestShares = Field(default_factory=dict, description="Largest share of a class, as REFUSE: 0.5")
    hidden: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = Field(
        (64, 32), description="Units of the hidden layers")
    networks: int = Field(5, ge=1, le=100, description="Networks whose mean counts")
    epochs: int = Field(16, ge=1, description="Epochs")
    batch_states: int = Field(32, ge=1, description="States of a step")
    learning_rate: float = Field(2e-3, gt=0, le=1, description="Of AdamW, with a cosine to zero")
    weight_decay: float = Field(1e-2, ge=0, description="Of AdamW")
    dropout: float = Field(0.3, ge=0, lt=1, description="Behind each hidden layer")
    state_loss: float = Field(0.3, ge=0, description="Weight of a state's loss beside that of its lines")
    seed: int = Field(7, ge=0, lt=1 << 63, description="Seed of weights, order and dropout")
    ray: bool | None = Field(None, description=f"Make samples on Ray; none: from {RAY_ABOVE} questions on")
    workers: int | None = Field(None, ge=1, description="Workers on Ray; none: one a CPU")
    allow_leakage: bool = Field(False, description="Train although training questions leak held-out ones")
    name: RouterName | None = Field(None, description="Registered in MLflow under this name; none: not at all")
    out: OutFile = Field(description="The scorer's file, .safetensors")

    @field_validator("out")
    @classmethod
    def _has_ending(cls, out: Path) -> Path:
        if out.suffix != ".safetensors":
            raise ValueError(f"{str(out)!r} does not end in .safetensors")
        return out

    @property
    def fitting(self) -> FitSettings:
        """What `fit` depends on."""
        return FitSettings(self.hidden, self.networks, self.epochs, self.batch_states, self.learning_rate,
                           self.weight_decay, self.dropout, self.state_loss, self.seed)


@dataclass(frozen=True)
class Trained:
    """A scorer, how it came about, and its version where it was registered."""

    fitted: Fitted
    n_train: int
    n_dev: int
    version: RouterVersion | None


def train_scorer(data: DataFolder, config: TrainScorerConfig) -> Trained:
    """Train from the curated actions of a set, write the scorer and register it.

    Raises UserError for a set without actions, questions that leak, and held-out documents that leave no state.
    """
    corpus = ReleasedCorpus.open(data, config.release)
    refuse_leakage(data, config.dataset, [config.dev_dataset], config.allow_leakage)
    samples: dict[str, list[Sample]] = {}
    sets: dict[Split, str] = {"train": config.dataset, "dev": config.dev_dataset or config.dataset}
    labels = {dataset: read_labels(data, dataset, corpus.release.number, config.recorded_teacher)
              for dataset in sets.values()}
    for split, dataset in sets.items():
        questions = questions_of(data, dataset, split)
        ray = config.ray if config.ray is not None else len(questions) >= RAY_ABOVE
        samples[split] = make_samples(corpus, questions, labels[dataset], config.states, ray, config.workers)
        if not samples[split]:
            raise no_state_met(dataset, split)
    train = balanced(_unseen(data, config, corpus.release.number, samples["train"], labels), config.at_most)
    shares = Counter(sample.tag for sample in train)
    print(f"{len(train):,} train states of {len(samples['train']):,} ("
          f"{', '.join(f'{tag} {shares[tag]:,}' for tag in TAGS)}), {len(samples['dev']):,} dev states", flush=True)
    fitted = fit(train, samples["dev"], config.fitting)
    config.out.parent.mkdir(parents=True, exist_ok=True)
    fitted.scorer.save(config.out, {
        "dataset": config.dataset, "teacher": config.teacher, "release": corpus.release.number,
        "states": len(train), "config": config.model_dump(mode="json", exclude={"data", "out"})})
    version = None
    if config.name is not None:
        version = _register(data, config, config.name, fitted, train, samples["dev"])
    return Trained(fitted, len(train), len(samples["dev"]), version)


def _unseen(data: DataFolder, config: TrainScorerConfig, release: int, samples: Sequence[Sample],
            labels: Mapping[str, Labels]) -> list[Sample]:
    """The samples that are of no held-out document. Raises UserError when there is none."""
    held_out = {doc_id for dataset, of_set in labels.items()
                for doc_id in held_out_documents(data, dataset, release, of_set, config.held_out)}
    kept = [sample for sample in samples if sample.doc_id not in held_out]
    if not kept:
        raise UserError(f"question set {config.dataset!r}", "all its train states are of held-out documents",
                        "states of other documents", "Split by article; held_out: gold leaves out the fewest.")
    return kept


def _register(data: DataFolder, config: TrainScorerConfig, name: str, fitted: Fitted, train: Sequence[Sample],
              dev: Sequence[Sample]) -> RouterVersion:
    macro_f1, ans_f1 = fitted.dev[-1]
    curves = {"loss": fitted.losses, "dev_macro_f1": [one[0] for one in fitted.dev],
              "dev_ans_f1": [one[1] for one in fitted.dev]}
    card = "\n".join((
        f"# {name}", "", "Small networks over features of a document's lines; they route without a language model.",
        "", f"- Trained on {len(train):,} states of `{config.dataset}`, teacher {config.teacher}, "
        f"{config.networks} networks, {config.epochs} epochs.",
        f"- On the {len(dev):,} dev states of `{config.dev_dataset or config.dataset}` that tuned its thresholds: "
        f"macro-F1 {macro_f1:.3f}, ANS-F1 {ans_f1:.3f}. What it is worth is measured on others.", ""))
    return RouterRegistry(data).log(
        "scorer", config.out, name=name, card=card, dataset_digest=digest(train, dev),
        parameters={**config.model_dump(mode="json", exclude={"data", "out", "name"}), "states": len(train)},
        metrics={"loss": fitted.losses[-1], "dev_macro_f1": macro_f1, "dev_ans_f1": ans_f1},
        curves={metric: list(enumerate(values, 1)) for metric, values in curves.items()})


def run(config: TrainScorerConfig) -> str:
    """Train, and say where the scorer is."""
    trained = train_scorer(DataFolder.at(config.data), config)
    return str(config.out) if trained.version is None else f"{config.out}: {trained.version.uri}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Train from a config file and print. Returns the exit code."""
    return run_command("train_scorer", "Train the router scorer on curated actions.", TrainScorerConfig, run,
                       arguments)


if __name__ == "__main__":
    sys.exit(main())
