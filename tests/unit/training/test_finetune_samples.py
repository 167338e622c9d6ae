"""Samples: the ids that the model is asked with, the teacher's lines behind them, and what is left out."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from small_language_model import labelled, text_states, write_small_model

from pipelines.methods.llm_router import LlmRouter, LlmRouterSettings
from pipelines.methods.routing import PROMPT_FORMAT, REFUSAL
from pipelines.models.base_weights import find_base, load_base
from pipelines.models.chat_format import ChatFormat
from pipelines.models.local_llm import LocalModel
from training.finetune_router import chat_of
from training.finetune_samples import dev_states, digest, drawn, text_state, train_sample, train_samples


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_model(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def chat(base: Path) -> ChatFormat:
    return chat_of(find_base(str(base)))


@pytest.mark.parametrize("number", [0, 2, 5], ids=["answer", "refuse", "expand"])
def test_the_prompt_is_the_one_that_the_router_asks_with(base: Path, chat: ChatFormat, number: int) -> None:
    """A router decides by score and constrained; what the model reads begins as the sample does."""
    sample = train_sample(chat, text_state(labelled(number)))
    prompt = sample.ids[:-sample.n_output].tolist()
    for decode in ("score", "constrained"):
        model, tokenizer = load_base(find_base(str(base)))
        read: list[int] = []
        model.model.embed_tokens.register_forward_pre_hook(
            lambda _, given, read=read: read.extend(given[0][0].tolist()))
        LlmRouter("small", LocalModel("small", model, tokenizer, None), LlmRouterSettings(decode), None
                  ).route(labelled(number)[1])
        assert read[:len(prompt)] == prompt


def test_the_output_is_lines_with_their_ends_and_the_end_of_the_turn(base: Path, chat: ChatFormat) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    for number, words in ((0, "[ANSWER] 3: The owl is 0 years\n"), (2, REFUSAL), (5, "[EXPAND] 4: fig\n")):
        sample = train_sample(chat, text_state(labelled(number)))
        output = sample.ids[-sample.n_output:].tolist()
        assert tokenizer.decode(output, skip_special_tokens=False) == f"{words}<|im_end|>"
        assert output[-1] == chat.end_id


def test_other_words_are_another_prompt_format() -> None:
    """Who changes instruction, text or grammar raises PROMPT_FORMAT, and enters the new hash here."""
    said = [[*(message.to_json() for message in state.messages), *state.lines, *state.gold]
            for state in text_states(0, 6)]
    digest_of = {"rdr2-tag/1": "2dbd765d00f9b9f14a6db64b3427158e352601f7715575ca4384b5b53ee3c8f1"}
    assert hashlib.sha256(json.dumps(said).encode()).hexdigest() == digest_of[PROMPT_FORMAT]


def test_longer_samples_are_left_out_and_counted(chat: ChatFormat) -> None:
    states = text_states(0, 12)
    lengths = [len(train_sample(chat, state).ids) for state in states]
    limit = sorted(lengths)[6]
    kept, n_long = train_samples(chat, states, limit)
    assert [sample.state_id for sample in kept] == [
        state.state_id for state, length in zip(states, lengths, strict=True) if length <= limit]
    assert n_long == 12 - len(kept) > 0
    for state in states:
        prompt = len(train_sample(chat, state).ids) - train_sample(chat, state).n_output
        longest = prompt + max(len(chat.line(line)) for line in (*state.lines, REFUSAL))
        assert dev_states(chat, [state], longest) == ([state], 0)
        assert dev_states(chat, [state], longest - 1) == ([], 1)


def test_drawing_depends_on_ids_alone() -> None:
    states = text_states(0, 12)
    assert drawn(states, None) == states
    some = drawn(states, 5)
    assert len(some) == 5
    assert some == [state for state in states if state in some], "in their order"
    assert {state.state_id for state in drawn(states[::-1], 5)} == {state.state_id for state in some}


def test_the_digest_sees_every_id_line_and_order(chat: ChatFormat) -> None:
    samples, _ = train_samples(chat, text_states(0, 4), 4096)
    dev = text_states(4, 2)
    changed = samples[0].ids.copy()
    changed[3] += 1
    first = type(samples[0])(samples[0].state_id, samples[0].tag, changed, samples[0].n_output)
    shorter = type(samples[0])(samples[0].state_id, samples[0].tag, samples[0].ids, samples[0].n_output - 1)
    others = [([first, *samples[1:]], dev), ([shorter, *samples[1:]], dev), (samples[::-1], dev),
              (samples, dev[:1]), (samples, dev[::-1])]
    assert len({digest(samples, dev), *(digest(*other) for other in others)}) == 6
