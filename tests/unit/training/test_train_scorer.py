"""Training a scorer on states whose rule is known, thresholds, balance, and the file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pipelines.errors import UserError
from pipelines.methods.line_features import FEATURE_FORMAT, NAMES
from pipelines.methods.scorer_router import Scorer, decide
from training.labelled_states import Sample
from training.train_scorer import TrainScorerConfig, balanced, decisions, fit, gold_actions, quality

COSINE = NAMES.index("cosine")


def sample(number: int, generator: np.random.Generator) -> Sample:
    """Three content lines and two headings; right is what has a cosine above 0.7."""
    features = np.zeros((5, len(NAMES)), np.float32)
    features[:, NAMES.index("place")] = generator.normal(size=5)
    features[:, 0] = [0, 0, 0, 1, 1]
    features[:, COSINE] = generator.uniform(0, 1, 5)
    chosen = features[:, COSINE] > 0.7
    tag = "ANSWER" if chosen[:3].any() else "EXPAND" if chosen.any() else "REFUSE"
    lines = (*(f"[ANSWER] {n}: a" for n in range(3)), *(f"[EXPAND] {n}: h" for n in (3, 4)))
    return Sample(f"q{number}", f"{number:032}", tag, lines, features, chosen)


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    generator = np.random.default_rng(0)
    return [sample(number, generator) for number in range(330)]


def config(tmp_path: Path, **fields: object) -> TrainScorerConfig:
    return TrainScorerConfig.model_validate({"dataset": "d", "out": tmp_path / "s.safetensors", "epochs": 6,
                                             "hidden": (16,), "learning_rate": 0.02, **fields})


def test_the_rule_behind_the_actions_is_learnt_and_written(samples: list[Sample], tmp_path: Path) -> None:
    trained = fit(samples[:250], samples[250:290], config(tmp_path))
    held_out = samples[290:]
    path = tmp_path / "s.safetensors"
    trained.scorer.save(path, {"dataset": "d"})
    loaded = Scorer.load(path)
    odds = [loaded.log_odds(one.features).tolist() for one in held_out]
    assert odds == [trained.scorer.log_odds(one.features).tolist() for one in held_out]
    found = decisions(held_out, [gold_actions(one) for one in held_out], odds, loaded.thresholds)
    assert min(quality(found)) > 0.85
    assert trained.losses[-1] < trained.losses[0] / 2


def test_equal_seeds_give_equal_scorers(samples: list[Sample], tmp_path: Path) -> None:
    def weights(seed: int) -> list[list[float]]:
        scorer = fit(samples[:60], samples[60:90], config(tmp_path, epochs=2, seed=seed)).scorer
        return [layer[0].tolist() for layer in scorer.layers]

    assert weights(1) == weights(1)
    assert weights(1) != weights(2)


def test_a_class_is_cut_to_its_share_whatever_the_order(samples: list[Sample]) -> None:
    kept = balanced(samples, {"ANSWER": 0.5})
    n_answer = sum(one.tag == "ANSWER" for one in kept)
    assert n_answer <= 0.5 * len(kept) < n_answer + 1
    assert [one.state_id for one in kept] == sorted(one.state_id for one in kept)
    again = balanced(samples[::-1], {"ANSWER": 0.5})
    assert {one.state_id for one in again} == {one.state_id for one in kept}
    with pytest.raises(UserError, match="at_most"):
        balanced(samples, {"ANSWER": 0.2, "EXPAND": 0.2, "REFUSE": 0.2})


@pytest.mark.parametrize(("odds", "text"), [
    ([2.0, -1.0, 1.5], "[ANSWER] 1: a\n[EXPAND] 3: c"), ([0.9, -1.0, 1.4], "Cannot answer"),
    ([0.0, 1.0, 9.0], "[ANSWER] 2: b\n[EXPAND] 3: c")])
def test_each_kind_has_its_threshold(odds: list[float], text: str) -> None:
    lines = ["[ANSWER] 1: a", "[ANSWER] 2: b", "[EXPAND] 3: c"]
    assert decide(lines, odds, {"answer": 1.0, "expand": 1.5}) == text
    assert decide(lines, [-5.0, -4.0, -9.0], {"answer": 1.0, "expand": 1.5}, can_refuse=False) == "[ANSWER] 2: b"


def test_other_files_are_refused(tmp_path: Path, samples: list[Sample]) -> None:
    from safetensors.numpy import save_file

    with pytest.raises(UserError, match="cannot be read"):
        Scorer.load(tmp_path / "none.safetensors")
    (tmp_path / "text.safetensors").write_text("no tensors")
    with pytest.raises(UserError, match="cannot be read"):
        Scorer.load(tmp_path / "text.safetensors")
    other = tmp_path / "other.safetensors"
    save_file({"mean": np.zeros(3)}, other, {"espalier": json.dumps({"feature_format": "lines/0"})})
    with pytest.raises(UserError, match=f"feature format lines/0; expected a scorer of the feature format "
                                        f"{FEATURE_FORMAT}"):
        Scorer.load(other)
