"""What a causal model keeps of the tokens that it has read (keys and values of attention), shared and bounded.

A prompt is read from where it differs from the one before it (`PromptReader`); outputs of several prompts are
then written side by side, a pass over the weights serving all of them (`SideBySide`).

What belongs here: caches, positions, masks. What does not: choosing tokens (`writing.py`) and the loops over
prompts (`decoding.py`). Not for several threads at once; everything runs inside `torch.inference_mode`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

KEPT_TOKENS = 512
"""Beginning of the last prompt that is kept between calls: instruction and question, 46 KB a token of SmolLM2."""
KeysValues = tuple[Any, Any]
"""Of one layer: tensors (1, heads, tokens, width)."""
_BY_ROW = "espalier_by_row"


class CountedModel:
    """A causal model of transformers that counts the tokens it reads."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.tokens_read = 0

    @property
    def is_frozen(self) -> bool:
        """Whether its weights stay as they are; what was read by others is worth nothing."""
        return not self.model.training and not any(one.requires_grad for one in self.model.parameters())

    def __call__(self, ids: Sequence[int], cache: Any, keep: Any = 1, positions: Sequence[int] | None = None,
                 sees: Any = None) -> tuple[Any, Any]:
        """Read one row of tokens behind a cache, which grows by them (None: a new one).

        keep: of how many last tokens logits are wanted, or a tensor of places. positions: where they stand, None:
        behind each other. sees: (tokens, cached and read tokens), bool; None: all that stands before.
        Returns logits (kept, vocabulary) in float32 and the cache.
        """
        import torch

        device = self.model.device
        more = {} if positions is None else {"position_ids": torch.tensor([list(positions)], device=device)}
        output = self.model(input_ids=torch.tensor([list(ids)], device=device), cache=cache, use_cache=True,
                            attention_mask=None if sees is None else sees[None, None].to(device),
                            logits_to_keep=keep, **more)
        self.tokens_read += len(ids)
        return output.logits[0].float(), output.cache


class PromptReader:
    """Reads prompts one after the other. cache: of the prompt that was read last."""

    def __init__(self, model: CountedModel) -> None:
        self._model = model
        self._ids: list[int] = []
        self.cache: Any = None

    def read(self, prompt: Sequence[int]) -> Any:
        """Logits of the token behind a prompt (vocabulary). Where the last prompt began alike, the rest is read."""
        n_known = min(shared_beginning(self._ids, prompt), len(prompt) - 1)
        cache = self.cache if n_known else None
        if n_known < len(self._ids) and cache is not None:
            cache.crop(n_known - len(self._ids))
        # A pass that fails leaves a cache of which nothing is known.
        self.forget()
        logits, self.cache = self._model(prompt[n_known:], cache)
        self._ids = list(prompt)
        return logits[-1]

    def forget(self) -> None:
        """Keep nothing."""
        self._ids, self.cache = [], None

    def rest(self) -> None:
        """Keep the beginning alone until the next call, and nothing of a model that is in training."""
        if not self._model.is_frozen:
            self.forget()
        elif len(self._ids) > KEPT_TOKENS:
            self._ids = self._ids[:KEPT_TOKENS]
            for layer in self.cache.layers:
                # A crop would only be a view of everything.
                layer.keys = layer.keys[..., :KEPT_TOKENS, :].clone()
                layer.values = layer.values[..., :KEPT_TOKENS, :].clone()


class SideBySide:
    """Prompts that were read, and what is written behind each, a row each. One pass reads tokens of several rows.

    All layers but attention see the tokens as one sequence; in attention each row has its own keys and values,
    so that none pays for the length of the others. For models with attention over everything before.
    """

    def __init__(self, model: CountedModel) -> None:
        self._model = model
        self._rows: dict[int, list[KeysValues]] = {}

    def add(self, row: int, reader: PromptReader) -> None:
        """Take over what the reader has just read."""
        self._rows[row] = [(layer.keys, layer.values) for layer in reader.cache.layers]

    def drop(self, row: int) -> None:
        """Forget a row."""
        del self._rows[row]

    def read(self, tokens: Mapping[int, Sequence[int]]) -> Any:
        """Read some tokens, at least one, in each of these rows: logits of what follows (rows, vocabulary)."""
        import torch

        rows = [self._rows[row] for row in tokens]
        begins = [row[0][0].shape[-2] for row in rows]
        counts = [len(own) for own in tokens.values()]
        positions = [begin + n for begin, count in zip(begins, counts, strict=True) for n in range(count)]
        ends = torch.tensor(counts).cumsum(0) - 1
        with _attention_by_row(self._model.model):
            # A mask of four dimensions is handed on as it is; the rows decide what a token sees.
            any_mask = torch.ones(1, 1, dtype=torch.bool)
            logits, _ = self._model([token for own in tokens.values() for token in own], _Rows(rows, counts),
                                    ends.to(self._model.model.device), positions, any_mask)
        return logits


class _Rows:
    """Stands in for a cache in one pass. counts: new tokens of each row, which lie one behind the other."""

    def __init__(self, rows: Sequence[list[KeysValues]], counts: Sequence[int]) -> None:
        self._rows, self._counts = rows, counts

    def update(self, keys: Any, values: Any, layer: int, *_: Any, **__: Any
               ) -> tuple[list[KeysValues], Sequence[int]]:
        """Enter new keys and values; what `_attend` gets in place of all of them."""
        import torch

        for row, *new in zip(self._rows, keys.split(self._counts, -2), values.split(self._counts, -2), strict=True):
            old_keys, old_values = row[layer]
            row[layer] = torch.cat([old_keys, new[0]], -2), torch.cat([old_values, new[1]], -2)
        return [row[layer] for row in self._rows], self._counts


def _attend(_: Any, query: Any, rows: Sequence[KeysValues], counts: Sequence[int], *__: Any,
            scaling: float | None = None, **___: Any) -> tuple[Any, None]:
    """Attention of transformers' interface: query (1, heads, tokens, width) → (1, tokens, heads, width)."""
    import torch

    found = []
    for (keys, values), own in zip(rows, query.split(counts, -2), strict=True):
        _one, n_heads, n, width = own.shape
        n_groups, length = keys.shape[1], keys.shape[2]
        shared_by = n_heads // n_groups
        sees = torch.ones(n, length, dtype=torch.bool, device=own.device).tril(length - n).repeat(shared_by, 1)
        # Heads that share keys are queries of one head: keys need no copies for each.
        grouped = torch.nn.functional.scaled_dot_product_attention(
            own.reshape(1, n_groups, shared_by * n, width), keys, values, None if n == 1 else sees, scale=scaling)
        found.append(grouped.reshape(1, n_heads, n, width))
    return torch.cat(found, -2).transpose(1, 2), None


@contextmanager
def _attention_by_row(model: Any) -> Iterator[None]:
    """Within it the model attends by `_attend`."""
    from transformers import AttentionInterface

    AttentionInterface.register(_BY_ROW, _attend)
    usual = model.config._attn_implementation
    model.config._attn_implementation = _BY_ROW
    try:
        yield
    finally:
        model.config._attn_implementation = usual


def shared_beginning(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two sequences have in common before they differ."""
    return next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
                min(len(one), len(other)))
