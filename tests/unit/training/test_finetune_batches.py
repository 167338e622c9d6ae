"""Which samples a step takes, and how workers and passes share them."""

from __future__ import annotations

import itertools
import random

import pytest

from training.finetune_batches import LEAST_FILL, MicroBatch, Order, plan


def test_an_epoch_takes_every_sample_once_in_an_order_of_its_own() -> None:
    order = Order(11, 4, seed=3)
    assert order.steps_an_epoch == 3
    epochs = [[order.of_step(3 * epoch + place) for place in range(3)] for epoch in range(2)]
    for batches in epochs:
        assert [len(batch) for batch in batches] == [4, 4, 3]
        assert sorted(itertools.chain(*batches)) == list(range(11))
    assert epochs[0] != epochs[1]
    assert Order(11, 4, seed=3).of_step(4) == order.of_step(4)
    assert Order(11, 4, seed=4).of_step(4) != order.of_step(4)
    assert (order.steps(1), order.steps(2.5), order.steps(0.1)) == (3, 8, 1)


def test_samples_of_like_length_share_a_pass() -> None:
    lengths = [1000, 990, 900, 500, 450, 200, 190, 2900]
    found = plan(range(8), lengths, 2000, 1, is_even=False)
    assert [micro.places for micro in found[0]] == [(7,), (0, 1), (2,), (3, 4), (5, 6)]
    alone = plan(range(8), lengths, 1, 1, is_even=False)
    assert [micro.places for micro in alone[0]] == [(7,), (0,), (1,), (2,), (3,), (4,), (5,), (6,)]


def test_workers_share_the_work_evenly() -> None:
    lengths = [8, 7, 6, 5, 4]
    found = plan(range(5), lengths, 1, 2, is_even=False)
    assert found == [[MicroBatch((0,)), MicroBatch((3,)), MicroBatch((4,))], [MicroBatch((1,)), MicroBatch((2,))]]
    even = plan(range(5), lengths, 1, 2, is_even=True)
    assert even[0] == found[0]
    assert even[1] == [*found[1], MicroBatch((4,), counts=False)]


def test_a_worker_without_samples_makes_one_pass_that_does_not_count() -> None:
    assert plan([3], [0, 0, 0, 9], 100, 3, is_even=False) == [
        [MicroBatch((3,))], [MicroBatch((3,), counts=False)], [MicroBatch((3,), counts=False)]]


@pytest.mark.parametrize("seed", range(30))
def test_every_sample_counts_once_and_hardly_anything_is_padded(seed: int) -> None:
    draw = random.Random(seed)
    lengths = [draw.randint(100, 3000) for _ in range(40)]
    places = draw.sample(range(40), draw.randint(1, 20))
    budget, workers = draw.choice([512, 4096, 20_000]), draw.randint(1, 5)
    found = plan(places, lengths, budget, workers, is_even=draw.random() < 0.5)
    counted = [micro for own in found for micro in own if micro.counts]
    assert sorted(itertools.chain(*(micro.places for micro in counted))) == sorted(places)
    assert all(found), "each worker takes part"
    for micro in counted:
        longest = max(lengths[place] for place in micro.places)
        assert len(micro.places) == 1 or len(micro.places) * longest <= budget
        assert min(lengths[place] for place in micro.places) >= LEAST_FILL * longest
