"""One pass of the model: the loss of the output tokens, computed where there is one.

Only positions that predict an output token get logits: a prompt of 1,500 tokens with an output of 20 would
otherwise take 1,500 × vocabulary numbers, a third of the time of a small model. Samples are padded at their end,
where causal attention never looks, so a pass needs no mask.

What belongs here: tensors of a pass and its loss. What does not: what is in a pass (`finetune_batches.py`), and
the steps of the optimizer (`finetune_loop.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from training.finetune_samples import TrainSample


def output_loss(model: Any, samples: Sequence[TrainSample], device: Any) -> Any:
    """Sum of the cross-entropies of all output tokens, in nats; a scalar with a gradient.

    The logits are taken in float32 at least.
    """
    import torch

    longest = max(len(sample.ids) for sample in samples)
    rows = torch.zeros(len(samples), longest, dtype=torch.long)
    for row, sample in enumerate(samples):
        rows[row, :len(sample.ids)] = torch.from_numpy(sample.ids.astype("int64"))
    # The token at a place is predicted at the place before it.
    wanted = [(row, place) for row, sample in enumerate(samples)
              for place in range(len(sample.ids) - sample.n_output - 1, len(sample.ids) - 1)]
    kept = sorted({place for _, place in wanted})
    column = {place: number for number, place in enumerate(kept)}
    targets = torch.tensor([int(rows[row, place + 1]) for row, place in wanted], device=device)
    logits = model(input_ids=rows.to(device), use_cache=False,
                   logits_to_keep=torch.tensor(kept, device=device)).logits
    if logits.shape[1] != len(kept):
        raise ValueError("a model that ignores logits_to_keep")
    chosen = logits[[row for row, _ in wanted], [column[place] for _, place in wanted]]
    if chosen.dtype in (torch.bfloat16, torch.float16):
        chosen = chosen.float()
    return torch.nn.functional.cross_entropy(chosen, targets, reduction="sum")
