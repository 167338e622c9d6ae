"""The processes that train one model together: what each needs of the others.

One process alone, or several that Ray Train has joined in a process group of PyTorch. With `ddp` each has all
weights, and gradients are averaged; with `fsdp` weights, gradients and moments are sharded.

What belongs here: wrapping a model, sums and gathering over workers, whole values of sharded tensors. What does
not: starting them (`finetune_ray.py`), and what they compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from training.finetune_config import Strategy

Sync = Callable[[bool], Any]
"""Whether gradients go to the other workers in what follows; a context."""


@dataclass(frozen=True)
class Workers:
    """rank: this process among `size`. device: of PyTorch."""

    device: Any
    rank: int = 0
    size: int = 1
    strategy: Strategy = "ddp"

    @property
    def is_sharded(self) -> bool:
        """Whether all must call the model equally often."""
        return self.size > 1 and self.strategy == "fsdp"

    def wrap(self, peft: Any, causal: Any) -> tuple[Any, Sync]:
        """What to call in training in place of the model, and the context of each pass."""
        if self.size == 1:
            return peft, _always
        if self.strategy == "ddp":
            from torch.nn.parallel import DistributedDataParallel

            ddp = DistributedDataParallel(peft, device_ids=[self.device] if self.device.type == "cuda" else None)

            @contextmanager
            def synchronised(is_last: bool) -> Iterator[None]:
                if is_last:
                    yield
                else:
                    with ddp.no_sync():
                        yield

            return ddp, synchronised
        import torch
        from torch.distributed.fsdp import fully_shard

        for layer in _layers(causal):
            fully_shard(layer)
        sharded = fully_shard(causal)
        # Room for whole weights is made at the first pass; made in a look it could not be written to in training.
        with torch.no_grad():
            causal(input_ids=torch.zeros(1, 1, dtype=torch.long, device=self.device), use_cache=False)

        @contextmanager
        def synchronised_shards(is_last: bool) -> Iterator[None]:
            sharded.set_requires_gradient_sync(is_last)
            yield

        return peft, synchronised_shards

    def total(self, value: float) -> float:
        """The sum of all workers' values, in float64."""
        import torch

        if self.size == 1:
            return value
        summed = torch.tensor(value, dtype=torch.float64, device=self.device)
        torch.distributed.all_reduce(summed)
        return float(summed)

    def gathered(self, values: Sequence[Any]) -> list[Any]:
        """The values of all workers, dealt as `values[rank::size]` before, in their order."""
        import torch

        if self.size == 1:
            return list(values)
        parts: list[Any] = [None] * self.size
        torch.distributed.all_gather_object(parts, list(values))
        longest = max(map(len, parts))
        return [part[n] for n in range(longest) for part in parts if n < len(part)]


def whole(tensor: Any) -> Any:
    """A tensor on the CPU, without gradient, put together where it is sharded; all workers must call this."""
    value = tensor.detach()
    return (value.full_tensor() if hasattr(value, "full_tensor") else value).cpu().clone()


def put(tensor: Any, value: Any) -> None:
    """Give a tensor a whole value; of a sharded one each worker keeps its part."""
    import torch

    with torch.no_grad():
        tensor.copy_(like(tensor, value))


def like(tensor: Any, value: Any) -> Any:
    """A whole value as `tensor` is: on its device, in its type, sharded as it is."""
    value = value.to(tensor.device, tensor.dtype)
    if hasattr(tensor, "device_mesh"):
        from torch.distributed.tensor import distribute_tensor

        return distribute_tensor(value, tensor.device_mesh, tensor.placements)
    return value


@contextmanager
def _always(is_last: bool) -> Iterator[None]:
    yield


def _layers(causal: Any) -> list[Any]:
    """The blocks of a causal model: its longest list of modules."""
    import torch

    lists = [module for module in causal.modules() if isinstance(module, torch.nn.ModuleList)]
    return list(max(lists, key=len, default=[]))
