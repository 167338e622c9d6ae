"""What a run trains, as one resource that all router assets share: sets, states, training, promotion.

What belongs here: the fields, and which questions of which set each step takes. What does not: any step
(`routers.py`, `router_checks.py`). One place, because curation, training and evaluation must meet the same states.
"""

from typing import Any, get_args

import dagster as dg
from pydantic import Field

from pipelines.curation.gold_teacher import GOLD
from pipelines.evaluation.datasets import Split


class RouterPlan(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Sets by name: `dataset` has the train split, `dev_dataset` the dev split, `test_dataset` the test split."""

    dataset: str = Field(description="Question set to train on")
    dev_dataset: str | None = Field(None, description="Set with the dev split; none: the same")
    test_dataset: str | None = Field(None, description="Set with the test split; none: the same")
    release: int | None = Field(None, description="Release; none: the served one")
    teacher: str = Field(GOLD, description="gold, local, or the URL of an endpoint")
    k: int = Field(5, description="Passages retrieved for a question")
    turns: int = Field(0, description="Headings expanded in a document at most, by the teacher; the paper: 0")
    router_text_tokens: int = Field(3000, description="Length of a router text at most, in tokens")
    line_words: int = Field(60, description="Words of a node that a router sees")
    curation: dict[str, Any] = Field({}, description="More of python -m training.curate_actions, as max_cost_usd")
    scorer_name: str = Field("scorer", description="Name under which scorers are registered")
    scorer: dict[str, Any] = Field({}, description="More of python -m training.train_scorer, as epochs")
    adapter_name: str = Field("router-adapter", description="Name under which adapters are registered")
    adapter: dict[str, Any] | None = Field(
        None, description="More of python -m training.finetune_router, as base; none: no adapter is trained")
    metric: str = Field("macro_f1", description="Figure in which a version must win: macro_f1 or ans_f1")
    margin: float = Field(0.01, description="By how much its mean must be ahead of the champion's")
    promote_first: bool = Field(False, description="Without a champion, promote what beats none too")
    decode: str = Field("score", description="How an adapter's output is made when it is judged")
    allow_leakage: bool = Field(False, description="Train although training questions leak held-out ones")
    curves: dict[str, Any] = Field({}, description="More of python -m training.router_curves, as ks or ablations")

    @property
    def held_out(self) -> list[str]:
        """The sets whose dev and test questions training must not have seen, beside those of its own."""
        return [name for name in (self.dev_dataset, self.test_dataset) if name is not None]

    @property
    def sets(self) -> dict[Split, str]:
        """Split → the set that it is taken of."""
        return {"train": self.dataset, "dev": self.dev_dataset or self.dataset,
                "test": self.test_dataset or self.dataset}

    @property
    def splits(self) -> dict[str, tuple[Split, ...]]:
        """Set → the splits that are taken of it."""
        return {name: tuple(split for split in get_args(Split) if self.sets[split] == name)
                for name in dict.fromkeys(self.sets.values())}

    def states(self, split: Split) -> dict[str, Any]:
        """The fields of `training.states_config.StatesConfig` for the questions of a split."""
        return {"dataset": self.sets[split], **self.shown}

    @property
    def shown(self) -> dict[str, Any]:
        """What of `StatesConfig` is the same for all sets."""
        return {name: getattr(self, name)
                for name in ("release", "teacher", "k", "turns", "router_text_tokens", "line_words")}

    @property
    def recorded_teacher(self) -> str:
        """The teacher as `routing_actions` names it: a model by its own name, wherever it was asked."""
        from training.states_config import StatesConfig

        return StatesConfig(**self.states("train")).recorded_teacher
