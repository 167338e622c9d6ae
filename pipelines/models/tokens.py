"""The token counter: one byte-level tokenizer that measures every budget and every context.

What belongs here: counting. What does not: an encoder's own tokens (`encoder.py`) and exporting the
tokenizer (`export.py`). It reads a `tokenizer.json` with `tokenizers`, without torch; byte-level, so that
no script collapses into one unknown token.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from pipelines.errors import RunFailure
from pipelines.models.export import token_counter_file

_CHUNK_TEXTS = 1024
_BULK_CHARACTERS = 20_000
"""From here on it pays to remember how long words are."""
_MAX_REMEMBERED = 500_000
_MAX_PIECE_CHARACTERS = 64
"""Longer pieces are not remembered: an address or a line of dashes hardly comes again."""
_BYTE_LEVEL_PIECES = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""How a byte-level tokenizer (GPT-2's) cuts a text; each piece becomes tokens by itself."""


class TokenCounter:
    """Counts tokens without special ones. Instances may be shared between threads."""

    def __init__(self, name: str, tokenizer: Any) -> None:
        self.name = name
        self._tokenizer = tokenizer
        self._pieces_of: Callable[[str], list[str]] | None = None
        self._special: list[str] = []
        self._remembered: dict[str, int] = {}
        self._is_ready_for_bulk = False

    def count(self, text: str) -> int:
        """Length of a text in tokens; 0 for the empty text."""
        return self.count_many([text])[0]

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Lengths of many texts in tokens, in their order."""
        if sum(map(len, texts)) < _BULK_CHARACTERS:
            return self._encoded_lengths(texts)
        if not self._is_ready_for_bulk:
            self._prepare_for_bulk()
        pieces_of = self._pieces_of
        if pieces_of is None:
            return self._encoded_lengths(texts)
        return [self._encoded_lengths([text])[0] if any(token in text for token in self._special)
                else self._sum(pieces_of(text)) for text in texts]

    def _prepare_for_bulk(self) -> None:
        """Find out whether and how the tokenizer cuts texts into pieces that do not depend on each other."""
        import regex

        config = json.loads(self._tokenizer.to_str())
        cut = config.get("pre_tokenizer") or {}
        if (config.get("normalizer") is None and cut.get("type") == "ByteLevel" and cut.get("use_regex", True)
                and not cut.get("add_prefix_space")):
            self._pieces_of = regex.compile(_BYTE_LEVEL_PIECES).findall
            self._special = [token["content"] for token in config["added_tokens"]]
        self._is_ready_for_bulk = True

    def _sum(self, pieces: list[str]) -> int:
        """The pieces' lengths together. Each is encoded once, for the words of a language come again."""
        known = self._remembered
        if len(known) > _MAX_REMEMBERED:
            known = self._remembered = {}
        new = list({piece for piece in pieces if piece not in known})
        if not new:
            return sum(map(known.__getitem__, pieces))
        lengths = dict(zip(new, self._encoded_lengths(new), strict=True))
        n_tokens = sum(lengths[piece] if piece in lengths else known[piece] for piece in pieces)
        known.update((piece, n) for piece, n in lengths.items() if len(piece) <= _MAX_PIECE_CHARACTERS)
        return n_tokens

    def _encoded_lengths(self, texts: Sequence[str]) -> list[int]:
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
