"""The token counter: counts, scripts, and its errors."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pipelines.errors import RunFailure, UserError
from pipelines.models.export import export_token_counter
from pipelines.models.tokens import TokenCounter, load_token_counter


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    export_token_counter("SmolLM2")
    return load_token_counter("SmolLM2")


def test_counts(counter: TokenCounter) -> None:
    # Written down from transformers' AutoTokenizer on the model's GGUF file.
    assert counter.name == "SmolLM2"
    assert counter.count("") == 0
    assert counter.count("Hello world") == 2
    assert counter.count("The capital of Armenia is Yerevan.") == 9


def test_count_many_keeps_the_order(counter: TokenCounter) -> None:
    texts = ["one two " * (n % 7) for n in range(1_500)]
    assert counter.count_many(texts) == [counter.count(text) for text in texts]
    assert counter.count_many([]) == []


_WORDS = ["the", " river's", " don't", "\n\n", "  ", " 1,234.5", "²", "Ⅷ", " — ", "日本語", "ภาษาไทย", "हिन्दी",
          "\u0301x", "👩‍👩‍👧",
          "\u00a0", "\t", " we'll", "_", "x_y", "a" * 70, "-" * 80, "\ufeff", "\u200b", "'S", "\u2028", "\x85"]


@pytest.mark.parametrize("seed", range(5))
def test_bulk_counts_are_those_of_the_tokenizer(counter: TokenCounter, seed: int) -> None:
    chosen = random.Random(seed)
    texts = ["".join(chosen.choice(_WORDS) for _ in range(4_000)) for _ in range(3)]
    texts.append("a <|im_start|> in the text" * 20)
    encode = counter._tokenizer.encode
    assert counter.count_many(texts) == [len(encode(text, add_special_tokens=False)) for text in texts]
    assert counter.count(texts[0]) == counter.count_many(texts)[0]


@pytest.mark.parametrize("text", ["አማርኛ ቋንቋ", "ქართული ენა", "Հայերեն լեզու", "日本語の文章", "ภาษาไทย"])
def test_no_script_collapses_to_one_unknown(counter: TokenCounter, text: str) -> None:
    assert counter.count(text) > len(text.split()) * 2


def test_a_missing_or_damaged_file_names_make_setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path))
    with pytest.raises(RunFailure, match=r"SmolLM2\.json.*Run `make setup`"):
        load_token_counter("SmolLM2")
    (tmp_path / "tokenizers").mkdir()
    (tmp_path / "tokenizers/SmolLM2.json").write_text('{"version"')
    with pytest.raises(RunFailure, match=r"SmolLM2\.json is damaged.*make setup"):
        load_token_counter("SmolLM2")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UserError, match="token counter 'nope'"):
        export_token_counter("nope")
