"""The state of a training run: enough to go on after a kill as if there had been none.

Adapter, moments of the optimizer, the best adapter so far, and what was measured, in one safetensors file that is
replaced as a whole. Order, learning rate and random numbers need no place in it: they depend on seed and step.

What belongs here: that file. What does not: what is in an adapter's folder (`pipelines/models/adapter.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pipelines import files
from pipelines.errors import UserError
from training.lora_model import LoraModel
from training.workers import Workers, like, put, whole

_FACTS = "facts"
_KEPT = ("exp_avg", "exp_avg_sq", "step")


@dataclass
class Look:
    """What the dev states say after so many steps. threshold: of `score`, tuned there."""

    step: int
    macro_f1: float
    ans_f1: float
    threshold: float

    @property
    def quality(self) -> float:
        """What early stopping goes by."""
        return self.macro_f1 + self.ans_f1


@dataclass
class Progress:
    """step: steps that are done. losses: mean loss of an output token in each, in nats. tokens, seconds: of all
    steps, padding and looks not counted. memory: bytes at the highest, of the GPU where there is one."""

    fingerprint: str
    step: int = 0
    losses: list[float] = field(default_factory=list)
    learning_rates: list[float] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    best: Look | None = None
    tokens: int = 0
    seconds: float = 0.0
    memory: int = 0
    is_done: bool = False

    def looks_since_best(self) -> int:
        """Looks that were not better than the best one before them."""
        return sum(look.step > self.best.step for look in self.looks) if self.best else 0


@dataclass
class RunState:
    """progress, and best: the trained parameters at the best look, whole, by name."""

    progress: Progress
    best: dict[str, Any] = field(default_factory=dict)


def save(path: str, state: RunState, model: LoraModel, optimizer: Any, workers: Workers) -> None:
    """Write the file; all workers must call this, the first one writes."""
    from safetensors.torch import save as to_bytes

    tensors: dict[str, Any] = {}
    for name, value in model.trained().items():
        tensors[f"adapter.{name}"] = whole(value)
        tensors |= {f"{kind}.{name}": whole(optimizer.state[value][kind])
                    for kind in _KEPT if kind in optimizer.state.get(value, {})}
    if workers.rank == 0:
        tensors |= {f"best.{name}": value for name, value in state.best.items()}
        files.write_bytes(path, to_bytes(tensors | {_FACTS: _to_tensor(asdict(state.progress))}))


def load(path: str, fingerprint: str) -> tuple[RunState, Mapping[str, Any]] | None:
    """The state in the file and its tensors; None where there is no file.

    Raises UserError for a damaged file and for one of a run on other data or with other settings.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load as from_bytes

    subject = f"checkpoint {path}"
    try:
        tensors = from_bytes(files.read_bytes(path))
        facts = json.loads(bytes(tensors.pop(_FACTS).tolist()))
        looks = [Look(**look) for look in facts.pop("looks")]
        best = facts.pop("best")
        progress = Progress(**facts, looks=looks, best=None if best is None else Look(**best))
    except FileNotFoundError:
        return None
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise UserError(subject, f"cannot be read ({error})", "a file that training wrote",
                        "Delete it to begin anew.") from error
    if progress.fingerprint != fingerprint:
        raise UserError(subject, f"written at step {progress.step} of a run with other settings or other states",
                        "the settings that the run was begun with",
                        "Restore them to go on, or delete the file to begin anew.")
    return RunState(progress, {name.removeprefix("best."): value for name, value in tensors.items()
                               if name.startswith("best.")}), tensors


def restore(tensors: Mapping[str, Any], model: LoraModel, optimizer: Any) -> None:
    """Give adapter and optimizer the values of a file."""
    for name, value in model.trained().items():
        put(value, tensors[f"adapter.{name}"])
        moments = {kind: tensors[f"{kind}.{name}"] for kind in _KEPT if f"{kind}.{name}" in tensors}
        if moments:
            optimizer.state[value] = {kind: moment if kind == "step" else like(value, moment)
                                      for kind, moment in moments.items()}


def remove(path: str) -> None:
    """Remove the file of a run that is done."""
    folder, _, name = path.rpartition("/")
    files.remove_files(folder, [name])


def _to_tensor(facts: Mapping[str, Any]) -> Any:
    import torch

    return torch.frombuffer(bytearray(json.dumps(facts).encode()), dtype=torch.uint8)
