"""Training a scorer on states whose rule is known, thresholds, balance, and the file."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipelines.curation.class_tags import Tag
from pipelines.errors import UserError
from pipelines.methods.line_features import FEATURE_FORMAT, NAMES
from pipelines.methods.scorer_router import Scorer, decide
from training.labelled_states import Sample
from training.scorer_fit import FitSettings, fit, loss_of
from training.scorer_thresholds import BELOW_BEST, decisions, quality, tuned_thresholds
from training.training_states import balanced, digest

COSINE = NAMES.index("cosine")


def sample(number: int, generator: np.random.Generator) -> Sample:
    """Three content lines and two headings; right is what has a cosine above 0.7."""
    features = np.zeros((5, len(NAMES)), np.float32)
    features[:, NAMES.index("place")] = generator.normal(size=5)
    features[:, 0] = [0, 0, 0, 1, 1]
    features[:, COSINE] = generator.uniform(0, 1, 5)
    chosen = features[:, COSINE] > 0.7
    tag: Tag = "ANSWER" if chosen[:3].any() else "EXPAND" if chosen.any() else "REFUSE"
    lines = (*(f"[ANSWER] {n}: a" for n in range(3)), *(f"[EXPAND] {n}: h" for n in (3, 4)))
    return Sample(f"q{number}", f"{number:032}", f"xx:{number}", tag, lines, features, chosen)


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    generator = np.random.default_rng(0)
    return [sample(number, generator) for number in range(330)]


FITTING = FitSettings(hidden=(16,), networks=2, epochs=6, learning_rate=0.02, dropout=0.1)


def test_the_rule_behind_the_actions_is_learnt_and_written(samples: list[Sample], tmp_path: Path) -> None:
    fitted = fit(samples[:250], samples[250:290], FITTING)
    held_out = samples[290:]
    path = tmp_path / "s.safetensors"
    fitted.scorer.save(path, {"dataset": "d"})
    loaded = Scorer.load(path)
    odds = [loaded.log_odds(one.features).tolist() for one in held_out]
    assert odds == [fitted.scorer.log_odds(one.features).tolist() for one in held_out]
    assert min(quality(decisions(held_out, odds, loaded.thresholds))) > 0.85
    assert fitted.losses[-1] < fitted.losses[0] / 2
    assert len(fitted.losses) == len(fitted.dev) == FITTING.epochs


def test_equal_runs_give_equal_scorers(samples: list[Sample], tmp_path: Path) -> None:
    def written(name: str, seed: int) -> bytes:
        scorer = fit(samples[:60], samples[60:90], replace(FITTING, epochs=2, seed=seed)).scorer
        scorer.save(tmp_path / name, {"dataset": "d"})
        return (tmp_path / name).read_bytes()

    assert written("a", 1) == written("b", 1)
    assert written("c", 1) != written("d", 2)


def test_the_losses_of_lines_and_states_by_hand() -> None:
    import torch

    # Two lines, the second is right; then one line, to refuse.
    odds, targets = torch.tensor([0.0, math.log(3), 0.0]), [torch.tensor([0.0, 1.0]), torch.tensor([0.0])]
    each = 2 ** -0.5
    of_lines = (each * math.log(2) + each * math.log(4 / 3) + math.log(2)) / (2 * each + 1)
    assert float(loss_of(odds, targets, 0.0)) == pytest.approx(of_lines)
    # Among both lines and refusing the right one has 3 of 1 + 3 + 1; refusing has 1 of 1 + 1.
    of_states = (math.log(5 / 3) + math.log(2)) / 2
    assert float(loss_of(odds, targets, 0.5)) == pytest.approx(of_lines + 0.5 * of_states)


def test_the_log_odds_are_the_mean_of_the_networks(samples: list[Sample]) -> None:
    scorer = fit(samples[:60], samples[60:90], replace(FITTING, epochs=1, networks=3)).scorer
    apart = [replace(scorer, networks=(network,)).log_odds(samples[0].features) for network in scorer.networks]
    assert not np.allclose(apart[0], apart[1])
    np.testing.assert_allclose(scorer.log_odds(samples[0].features), np.mean(apart, axis=0), rtol=1e-5)


def test_thresholds_are_the_best_that_trying_all_by_the_router_s_own_rule_finds(samples: list[Sample]) -> None:
    generator = np.random.default_rng(3)
    dev = samples[:40]
    odds = [(4 * one.features[:, COSINE] + generator.normal(size=5)).tolist() for one in dev]
    found = tuned_thresholds(dev, odds)
    best = sum(quality(decisions(dev, odds, found)))
    of_kind = [sorted({value for one, values in zip(dev, odds, strict=True)
                       for line, value in zip(one.lines, values, strict=True) if line.startswith(kind)})
               for kind in ("[ANSWER]", "[EXPAND]")]
    tried = max(sum(quality(decisions(dev, odds, {"answer": answer, "expand": expand, "below_best": below})))
                for answer in of_kind[0][::6] for expand in of_kind[1][::6] for below in BELOW_BEST)
    assert best >= tried - 0.05
    assert best > sum(quality(decisions(dev, odds, {"answer": 0.0, "expand": 0.0})))


def test_the_digest_is_of_states_and_actions(samples: list[Sample]) -> None:
    other = replace(samples[0], chosen=~samples[0].chosen)
    assert digest(samples[:2], samples[2:3]) == digest(list(samples[:2]), list(samples[2:3]))
    assert len({digest(samples[:2], samples[2:3]), digest([other, samples[1]], samples[2:3]),
                digest(samples[:3], []), digest(samples[1::-1], samples[2:3])}) == 4


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


@pytest.mark.parametrize(("odds", "text"), [
    ([5.0, 3.5, 0.0], "[ANSWER] 1: a\n[ANSWER] 2: b"), ([5.0, 2.9, 6.0], "[ANSWER] 1: a\n[EXPAND] 3: c"),
    ([5.0, 2.9, 9.0], "[EXPAND] 3: c"),
    ([0.5, 0.4, 0.0], "Cannot answer")])
def test_answers_far_below_the_best_are_left(odds: list[float], text: str) -> None:
    lines = ["[ANSWER] 1: a", "[ANSWER] 2: b", "[EXPAND] 3: c"]
    assert decide(lines, odds, {"answer": 1.0, "expand": 1.5, "below_best": 2.0}) == text


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
