"""Writes finetune_losses.json: the losses of a plain training loop, with which the real one is compared.

Nothing of `training` but the samples is used: one padded batch a step with a mask, all logits, the mean
cross-entropy over output tokens, PyTorch's AdamW. Run again only when samples, seeds or settings change:
`python tests/unit/training/make_finetune_losses.py`.
"""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path

STEPS, BATCH, RATE, WARM, SEED = 8, 4, 0.02, 2, 7
LOSSES = Path(__file__).with_name("finetune_losses.json")


def plain_losses(folder: Path) -> list[float]:
    """Losses of the small model's steps, in float64 on one thread."""
    import torch
    from peft import LoraConfig, get_peft_model
    from small_language_model import make_config, make_task, write_small_model
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    write_small_model(folder / "base")
    samples = make_task(make_config(folder / "base", folder / "out")).samples
    model = AutoModelForCausalLM.from_pretrained(str(folder / "base"), dtype=torch.float64)
    torch.manual_seed(SEED)
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=8, lora_alpha=16, target_modules=[
        "k_proj", "o_proj", "q_proj", "v_proj"]))
    model.train()
    trained = [value for value in model.parameters() if value.requires_grad]
    optimizer = torch.optim.AdamW(trained, weight_decay=0.0)
    losses = []
    for step in range(STEPS):
        epoch, place = divmod(step, -(-len(samples) // BATCH))
        order = torch.randperm(len(samples), generator=torch.Generator().manual_seed(SEED * 1_000_003 + epoch))
        batch = [samples[n] for n in order.tolist()[place * BATCH: (place + 1) * BATCH]]
        longest = max(len(sample.ids) for sample in batch)
        ids = torch.zeros(len(batch), longest, dtype=torch.long)
        labels, mask = torch.full_like(ids, -100), torch.zeros_like(ids)
        for row, sample in enumerate(batch):
            n = len(sample.ids)
            ids[row, :n] = torch.from_numpy(sample.ids.astype("int64"))
            labels[row, n - sample.n_output: n] = ids[row, n - sample.n_output: n]
            mask[row, :n] = 1
        logits = model(input_ids=ids, attention_mask=mask).logits
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        share = (step - WARM) / (STEPS - WARM)
        rate = RATE * ((step + 1) / WARM if step < WARM else (1 + math.cos(math.pi * share)) / 2)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    return losses


if __name__ == "__main__":
    import sys

    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[3])]
    with tempfile.TemporaryDirectory() as temporary:
        LOSSES.write_text(json.dumps(plain_losses(Path(temporary)), indent=1) + "\n", encoding="utf-8")
