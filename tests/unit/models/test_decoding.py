"""Decoding loops against plain passes of a small random model, one prompt after the other and many together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from pipelines.models import decoding, key_values
from pipelines.models.candidate_tree import PROMPT, CandidateTree, candidate_trees
from pipelines.models.decoding import SCORED_AT_ONCE, Decoder

END = 2
BEGINNING = [1, 9, 9, 4]
PROMPTS = [[*BEGINNING, 5, 11, 5], [3, 8], [*BEGINNING, 5, 30], [*BEGINNING, 5, 11, 5], [6]]
LINES = [[10, 11, 12, 40], [10, 11, 13, 40], [10, 14, 40], [20, 11, 12, 40]]


@pytest.fixture(scope="module")
def small() -> Any:
    """A Llama of two layers with random weights that stay as they are; ids 0 to 49."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, initializer_range=0.8)
    return LlamaForCausalLM(config).eval().requires_grad_(False)


def plain_logits(model: Any, ids: Sequence[int]) -> Any:
    """Logits of the next token, by one pass over everything."""
    import torch

    with torch.inference_mode():
        return model(torch.tensor([list(ids)])).logits[0, -1]


def plain_score(model: Any, prompt: list[int], candidate: list[int]) -> float:
    import torch

    return sum(float(torch.log_softmax(plain_logits(model, prompt + candidate[:place]), -1)[token])
               for place, token in enumerate(candidate))


def score(decoder: Decoder, prompt: list[int], candidates: list[list[int]]) -> list[float]:
    return dict(decoder.score([prompt], [candidates]))[0]


def test_scores_are_those_of_candidates_read_alone(small: Any) -> None:
    candidates = [[[7], [7, 8, 9], [3, 3], [7, 8, 9, 20], [9, 1, 4, 4, 20], [7, 8, 9]][:n] for n in (6, 1, 2, 5, 3)]
    found = dict(Decoder(small, END).score(PROMPTS, candidates))
    for place, (prompt, own) in enumerate(zip(PROMPTS, candidates, strict=True)):
        assert found[place] == pytest.approx([plain_score(small, prompt, one) for one in own], abs=1e-4)


def test_more_candidates_than_one_pass_takes(small: Any) -> None:
    candidates = [[first, *range(40)] for first in range(3, 30)]
    assert len(candidates) * 40 > 2 * SCORED_AT_ONCE
    scores = score(Decoder(small, END), [1, 5], candidates)
    for place in (0, 12, 13, 26):
        assert scores[place] == pytest.approx(plain_score(small, [1, 5], candidates[place]), abs=1e-4)


def test_candidates_share_their_beginnings() -> None:
    tree = CandidateTree()
    for candidate in ([5, 6, 7], [5, 6, 8], [5, 9], [4]):
        tree.add(candidate)
    assert (tree.tokens, tree.depths, tree.parents) == ([5, 6], [0, 1], [PROMPT, 0])
    assert tree.sees().tolist() == [[True, False], [True, True]]
    assert tree.steps == [(PROMPT, 5), (0, 6), (1, 7), (1, 8), (0, 9), (PROMPT, 4)]
    assert tree.totals([1, 2, 4, 8, 16, 32]) == [7, 11, 17, 32]


def test_trees_are_bounded_in_tokens() -> None:
    candidates = [[5, 6, 7], [5, 6, 8], [1, 2, 3], list(range(9))]
    assert [tree.tokens for tree in candidate_trees(candidates, 3)] == [[5, 6], [1, 2], list(range(8))]
    assert [tree.tokens for tree in candidate_trees(candidates, 4)] == [[5, 6, 1, 2], list(range(8))]
    assert list(candidate_trees([], 4)) == []


def test_free_decoding_takes_the_most_probable_token(small: Any) -> None:
    found = dict(Decoder(small, END).generate(PROMPTS, 12))
    for place, prompt in enumerate(PROMPTS):
        ids, is_cut = found[place]
        for n, token in enumerate(ids):
            assert token == int(plain_logits(small, [*prompt, *ids[:n]]).argmax())
        assert is_cut == (len(ids) == 12)
    ids, _ = found[0]
    after = int(plain_logits(small, [*PROMPTS[0], *ids[:2]]).argmax())
    assert dict(Decoder(small, after).generate(PROMPTS[:1], 12)) == {0: (ids[: ids.index(after)], False)}


def plain_lines(model: Any, prompt: list[int], lines: list[list[int]], alone: list[int] | None, most: int
                ) -> list[int]:
    """The same choice by brute force: every output of the grammar is a path, and each step masks the rest."""
    outputs: dict[tuple[int, ...], tuple[int, ...]] = {}
    for n in range(1, min(most, len(lines)) + 1):
        # Where nothing more may follow, the end is not asked for.
        end = () if n in (most, len(lines)) else (END,)
        for order in itertools.permutations(range(len(lines)), n):
            outputs[(*itertools.chain(*(lines[place] for place in order)), *end)] = order
    if alone is not None:
        outputs[(*alone, END)] = ()
    path: tuple[int, ...] = ()
    while path not in outputs:
        allowed = sorted({output[len(path)] for output in outputs if output[: len(path)] == path})
        logits = plain_logits(model, [*prompt, *path])
        path = (*path, allowed[int(logits[allowed].argmax())])
    return list(outputs[path])


@pytest.mark.parametrize("alone", [None, [30, 31]])
@pytest.mark.parametrize("most", [1, 2, 4])
def test_constrained_decoding_is_greedy_under_the_mask(small: Any, alone: list[int] | None, most: int) -> None:
    prompts = [[1, first, 5] if first % 3 else [1, first, 5, 7] for first in range(3, 33)]
    found = dict(Decoder(small, END).generate_lines(prompts, [(LINES, alone, most)] * len(prompts), 1000))
    for place, prompt in enumerate(prompts):
        chosen, n_tokens = found[place]
        assert chosen == plain_lines(small, prompt, LINES, alone, most)
        assert n_tokens == (sum(len(LINES[line]) for line in chosen) or len(alone or []) + 1)
    assert len({tuple(chosen) for chosen, _ in found.values()}) > 2, "the prompts lead to different choices"


def test_prompts_of_different_grammars_are_decoded_together(small: Any) -> None:
    grammars = [(LINES[:2], [30, 31], 2), (LINES[2:], None, 9), (LINES[3:], None, 1), (LINES, [30], 1),
                (LINES, None, 3)]
    found = dict(Decoder(small, END).generate_lines(PROMPTS, grammars, 1000))
    for place, (lines, alone, most) in enumerate(grammars):
        assert found[place][0] == plain_lines(small, PROMPTS[place], lines, alone, most)


def test_constrained_decoding_ends_at_a_lines_end(small: Any) -> None:
    lines = [[10, 11, 12, 40], [13, 14, 40], [20, 11, 12, 40]]
    ((_, (found, n_tokens)),) = Decoder(small, -1).generate_lines([[1, 5]], [(lines, None, 9)], 2)
    assert len(found) == 1
    assert n_tokens == len(lines[found[0]])


def test_a_shared_beginning_is_read_once(small: Any) -> None:
    """In order: [1, 9, 9, 4, 5, 11, 5] whole, the last token of the same again, the last of [1, 9, 9, 4, 5, 30]."""
    decoder = Decoder(small, END)
    list(decoder.score([PROMPTS[0], PROMPTS[2], PROMPTS[3]], [[[7]]] * 3))
    assert decoder.tokens_read == 7 + 1 + 1
    list(decoder.score([[*BEGINNING, 8]], [[[7, 8, 9], [7, 8]]]))
    assert decoder.tokens_read == 9 + 1 + 2, "also from call to call, and candidates beside each other"
    decoder.forget()
    list(decoder.score([[*BEGINNING, 8]], [[[7]]]))
    assert decoder.tokens_read == 12 + 5


def test_nothing_is_kept_of_weights_that_change(small: Any) -> None:
    import copy

    import torch

    model = copy.deepcopy(small).requires_grad_(True)
    decoder = Decoder(model, END)
    before = score(decoder, PROMPTS[0], [[7, 8]])
    with torch.no_grad():
        model.model.layers[0].self_attn.k_proj.weight.mul_(1.5)
    after = score(decoder, PROMPTS[0], [[7, 8]])
    assert after == pytest.approx([plain_score(model, PROMPTS[0], [7, 8])], abs=1e-4)
    assert abs(after[0] - before[0]) > 1e-2


def test_what_is_kept_is_bounded(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_values, "KEPT_TOKENS", 3)
    decoder = Decoder(small, END)
    list(decoder.generate(PROMPTS[:1], 3))
    keys = decoder._reader.cache.layers[0].keys
    assert (keys.shape[-2], keys.untyped_storage().nbytes()) == (3, 3 * 2 * 4 * 4), "2 heads of width 4, float32"
    assert score(decoder, PROMPTS[2], [[7, 8]]) == pytest.approx([plain_score(small, PROMPTS[2], [7, 8])], abs=1e-4)
    assert decoder.tokens_read == 7 + 2 + 3 + 1


def test_prompts_side_by_side_are_bounded(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    add = key_values.SideBySide.add

    def watched(self: Any, row: int, reader: Any) -> None:
        add(self, row, reader)
        sizes.append(sum(layers[0][0].shape[-2] for layers in self._rows.values()))

    monkeypatch.setattr(key_values.SideBySide, "add", watched)
    free = dict(Decoder(small, END).generate(PROMPTS, 5))
    assert max(sizes) == sum(map(len, PROMPTS))
    monkeypatch.setattr(decoding, "TOGETHER_TOKENS", 13)
    sizes.clear()
    assert dict(Decoder(small, END).generate(PROMPTS, 5)) == free
    assert 7 < max(sizes) <= 13


def test_the_model_attends_as_before_afterwards(small: Any) -> None:
    import torch

    usual = small.config._attn_implementation
    list(Decoder(small, END).generate(PROMPTS, 4))
    assert small.config._attn_implementation == usual
    with pytest.raises(IndexError), key_values._attention_by_row(small):
        small(torch.tensor([[70]]))
    assert small.config._attn_implementation == usual
