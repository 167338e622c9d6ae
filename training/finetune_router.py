"""Fine-tune a language model as a router on curated actions (docs/training.md; paper 2510.04293, section 3.4).

LoRA on the attention projections of any causal model, loss on the output tokens only. The adapter's folder is a
router: `--router FOLDER`. A run that was ended goes on from its checkpoint when the command is given again.

Run: `python -m training.finetune_router --config FILE` with YAML or JSON as `FinetuneConfig`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipelines.curation.class_tags import shares
from pipelines.errors import RunFailure, UserError
from pipelines.models.base_weights import BaseWeights, find_base, weights_sha256
from pipelines.models.chat_format import ChatFormat
from pipelines.questions.leakage import refuse_leakage
from pipelines.retrieval.corpus import ReleasedCorpus
from pipelines.settings import DataFolder
from training import finetune_checkpoint as checkpoint
from training.command import run_command
from training.finetune_checkpoint import Look, Progress
from training.finetune_config import FinetuneConfig
from training.finetune_loop import Task, n_steps
from training.finetune_ray import run_training
from training.finetune_result import Facts, register_adapter, write_adapter
from training.finetune_samples import TextState, TrainSample, dev_states, digest, drawn, text_state, train_samples
from training.labelled_states import labelled_states, read_labels
from training.router_registry import RouterVersion
from training.training_states import balanced, held_out_documents, questions_of


@dataclass(frozen=True)
class Finetuned:
    """The adapter's folder, what was measured on the way, the registered version."""

    folder: Path
    progress: Progress
    version: RouterVersion

    @property
    def best(self) -> Look:
        assert self.progress.best is not None
        return self.progress.best


def finetune_router(data: DataFolder, config: FinetuneConfig) -> Finetuned:
    """Train from the curated actions of a set, write and register the adapter.

    Raises UserError for a set without actions, questions that leak, states that are all too long, a base that
    cannot be loaded, another run's checkpoint.
    """
    refuse_leakage(data, config.dataset, [config.dev_dataset], config.allow_leakage)
    base = find_base(config.base)
    samples, dev = prepare(data, config, base)
    sha256 = weights_sha256(base.folder)
    data_digest = digest(samples, dev)
    task = Task(base, samples, dev, config.fingerprint(base=sha256, data=data_digest))
    print(f"{n_steps(config, len(samples)):,} steps of {config.batch_states} samples, "
          f"{base.title}, {config.workers} worker{'s' if config.workers > 1 else ''}", flush=True)
    run_training(config, task)
    found = checkpoint.load(config.checkpoint_path, task.fingerprint)
    if found is None or found[0].progress.best is None:
        raise RunFailure(f"checkpoint {config.checkpoint_path}", "not there behind the last step",
                         "a place that all workers share", "Give one as checkpoint, and begin anew.")
    facts = Facts(base, sha256, data_digest, len(samples), len(dev))
    write_adapter(config, facts, found[0])
    version = register_adapter(data, config, facts, found[0].progress)
    # Until here a run that is ended begins with writing, not with training.
    checkpoint.remove(config.checkpoint_path)
    return Finetuned(config.out, found[0].progress, version)


def prepare(data: DataFolder, config: FinetuneConfig, base: BaseWeights
            ) -> tuple[list[TrainSample], list[TextState]]:
    """Train samples and dev states, and lines about both. Raises UserError when one of them is empty."""
    chat = chat_of(base)
    states = curated_states(data, config)
    samples, n_long = train_samples(chat, states["train"], config.max_tokens)
    n_short = len(samples)
    samples = drawn(balanced(samples, config.at_most), config.most_states)  # type: ignore[arg-type]
    dev, n_long_dev = dev_states(chat, states["dev"], config.max_tokens)
    dev = drawn(dev, config.dev_states)
    for split, kept, n_left_out in (("train", samples, n_long), ("dev", dev, n_long_dev)):
        if not kept:
            raise UserError("fine-tuning", f"no {split} state of at most {config.max_tokens} tokens, "
                            f"{n_left_out} longer ones", "curated states that fit",
                            "Raise max_tokens, or curate with a lower router_text_tokens.")
        tags = ", ".join(f"{tag} {share:.0%}" for tag, share in shares(one.tag for one in kept).items())
        print(f"{len(kept):,} {split} states ({tags}); {n_left_out:,} longer than {config.max_tokens:,} tokens "
              "left out", flush=True)
    if len(samples) < n_short:
        print(f"{n_short - len(samples):,} train states left out by at_most and most_states", flush=True)
    return samples, dev


def curated_states(data: DataFolder, config: FinetuneConfig) -> dict[str, list[TextState]]:
    """The curated states of the train questions, without those of held-out documents, and of the dev questions."""
    corpus = ReleasedCorpus.open(data, config.release)
    release = corpus.release.number
    dev_dataset = config.dev_dataset or config.dataset
    teacher = config.recorded_teacher
    labels = {name: read_labels(data, name, release, teacher) for name in (config.dataset, dev_dataset)}
    held_out = {doc_id for name, of_set in labels.items()
                for doc_id in held_out_documents(data, name, release, of_set, config.held_out)}

    def of_split(dataset: str, split: Literal["train", "dev"]) -> list[TextState]:
        found = labelled_states(corpus, questions_of(data, dataset, split), labels[dataset], config.states)
        return [text_state(one) for one in found]

    return {"train": [state for state in of_split(config.dataset, "train") if state.doc_id not in held_out],
            "dev": of_split(dev_dataset, "dev")}


def chat_of(base: BaseWeights) -> ChatFormat:
    """How conversations become ids of this base, without loading its weights."""
    from tokenizers import Tokenizer
    from transformers import AutoConfig

    return ChatFormat(Tokenizer.from_buffer((base.folder / "tokenizer.json").read_bytes()),
                      AutoConfig.from_pretrained(str(base.folder), local_files_only=True))


def run(config: FinetuneConfig) -> str:
    """Fine-tune, and say what came of it."""
    begin = time.perf_counter()
    done = finetune_router(DataFolder.at(config.data), config)
    first, best = done.progress.looks[0], done.best
    return (f"dev states before: macro-F1 {first.macro_f1:.3f}, ANS-F1 {first.ans_f1:.3f}\n"
            f"dev states after {best.step} steps: macro-F1 {best.macro_f1:.3f}, ANS-F1 {best.ans_f1:.3f}\n"
            f"{done.folder} and {done.version.uri}, {time.perf_counter() - begin:.0f} s")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train from a config file and print. Returns the exit code."""
    return run_command("finetune_router", "Fine-tune a language model as a router on curated actions.",
                       FinetuneConfig, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
