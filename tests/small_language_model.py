"""A causal model with random weights, made in a second, and routing states whose rule it can learn.

The folder is in Hugging Face layout with a tokenizer of single bytes. States come from real trees: a question
names a thing, the line that names it too is the answer; without such a line there is a heading or a refusal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipelines.documents.tree import Document, TreeBuilder
from pipelines.evaluation.datasets import Question
from pipelines.methods.routing import Actions, RouterState, router_state
from pipelines.methods.subtree import view_of
from pipelines.models.base_weights import BaseWeights, find_base
from pipelines.models.chat_format import CHATML
from training.finetune_config import FinetuneConfig
from training.finetune_loop import Task
from training.finetune_router import chat_of
from training.finetune_samples import TextState, digest, text_state, train_samples

THINGS = ("owl", "elm", "tin", "rye", "bat", "fig", "ant", "oak", "gem", "yew")


def write_small_model(folder: Path, dtype: str = "float64", seed: int = 0) -> Path:
    """A Llama of two layers, its tokenizer with the marks of ChatML behind the 256 bytes."""
    import torch
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM

    vocabulary = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(mark) for mark in CHATML])
    torch.manual_seed(seed)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=4096, initializer_range=0.2,
        bos_token_id=None, eos_token_id=0, pad_token_id=None)).to(getattr(torch, dtype))
    model.save_pretrained(str(folder))
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def labelled(number: int) -> tuple[Question, RouterState, Actions]:
    """One state. Two of three show the answer, others hide it below a heading or lack it."""
    thing = THINGS[number % len(THINGS)]
    others = [THINGS[(number + n) % len(THINGS)] for n in range(1, 3 + number % 4)]
    builder = TreeBuilder(f"Page {number}")
    shown = [builder.add("p", text=f"The {word} is old.") for word in others]
    kind = ("answer", "answer", "refuse", "answer", "answer", "expand")[number % 6]
    if kind == "answer":
        shown.append(builder.add("p", text=f"The {thing} is {number} years old."))
    builder.open("section", text=thing if kind == "expand" else "Range", level=2)
    builder.add("p", text="It lives in the north.")
    view = view_of(Document(f"xx:{number}", builder.finish()))
    state = router_state(f"How old is the {thing}?", view, shown, shown, turn=0, line_words=60, max_tokens=3000,
                         count_tokens=lambda text: len(text.split()), score=lambda _: 0.0)
    actions = {"answer": Actions(answers=state.visible[-1:]), "expand": Actions(expands=state.expandable),
               "refuse": Actions(is_refusal=True)}[kind]
    return Question(f"q{number}", f"How old is the {thing}?", (), ()), state, actions


def text_states(first: int, n: int) -> list[TextState]:
    """Some states as texts."""
    return [text_state(labelled(number)) for number in range(first, first + n)]


def make_config(base: Path, out: Path, **fields: Any) -> FinetuneConfig:
    """Settings with which the small model learns within some steps, on one thread and without Ray."""
    return FinetuneConfig.model_validate({
        "dataset": "small", "base": str(base), "out": out, "precision": "float64", "learning_rate": 0.02,
        "batch_states": 4, "max_steps": 8, "warmup": 0.25, "eval_every": 100, "checkpoint_every": 2, "threads": 1,
        "ray": False, **fields})


def make_task(config: FinetuneConfig, n_train: int = 12, n_dev: int = 4) -> Task:
    """What a run is given, without a corpus."""
    base: BaseWeights = find_base(config.base)
    samples, _ = train_samples(chat_of(base), text_states(0, n_train), config.max_tokens)
    dev = text_states(n_train, n_dev)
    return Task(base, samples, dev, config.fingerprint(data=digest(samples, dev)))
