"""What comes of a fine-tuning: the adapter's folder, and a registered version with all that was measured.

What belongs here: from a run's state to files, metrics, curves and the card. What does not: the layout of the
folder (`pipelines/models/adapter.py`) and of the registry (`router_registry.py`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pipelines.methods.routing import PROMPT_FORMAT
from pipelines.models.adapter import AdapterCard, save_adapter
from pipelines.models.base_weights import BaseWeights
from pipelines.settings import DataFolder
from training.finetune_checkpoint import Progress, RunState
from training.finetune_config import FinetuneConfig
from training.lora_model import adapter_files
from training.router_registry import RouterRegistry, RouterVersion

_PLACES = {"data", "out", "checkpoint"}


@dataclass(frozen=True)
class Facts:
    """What was trained. base_sha256: of the weights. data_digest: of samples and dev states."""

    base: BaseWeights
    base_sha256: str
    data_digest: str
    n_samples: int
    n_dev: int


def write_adapter(config: FinetuneConfig, facts: Facts, state: RunState) -> None:
    """Write the best adapter of a run as a router's folder."""
    best = state.progress.best
    assert best is not None
    trained = {"dataset": config.dataset, "dev_dataset": config.dev_dataset, "teacher": config.teacher,
               "data_digest": facts.data_digest, "states": facts.n_samples, "step": best.step,
               "macro_f1": best.macro_f1, "ans_f1": best.ans_f1, "before": asdict(state.progress.looks[0]),
               "config": config.model_dump(mode="json", exclude=_PLACES)}
    tensors, lora = adapter_files(state.best, config)
    lora.inference_mode = True
    save_adapter(config.out, tensors, lora,
                 AdapterCard(PROMPT_FORMAT, facts.base.name, facts.base_sha256, best.threshold, trained))


def register_adapter(data: DataFolder, config: FinetuneConfig, facts: Facts, progress: Progress) -> RouterVersion:
    """Record the run and its adapter in MLflow."""
    best = progress.best
    assert best is not None
    parameters: dict[str, Any] = {**config.model_dump(mode="json", exclude=_PLACES),
                                  "base_title": facts.base.title, "base_sha256": facts.base_sha256,
                                  "n_train_states": facts.n_samples, "n_dev_states": facts.n_dev}
    metrics = {"dev_macro_f1": best.macro_f1, "dev_ans_f1": best.ans_f1, "score_threshold": best.threshold,
               "best_step": float(best.step), "tokens_per_second": progress.tokens / progress.seconds,
               "train_seconds": progress.seconds, "peak_memory_bytes": float(progress.memory)}
    curves = {"train_loss": list(enumerate(progress.losses, 1)),
              "learning_rate": list(enumerate(progress.learning_rates, 1)),
              **{f"dev_{name}_by_step": [(one.step, getattr(one, name)) for one in progress.looks]
                 for name in ("macro_f1", "ans_f1", "threshold")}}
    return RouterRegistry(data).log("adapter", config.out, name=config.name, parameters=parameters, metrics=metrics,
                                    curves=curves, card=card(config, facts, progress),
                                    dataset_digest=facts.data_digest)


def card(config: FinetuneConfig, facts: Facts, progress: Progress) -> str:
    """Markdown for who finds the adapter in the registry."""
    best, first = progress.best, progress.looks[0]
    assert best is not None
    return "\n".join((
        f"# {config.name}", "",
        f"LoRA adapter of {facts.base.title} (rank {config.rank}, alpha {config.alpha}); it routes in documents.",
        "",
        f"- Trained on {facts.n_samples:,} states of `{config.dataset}`, teacher {config.teacher}, prompt format "
        f"{PROMPT_FORMAT}.",
        f"- Best on {facts.n_dev:,} dev states of `{config.dev_dataset or config.dataset}` after {best.step} of "
        f"{progress.step} steps: macro-F1 {best.macro_f1:.3f}, ANS-F1 {best.ans_f1:.3f}. Before training, with a "
        f"threshold of its own: {first.macro_f1:.3f} and {first.ans_f1:.3f}.",
        f"- `decode: score` takes a line from the log-odds {best.threshold:.2f} on.",
        "",
        "It knows documents like those that it was trained on. With `score` and `constrained` it writes lines of "
        "the document alone; whether they hold the answer is its guess.", ""))
