"""The token counter: one byte-level tokenizer that measures every budget and every context.

What belongs here: counting. What does not: an encoder's own tokens (`encoder.py`) and exporting the
tokenizer (`export.py`). It reads a `tokenizer.json` with `tokenizers`, without torch; byte-level, so that
no script collapses into one unknown token.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pipelines.errors import RunFailure
from pipelines.models.export import token_counter_file

_CHUNK_TEXTS = 1024


class TokenCounter:
    """Counts tokens without special ones. Instances may be shared between threads."""

    def __init__(self, name: str, tokenizer: Any) -> None:
        self.name = name
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        """Length of a text in tokens; 0 for the empty text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Lengths of many texts in tokens, in their order."""
        counts: list[int] = []
        for begin in range(0, len(texts), _CHUNK_TEXTS):
            chunk = list(texts[begin: begin + _CHUNK_TEXTS])
            counts += map(len, self._tokenizer.encode_batch_fast(chunk, add_special_tokens=False))
        return counts


def load_token_counter(name: str) -> TokenCounter:
    """The token counter of that name, read from the cache once a process.

    Raises RunFailure when its file is missing or damaged.
    """
    return _load(name, str(token_counter_file(name)))


@lru_cache(maxsize=4)
def _load(name: str, path: str) -> TokenCounter:
    from tokenizers import Tokenizer

    try:
        with open(path, "rb") as stream:
            tokenizer = Tokenizer.from_buffer(stream.read())
    except FileNotFoundError:
        raise RunFailure(f"token counter {name}", f"no {path}", "the tokenizer exported at set-up",
                         "Run `make setup`.") from None
    except ValueError as error:
        raise RunFailure(f"token counter {name}", f"{path} is damaged ({error})", "a tokenizer.json",
                         "Delete the file and run `make setup`.") from error
    return TokenCounter(name, tokenizer)
